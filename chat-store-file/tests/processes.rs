//! The laws of several processes on one folder, killed ones among them.
#![allow(clippy::unwrap_used, reason = "a test panics where it is wrong")]
#![cfg(unix)]

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use chat_conformance::process::StorePlace;
use chat_core::{SessionId, Store, StoreError};
use chat_store_file::FileStore;

struct Folder;

impl StorePlace for Folder {
    fn place(&self, folder: &Path) -> PathBuf {
        folder.join("store")
    }

    fn open(&self, place: &Path) -> Result<Arc<dyn Store>, StoreError> {
        Ok(Arc::new(FileStore::open(place)?))
    }

    fn grows(&self, place: &Path, session: &SessionId) -> PathBuf {
        FileStore::open(place).unwrap().journal_path(session)
    }
}

chat_conformance::process_laws!(Folder);
