//! What only a process of its own can be put through: a folder it may not write, and how much of an entry a full disk takes.
#![allow(clippy::unwrap_used, reason = "a test panics where it is wrong")]
#![cfg(unix)]

mod common;

use std::fs;

use chat_conformance::{
    limits::{ReadOnly, check_read_only, limit_file_size, program_past_file_size},
    process::{self, OtherProcess},
};
use chat_core::{Appended, Seq, Store, StoreError};
use chat_store_file::FileStore;
use common::{accepted, one_session, script, session};

#[tokio::test]
async fn the_other_process() {
    let Some(part) = process::part() else { return };
    let store = FileStore::open(&part.place).unwrap();
    match &*part.name {
        "forbidden" => check_read_only(&store, FileStore::open(part.place.join("below"))).await,
        "full" => write_where_a_part_fits(store).await,
        other => panic!("there is no part {other}"),
    }
}

#[tokio::test]
async fn s7_a_folder_that_may_not_be_written_is_read_and_not_written() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("store");
    let store = FileStore::open(&folder).unwrap();
    store.create(&session("s"), script()).await.unwrap();
    for files_too in [false, true] {
        let read_only = ReadOnly::of(&folder, files_too);
        OtherProcess::start_by(read_only.program(), "forbidden", &folder).end();
    }
}

async fn write_where_a_part_fits(store: FileStore) {
    let mut writer = store.acquire(&session("s"), Seq(3)).await.unwrap().writer;
    let len = fs::metadata(store.journal_path(&session("s")))
        .unwrap()
        .len();
    limit_file_size(Some(len));
    for _ in 0..2 {
        let answer = writer.append(accepted(3, "t2")).await;
        assert!(
            matches!(answer, Appended::NotWritten(StoreError::Full { .. })),
            "{answer:?}"
        );
    }
    limit_file_size(Some(len + 30));
    let answer = writer.append(accepted(3, "t2")).await;
    assert!(
        matches!(answer, Appended::Unknown(StoreError::Full { .. })),
        "a part of it is in the file: {answer:?}"
    );
    let torn = writer.recover(Seq(3)).await.unwrap().torn;
    assert_eq!(torn.map(|torn| torn.bytes), Some(30));
}

#[tokio::test]
async fn s2_c25_what_does_not_fit_is_not_written_and_what_fits_in_part_is_unknown() {
    let (folder, ..) = one_session().await;
    OtherProcess::start_by(program_past_file_size(), "full", folder.path()).end();
}
