//! How a turn ends other than by a reply, and why a command to one is refused.

use std::{fmt, sync::Arc};

use crate::{ApprovalId, RecordedError, ResponderError, StoreError, TurnId, TurnStatus};

/// Why a turn has no reply. Each variant is one way to end.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum TurnError {
    /// The responder failed. Recorded; can be retried.
    Failed(ResponderError),
    /// It was canceled. Recorded unless it was still queued.
    Canceled {
        /// The first reason given, where one was.
        reason: Option<Arc<str>>,
    },
    /// It was accepted, and its outcome could not be recorded (law T10). Can be retried.
    Interrupted(Interruption),
    /// It was never accepted: nothing of it is in the journal (law T11).
    NotAccepted(NotAccepted),
}

/// Why an accepted turn has no outcome in the journal.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Interruption {
    /// The hold on the session was lost in the middle of the turn (law T13).
    #[error("the hold on the session was lost; another process may be writing it")]
    HoldLost,
    /// The outcome could not be written, or whether it was could not be found out.
    #[error("the outcome could not be recorded: {0}")]
    Store(#[source] StoreError),
    /// The async runtime that drove the turn is gone (law T5).
    #[error("the async runtime that drove the turn is gone")]
    RuntimeGone,
}

/// Why a turn was never accepted.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum NotAccepted {
    /// The store refused.
    #[error("{0}")]
    Store(#[source] StoreError),
    /// The hold on the session was lost before the turn was written.
    #[error("the hold on the session was lost before the turn was written")]
    HoldLost,
    /// Another turn of the session has this id: the host's source of unique numbers gave one twice.
    #[error(
        "the turn's ids were given before ({0}); what gives unique numbers must not give one twice"
    )]
    IdTaken(TurnId),
    /// The turn can't be retried.
    #[error(transparent)]
    Retry(RetryRefused),
    /// The chat is shutting down (law T14).
    #[error("the chat is shutting down and takes no new turns")]
    ShuttingDown,
    /// The async runtime that drove the session is gone (law T5).
    #[error("the async runtime that drove the session is gone")]
    RuntimeGone,
}

/// Why a turn can't be retried (law T9).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RetryRefused {
    /// The session has no such turn.
    #[error("there is no turn {0} in this session to retry")]
    Unknown(TurnId),
    /// It completed.
    #[error("turn {0} completed and can't be retried; send its input again for another answer")]
    Completed(TurnId),
    /// It is queued or running here.
    #[error("turn {0} is still queued or running and can't be retried; cancel it first")]
    Active(TurnId),
}

impl TurnError {
    /// The status a turn that ended so shows.
    #[must_use]
    pub fn status(&self) -> TurnStatus {
        match self {
            Self::Failed(_) | Self::NotAccepted(_) => TurnStatus::Failed,
            Self::Canceled { .. } => TurnStatus::Canceled,
            Self::Interrupted(_) => TurnStatus::Interrupted,
        }
    }

    /// One word that programs can match.
    #[must_use]
    pub fn kind(&self) -> &str {
        match self {
            Self::Failed(error) => error.kind(),
            Self::Canceled { .. } => "canceled",
            Self::Interrupted(Interruption::HoldLost)
            | Self::NotAccepted(NotAccepted::HoldLost) => "hold-lost",
            Self::Interrupted(Interruption::Store(error))
            | Self::NotAccepted(NotAccepted::Store(error)) => error.kind(),
            Self::Interrupted(Interruption::RuntimeGone)
            | Self::NotAccepted(NotAccepted::RuntimeGone) => "runtime-gone",
            Self::NotAccepted(NotAccepted::IdTaken(_)) => "id-taken",
            Self::NotAccepted(NotAccepted::Retry(_)) => "retry-refused",
            Self::NotAccepted(NotAccepted::ShuttingDown) => "shutting-down",
        }
    }

    /// The error as events and the journal show it.
    #[must_use]
    pub fn recorded(&self) -> RecordedError {
        match self {
            Self::Failed(error) => RecordedError::from(error),
            Self::Canceled { .. } | Self::Interrupted(_) | Self::NotAccepted(_) => {
                RecordedError::of(&self.to_string(), self.kind(), None)
            }
        }
    }
}

impl fmt::Display for TurnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(error) => write!(f, "the turn failed: {error}"),
            Self::Canceled {
                reason: Some(reason),
            } => f.write_str(reason),
            Self::Canceled { reason: None } => f.write_str("canceled"),
            Self::Interrupted(why) => write!(f, "the turn was interrupted: {why}"),
            Self::NotAccepted(why) => write!(f, "the turn was not accepted: {why}"),
        }
    }
}

impl std::error::Error for TurnError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Failed(error) => error.source().map(|source| source as _),
            Self::Canceled { .. } => None,
            Self::Interrupted(why) => Some(why),
            Self::NotAccepted(why) => Some(why),
        }
    }
}

/// Why a steer was refused (law T8).
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum SteerRefused {
    /// No turn runs.
    #[error("no turn is running")]
    NoTurn,
    /// The turn ended before its responder took the input.
    #[error("the turn has ended")]
    Ended,
    /// The turn was canceled.
    #[error("the turn was canceled")]
    Canceled,
    /// The reply was in before the responder took the input.
    #[error("the reply was already in")]
    ReplyIn,
    /// The responder can't take input while it answers.
    #[error("the responder can't be steered")]
    Unsupported,
    /// The responder refused the input.
    #[error("the responder refused: {0}")]
    Responder(Arc<str>),
    /// The responder took the input, and the journal did not: the turn fails.
    #[error("the input could not be recorded: {0}")]
    Store(#[source] StoreError),
    /// The hold on the session was lost.
    #[error("the hold on the session was lost")]
    HoldLost,
    /// The chat is shutting down.
    #[error("the chat is shutting down")]
    ShuttingDown,
    /// The async runtime is gone.
    #[error("the async runtime that drove the turn is gone")]
    RuntimeGone,
}

/// A refused steer: why, with the input handed back, so that it can be sent as a turn of its own.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the input was not taken: {why}")]
pub struct SteerError {
    /// The input.
    pub input: Arc<str>,
    /// Why it was refused.
    #[source]
    pub why: SteerRefused,
}

/// Why an answer to an approval request was refused (law R2).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// The turn is not running.
    #[error("turn {0} is not running, so nothing in it waits for an answer")]
    NotRunning(TurnId),
    /// The turn never asked that.
    #[error("the turn has no approval request {0}")]
    Unknown(ApprovalId),
    /// Someone answered before.
    #[error("approval request {0} was already answered")]
    Answered(ApprovalId),
    /// The responder took the request back.
    #[error("approval request {0} was withdrawn")]
    Withdrawn(ApprovalId),
}
