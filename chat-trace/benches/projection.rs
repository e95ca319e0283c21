//! What rows cost, each figure as a ratio within one run: the machines this runs on are noisy.
//!
//! All sides of a ratio take turns, round after round; the median of each is compared where nothing else is said, and the spread is shown.

#![allow(
    missing_docs,
    clippy::print_stdout,
    reason = "a benchmark prints its figures"
)]

use std::{
    hint::black_box,
    sync::Arc,
    time::{Duration, Instant},
};

use chat_core::{
    ModelRef, NodeIndex, Timestamp, TraceKind, TraceNode, TraceStatus, TraceTree, Usage,
};
use chat_trace::{ProjectOptions, TraceView, project};
use serde_json::{Value, json};

/// How many nodes the tree has that is kept up to date.
const NODES: usize = 10_000;

/// How many updates are one measurement.
const UPDATES: usize = 100;

fn main() {
    // `cargo test` runs benchmarks too, unoptimized: figures of that would mislead.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    for change in [Change::Leaf, Change::Delta, Change::Push] {
        updates(change);
    }
    rows_of_trees("a row", 5, |tree| tree);
    // What rows cost beside redaction and summaries, which is most of it where there are values.
    rows_of_trees("a row without values", 25, without_values);
}

/// What happens between two updates.
#[derive(Clone, Copy)]
enum Change {
    /// A tool call ends.
    Leaf,
    /// A step says a piece of text.
    Delta,
    /// A tool call comes.
    Push,
}

impl Change {
    fn name(self) -> &'static str {
        match self {
            Self::Leaf => "after one leaf changed",
            Self::Delta => "after a piece of text",
            Self::Push => "after one node came",
        }
    }

    fn make(self, tree: &mut TraceTree, nth: usize) {
        match self {
            Self::Leaf => tree.update(nth_of(tree, TraceKind::Tool, nth), |node| {
                node.status = match node.status {
                    TraceStatus::Done => TraceStatus::Failed,
                    _ => TraceStatus::Done,
                };
                node.output = Some(Arc::new(output(nth)));
            }),
            Self::Delta => tree.update(nth_of(tree, TraceKind::Step, nth), |node| {
                node.status = TraceStatus::Running;
                node.partial_text
                    .push("a piece of a text, some words".into());
            }),
            Self::Push => {
                let step = nth_of(tree, TraceKind::Step, nth);
                tree.push(Some(step), tool(tree.len(), nth));
            }
        }
    }
}

/// Some node of a kind, another for each number.
fn nth_of(tree: &TraceTree, kind: TraceKind, nth: usize) -> NodeIndex {
    let start = nth * 7919 % (NODES - 100);
    let (index, _) = tree
        .iter()
        .skip(start)
        .find(|(_, node)| node.kind == kind)
        .expect("there is one among a hundred nodes");
    index
}

/// A projection of a tree from scratch, against an update of a view of it.
fn updates(change: Change) {
    let mut nth = 0;
    let mut tree = tree(NODES);
    let mut view = TraceView::new(ProjectOptions::default());
    view.update(&tree, &[]);
    let options = ProjectOptions::default();
    let whole = tree.clone();
    let mut scratch = || time(|| project(&whole, &options));
    let mut update = || {
        let mut sum = Duration::ZERO;
        for _ in 0..UPDATES {
            nth += 1;
            change.make(&mut tree, nth);
            sum += time(|| assert_ne!(view.update(&tree, &[]).len(), 0));
        }
        sum / UPDATES as u32
    };
    let [scratch, update] = measure(11, &mut [&mut scratch, &mut update]);
    println!(
        "a projection of {NODES} nodes from scratch, against an update {}: {:.0} (aim: 20 or more)",
        change.name(),
        scratch.median / update.median
    );
    println!("    {} against {}", scratch.spread(1), update.spread(1));
}

/// A row of a tree of each size: the dearest against the cheapest. The least that each took is compared: the largest tree takes seconds,
/// and in less than that the machine may go over to half of its speed, which only ever adds.
fn rows_of_trees(what: &str, rounds: usize, of: fn(TraceTree) -> TraceTree) {
    const SIZES: [usize; 4] = [100, 1_000, 10_000, 100_000];
    const ROWS: usize = 100_000;
    let options = ProjectOptions::default();
    let trees = SIZES.map(|nodes| of(tree(nodes)));
    let rows = |tree: &TraceTree| {
        let mut sum = Duration::ZERO;
        for _ in 0..ROWS / tree.len() {
            sum += time(|| project(tree, &options));
        }
        sum
    };
    let [mut a, mut b, mut c, mut d] = trees.each_ref().map(|tree| move || rows(tree));
    let sizes = measure(rounds, &mut [&mut a, &mut b, &mut c, &mut d]);
    let each = sizes.each_ref().map(|size| size.least);
    let most = each.into_iter().fold(0.0, f64::max);
    let least = each.into_iter().fold(f64::INFINITY, f64::min);
    println!(
        "{what} of trees of 100 to 100,000 nodes, the dearest against the cheapest: {:.2} (aim: 1.3 or less)",
        most / least
    );
    for (nodes, size) in SIZES.iter().zip(&sizes) {
        println!("    {nodes} nodes: {} a row", size.spread(ROWS));
    }
}

/// Steps side by side, a few at a time, each with two model calls and some tools: what agents do.
fn tree(nodes: usize) -> TraceTree {
    let mut tree = TraceTree::default();
    let run = tree.push(None, TraceNode::new("0", TraceKind::Agent, "engineer"));
    let sequence = tree.push(
        Some(run),
        TraceNode::new("0/0", TraceKind::Sequence, "sequence"),
    );
    let mut place = sequence;
    let mut step = sequence;
    while tree.len() < nodes {
        let nth = tree.len();
        match nth % 8 {
            0 if nth.is_multiple_of(40) => {
                let node = TraceNode::new(format!("0/0/{nth}"), TraceKind::Parallel, "parallel");
                place = tree.push(Some(sequence), node);
            }
            0 | 1 => {
                step = tree.push(
                    Some(place),
                    leaf(TraceKind::Step, nth, format!("step-{nth}")),
                )
            }
            2 | 7 => {
                tree.push(Some(step), model(nth));
            }
            _ => {
                tree.push(Some(step), tool(nth, nth));
            }
        }
    }
    tree
}

fn without_values(mut tree: TraceTree) -> TraceTree {
    let nodes: Vec<_> = tree.iter().map(|(index, _)| index).collect();
    for index in nodes {
        tree.update(index, |node| (node.input, node.output) = (None, None));
    }
    tree
}

fn leaf(kind: TraceKind, nth: usize, name: String) -> TraceNode {
    let mut node = TraceNode::new(format!("step-{}/{name}-{nth}", nth / 8), kind, name);
    let at = |millis: usize| Timestamp::from_millis(1_700_000_000_000 + millis as i64).ok();
    (node.started_at, node.ended_at) = (at(nth * 10), at(nth * 15));
    node.status = TraceStatus::Done;
    node
}

fn model(nth: usize) -> TraceNode {
    let mut node = leaf(TraceKind::Model, nth, "gpt-5-mini".to_owned());
    node.model = Some(ModelRef::new("openai", "gpt-5-mini"));
    node.usage = Some(Usage {
        input_tokens: Some(4_000 + nth as u64),
        output_tokens: Some(200),
        ..Usage::default()
    });
    node.output = Some(Arc::new(
        "I'll look at the file first, then at its tests. "
            .repeat(5)
            .into(),
    ));
    node
}

fn tool(nth: usize, input: usize) -> TraceNode {
    let mut node = leaf(TraceKind::Tool, nth, "read_file".to_owned());
    node.call_id = Some(format!("call-{nth}").into());
    node.input = Some(Arc::new(json!({
        "path": format!("src/module_{input}/lib.rs"),
        "offset": input,
        "limit": 200,
    })));
    node.output = Some(Arc::new(output(input)));
    node
}

fn output(nth: usize) -> Value {
    if nth.is_multiple_of(3) {
        return json!({
            "lines": nth,
            "text": "use std::io;\n\nfn main() -> io::Result<()> {\n    run()\n}\n".repeat(8),
            "truncated": false,
        });
    }
    "use std::io;\n\nfn main() -> io::Result<()> {\n    run()\n}\n"
        .repeat(20)
        .into()
}

/// What it takes to make something; not what it takes to let it go.
fn time<T>(make: impl FnOnce() -> T) -> Duration {
    let started = Instant::now();
    let made = black_box(make());
    let took = started.elapsed();
    drop(made);
    took
}

/// One side of a ratio, in nanoseconds.
struct Side {
    median: f64,
    least: f64,
    most: f64,
}

impl Side {
    /// The time that each of so many took.
    fn spread(&self, each: usize) -> String {
        let [median, least, most] = [self.median, self.least, self.most].map(|n| n / each as f64);
        format!("{median:.0} ns ({least:.0} to {most:.0})")
    }
}

/// Measures all by turns, so that whatever else the machine does hits all alike.
fn measure<const N: usize>(
    rounds: usize,
    sides: &mut [&mut dyn FnMut() -> Duration; N],
) -> [Side; N] {
    // Once without counting, to warm up.
    for side in sides.iter_mut() {
        side();
    }
    let mut took = [const { Vec::new() }; N];
    for _ in 0..rounds {
        for (side, took) in sides.iter_mut().zip(&mut took) {
            took.push(side().as_secs_f64() * 1e9);
        }
    }
    took.map(|mut nanos| {
        nanos.sort_unstable_by(f64::total_cmp);
        Side {
            median: nanos[rounds / 2],
            least: nanos[0],
            most: nanos[rounds - 1],
        }
    })
}
