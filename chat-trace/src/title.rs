//! What a row says it does or did, in words a person would use.

use chat_core::{TraceNode, TraceStatus};

use crate::RowKind;

/// The title of a node's row. `name` is what the row is called; `failed` is how many of its direct children failed, which is how a
/// catch tells whether its fallback was needed.
pub(crate) fn title(node: &TraceNode, kind: RowKind, name: &str, failed: u32) -> String {
    match kind {
        RowKind::Model => model(node, name),
        RowKind::Parallel => match node.status {
            TraceStatus::Running => "Running in parallel".to_owned(),
            _ => plain(node, "Parallel"),
        },
        RowKind::Catch => catch(node.status, failed).to_owned(),
        RowKind::Tool if node.status == TraceStatus::Failed && error_kind(node) == "denied" => {
            format!("{name} denied")
        }
        RowKind::Agent | RowKind::Step | RowKind::Task | RowKind::Tool | RowKind::Approval => {
            plain(node, name)
        }
    }
}

/// The title of an approval's row.
pub(crate) fn approval(tool: &str) -> String {
    format!("Approve {tool}?")
}

fn plain(node: &TraceNode, name: &str) -> String {
    match node.status {
        TraceStatus::Pending => format!("{name} not started"),
        TraceStatus::Running => format!("Running {name}"),
        TraceStatus::Waiting => format!("{name} waits for approval"),
        TraceStatus::Done => format!("{name} done"),
        TraceStatus::Failed if error_kind(node) == "timeout" => format!("{name} timed out"),
        TraceStatus::Failed => format!("{name} failed"),
        TraceStatus::Aborted => format!("{name} stopped"),
    }
}

fn model(node: &TraceNode, name: &str) -> String {
    match node.status {
        TraceStatus::Pending => format!("{name} not asked yet"),
        TraceStatus::Running => format!("Asking {name}"),
        TraceStatus::Done => format!("{name} answered"),
        TraceStatus::Waiting | TraceStatus::Failed | TraceStatus::Aborted => plain(node, name),
    }
}

/// A catch has no name of its own.
fn catch(status: TraceStatus, failed: u32) -> &'static str {
    match (status, failed) {
        (TraceStatus::Pending, _) => "Not started, with a fallback",
        (TraceStatus::Running, 0) => "Running with a fallback",
        (TraceStatus::Running, _) => "Running the fallback",
        (TraceStatus::Waiting, _) => "Waits for approval, with a fallback",
        (TraceStatus::Done, 0) => "Done without the fallback",
        (TraceStatus::Done, _) => "Recovered from a failure",
        (TraceStatus::Failed, 0 | 1) => "Failed without a fallback",
        (TraceStatus::Failed, _) => "Fallback failed too",
        (TraceStatus::Aborted, 0) => "Stopped before the fallback",
        (TraceStatus::Aborted, _) => "Stopped in the fallback",
    }
}

fn error_kind(node: &TraceNode) -> &str {
    node.error.as_ref().map_or("", |error| &error.kind)
}
