//! What only a process of its own can be put through: too many open files, a folder it may not write. Unix, where such limits are.
#![allow(clippy::unwrap_used, reason = "a test panics where it is wrong")]
#![cfg(unix)]

mod common;

use std::{fs, path::Path};

use chat_conformance::{
    limits::{ReadOnly, check_read_only, limit_open_files},
    process::{self, OtherProcess, listen, say},
};
use chat_core::{ListRequest, Seq, Store, StoreError};
use chat_store_sqlite::SqliteStore;
use common::{place, read, script, session};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_other_process() {
    let Some(part) = process::part() else { return };
    match &*part.name {
        "forbidden" => write_where_it_is_forbidden(&part.place).await,
        "files" => open_as_many_files_as_there_may_be(&part.place).await,
        other => panic!("there is no part {other}"),
    }
}

async fn open_as_many_files_as_there_may_be(path: &Path) {
    let (store, id) = (SqliteStore::open(path).unwrap(), session("s"));
    store.create(&id, script()).await.unwrap();
    limit_open_files(64);
    let mut open: Vec<_> = std::iter::from_fn(|| fs::File::open("/dev/null").ok()).collect();
    let mut refused = 0;
    let mut check = |error: Option<StoreError>| match error {
        Some(StoreError::Io { source, .. }) => {
            assert_eq!(source.raw_os_error(), Some(24), "{source:?}");
            refused += 1;
        }
        Some(other) => panic!("{other:?}"),
        None => {}
    };
    // How many a connection needs depends on which others there are.
    for _ in 0..6 {
        check(read(&store, &id).await.error);
        check(store.list(ListRequest::default()).await.err());
        check(store.acquire(&id, Seq::ZERO).await.err());
        check(store.salvage(&id).await.err());
        open.pop();
    }
    assert!(refused > 3, "{refused}");
    drop(open);
    assert_eq!(
        store.acquire(&id, Seq::ZERO).await.unwrap().entries,
        script()
    );
}

#[test]
fn s7_too_many_open_files_are_no_read_only_disk() {
    let (_folder, path) = place();
    OtherProcess::start("files", &path).end();
}

/// Another process has it open, so that the files which readers need are there.
async fn write_where_it_is_forbidden(path: &Path) {
    let store = SqliteStore::open(path).unwrap();
    check_read_only(&store, SqliteStore::open(path.with_file_name("other.db"))).await;
    drop(store);
    say("read");
    assert_eq!(listen(), "closed");
    // Nobody has it open now, and what readers need can't be made.
    let error = SqliteStore::open(path).err();
    let message = error.as_ref().map(ToString::to_string).unwrap_or_default();
    assert!(
        matches!(error, Some(StoreError::ReadOnly { .. })) && message.contains("chat.db-shm"),
        "{error:?}"
    );
}

#[tokio::test]
async fn s7_a_folder_that_may_not_be_written_is_read_as_far_as_it_can_be() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("store");
    let path = folder.join("chat.db");
    let store = SqliteStore::open(&path).unwrap();
    let id = session("s");
    store.create(&id, script()).await.unwrap();
    drop(store.acquire(&id, Seq::ZERO).await.unwrap());
    let read_only = ReadOnly::of(&folder, true);
    let mut other = OtherProcess::start_by(read_only.program(), "forbidden", &path);
    other.says("read");
    drop(read_only);
    drop(store);
    let _read_only = ReadOnly::of(&folder, true);
    other.tell("closed");
    other.end();
}
