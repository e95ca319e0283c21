//! One node of a trace: what it stands for, and where it stands.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{NodeIndex, PartialText};
use crate::{CallId, ModelRef, RecordedError, Timestamp, Usage};

/// What a node of a trace stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum TraceKind {
    /// An agent: the run itself, or one nested in it.
    Agent,
    /// A step: model calls and the tools they ask for.
    Step,
    /// A plain function.
    Task,
    /// Nodes one after another.
    Sequence,
    /// Nodes side by side.
    Parallel,
    /// A node with a fallback.
    Catch,
    /// One model call.
    Model,
    /// One tool call.
    Tool,
}

/// Where a node stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TraceStatus {
    /// It has not begun.
    Pending,
    /// It is at work.
    Running,
    /// It waits for a person.
    Waiting,
    /// It is done.
    Done,
    /// It failed.
    Failed,
    /// It was stopped.
    Aborted,
}

impl TraceStatus {
    /// Whether work on the node goes on or is to come.
    #[must_use]
    pub fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::Running | Self::Waiting)
    }
}

/// One node of a trace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TraceNode {
    /// Unique in the run, and the same from one snapshot to the next (law P2).
    pub id: Arc<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) parent: Option<NodeIndex>,
    /// What it stands for.
    pub kind: TraceKind,
    /// The name its author gave it; a tool's or model's own name.
    pub name: Arc<str>,
    /// Where it stands.
    pub status: TraceStatus,
    /// When it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// The model it used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelRef>,
    /// Tokens it used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The tool call it stands for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<CallId>,
    /// What went in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Arc<Value>>,
    /// What came out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Arc<Value>>,
    /// The text written so far.
    #[serde(default, skip_serializing_if = "PartialText::is_empty")]
    pub partial_text: PartialText,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<RecordedError>,
}

impl TraceNode {
    /// A node that has not begun.
    #[must_use]
    pub fn new(id: impl Into<Arc<str>>, kind: TraceKind, name: impl Into<Arc<str>>) -> Self {
        Self {
            id: id.into(),
            parent: None,
            kind,
            name: name.into(),
            status: TraceStatus::Pending,
            started_at: None,
            ended_at: None,
            model: None,
            usage: None,
            call_id: None,
            input: None,
            output: None,
            partial_text: PartialText::default(),
            error: None,
        }
    }

    /// The node it stands in; `None` for a root.
    #[must_use]
    pub fn parent(&self) -> Option<NodeIndex> {
        self.parent
    }
}
