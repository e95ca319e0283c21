//! What a failed sync leaves in the log: whole, behind its end, and in nobody's sight until nobody has the database open.

use std::{
    fs,
    path::{Path, PathBuf},
};

use chat_core::{Appended, Durability, Seq, Store as _};
use rusqlite::Connection;

use super::{
    Fault,
    common::{accepted, created, read, session},
};
use crate::SqliteStore;

#[tokio::test]
async fn s2_what_recovery_says_is_not_there_never_comes_back() {
    // In one page of the log, and in many.
    for length in [10, 50_000] {
        for durability in [Durability::Full, Durability::Os] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("chat.db");
            let options = SqliteStore::options().durability(durability);
            let (store, id) = (options.open(&path).unwrap(), session("s"));
            store.create(&id, vec![created()]).await.unwrap();
            let mut writer = store.acquire(&id, Seq(1)).await.unwrap().writer;
            // A backup keeps the log from beginning anew.
            let backup = Connection::open(&path).unwrap();
            backup.execute_batch("BEGIN").unwrap();
            backup
                .query_row("SELECT count(*) FROM entries", [], |_| Ok(()))
                .unwrap();
            store
                .inner
                .committer
                .shared
                .faults
                .plan(Fault::NotCommitted);
            let answer = writer.append(accepted(1, "t")).await;
            assert!(matches!(answer, Appended::Unknown(_)), "{answer:?}");
            leave_behind(&path, &"x".repeat(length));

            let recovered = writer.recover(Seq::ZERO).await.unwrap();
            assert_eq!(recovered.entries, [created()]);
            let copies = tempfile::tempdir().unwrap();
            let next = SqliteStore::open(as_after_a_kill(&path, copies.path())).unwrap();
            let read = read(&next, &id).await;
            assert!(
                read.entries == [created()] && read.error.is_none(),
                "{read:?}"
            );
            let entries = next.acquire(&id, Seq::ZERO).await.unwrap().entries;
            assert_eq!(entries, [created()]);
        }
    }
}

/// Puts a commit behind the end of the log, as a failed sync leaves it, and a writer that is killed before it
/// says that it has committed.
fn leave_behind(path: &Path, text: &str) {
    let folder = tempfile::tempdir().unwrap();
    let copy = as_after_a_kill(path, folder.path());
    let connection = Connection::open(&copy).unwrap();
    connection
        .execute_batch("PRAGMA wal_autocheckpoint = 0")
        .unwrap();
    let sql = "INSERT INTO entries (session, seq, id, crc, text) VALUES (1, 1, 'left', 0, ?1)";
    connection.execute(sql, [text]).unwrap();
    let (log, with_it) = (
        fs::read(log_of(path)).unwrap(),
        fs::read(log_of(&copy)).unwrap(),
    );
    assert!(with_it.starts_with(&log) && with_it.len() > log.len());
    fs::write(log_of(path), with_it).unwrap();
}

/// What a next store finds once every process is killed: the database and its log, and not the memory they shared.
fn as_after_a_kill(path: &Path, folder: &Path) -> PathBuf {
    let copy = folder.join("chat.db");
    fs::copy(path, &copy).unwrap();
    fs::copy(log_of(path), log_of(&copy)).unwrap();
    copy
}

fn log_of(path: &Path) -> PathBuf {
    path.with_file_name("chat.db-wal")
}
