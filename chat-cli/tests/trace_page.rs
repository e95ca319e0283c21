//! What the page on the trace shows is what comes out: its rows are those of the example *draft and review*, its code is this code, and
//! its JavaScript makes of changes what Rust makes of them.
#![allow(clippy::unwrap_used, reason = "a test panics where it is wrong")]

use std::{collections::HashMap, io::Write as _, process, sync::Arc, time::Duration};

use chat_conformance::{ModelCall, ScriptedModel};
use chat_core::{ChatEvent, MemoryStore, ModelRef, Usage};
use chat_runtime::{Chat, TurnEvents};
use chat_trace::{ProjectOptions, RowChange, RowKind, RowStatus, TraceRow, TraceView};
use tokio::time::Instant;

#[path = "../examples/draft_and_review.rs"]
#[allow(dead_code, reason = "`main` is for the terminal")]
mod draft_and_review;

const PAGE: &str = include_str!("../../docs/trace.md");

// From here on, to the next line like this, it stands in the page.
fn draw(row: &TraceRow) -> String {
    let mark = match row.status {
        None => "✓",
        Some(RowStatus::Running) => "▸",
        Some(RowStatus::Error) => "✗",
        Some(RowStatus::Stopped) => "■",
        Some(_) => "·", // pending
    };
    let mut line = format!("{}{mark} {}", "  ".repeat(row.depth), row.title);
    if let Some(millis) = row.duration_ms {
        line += &format!("  {:.1} s", millis as f64 / 1000.0);
    }
    if let Some(tokens) = row.usage.and_then(|usage| usage.output_tokens) {
        line += &format!("  {tokens} tokens");
    }
    // What a model says last is what its step says.
    let output = row.output.as_ref().filter(|_| row.kind != RowKind::Model);
    for said in [row.input.as_ref(), output, row.error.as_ref()]
        .into_iter()
        .flatten()
    {
        line += &format!("  {said}");
    }
    line
}
// To here.

/// The blocks of the page that are fenced so.
fn blocks(language: &str) -> Vec<&'static str> {
    let fenced = PAGE.split("\n```").skip(1).step_by(2);
    fenced
        .filter_map(|block| block.strip_prefix(language)?.strip_prefix('\n'))
        .collect()
}

/// A turn of the example, as far as its events were read. Its clock is that of the test.
struct Watched {
    events: TurnEvents,
    trace: TraceView,
    /// All changes so far.
    changes: Vec<RowChange>,
    began: Instant,
    /// When a row was first seen to have begun and ended.
    times: HashMap<Arc<str>, (Option<Duration>, Option<Duration>)>,
}

impl Watched {
    /// Reads on until the model is asked for more or the turn is over.
    async fn read(&mut self) {
        let idle = Duration::from_millis(1);
        while let Ok(Some(event)) = tokio::time::timeout(idle, self.events.next()).await {
            let ChatEvent::RunUpdate { tree, .. } = event else {
                continue;
            };
            self.changes.extend(self.trace.update(&tree, &[]));
            let now = self.began.elapsed();
            for row in self.trace.rows() {
                let (begun, ended) = self.times.entry(row.id.clone()).or_default();
                *begun = begun.or(row.started_at.map(|_| now));
                *ended = ended.or(row.duration_ms.map(|_| now));
            }
        }
    }

    /// The rows as the page shows them.
    fn drawn(&self) -> String {
        let draw = |row: &Arc<TraceRow>| {
            let mut row = TraceRow::clone(row);
            if let (Some(begun), Some(ended)) = self.times[&row.id] {
                row.duration_ms = Some((ended - begun).as_millis() as u64);
            }
            draw(&row)
        };
        let lines: Vec<_> = self.trace.rows().iter().map(draw).collect();
        lines.join("\n")
    }
}

fn ends(call: ModelCall, text: &str, input: u64, output: u64) {
    call.usage(Usage {
        input_tokens: Some(input),
        output_tokens: Some(output),
        ..Usage::default()
    });
    call.answer(text);
}

/// The example's rows while the draft runs, while the reply streams and once it is done; and all changes on the way.
async fn play() -> (Vec<String>, Vec<RowChange>, Vec<Arc<TraceRow>>) {
    let (model, mut script) = ScriptedModel::new();
    let model = model.with_model(ModelRef::new("openai", "gpt-5-mini"));
    let responder = draft_and_review::draft_and_review(model);
    let session = Chat::new(responder, MemoryStore::default());
    let session = session.create_session().await.unwrap();
    let turn = session.send("What is a journal?");
    let mut watched = Watched {
        events: turn.events().unwrap(),
        trace: TraceView::new(ProjectOptions::default()),
        changes: Vec::new(),
        began: Instant::now(),
        times: HashMap::new(),
    };
    let mut moments = Vec::new();
    let call = script.next_call().await;
    watched.read().await;
    moments.push(watched.drawn());
    tokio::time::advance(Duration::from_millis(1_400)).await;
    let draft = "A journal is a file into which a program writes what it is about to do.";
    ends(call, draft, 38, 17);
    let call = script.next_call().await;
    watched.read().await;
    tokio::time::advance(Duration::from_millis(900)).await;
    call.text("A journal is a list of entries, ");
    watched.read().await;
    moments.push(watched.drawn());
    tokio::time::advance(Duration::from_millis(1_200)).await;
    ends(call, "written in order and never changed.", 91, 15);
    watched.read().await;
    moments.push(watched.drawn());
    assert!(turn.await.is_ok());
    (moments, watched.changes, watched.trace.rows().to_vec())
}

#[tokio::test(start_paused = true)]
async fn the_pages_rows_are_those_of_the_example() {
    let (moments, ..) = play().await;
    let shown: Vec<_> = blocks("text")
        .iter()
        .map(|block| (*block).to_owned())
        .collect();
    assert_eq!(
        shown,
        moments,
        "to be copied to docs/trace.md:\n\n{}",
        moments.join("\n\n")
    );
}

#[test]
fn the_page_draws_rows_as_it_is_done_here() {
    let source = include_str!("trace_page.rs");
    let (_, source) = source.split_once("it stands in the page.\n").unwrap();
    let (source, _) = source.split_once("\n// To here.").unwrap();
    assert!(
        PAGE.contains(source),
        "to be copied to docs/trace.md:\n\n{source}"
    );
}

/// Runs the page's JavaScript, where there is a node to run it.
#[tokio::test(start_paused = true)]
async fn the_pages_script_makes_of_changes_what_rust_makes_of_them() {
    let (_, mut changes, rows) = play().await;
    // One that comes first, one that comes behind another, one of a place that is not there, and removals of one that is and isn't.
    let odd = |id: &str, after: Option<&str>| {
        let mut row = TraceRow::clone(&rows[0]);
        row.id = id.into();
        let after = after.map(Into::into);
        RowChange::Upsert {
            row: row.into(),
            after,
        }
    };
    changes.extend([
        odd("first", None),
        odd("second", Some("first")),
        odd("last", Some("nowhere")),
        RowChange::Remove {
            id: "nowhere".into(),
        },
        RowChange::Remove {
            id: rows[0].id.clone(),
        },
        odd("second", None),
    ]);
    let mut expected = Vec::new();
    for change in &changes {
        change.clone().apply(&mut expected);
    }
    let script = blocks("js")[0].split("// On the page").next().unwrap();
    let script = format!(
        "{script}\n{}.forEach(apply);\nconsole.log(JSON.stringify(rows));",
        serde_json::to_string(&changes).unwrap()
    );
    let node = process::Command::new("node")
        .arg("-")
        .stdin(process::Stdio::piped())
        .stdout(process::Stdio::piped())
        .spawn();
    let Ok(mut node) = node else {
        eprintln!("skipped: there is no node here");
        return;
    };
    node.stdin
        .take()
        .unwrap()
        .write_all(script.as_bytes())
        .unwrap();
    let output = node.wait_with_output().unwrap();
    assert!(output.status.success());
    let made: Vec<Arc<TraceRow>> = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(made, expected);
}
