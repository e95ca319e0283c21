//! The whole proof of the store: how one is made, how it is opened again, and one line.
#![allow(
    clippy::unwrap_used,
    reason = "a factory that can't make a store panics"
)]

use std::{
    path::PathBuf,
    sync::atomic::{AtomicU32, Ordering},
};

use chat_conformance::StoreFactory;
use redb_store::RedbStore;
use tempfile::TempDir;

struct Stores {
    folder: TempDir,
    made: AtomicU32,
}

impl Stores {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            made: AtomicU32::new(0),
        }
    }

    fn path(&self) -> PathBuf {
        let made = self.made.fetch_add(1, Ordering::Relaxed);
        self.folder.path().join(format!("{made}.redb"))
    }
}

impl StoreFactory for Stores {
    type Store = RedbStore;

    async fn make(&self) -> RedbStore {
        RedbStore::open(self.path()).unwrap()
    }

    /// One process has the file open at a time, and here it is this one: what another would find after it was killed is a copy.
    async fn reopen(&self, store: &RedbStore) -> RedbStore {
        let copy = self.path();
        store.back_up(&copy).unwrap();
        RedbStore::open(copy).unwrap()
    }
}

chat_conformance::store_laws!(Stores::new());
