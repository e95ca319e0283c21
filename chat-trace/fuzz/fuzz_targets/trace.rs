//! The projection against the trees that libFuzzer grows: `cargo xtask fuzz trace`. Any tree projects into bounded rows with ids of
//! their own, each behind its parent, and a view that is told of each snapshot ends up with the same rows (laws P2 and P3).
#![no_main]

use std::{collections::BTreeSet, sync::Arc};

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use chat_core::{
    ApprovalRequest, CallId, NodeIndex, RecordedError, Timestamp, TraceKind, TraceNode, TraceStatus,
    TraceTree,
};
use chat_trace::{ProjectOptions, TraceRow, TraceView, project};
use serde_json::Value;

const KINDS: [TraceKind; 8] = [
    TraceKind::Agent,
    TraceKind::Step,
    TraceKind::Task,
    TraceKind::Sequence,
    TraceKind::Parallel,
    TraceKind::Catch,
    TraceKind::Model,
    TraceKind::Tool,
];
const STATUSES: [TraceStatus; 6] = [
    TraceStatus::Pending,
    TraceStatus::Running,
    TraceStatus::Waiting,
    TraceStatus::Done,
    TraceStatus::Failed,
    TraceStatus::Aborted,
];

#[derive(Debug, Arbitrary)]
enum Change {
    Push { parent: Option<u8>, kind: u8, id: String, name: String, call: Option<u8> },
    Status { node: u8, status: u8 },
    Text { node: u8, text: String },
    Output { node: u8, text: String },
    Error { node: u8, message: String, kind: u8 },
    Ask { id: u8, call: u8, step: String },
    Answer { id: u8 },
    /// The run is over, and another begins.
    Forget,
    Look,
}

fn index(tree: &TraceTree, node: u8) -> Option<NodeIndex> {
    let place = usize::from(node).checked_rem(tree.len())?;
    tree.iter().nth(place).map(|(index, _)| index)
}

fn time(seconds: u8) -> Option<Timestamp> {
    Timestamp::from_millis(i64::from(seconds) * 1_000).ok()
}

fn call_id(call: u8) -> CallId {
    format!("call-{}", call % 4).into()
}

libfuzzer_sys::fuzz_target!(|changes: Vec<Change>| {
    let mut tree = TraceTree::default();
    let mut requests: Vec<Arc<ApprovalRequest>> = Vec::new();
    let mut view = TraceView::new(ProjectOptions::default());
    let mut shown: Vec<Arc<TraceRow>> = Vec::new();
    for change in changes.into_iter().chain([Change::Look]) {
        match change {
            Change::Push { parent, kind, id, name, call } => {
                let mut node = TraceNode::new(id, KINDS[usize::from(kind) % KINDS.len()], name);
                node.call_id = call.map(call_id);
                node.started_at = call.and_then(time);
                let parent = parent.and_then(|parent| index(&tree, parent));
                tree.push(parent, node);
            }
            Change::Status { node, status } => {
                let Some(node) = index(&tree, node) else { continue };
                tree.update(node, |node| {
                    node.status = STATUSES[usize::from(status) % STATUSES.len()];
                    node.ended_at = time(status);
                });
            }
            Change::Text { node, text } => {
                let Some(node) = index(&tree, node) else { continue };
                tree.update(node, |node| node.partial_text.push(text.into()));
            }
            Change::Output { node, text } => {
                let Some(node) = index(&tree, node) else { continue };
                let value = serde_json::from_str(&text).unwrap_or(Value::from(text));
                tree.update(node, |node| node.output = Some(Arc::new(value)));
            }
            Change::Error { node, message, kind } => {
                let Some(node) = index(&tree, node) else { continue };
                let kind = ["error", "timeout", "denied"][usize::from(kind) % 3];
                tree.update(node, |node| {
                    node.status = TraceStatus::Failed;
                    node.error = Some(RecordedError::of(&message, kind, None));
                });
            }
            Change::Ask { id, call, step } => requests.push(Arc::new(ApprovalRequest {
                id: format!("approval-{id}").into(),
                call_id: call_id(call),
                tool_name: "tool".into(),
                input: Arc::new(Value::Null),
                step: step.as_str().into(),
                requested_at: Timestamp::UNIX_EPOCH,
            })),
            Change::Answer { id } => {
                let id = format!("approval-{id}");
                requests.retain(|request| request.id.as_str() != id);
            }
            Change::Forget => tree = TraceTree::default(),
            Change::Look => {
                for change in view.update(&tree, &requests) {
                    change.apply(&mut shown);
                }
                let rows = project(&tree, &ProjectOptions::default().requests(requests.clone()));
                check(&rows);
                assert!(rows.iter().eq(shown.iter().map(|row| &**row)));
            }
        }
    }
});

fn check(rows: &[TraceRow]) {
    let mut ids: BTreeSet<&str> = BTreeSet::new();
    for row in rows {
        assert!(ids.insert(&row.id), "{} twice", row.id);
        assert_eq!(row.depth == 0, row.parent.is_none());
        assert!(row.parent.as_deref().is_none_or(|parent| ids.contains(parent)));
        for text in [Some(&row.title), row.input.as_ref(), row.output.as_ref(), row.error.as_ref()] {
            let text = text.map_or("", |text| text);
            assert!(text.chars().count() <= 200 && !text.contains(char::is_control), "{text:?}");
        }
    }
}
