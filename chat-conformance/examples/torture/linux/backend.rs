//! Which stores are tortured, and what has to be known of each from outside. Everything else sees only [`Store`].

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use chat_core::{Durability, SessionId, Store, StoreError};
use chat_store_file::FileStore;
use chat_store_sqlite::SqliteStore;

/// A kind of store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Backend {
    File,
    Sqlite,
}

impl Backend {
    pub(crate) const ALL: &[Self] = &[Self::File, Self::Sqlite];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Sqlite => "sqlite",
        }
    }

    pub(crate) fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|one| one.name() == name)
    }

    /// Where a store of this kind stands in a folder of its own.
    pub(crate) fn place(self, folder: &Path) -> PathBuf {
        match self {
            Self::File => folder.join("store"),
            Self::Sqlite => folder.join("store.db"),
        }
    }

    pub(crate) fn open(
        self,
        place: &Path,
        durability: Durability,
    ) -> Result<Arc<dyn Store>, StoreError> {
        Ok(match self {
            Self::File => Arc::new(FileStore::options().durability(durability).open(place)?),
            Self::Sqlite => Arc::new(SqliteStore::options().durability(durability).open(place)?),
        })
    }

    /// The file that an append to a session writes to.
    pub(crate) fn grows(self, place: &Path, session: &SessionId) -> PathBuf {
        match self {
            // The sessions of these tests have plain ids.
            Self::File => place.join(format!("{session}.jsonl")),
            Self::Sqlite => place.with_file_name("store.db-wal"),
        }
    }
}
