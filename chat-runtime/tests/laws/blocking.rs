//! T5 and T6 on a runtime of two threads, one of which a responder blocks: nobody hangs but that responder. What is asserted
//! happens while the thread is still blocked; it goes on only when the test is over.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, mpsc},
    task::Poll,
    time::Duration,
};

use chat_core::{Execution, MemoryStore, Reply, Responder, ResponderEvent, TurnRequest};
use chat_runtime::{Chat, Session};

use crate::kit::kind;

/// Blocks the thread of every turn whose input says so, right after an event that wakes whoever watches. Any other turn it
/// answers in many small batches.
#[derive(Clone)]
struct Blocking(Arc<Mutex<mpsc::Receiver<()>>>);

/// Lets the blocked threads go when it is dropped.
struct Release(#[expect(dead_code, reason = "it is there to be dropped")] mpsc::Sender<()>);

impl Blocking {
    fn new() -> (Self, Release) {
        let (release, released) = mpsc::channel();
        (Self(Arc::new(Mutex::new(released))), Release(release))
    }
}

impl Responder for Blocking {
    fn respond(&self, request: TurnRequest) -> Execution {
        let (mut polled, this) = (0, self.clone());
        let blocks = &*request.input == "block";
        let events = futures_util::stream::poll_fn(move |cx| {
            polled += 1;
            match polled {
                _ if polled % 2 == 0 => {
                    cx.waker().wake_by_ref();
                    Poll::Pending
                }
                3 if blocks => {
                    // Ends once the test has let go.
                    let _ = this.0.lock().unwrap().recv();
                    Poll::Ready(None)
                }
                101.. => Poll::Ready(None),
                _ => Poll::Ready(Some(Ok(ResponderEvent::text("x")))),
            }
        });
        Execution::new(async { Ok(Reply::streamed()) }).with_events(events)
    }
}

async fn session(responder: Blocking) -> Session {
    let chat = Chat::new(responder, MemoryStore::new());
    chat.create_session().await.unwrap()
}

/// Runs a test on two threads, as a task of theirs, while a thread may be blocked. `false` where it hung; either way the
/// blocked thread is let go.
fn with_two_threads(
    test: impl FnOnce(Blocking) -> Pin<Box<dyn Future<Output = ()> + Send>>,
) -> bool {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap();
    let (blocking, release) = Blocking::new();
    let test = runtime.spawn(test(blocking));
    let done =
        runtime.block_on(async { tokio::time::timeout(Duration::from_secs(10), test).await });
    drop(release);
    match done {
        Ok(test) => {
            test.unwrap();
            true
        }
        Err(_) => false,
    }
}

#[test]
fn t6_c5_a_turn_whose_responder_blocks_its_thread_is_canceled_at_once_and_the_next_one_runs() {
    for _ in 0..100 {
        let done = with_two_threads(|blocking| {
            Box::pin(async move {
                let session = session(blocking).await;
                let (turn, next) = (session.send("block"), session.send("next"));
                // Everyone who can be woken by the event waits for it on these two threads.
                let watchers: Vec<_> = (0..3)
                    .map(|_| {
                        let turn = turn.clone();
                        tokio::spawn(async move { turn.result().await.unwrap_err() })
                    })
                    .collect();
                let mut events = turn.events().unwrap();
                while events.next().await.unwrap().kind() != "text-delta" {}
                turn.cancel("enough");
                assert_eq!(kind(turn.await), "canceled");
                for watcher in watchers {
                    watcher.await.unwrap();
                }
                assert_eq!(next.await.unwrap().text.len(), 50);
            })
        });
        assert!(done, "a blocked responder hung others");
    }
}

/// Whichever thread the other turns' tasks were put off on, one that is blocked there must not keep them.
#[test]
fn t5_turns_of_other_sessions_go_on_while_one_blocks_its_thread() {
    for _ in 0..100 {
        let done = with_two_threads(|blocking| {
            Box::pin(async move {
                let mut turns = Vec::new();
                let mut sessions = Vec::new();
                for _ in 0..8 {
                    sessions.push(session(blocking.clone()).await);
                }
                for session in &sessions[1..] {
                    turns.push(session.send("stream"));
                }
                let blocked = sessions[0].send("block");
                for turn in turns {
                    assert_eq!(turn.await.unwrap().text.len(), 50);
                }
                blocked.accepted().await.unwrap();
                blocked.cancel(());
                assert_eq!(kind(blocked.await), "canceled");
            })
        });
        assert!(done, "a blocked responder hung others");
    }
}
