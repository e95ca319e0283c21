//! Caller's code in odd places: values that use their session when they are dropped, wakers that panic, stores that panic where
//! nobody awaits them. No lock is held over any of it, and it ends nothing but its own (laws T4, T5).

use std::{
    fmt,
    future::IntoFuture,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
        mpsc,
    },
    task::{Context, Wake, Waker},
    time::Duration,
};

use chat_conformance::Op;
use chat_core::{
    Acquired, Appended, Capabilities, ContextPolicy, Entry, JournalPart, JournalWriter,
    ListRequest, MemoryStore, Recovered, Reply, ResponderError, Salvaged, Seq, SessionId,
    SessionPage, Store, StoreError,
};
use chat_runtime::{Chat, Session, responder_fn};
use futures_core::{future::BoxFuture, stream::BoxStream};

use crate::kit::{Lab, idle, kind, runtime};

/// Sends a turn when it is dropped.
#[derive(Debug)]
struct SendsWhenDropped(Session);

impl Drop for SendsWhenDropped {
    fn drop(&mut self) {
        drop(self.0.send("from a drop"));
    }
}

impl fmt::Display for SendsWhenDropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it sends when it is dropped")
    }
}

impl std::error::Error for SendsWhenDropped {}

/// Runs a test on a thread of its own: one that locks twice fails, and does not hang.
fn without_deadlock<F: Future<Output = ()>>(run: impl FnOnce() -> F + Send + 'static) {
    let (done, is_done) = mpsc::channel();
    std::thread::spawn(move || {
        runtime().block_on(run());
        done.send(()).unwrap();
    });
    is_done
        .recv_timeout(Duration::from_secs(60))
        .expect("no deadlock, and no panic");
}

/// A context that sends a turn when the last of it is dropped.
fn context(session: &Session) -> ContextPolicy {
    let sends = SendsWhenDropped(session.clone());
    ContextPolicy::token_budget(10, move |_| {
        let _ = &sends;
        1
    })
}

#[test]
fn r3_a_context_may_use_its_session_when_it_is_dropped() {
    without_deadlock(async || {
        let mut lab = Lab::new().await;
        let send = |input: &str| {
            let turn = lab.session.turn(input);
            turn.context(context(&lab.session)).start()
        };
        let (running, queued) = (send("one"), send("two"));
        let mut call = lab.script.next_call().await;
        queued.cancel(());
        drop(queued);
        call.finish(Reply::text("1"));
        running.into_future().await.unwrap();
        for _ in 0..2 {
            let mut call = lab.script.next_call().await;
            assert_eq!(&*call.request().input, "from a drop");
            call.finish(Reply::text("2"));
        }
    });
}

#[test]
fn t4_a_failure_that_a_cancel_overtakes_may_use_its_session_when_it_is_dropped() {
    without_deadlock(async || {
        let mut lab = Lab::new().await;
        let turn = lab.session.send("hi");
        let mut call = lab.script.next_call().await;
        let writing = lab.gate.next(Op::Append).pause();
        let steer = lab.session.steer("more");
        assert!(call.steer_offered().await.take());
        writing.reached().await;
        // The failure waits for the steer's entry.
        let error = SendsWhenDropped(lab.session.clone());
        call.fail(ResponderError::new("oops").with_source(error));
        idle().await;
        turn.cancel("enough");
        writing.release();
        steer.await.unwrap();
        assert_eq!(kind(turn.into_future().await), "canceled");
        let call = lab.script.next_call().await;
        assert_eq!(&*call.request().input, "from a drop");
    });
}

struct PanicsWhenWoken;

impl Wake for PanicsWhenWoken {
    fn wake(self: Arc<Self>) {
        panic!("woken");
    }
}

#[tokio::test(start_paused = true)]
async fn t5_a_waker_that_panics_ends_no_turn() {
    let mut lab = Lab::new().await;
    let turn = lab.session.send("hi");
    let mut waits = pin!(turn.result());
    let waker = Waker::from(Arc::new(PanicsWhenWoken));
    assert!(
        waits
            .as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
    );
    lab.script.next_call().await.finish(Reply::text("hello"));
    turn.result().await.unwrap();
    lab.is_usable().await;
}

/// Where a store panics, once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Panics {
    WatchingTheHold,
    DroppingTheWatch,
    DroppingTheWriter,
    DroppingTheWait,
}

struct PanickingStore {
    store: MemoryStore,
    bomb: Bomb,
}

/// Panics in one place, once.
#[derive(Clone)]
struct Bomb {
    place: Panics,
    is_set: Arc<AtomicBool>,
}

impl Bomb {
    fn pass(&self, place: Panics) {
        if self.place == place && self.is_set.swap(false, SeqCst) {
            panic!("{place:?}");
        }
    }
}

/// Passes a place when it is dropped.
struct Passes(Bomb, Panics);

impl Drop for Passes {
    fn drop(&mut self) {
        self.0.pass(self.1);
    }
}

struct PanickingWriter {
    // Dropped first, so that the hold is let go of in any case.
    writer: Box<dyn JournalWriter>,
    passes: Passes,
}

impl JournalWriter for PanickingWriter {
    fn append(&mut self, entry: Entry) -> BoxFuture<'_, Appended> {
        self.writer.append(entry)
    }
    fn append_last(&mut self, entry: Entry) -> BoxFuture<'_, Appended> {
        self.writer.append_last(entry)
    }
    fn recover(&mut self, from: Seq) -> BoxFuture<'_, Result<Recovered, StoreError>> {
        self.writer.recover(from)
    }
    fn lost(&self) -> BoxFuture<'static, ()> {
        let bomb = self.passes.0.clone();
        Box::pin(async move {
            let _passes = Passes(bomb.clone(), Panics::DroppingTheWatch);
            bomb.pass(Panics::WatchingTheHold);
            std::future::pending().await
        })
    }
}

impl Store for PanickingStore {
    fn create(
        &self,
        session: &SessionId,
        entries: Vec<Entry>,
    ) -> BoxFuture<'static, Result<(), StoreError>> {
        self.store.create(session, entries)
    }
    fn read(
        &self,
        session: &SessionId,
        from: Seq,
    ) -> BoxStream<'static, Result<JournalPart, StoreError>> {
        self.store.read(session, from)
    }
    fn acquire(
        &self,
        session: &SessionId,
        from: Seq,
    ) -> BoxFuture<'static, Result<Acquired, StoreError>> {
        let (acquire, bomb) = (self.store.acquire(session, from), self.bomb.clone());
        Box::pin(async move {
            let waits = Passes(bomb.clone(), Panics::DroppingTheWait);
            let acquired = acquire.await?;
            std::mem::forget(waits);
            let passes = Passes(bomb, Panics::DroppingTheWriter);
            let writer = acquired.writer;
            Ok(Acquired {
                writer: Box::new(PanickingWriter { writer, passes }),
                ..acquired
            })
        })
    }
    fn list(&self, page: ListRequest) -> BoxFuture<'static, Result<SessionPage, StoreError>> {
        self.store.list(page)
    }
    fn delete(&self, session: &SessionId) -> BoxFuture<'static, Result<(), StoreError>> {
        self.store.delete(session)
    }
    fn is_held(&self, session: &SessionId) -> BoxFuture<'static, Result<bool, StoreError>> {
        self.store.is_held(session)
    }
    fn salvage(
        &self,
        session: &SessionId,
    ) -> BoxFuture<'static, Result<Vec<Salvaged>, StoreError>> {
        self.store.salvage(session)
    }
    fn capabilities(&self) -> Capabilities {
        self.store.capabilities()
    }
}

#[tokio::test(start_paused = true)]
async fn t5_a_store_that_panics_where_nobody_awaits_it_ends_no_other_turn() {
    for (place, ends) in [
        (Panics::WatchingTheHold, Err("hold-lost")),
        (Panics::DroppingTheWatch, Ok("one")),
        (Panics::DroppingTheWriter, Ok("one")),
        (Panics::DroppingTheWait, Err("canceled")),
    ] {
        let store = MemoryStore::new();
        let bomb = Bomb {
            place,
            is_set: Arc::new(AtomicBool::new(true)),
        };
        let panicking = PanickingStore {
            store: store.clone(),
            bomb: bomb.clone(),
        };
        let echo = responder_fn(|request, _| async move {
            // The hold is watched before the reply is in.
            idle().await;
            Ok(Reply::text(request.input))
        });
        let session = Chat::new(echo, panicking).create_session().await.unwrap();
        let elsewhere = store.acquire(session.id(), Seq(1)).await.unwrap();
        let turn = session.send("one");
        idle().await;
        if place == Panics::DroppingTheWait {
            turn.cancel(());
        }
        drop(elsewhere);
        let result = turn.result().await;
        let ended = result.as_ref().map(|reply| &*reply.text);
        assert_eq!(ended.map_err(|error| error.kind()), ends, "{place:?}");
        idle().await;
        assert!(!bomb.is_set.load(SeqCst), "{place:?} was reached");
        assert_eq!(&*session.ask("two").await.unwrap(), "two", "{place:?}");
    }
}
