//! Who waits for a hold, and who must not be kept by it (law S5).
#![allow(clippy::unwrap_used, reason = "a test panics where it is wrong")]

mod common;

use std::fs;

use chat_conformance::holds::{check_delete, check_removed, check_turns, until_someone_waits};
use chat_core::{Seq, Store, StoreError};
use chat_store_sqlite::SqliteStore;
use common::{accepted, created, place, script, session, write};
use futures_util::StreamExt as _;

/// Two stores of one database. They share nothing, as two processes.
fn two_stores() -> (tempfile::TempDir, [SqliteStore; 2]) {
    let (folder, path) = place();
    let stores = [(); 2].map(|()| SqliteStore::open(&path).unwrap());
    (folder, stores)
}

#[tokio::test]
async fn s5_a_holder_that_comes_right_back_lets_the_other_in_first() {
    let (folder, stores) = two_stores();
    check_turns(stores, &folder.path().join("chat.db-holds/1.turn")).await;
}

#[tokio::test]
async fn s5_one_who_waits_keeps_its_place_without_the_files_it_was_in() {
    let (folder, stores) = two_stores();
    check_removed(stores, &folder.path().join("chat.db-holds/1.turn")).await;
}

#[tokio::test]
async fn s5_a_slow_reader_keeps_no_log_from_being_written_back() {
    let (folder, [store, _]) = two_stores();
    let mut long = vec![created()];
    long.extend((1..1000).map(|seq| accepted(seq, "t")));
    let id = session("s");
    store.create(&id, long).await.unwrap();
    let mut slow = store.read(&id, Seq::ZERO);
    slow.next().await.unwrap().unwrap();
    // Where a reader kept its place in the log, the log could not begin anew, and would grow.
    let mut writer = store.acquire(&id, Seq(1000)).await.unwrap().writer;
    for seq in 1000..1600 {
        write(&mut writer, accepted(seq, "t")).await;
    }
    let log = fs::metadata(folder.path().join("chat.db-wal"))
        .unwrap()
        .len();
    assert!(log < 1300 * 4120, "{} pages", log / 4120);
    let mut seen = 256;
    while let Some(part) = slow.next().await {
        match part.unwrap() {
            chat_core::JournalPart::Entries(entries) => seen += entries.len(),
            chat_core::JournalPart::Torn(torn) => panic!("{torn:?}"),
        }
    }
    assert_eq!(seen, 1600, "to the end there is when it comes there");
}

#[tokio::test]
async fn s7_a_delete_waits_for_another_process_and_others_queue_behind_it() {
    let (folder, stores) = two_stores();
    check_delete(stores, folder.path()).await;
}

#[tokio::test]
async fn s7_who_waited_for_a_session_that_was_deleted_is_told_also_where_it_was_made_anew() {
    let (_folder, [here, there]) = two_stores();
    let id = session("s");
    here.create(&id, script()).await.unwrap();
    let holder = here.acquire(&id, Seq(3)).await.unwrap();
    let waiting = tokio::spawn(there.acquire(&id, Seq(3)));
    // It has looked the session up once it is the next one for the hold.
    let turnstile = here.path().with_file_name("chat.db-holds/1.turn");
    until_someone_waits(&turnstile).await;
    let connection = rusqlite::Connection::open(here.path()).unwrap();
    connection
        .execute_batch(
            "DELETE FROM entries WHERE session = 1; UPDATE sessions SET row = 7 WHERE row = 1;",
        )
        .unwrap();
    drop(holder);
    let answer = waiting.await.unwrap();
    assert!(
        matches!(answer, Err(StoreError::Missing { .. })),
        "{answer:?}"
    );
}
