//! Who waits for a hold, and who must not be kept by it (law S5).
#![allow(clippy::unwrap_used, reason = "a test panics where it is wrong")]

mod common;

use std::fs;

use chat_core::{Appended, Seq, Store, StoreError};
use chat_store_sqlite::SqliteStore;
use common::{accepted, created, script, session, write};
use futures_util::{
    StreamExt as _,
    future::{Either, poll_immediate, select},
};

/// Two stores of one database. They share nothing, as two processes.
fn two_stores() -> (tempfile::TempDir, [SqliteStore; 2]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chat.db");
    let stores = [(); 2].map(|()| SqliteStore::open(&path).unwrap());
    (folder, stores)
}

#[tokio::test]
async fn s5_a_holder_that_comes_right_back_lets_the_other_in_first() {
    let (folder, stores) = two_stores();
    let id = session("s");
    stores[0].create(&id, script()).await.unwrap();
    let turnstile = folder.path().join("chat.db-holds/1.turn");
    // The other one is next as soon as it has the turnstile.
    let is_next = || {
        fs::File::open(&turnstile)
            .unwrap()
            .try_lock_shared()
            .is_err()
    };
    let mut holder = stores[0].acquire(&id, Seq(3)).await.unwrap();
    let mut other = tokio::spawn(stores[1].acquire(&id, Seq(3)));
    for turn in 0..20 {
        for _ in 0..1_000_000 {
            assert!(
                poll_immediate(&mut other).await.is_none(),
                "two holders at once"
            );
            if is_next() {
                break;
            }
            tokio::task::yield_now().await;
        }
        drop(holder);
        let again = tokio::spawn(stores[turn % 2].acquire(&id, Seq(3)));
        match select(other, again).await {
            Either::Left((next, again)) => (holder, other) = (next.unwrap().unwrap(), again),
            Either::Right(_) => panic!("turn {turn}: the holder was let in again first"),
        }
    }
}

#[tokio::test]
async fn s5_the_holder_goes_on_while_512_wait_and_dropped_waiters_give_up_their_place() {
    let (_folder, [store, _]) = two_stores();
    let id = session("s");
    store.create(&id, vec![created()]).await.unwrap();
    let mut writer = store.acquire(&id, Seq(1)).await.unwrap().writer;
    let mut waiters: Vec<_> = (0..512).map(|_| store.acquire(&id, Seq(1))).collect();
    for waiter in &mut waiters {
        assert!(
            poll_immediate(waiter).await.is_none(),
            "two holders at once"
        );
    }
    let waiters: Vec<_> = waiters.into_iter().map(tokio::spawn).collect();
    for seq in 1..=50 {
        write(&mut writer, accepted(seq, "t")).await;
    }
    // Those that gave up, at the front and in between, are waited for by nobody.
    let mut left = Vec::new();
    for (n, waiter) in waiters.into_iter().enumerate() {
        if n < 100 || n % 8 != 0 {
            waiter.abort();
        } else {
            left.push(waiter);
        }
    }
    drop(writer);
    for waiter in left {
        let acquired = waiter.await.unwrap().unwrap();
        assert_eq!(acquired.entries.len(), 50);
    }
    store.delete(&id).await.unwrap();
}

/// With a pool of one thread, anyone who waited on it would wait for ever.
#[test]
fn s5_waiters_and_slow_readers_keep_no_thread_from_the_holder() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .max_blocking_threads(1)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let (_folder, [here, there]) = two_stores();
        let mut long = vec![created()];
        long.extend((1..2000).map(|seq| accepted(seq, "t")));
        let id = session("s");
        here.create(&id, long).await.unwrap();
        let mut acquired = here.acquire(&id, Seq(2000)).await.unwrap();
        let mut readers = Vec::new();
        for _ in 0..16 {
            let mut reader = there.read(&id, Seq::ZERO);
            reader.next().await.unwrap().unwrap();
            readers.push(reader);
        }
        let waiters = (0..200).map(|n| {
            let acquire = if n % 2 == 0 { &here } else { &there }.acquire(&id, Seq(2001));
            tokio::spawn(async move { acquire.await.unwrap().entries.len() })
        });
        let waiters: Vec<_> = waiters.collect();
        for seq in 2000..2020 {
            write(&mut acquired.writer, accepted(seq, "t")).await;
        }
        drop(acquired);
        for waiter in waiters {
            assert_eq!(waiter.await.unwrap(), 19);
        }
        drop(readers);
    });
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
async fn s7_busy_is_who_still_wants_the_session_and_nobody_else() {
    let (_folder, [here, there]) = two_stores();
    let id = session("s");
    for round in 0..20 {
        here.create(&id, script()).await.unwrap();
        // Given up in the middle of an attempt.
        let holder = there.acquire(&id, Seq(3)).await.unwrap();
        let mut acquire = here.acquire(&id, Seq(3));
        for _ in 0..round % 4 {
            assert!(
                poll_immediate(&mut acquire).await.is_none(),
                "two holders at once"
            );
            assert!(matches!(
                here.delete(&id).await,
                Err(StoreError::Busy { .. })
            ));
        }
        drop(acquire);
        drop(holder);
        // Let go of in the middle of a write, and with the last one.
        let mut writer = here.acquire(&id, Seq(3)).await.unwrap().writer;
        if round % 2 == 0 {
            drop(poll_immediate(writer.append(accepted(3, "t2"))).await);
            drop(writer);
        } else {
            assert!(matches!(
                writer.append_last(accepted(3, "t2")).await,
                Appended::Written
            ));
        }
        here.delete(&id).await.unwrap();
        assert!(matches!(
            here.delete(&id).await,
            Err(StoreError::Missing { .. })
        ));
    }
}

#[tokio::test]
async fn s7_a_delete_waits_for_another_process_and_others_queue_behind_it() {
    let (folder, [here, there]) = two_stores();
    let id = session("s");
    here.create(&id, script()).await.unwrap();
    let holder = there.acquire(&id, Seq(3)).await.unwrap();
    let mut delete = here.delete(&id);
    assert!(
        poll_immediate(&mut delete).await.is_none(),
        "deleted under its holder"
    );
    let mut behind = here.acquire(&id, Seq(3));
    assert!(
        poll_immediate(&mut behind).await.is_none(),
        "two holders at once"
    );
    drop(holder);
    let (deleted, behind) = futures_util::future::join(delete, behind).await;
    deleted.unwrap();
    assert!(
        matches!(behind, Err(StoreError::Missing { .. })),
        "{behind:?}"
    );
    let left: Vec<_> = fs::read_dir(folder.path().join("chat.db-holds"))
        .unwrap()
        .map(|file| file.unwrap().file_name())
        .collect();
    assert_eq!(
        left,
        ["set-up"],
        "no lock file is left of a session that is gone"
    );
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
    let is_next = || {
        fs::File::open(&turnstile)
            .unwrap()
            .try_lock_shared()
            .is_err()
    };
    while !is_next() {
        tokio::task::yield_now().await;
    }
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
