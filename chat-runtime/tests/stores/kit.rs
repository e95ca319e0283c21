//! A place for a store, opened anew by whoever asks, as another process would.

use std::sync::Arc;

use chat_conformance::{Gate, GatedStore, ResponderScript, ScriptedResponder};
use chat_core::{Entry, EntryBody, Journal, Reply, SessionId, Store};
use chat_runtime::{Chat, NewSession, Session, responder_fn};
use chat_store_file::FileStore;
use chat_store_sqlite::SqliteStore;

/// A store's place.
pub(crate) struct Place {
    pub(crate) name: &'static str,
    folder: tempfile::TempDir,
    open: fn(&std::path::Path) -> Arc<dyn Store>,
}

/// A new place for each kind of store.
pub(crate) fn places() -> [Place; 2] {
    let place = |name, open| Place {
        name,
        folder: tempfile::tempdir().unwrap(),
        open,
    };
    [
        place("file", |folder| {
            Arc::new(FileStore::open(folder.join("chat")).unwrap())
        }),
        place("sqlite", |folder| {
            Arc::new(SqliteStore::open(folder.join("chat.db")).unwrap())
        }),
    ]
}

/// A chat of a responder that waits for the test, over a gated store.
pub(crate) struct Lab {
    pub(crate) chat: Chat,
    pub(crate) session: Session,
    pub(crate) script: ResponderScript,
    pub(crate) gate: Gate,
}

impl Place {
    /// The store, as a process of its own would open it.
    pub(crate) fn open(&self) -> Arc<dyn Store> {
        (self.open)(self.folder.path())
    }

    /// A chat of its own with session `s` open, which is created where it is not there.
    pub(crate) async fn lab(&self) -> Lab {
        let (store, gate) = GatedStore::new(self.open());
        let (responder, script) = ScriptedResponder::new();
        let chat = Chat::new(responder, store);
        let session = open(&chat).await;
        Lab {
            chat,
            session,
            script,
            gate,
        }
    }

    /// A chat of its own that gives every input back.
    pub(crate) fn echo(&self) -> Chat {
        let echo = responder_fn(|request, _| async move { Ok(Reply::text(request.input)) });
        Chat::new(echo, self.open())
    }

    /// The journal of session `s`, as a process reads it that was not there before.
    pub(crate) async fn journal(&self) -> Vec<Entry> {
        let journal = Journal::read(&*self.open(), &id()).await.unwrap();
        assert_eq!(journal.torn, None);
        journal.entries
    }

    /// The types of its entries, `session.created` left out.
    pub(crate) async fn kinds(&self) -> Vec<String> {
        let kinds = self.journal().await.into_iter().skip(1);
        kinds.map(|entry| entry.body().kind().to_owned()).collect()
    }
}

impl Lab {
    /// Sends an input that is answered with itself, in capitals, and waits for the end.
    pub(crate) async fn answered(&mut self, input: &str) {
        let turn = self.session.send(input);
        let mut call = self.script.next_call().await;
        call.finish(Reply::text(input.to_uppercase()));
        turn.await.expect("it is answered");
    }
}

pub(crate) fn id() -> SessionId {
    SessionId::parse("s").unwrap()
}

/// Session `s`, created where it is not there.
pub(crate) async fn open(chat: &Chat) -> Session {
    match chat.open_session(&id()).await {
        Ok(session) => session,
        Err(_) => create(chat).await,
    }
}

pub(crate) async fn create(chat: &Chat) -> Session {
    let new = NewSession {
        id: Some(id()),
        ..NewSession::default()
    };
    chat.create_session_with(new).await.unwrap()
}

/// That turns follow each other, one at a time, and nothing else stands in the journal.
pub(crate) fn assert_one_at_a_time(journal: &[Entry]) {
    for (place, entry) in journal.iter().enumerate() {
        assert_eq!(entry.seq().0, place as u64);
    }
    for turn in journal[1..].chunks(2) {
        let [accepted, completed] = turn else {
            panic!("{turn:?} is no turn")
        };
        assert!(matches!(accepted.body(), EntryBody::TurnAccepted { .. }));
        assert!(matches!(completed.body(), EntryBody::TurnCompleted { .. }));
        assert_eq!(accepted.body().turn_id(), completed.body().turn_id());
    }
}
