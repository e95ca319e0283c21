//! What held snapshots of a run's trace keep in memory, against copies of it. Counted by the allocator, not guessed from the
//! system; apart from the figures of speed, since counting slows every allocation.

#![allow(
    missing_docs,
    clippy::print_stdout,
    reason = "a benchmark prints its figures"
)]

use std::sync::{Arc, Mutex};

use chat_core::{TraceNode, TraceTree};
use chat_responder_agent::{Node, RunIds, RunOptions, Sequence, Task};
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

const NODES: usize = 10_000;
const SNAPSHOTS: usize = 1_000;

fn main() {
    // `cargo test` runs benchmarks too, unoptimized: figures of that would mislead.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime starts");
    runtime.block_on(held_snapshots());
}

/// An observer keeps 1,000 snapshots of a run of 10,000 nodes, in a row from its middle: between each two, one leaf began or
/// ended.
async fn held_snapshots() {
    let tasks: Sequence = (1..NODES)
        .map(|task| Task::new(format!("task-{task}"), move |_| async move { Ok(task) }))
        .collect();
    let kept = Arc::new(Mutex::new((0, Vec::with_capacity(SNAPSHOTS))));
    let keep = kept.clone();
    let options = RunOptions::default().on_update(move |tree| {
        let mut kept = keep.lock().expect("nobody panics");
        kept.0 += 1;
        if kept.0 > NODES && kept.1.len() < SNAPSHOTS {
            kept.1.push(tree.clone());
        }
    });
    let ids = RunIds {
        session_id: "bench".parse().expect("a good id"),
        turn_id: "bench".parse().expect("a good id"),
        root_turn_id: "bench".parse().expect("a good id"),
    };
    let run = Node::from(tasks).start(options, ids);
    let result = run.expect("a valid workflow").await.expect("no task fails");
    drop(result);

    let mut snapshots = std::mem::take(&mut kept.lock().expect("nobody panics").1);
    assert_eq!(snapshots.len(), SNAPSHOTS);
    let before = ALLOCATOR.current_usage();
    let copy = copy(&snapshots[0]);
    let one = ALLOCATOR.current_usage() - before;
    assert_eq!(copy.len(), NODES);
    drop(copy);

    // What the last one holds was there anyway.
    let last = snapshots.pop();
    let held = ALLOCATOR.current_usage();
    snapshots.clear();
    let more = held - ALLOCATOR.current_usage();
    drop(last);
    let copies = one * (SNAPSHOTS - 1);
    let mebibytes = |bytes: usize| bytes as f64 / 1024.0 / 1024.0;
    println!(
        "{SNAPSHOTS} snapshots of a trace of {NODES} nodes, one leaf changed between each, against as many copies: {:.4} (aim: 0.05 or less)",
        more as f64 / copies as f64
    );
    println!(
        "    {:.2} MiB against {:.0} MiB",
        mebibytes(more),
        mebibytes(copies)
    );
}

/// Nodes of its own, their texts shared still.
fn copy(tree: &TraceTree) -> TraceTree {
    let mut copy = TraceTree::default();
    for (_, node) in tree.iter() {
        copy.push(node.parent(), TraceNode::clone(node));
    }
    copy
}
