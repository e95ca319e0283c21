//! The suite of laws for stores, against a SQLite database of each durability.
#![allow(clippy::unwrap_used, reason = "a test panics where it is wrong")]

use std::{
    path::PathBuf,
    sync::atomic::{AtomicU32, Ordering},
};

use chat_conformance::StoreFactory;
use chat_core::Durability;
use chat_store_sqlite::SqliteStore;
use tempfile::TempDir;

/// Each store has a database of its own in the factory's folder.
struct Databases {
    folder: TempDir,
    made: AtomicU32,
    durability: Durability,
}

impl Databases {
    fn new(durability: Durability) -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            made: AtomicU32::new(0),
            durability,
        }
    }

    fn open(&self, path: PathBuf) -> SqliteStore {
        SqliteStore::options()
            .durability(self.durability)
            .open(path)
            .unwrap()
    }
}

impl StoreFactory for Databases {
    type Store = SqliteStore;

    async fn make(&self) -> SqliteStore {
        let made = self.made.fetch_add(1, Ordering::Relaxed);
        self.open(self.folder.path().join(format!("{made}.db")))
    }

    async fn reopen(&self, store: &SqliteStore) -> SqliteStore {
        self.open(store.path().to_owned())
    }
}

mod full {
    use super::*;
    chat_conformance::store_laws!(Databases::new(Durability::Full));
}

mod os {
    use super::*;
    chat_conformance::store_laws!(Databases::new(Durability::Os));
}
