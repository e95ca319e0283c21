//! The factories of this project's own stores, for its table of laws and for the test that compares them.
#![allow(dead_code, reason = "not every user uses all of it")]
#![allow(
    clippy::unwrap_used,
    reason = "a factory that can't make a store panics"
)]

use std::{
    fs,
    path::PathBuf,
    sync::atomic::{AtomicU32, Ordering},
};

use chat_conformance::{Harm, StoreFactory};
use chat_core::{MemoryStore, SessionId};
use chat_store_file::FileStore;
use tempfile::TempDir;

/// A place for each store that is made, gone with the factory.
struct Places {
    folder: TempDir,
    made: AtomicU32,
}

impl Places {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            made: AtomicU32::new(0),
        }
    }

    fn next(&self) -> PathBuf {
        let made = self.made.fetch_add(1, Ordering::Relaxed);
        self.folder.path().join(made.to_string())
    }
}

pub(crate) struct Memory;

impl StoreFactory for Memory {
    type Store = MemoryStore;

    async fn make(&self) -> MemoryStore {
        MemoryStore::new()
    }

    async fn reopen(&self, _: &MemoryStore) -> MemoryStore {
        unreachable!("a store in memory claims neither to be shared nor to outlive its process")
    }
}

pub(crate) struct Files(Places);

impl Files {
    pub(crate) fn new() -> Self {
        Self(Places::new())
    }
}

impl StoreFactory for Files {
    type Store = FileStore;

    async fn make(&self) -> FileStore {
        FileStore::open(self.0.next()).unwrap()
    }

    async fn reopen(&self, store: &FileStore) -> FileStore {
        FileStore::open(store.folder()).unwrap()
    }

    async fn harm(&self, store: &FileStore, session: &SessionId, harm: Harm) -> bool {
        let path = store.journal_path(session);
        let mut journal = fs::read(&path).unwrap();
        let done = harm.to_lines(&mut journal);
        fs::write(&path, journal).unwrap();
        done
    }

    async fn stored(&self, store: &FileStore, session: &SessionId) -> Option<Vec<u8>> {
        fs::read(store.journal_path(session)).ok()
    }
}
