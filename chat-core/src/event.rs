//! Live events: how a caller watches a turn. Never stored; the journal is what survives.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::{Map, Value};

use crate::{
    ApprovalId, CallId, FinishReason, RecordedError, SessionId, StepId, Timestamp, ToolName,
    TraceTree, TurnId, TurnRecord, Usage,
};

/// One live event of a turn. `seq` rises, with gaps only where unread events were joined.
///
/// In JSON: `{"type": "text-delta", "seq": 3, "text": "Hi"}`, field names in camelCase. New types may be added: ignore those
/// you don't handle. Read from JSON, a type this program does not know becomes [`ChatEvent::Unknown`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase",
    remote = "Self"
)]
#[non_exhaustive]
pub enum ChatEvent {
    /// The input is in the journal, and its responder is about to start.
    TurnStart {
        /// Place in the turn's events.
        seq: u64,
        /// The session.
        session_id: SessionId,
        /// The turn.
        turn_id: TurnId,
    },
    /// A piece of text.
    TextDelta {
        /// Place in the turn's events.
        seq: u64,
        /// The piece.
        text: Arc<str>,
        /// The workflow step that wrote it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<StepId>,
    },
    /// A piece of a model's reasoning: never part of the reply (law M2).
    ReasoningDelta {
        /// Place in the turn's events.
        seq: u64,
        /// The piece.
        #[serde(flatten)]
        reasoning: Box<Reasoning>,
    },
    /// A workflow's run committed: its trace as it now stands. A step's delta comes after the update that carries it.
    RunUpdate {
        /// Place in the turn's events.
        seq: u64,
        /// The trace, sharing structure with the snapshots before it.
        tree: TraceTree,
    },
    /// A tool call waits for a person (law W3).
    ApprovalRequest {
        /// Place in the turn's events.
        seq: u64,
        /// What is asked.
        request: Arc<ApprovalRequest>,
    },
    /// A request was answered, or taken back.
    ApprovalResolved {
        /// Place in the turn's events.
        seq: u64,
        /// The request.
        id: ApprovalId,
        /// What became of it.
        outcome: ApprovalOutcome,
        /// Why, where that was said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<Arc<str>>,
    },
    /// A model call is about to begin.
    StepStart {
        /// Place in the turn's events.
        seq: u64,
        /// The workflow step it belongs to; `reply` in a model chat.
        step: StepId,
        /// The number of the model call in the turn, from 1.
        number: u32,
    },
    /// A model call ended.
    StepEnd {
        /// Place in the turn's events.
        seq: u64,
        /// The workflow step it belongs to.
        step: StepId,
        /// The number of the model call in the turn.
        number: u32,
        /// Tokens it used, where known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Box<Usage>>,
        /// Why the model stopped, where known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        finish_reason: Option<FinishReason>,
    },
    /// A model call failed before its first output, and will be tried again (law M4).
    StepRetry {
        /// Place in the turn's events.
        seq: u64,
        /// What is tried again, and when.
        #[serde(flatten)]
        retry: Box<StepRetry>,
    },
    /// A model began to write a tool call.
    ToolCallStart {
        /// Place in the turn's events.
        seq: u64,
        /// The call.
        #[serde(flatten)]
        call: Arc<ToolCallRef>,
    },
    /// A piece of a tool call's name or arguments.
    ToolCallDelta {
        /// Place in the turn's events.
        seq: u64,
        /// The call.
        #[serde(flatten)]
        call: Arc<ToolCallRef>,
        /// A piece of its name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name_fragment: Option<Arc<str>>,
        /// A piece of its arguments' JSON text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arguments_fragment: Option<Arc<str>>,
    },
    /// A tool call is complete.
    ToolCallReady {
        /// Place in the turn's events.
        seq: u64,
        /// The call.
        #[serde(flatten)]
        call: Arc<ToolCallRef>,
        /// Its arguments.
        input: Arc<Value>,
    },
    /// A tool began to run.
    ToolExecutionStart {
        /// Place in the turn's events.
        seq: u64,
        /// The call.
        #[serde(flatten)]
        call: Arc<ToolCallRef>,
    },
    /// A tool ended, or was not run.
    ToolExecutionEnd {
        /// Place in the turn's events.
        seq: u64,
        /// The call.
        #[serde(flatten)]
        call: Arc<ToolCallRef>,
        /// How.
        outcome: ToolOutcome,
        /// How long it ran, in milliseconds.
        duration_ms: u64,
    },
    /// A tool call's result as the model will see it, after any hook.
    ToolResult {
        /// Place in the turn's events.
        seq: u64,
        /// The call.
        call_id: CallId,
        /// The tool.
        tool: ToolName,
        /// The result.
        result: Arc<Value>,
    },
    /// Input that the responder took while it answered, now in the journal (law T8).
    Steered {
        /// Place in the turn's events.
        seq: u64,
        /// The input.
        input: Arc<str>,
    },
    /// The turn as it now stands: always the last event, on every path (law T5).
    TurnEnd {
        /// Place in the turn's events.
        seq: u64,
        /// The turn.
        turn: Arc<TurnRecord>,
    },
    /// An event of a type this program does not know, read from JSON.
    #[serde(skip)]
    Unknown {
        /// Place in the turn's events.
        seq: u64,
        /// The whole event, as read.
        event: Box<Map<String, Value>>,
    },
}

/// A piece of a model's reasoning.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reasoning {
    /// The piece.
    pub text: Arc<str>,
    /// The workflow step that wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepId>,
    /// The provider's word for this kind of reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Arc<str>>,
    /// Whose model wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<Arc<str>>,
    /// What else the provider said with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Arc<Value>>,
}

/// A model call that will be tried again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepRetry {
    /// The workflow step it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepId>,
    /// The number of the model call in the turn.
    pub number: u32,
    /// Which retry this is, from 1.
    pub attempt: u32,
    /// How long is waited before it, in milliseconds.
    pub delay_ms: u64,
    /// What went wrong.
    pub error: RecordedError,
}

/// Which tool call of which model call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCallRef {
    /// The workflow step it belongs to.
    pub step: StepId,
    /// The number of the model call in the turn.
    pub number: u32,
    /// Its place among the tool calls of that model call, from 0.
    pub index: u32,
    /// Its id.
    pub call_id: CallId,
    /// The tool.
    pub tool: ToolName,
}

/// How a tool's execution ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolOutcome {
    /// It gave a result.
    Ok,
    /// It gave an error, which became its result.
    Error,
    /// A person denied it: it was not run.
    Denied,
    /// It was stopped.
    Aborted,
}

/// A tool call that waits for a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRequest {
    /// The request; unique in its turn (law R2).
    pub id: ApprovalId,
    /// The tool call it is about.
    pub call_id: CallId,
    /// The tool.
    pub tool_name: ToolName,
    /// The arguments it would run with, exactly (law W3).
    pub input: Arc<Value>,
    /// The workflow step it belongs to.
    pub step: StepId,
    /// When it was asked.
    pub requested_at: Timestamp,
}

/// What became of an approval request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalOutcome {
    /// A person said yes.
    Approved,
    /// A person said no.
    Denied,
    /// It no longer matters.
    Withdrawn,
}

impl ChatEvent {
    /// Its place in the turn's events.
    #[must_use]
    pub fn seq(&self) -> u64 {
        match self {
            Self::TurnStart { seq, .. }
            | Self::TextDelta { seq, .. }
            | Self::ReasoningDelta { seq, .. }
            | Self::RunUpdate { seq, .. }
            | Self::ApprovalRequest { seq, .. }
            | Self::ApprovalResolved { seq, .. }
            | Self::StepStart { seq, .. }
            | Self::StepEnd { seq, .. }
            | Self::StepRetry { seq, .. }
            | Self::ToolCallStart { seq, .. }
            | Self::ToolCallDelta { seq, .. }
            | Self::ToolCallReady { seq, .. }
            | Self::ToolExecutionStart { seq, .. }
            | Self::ToolExecutionEnd { seq, .. }
            | Self::ToolResult { seq, .. }
            | Self::Steered { seq, .. }
            | Self::TurnEnd { seq, .. }
            | Self::Unknown { seq, .. } => *seq,
        }
    }

    /// Its type as JSON has it.
    #[must_use]
    pub fn kind(&self) -> &str {
        match self {
            Self::TurnStart { .. } => "turn-start",
            Self::TextDelta { .. } => "text-delta",
            Self::ReasoningDelta { .. } => "reasoning-delta",
            Self::RunUpdate { .. } => "run-update",
            Self::ApprovalRequest { .. } => "approval-request",
            Self::ApprovalResolved { .. } => "approval-resolved",
            Self::StepStart { .. } => "step-start",
            Self::StepEnd { .. } => "step-end",
            Self::StepRetry { .. } => "step-retry",
            Self::ToolCallStart { .. } => "tool-call-start",
            Self::ToolCallDelta { .. } => "tool-call-delta",
            Self::ToolCallReady { .. } => "tool-call-ready",
            Self::ToolExecutionStart { .. } => "tool-execution-start",
            Self::ToolExecutionEnd { .. } => "tool-execution-end",
            Self::ToolResult { .. } => "tool-result",
            Self::Steered { .. } => "steered",
            Self::TurnEnd { .. } => "turn-end",
            Self::Unknown { event, .. } => event
                .get("type")
                .and_then(Value::as_str)
                .unwrap_or_default(),
        }
    }
}

/// The types that [`ChatEvent`] knows from JSON.
const KNOWN: [&str; 17] = [
    "turn-start",
    "text-delta",
    "reasoning-delta",
    "run-update",
    "approval-request",
    "approval-resolved",
    "step-start",
    "step-end",
    "step-retry",
    "tool-call-start",
    "tool-call-delta",
    "tool-call-ready",
    "tool-execution-start",
    "tool-execution-end",
    "tool-result",
    "steered",
    "turn-end",
];

impl Serialize for ChatEvent {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Unknown { event, .. } => event.serialize(serializer),
            // `Self::serialize` is the derived one: `remote = "Self"` makes it inherent.
            _ => Self::serialize(self, serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ChatEvent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let event = Map::<String, Value>::deserialize(deserializer)?;
        let kind = event
            .get("type")
            .and_then(Value::as_str)
            .ok_or_else(|| D::Error::missing_field("type"))?;
        if KNOWN.contains(&kind) {
            return Self::deserialize(Value::Object(event)).map_err(D::Error::custom);
        }
        let seq = event
            .get("seq")
            .and_then(Value::as_u64)
            .ok_or_else(|| D::Error::missing_field("seq"))?;
        Ok(Self::Unknown {
            seq,
            event: Box::new(event),
        })
    }
}

#[cfg(test)]
mod tests;
