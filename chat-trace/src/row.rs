//! One row of a trace, as a user interface draws it. Everything in it is redacted, on one line and bounded.

use std::sync::Arc;

use chat_core::{ApprovalId, ModelRef, Timestamp, Usage};
use serde::{Deserialize, Serialize};

/// What a row stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum RowKind {
    /// An agent nested in another. The run's own has no row: it is the turn.
    Agent,
    /// A step: its model calls and tool calls stand in it.
    Step,
    /// A plain function.
    Task,
    /// Nodes side by side.
    Parallel,
    /// A node with a fallback.
    Catch,
    /// One model call.
    Model,
    /// One tool call.
    Tool,
    /// A person is asked whether a tool may run. There is such a row as long as the request waits (law P2).
    Approval,
}

/// Where a row stands. A row without a status is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum RowStatus {
    /// At work.
    Running,
    /// Not begun, or waiting for a person.
    Pending,
    /// It failed.
    Error,
    /// It was stopped before it was done, or before it began.
    Stopped,
}

/// One row of a trace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TraceRow {
    /// Unique among the rows, and the same from one snapshot of a run to the next (law P2).
    pub id: Arc<str>,
    /// The id of the row it stands in; `None` at the top.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Arc<str>>,
    /// How many rows it stands in.
    pub depth: usize,
    /// What it stands for.
    pub kind: RowKind,
    /// What it is called: a step's id, a tool's or a model's own name.
    pub name: Arc<str>,
    /// What it does or did, in words: "Running research", "fetch failed".
    pub title: Arc<str>,
    /// Where it stands; `None` once it is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<RowStatus>,
    /// When it began; of an approval, when it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// How long it took, in milliseconds; of what has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The model it used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelRef>,
    /// Tokens it used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// A summary of what went in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Arc<str>>,
    /// A summary of what came out, unless that is its error alone; of what is still writing, how much there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Arc<str>>,
    /// The request that waits for an answer; of approval rows alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<ApprovalId>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Arc<str>>,
}
