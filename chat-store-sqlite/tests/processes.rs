//! The laws of several processes on one database, killed ones among them.
#![allow(clippy::unwrap_used, reason = "a test panics where it is wrong")]

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use chat_conformance::process::StorePlace;
use chat_core::{SessionId, Store, StoreError};
use chat_store_sqlite::SqliteStore;

struct Database;

impl StorePlace for Database {
    fn place(&self, folder: &Path) -> PathBuf {
        folder.join("chat.db")
    }

    fn open(&self, place: &Path) -> Result<Arc<dyn Store>, StoreError> {
        Ok(Arc::new(SqliteStore::open(place)?))
    }

    fn grows(&self, place: &Path, _: &SessionId) -> PathBuf {
        place.with_file_name("chat.db-wal")
    }

    fn begin(&self, place: &Path) {
        let holds = place.with_file_name("chat.db-holds");
        fs::create_dir(&holds).unwrap();
        for left in ["new", "new-journal"] {
            fs::write(holds.join(left), "cut off").unwrap();
        }
    }
}

chat_conformance::process_laws!(Database);
