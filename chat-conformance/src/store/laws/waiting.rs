//! S5 and S7: what waiters cost, and who is told that the session is busy.

use chat_core::{Appended, Seq, StoreError};
use futures_util::{StreamExt as _, future::poll_immediate};
use tokio::runtime::{Builder, Runtime};

use crate::store::{
    Outcome,
    entries::{accepted, completed, created, script, session_id, write},
    lab::Lab,
};

/// A runtime of the law's own. It goes with the law, also where a thread of it hangs.
struct Small(Option<Runtime>);

impl Small {
    /// With one thread for blocking work, anyone who waits on it keeps it from everyone.
    fn new() -> Self {
        let mut small = Builder::new_multi_thread();
        small.worker_threads(1).max_blocking_threads(1).enable_all();
        Self(Some(small.build().expect("there is room for two threads")))
    }

    async fn run(&self, work: impl Future<Output = ()> + Send + 'static) {
        let runtime = self.0.as_ref().expect("it goes with the law");
        if let Err(ended) = runtime.spawn(work).await {
            std::panic::resume_unwind(ended.into_panic());
        }
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

pub(in crate::store) async fn s5_waiters_and_slow_readers_keep_no_thread_from_the_holder(
    lab: Lab,
) -> Outcome {
    const LONG: u64 = 1_000;
    let other = lab.another_process().await;
    let there = other.map_or_else(|_| lab.store.clone(), |other| other.store.clone());
    let here = lab.store.clone();
    let work = async move {
        let mut long = vec![created()];
        long.extend((1..LONG).map(|seq| accepted(seq, seq)));
        let id = session_id("s5");
        here.create(&id, long).await.expect("its id is free");
        let acquired = here.acquire(&id, Seq(LONG)).await;
        let mut writer = acquired.expect("the session is free").writer;
        let mut readers = Vec::new();
        for _ in 0..16 {
            let mut reader = there.read(&id, Seq::ZERO);
            let part = reader.next().await.expect("it is long");
            part.expect("it can be read");
            readers.push(reader);
        }
        let waiters = (0..200).map(|n| {
            let store = if n % 2 == 0 { &here } else { &there };
            let acquire = store.acquire(&id, Seq(LONG + 1));
            tokio::spawn(async move { acquire.await.map(|acquired| acquired.entries.len()) })
        });
        let waiters: Vec<_> = waiters.collect();
        for seq in LONG..LONG + 20 {
            write(&mut writer, accepted(seq, seq)).await;
        }
        // Every third gives up its place, the one in front among them, and is in nobody's way.
        for waiter in waiters.iter().step_by(3) {
            waiter.abort();
        }
        drop(writer);
        for (n, waiter) in waiters.into_iter().enumerate() {
            match waiter.await {
                Ok(entries) => assert_eq!(entries.expect("the session is free"), 19),
                Err(ended) => assert!(ended.is_cancelled() && n % 3 == 0, "{ended}"),
            }
        }
        drop(readers);
        // None of them is left: the session is nobody's.
        here.delete(&id).await.expect("nobody is there");
    };
    Small::new().run(work).await;
    Ok(())
}

pub(in crate::store) async fn s7_busy_is_who_still_wants_the_session_and_nobody_else(
    lab: Lab,
) -> Outcome {
    let other = lab.another_process().await?;
    let id = session_id("s7");
    let next = || completed(9, 4);
    for round in 0..20 {
        lab.session_of("s7", script()).await;
        // Given up in the middle of an attempt.
        let (holder, _) = other.hold(&id, Seq(9)).await;
        let mut acquire = lab.store.acquire(&id, Seq(9));
        for _ in 0..round % 4 {
            let at_once = poll_immediate(&mut acquire).await;
            assert!(at_once.is_none(), "two holders at once");
            let busy = lab.store.delete(&id).await;
            assert!(matches!(busy, Err(StoreError::Busy { .. })), "{busy:?}");
        }
        drop(acquire);
        drop(holder);
        // Let go of in the middle of a write, and with the last one.
        let (mut writer, _) = lab.hold(&id, Seq(9)).await;
        if round % 2 == 0 {
            drop(poll_immediate(writer.append(next())).await);
            drop(writer);
        } else {
            let answer = writer.append_last(next()).await;
            assert!(matches!(answer, Appended::Written), "{answer:?}");
        }
        let deleted = lab.store.delete(&id).await;
        deleted.expect("nobody wants it any more");
        let missing = lab.store.delete(&id).await;
        assert!(
            matches!(missing, Err(StoreError::Missing { .. })),
            "{missing:?}"
        );
    }
    Ok(())
}
