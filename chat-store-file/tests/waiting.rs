//! Who waits for a hold, and who must not be kept by it (law S5).
#![allow(clippy::unwrap_used, reason = "a test panics where it is wrong")]

mod common;

use std::fs;

use chat_core::{Appended, Seq, Store, StoreError};
use chat_store_file::FileStore;
use common::{accepted, created, script, session, write};
use futures_util::{StreamExt as _, future::poll_immediate};

#[tokio::test]
async fn s5_a_holder_that_comes_right_back_lets_the_other_in_first() {
    let folder = tempfile::tempdir().unwrap();
    // Two stores share nothing, as two processes.
    let stores = [
        FileStore::open(folder.path()).unwrap(),
        FileStore::open(folder.path()).unwrap(),
    ];
    let id = session("s");
    stores[0].create(&id, script()).await.unwrap();
    let turnstile = folder.path().join("s.turn");
    let mut holder = stores[0].acquire(&id, Seq(3)).await.unwrap();
    let mut other = tokio::spawn(stores[1].acquire(&id, Seq(3)));
    for turn in 1..=20 {
        // The other one is next as soon as it has the turnstile.
        let is_next = || {
            fs::File::open(&turnstile)
                .unwrap()
                .try_lock_shared()
                .is_err()
        };
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
        let mut again = tokio::spawn(stores[(turn + 1) % 2].acquire(&id, Seq(3)));
        holder = tokio::select! {
            next = &mut other => next.unwrap().unwrap(),
            _ = &mut again => panic!("turn {turn}: the holder was let in again first"),
        };
        // It goes on waiting, at the turnstile by now.
        other = again;
    }
}

const WAITERS: usize = 512;

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
        let folder = tempfile::tempdir().unwrap();
        let (here, there) = (
            FileStore::open(folder.path()).unwrap(),
            FileStore::open(folder.path()).unwrap(),
        );
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
        let waiters = (0..WAITERS).map(|n| {
            let acquire = if n % 2 == 0 { &here } else { &there }.acquire(&id, Seq(2001));
            tokio::spawn(async move { acquire.await.map(|acquired| acquired.entries.len()) })
        });
        let waiters: Vec<_> = waiters.collect();
        for seq in 2000..2020 {
            write(&mut acquired.writer, accepted(seq, "t")).await;
        }
        // Every third gives up its place, and is in nobody's way.
        for waiter in waiters.iter().step_by(3) {
            waiter.abort();
        }
        drop(acquired);
        for (n, waiter) in waiters.into_iter().enumerate() {
            match waiter.await {
                Ok(entries) => assert_eq!(entries.unwrap(), 19),
                Err(ended) => assert!(ended.is_cancelled() && n % 3 == 0),
            }
        }
        // None of them is left: the session is nobody's.
        here.delete(&id).await.unwrap();
    });
}

#[tokio::test]
async fn s7_busy_is_who_still_wants_the_session_and_nobody_else() {
    let folder = tempfile::tempdir().unwrap();
    let (here, there) = (
        FileStore::open(folder.path()).unwrap(),
        FileStore::open(folder.path()).unwrap(),
    );
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
            assert!(
                round % 4 == 0 || matches!(here.delete(&id).await, Err(StoreError::Busy { .. }))
            );
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
    let folder = tempfile::tempdir().unwrap();
    let (here, there) = (
        FileStore::open(folder.path()).unwrap(),
        FileStore::open(folder.path()).unwrap(),
    );
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
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        0,
        "no lock file is left of a session that is gone"
    );
}
