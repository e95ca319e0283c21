//! What several test files share.
#![allow(dead_code, reason = "each test file uses some of it")]

pub(crate) use chat_conformance::entries::*;
use chat_core::{SessionId, Store};
use chat_store_file::FileStore;
use tempfile::TempDir;

/// A store in a folder of its own, with one session in it: that of `script()`.
pub(crate) async fn one_session() -> (TempDir, FileStore, SessionId) {
    let folder = tempfile::tempdir().unwrap();
    let store = FileStore::open(folder.path()).unwrap();
    let id = session("s");
    store.create(&id, script()).await.unwrap();
    (folder, store, id)
}

/// Two stores of one folder. They share nothing, as two processes.
pub(crate) fn two_stores() -> (TempDir, [FileStore; 2]) {
    let folder = tempfile::tempdir().unwrap();
    let stores = [(); 2].map(|()| FileStore::open(folder.path()).unwrap());
    (folder, stores)
}
