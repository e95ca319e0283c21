//! What becomes of a store's files while it is open: removed, replaced, changed by hand, left behind (laws S5, S7). Unix, where an
//! open file may be removed.
#![allow(clippy::unwrap_used, reason = "a test panics where it is wrong")]
#![cfg(unix)]

mod common;

use std::fs;

use chat_conformance::holds::{check_lost, check_nothing_open};
use chat_core::{Appended, ListRequest, Seq, Store, StoreError};
use chat_store_sqlite::SqliteStore;
use common::{accepted, created, place, read, script, session, write};
use rusqlite::Connection;

#[tokio::test]
async fn s7_a_database_removed_or_replaced_under_an_open_store_is_lost() {
    for replaced in [false, true] {
        let (folder, path) = place();
        let store = SqliteStore::open(&path).unwrap();
        let id = session("s");
        store.create(&id, script()).await.unwrap();
        let mut writer = store.acquire(&id, Seq(3)).await.unwrap().writer;
        write(&mut writer, accepted(3, "t2")).await;
        // Kept, so that nothing else gets its number.
        fs::rename(&path, folder.path().join("moved.db")).unwrap();
        if replaced {
            let other = folder.path().join("other.db");
            let store = SqliteStore::open(&other).unwrap();
            store.create(&id, vec![created()]).await.unwrap();
            drop(store);
            fs::rename(other, &path).unwrap();
        }
        let lost = |error: Option<StoreError>| match error {
            Some(StoreError::Lost { session, path }) => {
                assert_eq!(session, id);
                assert_eq!(path, store.path());
            }
            other => panic!("{other:?}"),
        };
        match writer.append(accepted(4, "t3")).await {
            Appended::NotWritten(error) => lost(Some(error)),
            other => panic!("{other:?}"),
        }
        lost(writer.recover(Seq::ZERO).await.err());
        lost(store.create(&id, script()).await.err());
        lost(store.acquire(&id, Seq::ZERO).await.err());
        lost(read(&store, &id).await.error);
        lost(store.salvage(&id).await.err());
        assert!(store.list(ListRequest::default()).await.is_err());
        if !replaced {
            assert!(!path.exists(), "not made anew");
        }
    }
}

#[tokio::test]
async fn s7_a_log_removed_under_an_open_store_takes_no_entry_with_it_that_was_acknowledged_after() {
    // Where another program reads the log, and where a store of its own has it open, too.
    for (read_on, beside) in [(false, false), (true, false), (false, true)] {
        let (_folder, path) = place();
        let store = SqliteStore::open(&path).unwrap();
        let id = session("s");
        store.create(&id, script()).await.unwrap();
        let mut acquired = store.acquire(&id, Seq(3)).await.unwrap();
        let second = beside.then(|| SqliteStore::open(&path).unwrap());
        if let Some(second) = &second {
            second.create(&session("t"), script()).await.unwrap();
        }
        let reader = Connection::open(&path).unwrap();
        reader
            .execute_batch("PRAGMA wal_checkpoint(PASSIVE); BEGIN")
            .unwrap();
        if read_on {
            let read = "SELECT count(*) FROM entries";
            reader.query_row(read, [], |_| Ok(())).unwrap();
        }
        fs::remove_file(path.with_file_name("chat.db-wal")).unwrap();
        let answer = acquired.writer.append(accepted(3, "t2")).await;
        assert!(
            matches!(answer, Appended::NotWritten(_)),
            "SQLite alone would have said that it is written: {answer:?}"
        );
        let mut acknowledged = Vec::new();
        for seq in 3..6 {
            let entry = accepted(seq, "again");
            if let Appended::Written = acquired.writer.append(entry.clone()).await {
                acknowledged.push(entry);
            }
        }
        drop((acquired, store, second, reader));
        let store = SqliteStore::open(&path).unwrap();
        let seen = read(&store, &id).await;
        assert!(
            acknowledged
                .iter()
                .all(|entry| seen.entries.contains(entry)),
            "{acknowledged:?} were acknowledged, and there are {seen:?}"
        );
    }
}

#[tokio::test]
async fn c31_a_journal_mode_changed_by_hand_is_changed_back() {
    let (_folder, path) = place();
    let id = session("s");
    let store = SqliteStore::open(&path).unwrap();
    store.create(&id, script()).await.unwrap();
    drop(store);
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch("PRAGMA journal_mode = DELETE")
        .unwrap();
    drop(connection);
    let store = SqliteStore::open(&path).unwrap();
    let mut writer = store.acquire(&id, Seq(3)).await.unwrap().writer;
    write(&mut writer, accepted(3, "t2")).await;
    let connection = Connection::open(&path).unwrap();
    let mode: String = connection
        .query_row("PRAGMA journal_mode", [], |row| row.get(0))
        .unwrap();
    assert_eq!(mode, "wal");
}

#[tokio::test]
async fn s5_the_hold_of_a_replaced_lock_file_is_lost() {
    let (folder, path) = place();
    let store = SqliteStore::open(&path).unwrap();
    let id = session("s");
    store.create(&id, script()).await.unwrap();
    let holds = folder.path().join("chat.db-holds");
    check_lost(&store, || fs::remove_file(holds.join("1.hold")).unwrap()).await;
    // The folder itself.
    check_lost(&store, || fs::remove_dir_all(&holds).unwrap()).await;
    let mut acquired = store.acquire(&id, Seq(3)).await.unwrap();
    write(&mut acquired.writer, accepted(3, "u")).await;
}

#[tokio::test]
async fn s5_a_store_keeps_no_lock_open_between_turns() {
    let (folder, path) = place();
    let store = SqliteStore::open(&path).unwrap();
    store.create(&session("s"), script()).await.unwrap();
    // The hold.
    check_nothing_open(&store, &folder.path().join("chat.db-holds"), 1).await;
}

#[tokio::test]
async fn s7_a_deleted_text_is_not_left_in_the_file() {
    let (_folder, path) = place();
    let store = SqliteStore::open(&path).unwrap();
    let id = session("s");
    store
        .create(&id, vec![created(), accepted(1, "what-was-said")])
        .await
        .unwrap();
    store.create(&session("t"), script()).await.unwrap();
    let says = || {
        let bytes = fs::read(&path).unwrap();
        bytes.windows(13).any(|window| window == b"what-was-said")
    };
    drop(store);
    assert!(says());
    let store = SqliteStore::open(&path).unwrap();
    store.delete(&id).await.unwrap();
    drop(store);
    assert!(!says());
}
