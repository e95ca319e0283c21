//! The right to write one session. A write that was begun is never called back; what came of it is asked, never guessed (S2).

use chat_core::{Appended, Entry, JournalWriter, Recovered, Seq, SessionId, StoreError};
use futures_util::{FutureExt as _, future::BoxFuture};
use tokio::task::JoinHandle;

use crate::{Hold, RedbStore, rows};

pub(crate) struct Writer {
    store: RedbStore,
    session: SessionId,
    hold: Hold,
    next: Seq,
    /// A write whose answer nobody has taken: its future was dropped, and it goes on.
    pending: Option<JoinHandle<Appended>>,
    /// Whether only `recover` may come next.
    unknown: bool,
}

impl Writer {
    pub(crate) fn new(store: RedbStore, session: SessionId, hold: Hold, next: Seq) -> Self {
        Self {
            store,
            session,
            hold,
            next,
            pending: None,
            unknown: false,
        }
    }

    fn misuse(&self, what: &str) -> Appended {
        Appended::NotWritten(StoreError::Misuse {
            session: self.session.clone(),
            what: what.into(),
        })
    }

    async fn write(&mut self, entry: Entry) -> Appended {
        if self.unknown {
            return self.misuse("the write before is unknown: recover first");
        }
        let (place, next) = (entry.seq(), self.next);
        let (store, session, hold) = (self.store.clone(), self.session.clone(), self.hold.clone());
        // Unknown until answered: so a dropped future leaves it.
        self.unknown = true;
        let write = self.pending.insert(tokio::task::spawn_blocking(move || {
            // The hold is not free before this has ended.
            let _hold = hold;
            rows::append(&store, &session, next, &entry)
        }));
        let answer = write
            .await
            .unwrap_or_else(|error| Appended::Unknown(StoreError::backend(error.to_string())));
        self.pending = None;
        self.unknown = matches!(answer, Appended::Unknown(_));
        if matches!(answer, Appended::Written) && place == next {
            self.next = next.next();
        }
        answer
    }
}

impl JournalWriter for Writer {
    // `append_last` is `append`: the hold is let go of when the writer is dropped.
    fn append(&mut self, entry: Entry) -> BoxFuture<'_, Appended> {
        self.write(entry).boxed()
    }

    fn recover(&mut self, from: Seq) -> BoxFuture<'_, Result<Recovered, StoreError>> {
        async move {
            if let Some(write) = &mut self.pending {
                // What it comes to is read below, from what is written.
                let _ = write.await;
                self.pending = None;
            }
            let session = self.session.clone();
            let found = self.store.blocking(move |store| {
                let snapshot = rows::snapshot(store, &session)?;
                let entries = rows::read(store, &snapshot, &session, from, usize::MAX).all()?;
                Ok((entries, rows::next(store, &snapshot, &session)?))
            });
            let (entries, next) = found.await?;
            (self.next, self.unknown) = (next, false);
            Ok(Recovered {
                entries,
                torn: None,
            })
        }
        .boxed()
    }
}
