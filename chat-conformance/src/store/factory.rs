//! What the suite is given, and what a law is given: stores, and entries to put into them.

use std::{future::Future, sync::Arc, time::Duration};

use chat_core::{
    Acquired, Appended, Entry, EntryBody, EntryId, JournalPart, JournalWriter, ListRequest,
    Metadata, ResponderInfo, Seq, SessionId, SessionSummary, Store, Timestamp, TurnId,
};
use futures_util::{
    StreamExt as _,
    future::{BoxFuture, FutureExt as _},
};

use super::NotClaimed;

/// Makes stores for the suite.
pub trait StoreFactory: Send + Sync + 'static {
    /// The kind of store.
    type Store: Store;

    /// An empty store. Whatever it needs (a folder, a database) lives as long as the factory.
    fn make(&self) -> impl Future<Output = Self::Store> + Send;

    /// Opens the place of a store again, as another process would: nothing in memory is shared. Asked only where
    /// [`Capabilities::persistent`](chat_core::Capabilities::persistent) or
    /// [`Capabilities::shared`](chat_core::Capabilities::shared) is claimed.
    fn reopen(&self, store: &Self::Store) -> impl Future<Output = Self::Store> + Send;
}

/// A law's own store.
pub(super) struct Lab {
    pub(super) store: Arc<dyn Store>,
    again: Arc<dyn Fn() -> BoxFuture<'static, Arc<dyn Store>> + Send + Sync>,
}

impl Lab {
    pub(super) async fn new<F: StoreFactory>(factory: Arc<F>) -> Self {
        let store = Arc::new(factory.make().await);
        let first = store.clone();
        let again = move || {
            let (factory, first) = (factory.clone(), first.clone());
            async move { Arc::new(factory.reopen(&first).await) as Arc<dyn Store> }.boxed()
        };
        Self {
            store,
            again: Arc::new(again),
        }
    }

    /// The same place, as another process would open it while this one is open.
    pub(super) async fn another_process(&self) -> Result<Arc<dyn Store>, NotClaimed> {
        if !self.store.capabilities().shared {
            return Err(NotClaimed("no other process can open the store"));
        }
        Ok((self.again)().await)
    }

    /// The same place, opened again.
    pub(super) async fn reopened(&self) -> Result<Arc<dyn Store>, NotClaimed> {
        if !self.store.capabilities().persistent {
            return Err(NotClaimed("the store does not outlive its process"));
        }
        Ok((self.again)().await)
    }

    /// A session with its first entry only.
    pub(super) async fn session(&self, id: &str) -> SessionId {
        let session = session_id(id);
        self.store
            .create(&session, vec![created()])
            .await
            .expect("a free id can be created");
        session
    }

    /// All entries of a journal.
    pub(super) async fn entries(&self, session: &SessionId) -> Vec<Entry> {
        entries(&*self.store, session, Seq::ZERO).await
    }

    /// The hold on a session, and nothing odd about it.
    pub(super) async fn hold(
        &self,
        session: &SessionId,
        from: Seq,
    ) -> (Box<dyn JournalWriter>, Vec<Entry>) {
        let Acquired {
            writer,
            entries,
            torn,
        } = self
            .store
            .acquire(session, from)
            .await
            .expect("a session that is there can be held");
        assert_eq!(torn, None, "nothing was torn");
        (writer, entries)
    }

    /// All sessions, read in pages of a size.
    pub(super) async fn list(&self, limit: usize) -> Vec<SessionSummary> {
        let mut request = ListRequest { after: None, limit };
        let mut sessions = Vec::new();
        // More pages than any law makes sessions.
        for _ in 0..200 {
            let page = self
                .store
                .list(request.clone())
                .await
                .expect("sessions can be listed");
            assert!(
                page.sessions.len() <= limit,
                "a page holds no more than was asked for"
            );
            sessions.extend(page.sessions);
            match page.next {
                Some(next) => request.after = Some(next),
                None => return sessions,
            }
        }
        panic!("the list never ends");
    }
}

/// Entries of a journal from a place on.
pub(super) async fn entries(store: &dyn Store, session: &SessionId, from: Seq) -> Vec<Entry> {
    let mut parts = store.read(session, from);
    let mut entries = Vec::new();
    while let Some(part) = parts.next().await {
        match part.expect("a sound journal can be read") {
            JournalPart::Entries(more) => entries.extend(more),
            JournalPart::Torn(torn) => panic!("a torn tail in a sound journal: {torn:?}"),
        }
    }
    entries
}

/// Appends, and expects that it is written.
pub(super) async fn write(writer: &mut Box<dyn JournalWriter>, entry: Entry) {
    let place = entry.seq();
    match writer.append(entry).await {
        Appended::Written => {}
        other @ (Appended::NotWritten(_) | Appended::Unknown(_) | Appended::Fenced) => {
            panic!("entry {place} was not written: {other:?}")
        }
    }
}

/// Whether a future that must wait for something does: it is polled, and nothing that it waits for happens.
pub(super) async fn waits<F: Future + Unpin>(future: &mut F) -> bool {
    for _ in 0..8 {
        if futures_util::future::poll_immediate(&mut *future)
            .await
            .is_some()
        {
            return false;
        }
        tokio::task::yield_now().await;
    }
    true
}

/// How long a law may take before it counts as one that hangs.
pub(super) const DEADLINE: Duration = Duration::from_secs(60);

pub(super) fn session_id(id: &str) -> SessionId {
    SessionId::parse(id).expect("the laws' ids are ids")
}

pub(super) fn turn_id(n: u64) -> TurnId {
    TurnId::parse(format!("turn-{n}")).expect("the laws' ids are ids")
}

/// An entry whose id and time follow from its place.
pub(super) fn entry(seq: u64, body: EntryBody) -> Entry {
    entry_at(seq, 1_764_535_040_000 + seq.cast_signed(), body)
}

/// An entry of a time of its own, in milliseconds.
pub(super) fn entry_at(seq: u64, millis: i64, body: EntryBody) -> Entry {
    let id = EntryId::parse(format!("entry-{seq}")).expect("the laws' ids are ids");
    let at = Timestamp::from_millis(millis).expect("the laws' times are times");
    Entry::new(Seq(seq), id, at, body)
}

pub(super) fn created() -> Entry {
    entry(0, EntryBody::SessionCreated { labels: None })
}

pub(super) fn accepted_body(turn: u64, input: &str) -> EntryBody {
    EntryBody::TurnAccepted {
        turn_id: turn_id(turn),
        input: input.into(),
        retry_of: None,
        labels: None,
    }
}

pub(super) fn accepted(seq: u64, turn: u64) -> Entry {
    entry(
        seq,
        accepted_body(
            turn,
            &format!("question {turn}\nwith a \"second\" line, ünïcode and \u{1f331}"),
        ),
    )
}

pub(super) fn steered(seq: u64, turn: u64) -> Entry {
    entry(
        seq,
        EntryBody::TurnSteered {
            turn_id: turn_id(turn),
            input: "and briefly".into(),
        },
    )
}

pub(super) fn completed(seq: u64, turn: u64) -> Entry {
    let responder = ResponderInfo::of_kind("scripted");
    let text = format!("answer {turn}").into();
    entry(
        seq,
        EntryBody::TurnCompleted {
            turn_id: turn_id(turn),
            text,
            metadata: Metadata::default(),
            responder,
        },
    )
}

pub(super) fn canceled(seq: u64, turn: u64) -> Entry {
    let reason = Some("changed my mind".into());
    entry(
        seq,
        EntryBody::TurnCanceled {
            turn_id: turn_id(turn),
            reason,
            usage: None,
            responder: None,
        },
    )
}

/// A journal of some turns: one steered, one canceled, one without outcome.
pub(super) fn script() -> Vec<Entry> {
    vec![
        created(),
        accepted(1, 1),
        completed(2, 1),
        accepted(3, 2),
        steered(4, 2),
        completed(5, 2),
        accepted(6, 3),
        canceled(7, 3),
        accepted(8, 4),
    ]
}
