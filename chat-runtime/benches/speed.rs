//! What the machinery costs, each figure as a ratio within one run: the machines this runs on are noisy.
//!
//! Both sides of a ratio take turns, round after round; the median of each side is compared, and the spread is shown.

#![allow(
    missing_docs,
    clippy::print_stdout,
    reason = "a benchmark prints its figures"
)]

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use chat_core::{
    ChatEvent, Execution, MemoryStore, Reply, Responder, ResponderError, ResponderEvent,
    TurnRequest,
};
use chat_runtime::{Chat, Session, responder_fn};
use futures_util::stream;

const DELTAS: usize = 200_000;

fn main() {
    // `cargo test` runs benchmarks too, unoptimized: figures of that would mislead.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime starts");
    runtime.block_on(async {
        delta().await;
        turn_in_a_long_session().await;
    });
}

/// A delta through responder, machine, event log and reader, against one hop over tokio's unbounded channel. On both sides the
/// deltas are made before the clock runs, a task gives them and another reads them.
async fn delta() {
    let made = Arc::new(Mutex::new(Vec::new()));
    let session = session(Deltas(made.clone())).await;
    let ours = async || {
        *made.lock().expect("nobody panics") =
            deltas(|_, text| Ok(ResponderEvent::TextDelta { text, step: None }));
        let started = Instant::now();
        let turn = session.send("go");
        let mut events = turn.events().expect("nobody else reads");
        let reader = tokio::spawn(async move {
            let mut deltas = 0;
            while let Some(event) = events.next().await {
                deltas += usize::from(matches!(event, ChatEvent::TextDelta { .. }));
            }
            deltas
        });
        let deltas = reader.await.expect("the reader ends");
        assert!(deltas > 0 && turn.result().await.is_ok());
        started.elapsed()
    };
    let hop = async || {
        let events = deltas(|seq, text| ChatEvent::TextDelta {
            seq,
            text,
            step: None,
        });
        let started = Instant::now();
        let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
        let reader = tokio::spawn(async move {
            let mut deltas = 0;
            while let Some(event) = receiver.recv().await {
                deltas += usize::from(matches!(event, ChatEvent::TextDelta { .. }));
            }
            deltas
        });
        let writer = tokio::spawn(async move {
            for event in events {
                if sender.send(event).is_err() {
                    return;
                }
            }
        });
        writer.await.expect("the writer ends");
        assert_eq!(reader.await.expect("the reader ends"), DELTAS);
        started.elapsed()
    };
    let (ours, hop) = compare(21, ours, hop).await;
    report(
        "a delta, against one hop over tokio's unbounded channel",
        &ours,
        &hop,
        DELTAS,
        1.5,
    );
}

/// Deltas with a text of its own each, as a server's would be.
fn deltas<T>(delta: impl Fn(u64, Arc<str>) -> T) -> Vec<T> {
    (0..DELTAS as u64)
        .map(|seq| delta(seq, "8 bytes.".into()))
        .collect()
}

type Made = Arc<Mutex<Vec<Result<ResponderEvent, ResponderError>>>>;

/// Answers with deltas that were made before.
struct Deltas(Made);

impl Responder for Deltas {
    fn respond(&self, _: TurnRequest) -> Execution {
        let made = std::mem::take(&mut *self.0.lock().expect("nobody panics"));
        Execution::new(async { Ok(Reply::streamed()) }).with_events(stream::iter(made))
    }
}

/// A turn in a session of 10,000 turns, against one in a session of 10.
async fn turn_in_a_long_session() {
    let respond = || {
        responder_fn(|request, _| async move {
            // What a model would read last; the rest is shared and not touched.
            assert!(request.messages.turns().next_back().is_some());
            Ok(Reply::text("ok"))
        })
    };
    let (long, short) = (
        session_of(respond(), 10_000).await,
        session_of(respond(), 10).await,
    );
    const TURNS: usize = 200;
    let turns = async |session: &Session| {
        let started = Instant::now();
        for _ in 0..TURNS {
            session.ask("again").await.expect("answered");
        }
        started.elapsed()
    };
    // Each round makes the short session longer too: few rounds, or it would not be short.
    let (long, short) = compare(
        11,
        async || turns(&long).await,
        async || turns(&short).await,
    )
    .await;
    report(
        "a turn in a session of 10,000, against one of 10",
        &long,
        &short,
        TURNS,
        1.2,
    );
}

async fn session(responder: impl Responder) -> Session {
    Chat::new(responder, MemoryStore::default())
        .create_session()
        .await
        .expect("created")
}

async fn session_of(responder: impl Responder, turns: usize) -> Session {
    let session = session(responder_with_first(responder)).await;
    for _ in 0..turns {
        session.ask("earlier").await.expect("answered");
    }
    session
}

/// The first turn has nothing before it.
fn responder_with_first(responder: impl Responder) -> impl Responder {
    struct First<R>(R);
    impl<R: Responder> Responder for First<R> {
        fn respond(&self, request: TurnRequest) -> Execution {
            if request.messages.is_empty() {
                return Execution::new(async { Ok(Reply::text("first")) });
            }
            self.0.respond(request)
        }
    }
    First(responder)
}

/// Runs both by turns, so that whatever else the machine does hits both alike.
async fn compare(
    rounds: usize,
    one: impl AsyncFn() -> Duration,
    two: impl AsyncFn() -> Duration,
) -> (Vec<Duration>, Vec<Duration>) {
    // Once without counting, to warm up.
    one().await;
    two().await;
    let (mut ones, mut twos) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        ones.push(one().await);
        twos.push(two().await);
    }
    ones.sort_unstable();
    twos.sort_unstable();
    (ones, twos)
}

fn report(what: &str, ones: &[Duration], twos: &[Duration], each: usize, aim: f64) {
    let median = |sorted: &[Duration]| sorted[sorted.len() / 2].as_secs_f64() / each as f64 * 1e9;
    let spread = |sorted: &[Duration]| {
        let nanos = |duration: Duration| duration.as_secs_f64() / each as f64 * 1e9;
        format!(
            "{:.0} to {:.0}",
            nanos(sorted[0]),
            nanos(sorted[sorted.len() - 1])
        )
    };
    let (one, two) = (median(ones), median(twos));
    println!("{what}: {:.2} (aim: {aim} or less)", one / two);
    println!(
        "    {one:.0} ns ({}) against {two:.0} ns ({})",
        spread(ones),
        spread(twos)
    );
}
