//! A store where nothing can be written: it says so, by its kind and its place, and what may be read is read (S7).

use chat_core::{Durability, Seq, SessionId, Store, StoreError};

use super::{
    backend::Backend,
    entries::Maker,
    lab::{Lab, Outcome, ensure, failed},
    mounts::Mounted,
};

const KIND: &str = "store-read-only";

pub(crate) fn run(lab: &Lab, backend: Backend) -> Outcome {
    let (folder, seen_at) = (lab.empty_folder()?, lab.empty_folder()?);
    let session = SessionId::parse("read-only").expect("it is a plain word");
    let mut maker = Maker::new("o", lab.rng("read-only", backend));
    let turn = maker.turn();
    let entries = vec![
        maker.created(),
        maker.accepted(Seq(1), &turn),
        maker.outcome(Seq(2), &turn),
    ];
    let store = backend.open(&backend.place(folder.path()), Durability::Full)?;
    lab.block_on(store.create(&session, entries.clone()))??;
    drop(store);

    let mounted = Mounted::read_only(lab, folder.path(), seen_at.path())?;
    let place = backend.place(seen_at.path());
    let figures = match backend.open(&place, Durability::Full) {
        Err(error) => {
            let error = refused("open", Err::<(), _>(error))?;
            format!("opening says `{KIND}`: {error}")
        }
        Ok(store) => {
            let other = SessionId::parse("new").expect("it is a plain word");
            let writes = lab.block_on(async {
                [
                    refused("create", store.create(&other, entries.clone()).await),
                    refused("acquire", store.acquire(&session, Seq::ZERO).await),
                    refused("delete", store.delete(&session).await),
                ]
            })?;
            for write in writes {
                write?;
            }
            let read = lab.block_on(read(&*store, &session))?;
            match read {
                Ok(read) => {
                    ensure(read == entries, || "other entries are read".to_owned())?;
                    format!("create, acquire and delete say `{KIND}`; read and list work")
                }
                Err(error) => {
                    let error = refused("read", Err::<(), _>(error))?;
                    format!("everything says `{KIND}`: {error}")
                }
            }
        }
    };
    mounted.unmount()?;
    Ok(figures)
}

fn refused<T>(what: &str, answer: Result<T, StoreError>) -> Outcome<StoreError> {
    match answer {
        Err(error) if error.kind() == KIND => Ok(error),
        Err(error) => failed(format!("{what} fails with {}: {error}", error.kind())),
        Ok(_) => failed(format!("{what} works where nothing can be written")),
    }
}

async fn read(store: &dyn Store, session: &SessionId) -> Result<Vec<chat_core::Entry>, StoreError> {
    use futures_util::StreamExt as _;
    let mut entries = Vec::new();
    let mut parts = store.read(session, Seq::ZERO);
    while let Some(part) = parts.next().await {
        match part? {
            chat_core::JournalPart::Entries(more) => entries.extend(more),
            chat_core::JournalPart::Torn(_) => {}
        }
    }
    let page = store.list(chat_core::ListRequest::default()).await?;
    if page.sessions.len() == 1 && page.sessions[0].error.is_none() {
        Ok(entries)
    } else {
        Err(StoreError::backend("the session is not listed"))
    }
}
