//! What one law works with: a store of its own, and the ways to reopen and to harm it that its factory has.

use std::sync::Arc;

use chat_core::{
    Acquired, Capabilities, Durability, Entry, JournalWriter, ListRequest, Salvaged, Seq,
    SessionId, SessionSummary, Store,
};
use futures_util::future::{BoxFuture, FutureExt as _};

use super::{NotClaimed, entries::created, entries::session_id, factory::StoreFactory, harm::Harm};
use crate::entries::{Read, read_from};

/// A law's own store.
pub(super) struct Lab {
    pub(super) store: Arc<dyn Store>,
    bench: Arc<dyn Bench>,
}

/// A factory and a store of its making, whatever their types are.
trait Bench: Send + Sync {
    fn reopen(&self) -> BoxFuture<'_, Lab>;
    fn lose_power(&self) -> BoxFuture<'_, Option<Lab>>;
    fn harm<'a>(&'a self, session: &'a SessionId, harm: Harm) -> BoxFuture<'a, bool>;
    fn stored<'a>(&'a self, session: &'a SessionId) -> BoxFuture<'a, Option<Vec<u8>>>;
}

struct Made<F: StoreFactory> {
    factory: Arc<F>,
    store: Arc<F::Store>,
}

impl<F: StoreFactory> Bench for Made<F> {
    fn reopen(&self) -> BoxFuture<'_, Lab> {
        async { Lab::of(&self.factory, self.factory.reopen(&self.store).await) }.boxed()
    }

    fn lose_power(&self) -> BoxFuture<'_, Option<Lab>> {
        async {
            let store = self.factory.lose_power(&self.store).await?;
            Some(Lab::of(&self.factory, store))
        }
        .boxed()
    }

    fn harm<'a>(&'a self, session: &'a SessionId, harm: Harm) -> BoxFuture<'a, bool> {
        self.factory.harm(&self.store, session, harm).boxed()
    }

    fn stored<'a>(&'a self, session: &'a SessionId) -> BoxFuture<'a, Option<Vec<u8>>> {
        self.factory.stored(&self.store, session).boxed()
    }
}

impl Lab {
    pub(super) async fn new<F: StoreFactory>(factory: Arc<F>) -> Self {
        Self::of(&factory, factory.make().await)
    }

    fn of<F: StoreFactory>(factory: &Arc<F>, store: F::Store) -> Self {
        let (factory, store) = (factory.clone(), Arc::new(store));
        Self {
            store: store.clone(),
            bench: Arc::new(Made { factory, store }),
        }
    }

    pub(super) fn capabilities(&self) -> Capabilities {
        self.store.capabilities()
    }

    /// The same place, as another process would open it while this one is open.
    pub(super) async fn another_process(&self) -> Result<Lab, NotClaimed> {
        if !self.capabilities().shared {
            return Err(NotClaimed("no other process can open the store"));
        }
        Ok(self.bench.reopen().await)
    }

    /// The same place, opened again. This one is not used any more.
    pub(super) async fn reopened(&self) -> Result<Lab, NotClaimed> {
        if !self.capabilities().persistent {
            return Err(NotClaimed("the store does not outlive its process"));
        }
        Ok(self.bench.reopen().await)
    }

    /// The same place after a loss of power. This one is not used any more.
    pub(super) async fn after_power_loss(&self) -> Result<Lab, NotClaimed> {
        match self.capabilities().durability {
            Durability::Full => {}
            Durability::Os | Durability::Memory => {
                return Err(NotClaimed("the store does not survive a loss of power"));
            }
        }
        let lost = self.bench.lose_power().await;
        lost.ok_or(NotClaimed("the factory can't play a loss of power"))
    }

    /// Harms what is stored of a session, and opens the store again: what one that was open remembers is not asked.
    pub(super) async fn harmed(&self, session: &SessionId, harm: Harm) -> Result<Lab, NotClaimed> {
        self.harm(session, harm).await?;
        self.reopened().await
    }

    /// Harms what is stored of a session, while the store is open.
    pub(super) async fn harm(&self, session: &SessionId, harm: Harm) -> Result<(), NotClaimed> {
        if self.bench.harm(session, harm).await {
            Ok(())
        } else {
            Err(NotClaimed("the factory can't play this harm"))
        }
    }

    /// All that is stored of a session, where it can be looked at.
    pub(super) async fn stored(&self, session: &SessionId) -> Option<Vec<u8>> {
        self.bench.stored(session).await
    }

    /// A session with its first entry only.
    pub(super) async fn session(&self, id: &str) -> SessionId {
        self.session_of(id, vec![created()]).await
    }

    /// A session of some entries.
    pub(super) async fn session_of(&self, id: &str, entries: Vec<Entry>) -> SessionId {
        let session = session_id(id);
        self.store
            .create(&session, entries)
            .await
            .unwrap_or_else(|error| panic!("session {id:?}, a free id, can't be created: {error}"));
        session
    }

    /// All entries of a sound journal.
    pub(super) async fn entries(&self, session: &SessionId) -> Vec<Entry> {
        self.entries_from(session, Seq::ZERO).await
    }

    /// The entries of a sound journal from a place on.
    pub(super) async fn entries_from(&self, session: &SessionId, from: Seq) -> Vec<Entry> {
        let read = self.read(session, from).await;
        if let Some(error) = read.error {
            panic!("a sound journal can't be read: {error}");
        }
        assert_eq!(read.torn, None, "a torn tail in a sound journal");
        read.entries
    }

    /// All that reading a journal gives.
    pub(super) async fn read(&self, session: &SessionId, from: Seq) -> Read {
        read_from(&self.store, session, from).await
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
        } = self.acquire(session, from).await;
        assert_eq!(torn, None, "nothing was torn");
        (writer, entries)
    }

    /// The hold on a session.
    pub(super) async fn acquire(&self, session: &SessionId, from: Seq) -> Acquired {
        self.store
            .acquire(session, from)
            .await
            .unwrap_or_else(|error| {
                panic!("session {session}, which is there, can't be held: {error}")
            })
    }

    /// What can be salvaged of a session.
    pub(super) async fn salvage(&self, session: &SessionId) -> Vec<Salvaged> {
        self.store
            .salvage(session)
            .await
            .unwrap_or_else(|error| panic!("session {session} can't be salvaged: {error}"))
    }

    /// All sessions, read in pages of a size.
    pub(super) async fn list(&self, limit: usize) -> Vec<SessionSummary> {
        let mut request = ListRequest { after: None, limit };
        let mut sessions = Vec::new();
        // More pages than any law makes sessions.
        for _ in 0..400 {
            let page = self
                .store
                .list(request.clone())
                .await
                .expect("sessions can be listed");
            assert!(
                page.sessions.len() <= limit.max(1),
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

    /// The ids of all sessions, in the order of the list.
    pub(super) async fn ids(&self, limit: usize) -> Vec<String> {
        let list = self.list(limit).await;
        list.iter().map(|session| session.id.to_string()).collect()
    }

    /// One session's line of the list.
    pub(super) async fn summary(&self, session: &SessionId) -> SessionSummary {
        let mut list = self.list(100).await;
        list.retain(|summary| summary.id == *session);
        assert_eq!(list.len(), 1, "session {session} is listed once: {list:?}");
        list.remove(0)
    }
}
