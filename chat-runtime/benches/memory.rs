//! What the machinery keeps in memory: unread deltas, and idle sessions. Counted by the allocator, not guessed from the system.

#![allow(
    missing_docs,
    clippy::print_stdout,
    reason = "a benchmark prints its figures"
)]

use chat_core::{
    ChatEvent, Execution, MemoryStore, Reply, Responder, ResponderEvent, StepId, TraceKind,
    TraceNode, TraceTree, TurnRequest,
};
use chat_runtime::{Chat, responder_fn};
use futures_util::stream;
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

const DELTAS: usize = 1_000_000;
const SESSIONS: usize = 10_000;

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
        unread_deltas().await;
        idle_sessions().await;
    });
}

/// A million deltas of 8 bytes, of two interleaved steps, with a run update before every tenth, and a reader that reads late.
async fn unread_deltas() {
    struct Interleaved;
    impl Responder for Interleaved {
        fn respond(&self, _: TurnRequest) -> Execution {
            let mut tree = TraceTree::default();
            let run = tree.push(None, TraceNode::new("run", TraceKind::Agent, "run"));
            let steps = ["a", "b"].map(|name| {
                (
                    StepId::from(name),
                    tree.push(Some(run), TraceNode::new(name, TraceKind::Step, name)),
                )
            });
            let events = (0..DELTAS).flat_map(move |at| {
                let (step, node) = &steps[at % 2];
                let update = (at % 10 == 0).then(|| {
                    tree.update(*node, |node| node.name = format!("at {at}").into());
                    ResponderEvent::RunUpdate(tree.clone())
                });
                let delta = ResponderEvent::TextDelta {
                    text: format!("{at:08}").into(),
                    step: Some(step.clone()),
                };
                update.into_iter().chain([delta])
            });
            Execution::new(async { Ok(Reply::text("done")) })
                .with_events(stream::iter(events.map(Ok)))
        }
    }
    let session = Chat::new(Interleaved, MemoryStore::default())
        .create_session()
        .await
        .expect("created");
    ALLOCATOR.reset_peak_usage();
    let before = ALLOCATOR.current_usage();
    let turn = session.send("go");
    turn.result().await.expect("answered");
    let peak = ALLOCATOR.peak_usage() - before;
    let mut events = turn.events().expect("nobody reads them");
    let (mut text, mut count, mut last) = (0, 0, None);
    while let Some(event) = events.next().await {
        assert!(last < Some(event.seq()), "places rise");
        last = Some(event.seq());
        count += 1;
        if let ChatEvent::TextDelta { text: piece, .. } = event {
            text += piece.len();
        }
    }
    assert_eq!(text, DELTAS * 8, "all text is there");
    let mib = |bytes: usize| bytes as f64 / 1024.0 / 1024.0;
    println!(
        "peak memory with {DELTAS} unread deltas of 8 bytes: {:.1} MiB (aim: 64 MiB or less)",
        mib(peak)
    );
    println!(
        "    {:.1} MiB of text, read late as {count} events",
        mib(text)
    );
}

/// Open sessions in which nothing happens.
async fn idle_sessions() {
    let chat = Chat::new(
        responder_fn(|_, _| async { Ok(Reply::text("ok")) }),
        MemoryStore::default(),
    );
    let mut sessions = Vec::with_capacity(SESSIONS);
    for _ in 0..SESSIONS {
        let session = chat.create_session().await.expect("created");
        session.ask("hello").await.expect("answered");
        sessions.push(session);
    }
    let ids: Vec<_> = sessions
        .iter()
        .map(|session| session.id().clone())
        .collect();
    // Closed and opened again, so that what the store keeps is not counted with them.
    sessions.clear();
    let before = ALLOCATOR.current_usage();
    for id in &ids {
        sessions.push(chat.open_session(id).await.expect("opened"));
    }
    let each = (ALLOCATOR.current_usage() - before) / SESSIONS;
    println!("{SESSIONS} idle open sessions of one turn each: {each} bytes each");
}
