//! The suite of laws, against the file store as it is set up by default and in its weaker setting.
#![allow(clippy::unwrap_used, reason = "a test panics where it is wrong")]

use std::{
    fs,
    path::PathBuf,
    sync::atomic::{AtomicU32, Ordering},
};

use chat_conformance::{Harm, StoreFactory};
use chat_core::{Durability, SessionId};
use chat_store_file::FileStore;
use tempfile::TempDir;

/// Each store has a folder of its own below the factory's.
struct Files {
    folder: TempDir,
    made: AtomicU32,
    durability: Durability,
}

impl Files {
    fn new(durability: Durability) -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            made: AtomicU32::new(0),
            durability,
        }
    }

    fn open(&self, folder: PathBuf) -> FileStore {
        FileStore::options()
            .durability(self.durability)
            .open(folder)
            .unwrap()
    }
}

impl StoreFactory for Files {
    type Store = FileStore;

    async fn make(&self) -> FileStore {
        let made = self.made.fetch_add(1, Ordering::Relaxed);
        self.open(self.folder.path().join(made.to_string()))
    }

    async fn reopen(&self, store: &FileStore) -> FileStore {
        self.open(store.folder().to_owned())
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

mod full {
    use super::*;
    chat_conformance::store_laws!(Files::new(Durability::Full));
}

mod os {
    use super::*;
    chat_conformance::store_laws!(Files::new(Durability::Os));
}
