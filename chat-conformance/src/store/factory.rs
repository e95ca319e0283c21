//! What a store author gives to the suite: stores, and where it can, the harm that a crash, a bad disk or a loss of power does.

use std::{
    future::{Future, ready},
    time::Duration,
};

use chat_core::{SessionId, Store};

use super::harm::Harm;

/// Makes stores for the suite.
///
/// [`make`](Self::make) and [`reopen`](Self::reopen) are enough. Each of the other methods lets the suite prove more; where one
/// can't be played, the laws that need it are reported as *not claimed*, never as passed.
pub trait StoreFactory: Send + Sync + 'static {
    /// The kind of store.
    type Store: Store;

    /// An empty store. Whatever it needs (a folder, a database) lives as long as the factory.
    fn make(&self) -> impl Future<Output = Self::Store> + Send;

    /// Opens the place of a store again, as another process would: nothing in memory is shared. Asked only where
    /// [`Capabilities::persistent`](chat_core::Capabilities::persistent) or
    /// [`Capabilities::shared`](chat_core::Capabilities::shared) is claimed.
    ///
    /// Where the store is not shared, the old one is not used any more, as if its process had been killed, but may not be
    /// dropped yet: a factory may open a copy of what is stored.
    fn reopen(&self, store: &Self::Store) -> impl Future<Output = Self::Store> + Send;

    /// Does to the stored bytes of a session what a crash or a bad disk does, behind the store's back: nothing of the store's own
    /// code is used. False where this backend can't play it, such as a torn write where writes are atomic.
    ///
    /// A store that keeps its journals as lines finds the work done in [`Harm::to_lines`].
    fn harm(
        &self,
        store: &Self::Store,
        session: &SessionId,
        harm: Harm,
    ) -> impl Future<Output = bool> + Send {
        let _ = (store, session, harm);
        ready(false)
    }

    /// All that is stored of a session, as bytes read behind the store's back: the suite compares them, to see that what may
    /// change nothing changes nothing. `None` where that can't be read.
    fn stored(
        &self,
        store: &Self::Store,
        session: &SessionId,
    ) -> impl Future<Output = Option<Vec<u8>>> + Send {
        let _ = (store, session);
        ready(None)
    }

    /// As [`reopen`](Self::reopen), after a loss of power: what was not made durable is gone, and so is every process that held or
    /// wrote anything. `None` where that can't be played.
    fn lose_power(&self, store: &Self::Store) -> impl Future<Output = Option<Self::Store>> + Send {
        let _ = store;
        ready(None)
    }

    /// How long one law may take before it counts as one that hangs. A minute unless said otherwise.
    fn patience(&self) -> Duration {
        Duration::from_secs(60)
    }
}
