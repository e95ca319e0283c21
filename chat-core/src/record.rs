//! A turn as anyone sees it: replayed from the journal, or as it runs.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Labels, Metadata, RecordedError, RunResult, SessionId, Timestamp, TurnId};

/// Where a turn stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TurnStatus {
    /// It waits for the turns before it, or for the hold.
    Queued,
    /// It is being answered.
    Running,
    /// It has its reply.
    Completed,
    /// Its responder failed.
    Failed,
    /// Someone stopped it.
    Canceled,
    /// It was accepted, and has no outcome (law T10).
    Interrupted,
}

impl TurnStatus {
    /// Whether a turn of this status can be retried (law T9).
    #[must_use]
    pub fn can_retry(self) -> bool {
        matches!(self, Self::Failed | Self::Canceled | Self::Interrupted)
    }

    /// Whether a turn of this status has ended.
    #[must_use]
    pub fn has_ended(self) -> bool {
        !matches!(self, Self::Queued | Self::Running)
    }

    /// The status as text, as JSON has it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
            Self::Interrupted => "interrupted",
        }
    }
}

impl std::fmt::Display for TurnStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One turn: what was asked, what came of it. In JSON the field names are camelCase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnRecord {
    /// The turn.
    pub id: TurnId,
    /// What the person said.
    pub input: Arc<str>,
    /// Where it stands.
    pub status: TurnStatus,
    /// The reply; only a completed turn has one (law T7).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Arc<str>>,
    /// What the person added while it was answered, in order (law T8).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steering: Vec<Arc<str>>,
    /// The turn whose input this one answers again (law T9).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_of: Option<TurnId>,
    /// How it was answered.
    #[serde(default)]
    pub metadata: Metadata,
    /// Why it failed, or was not accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<RecordedError>,
    /// Why it was canceled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Arc<str>>,
    /// When its input was accepted, where it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted_at: Option<Timestamp>,
    /// When its outcome was recorded, where it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// The host's own labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<Labels>,
}

impl TurnRecord {
    /// A turn of which only the input is known.
    #[must_use]
    pub fn queued(id: TurnId, input: Arc<str>) -> Self {
        Self {
            id,
            input,
            status: TurnStatus::Queued,
            output: None,
            steering: Vec::new(),
            retry_of: None,
            metadata: Metadata::default(),
            error: None,
            reason: None,
            accepted_at: None,
            ended_at: None,
            labels: None,
        }
    }
}

/// What a completed turn settles with.
#[derive(Debug, Clone)]
pub struct TurnReply {
    /// The session.
    pub session_id: SessionId,
    /// The turn.
    pub turn_id: TurnId,
    /// The reply, as recorded.
    pub text: Arc<str>,
    /// How it was answered, as recorded.
    pub metadata: Metadata,
    /// The workflow run behind it, where one was. In memory only: never stored (law W7).
    pub run: Option<RunResult>,
}
