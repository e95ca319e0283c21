//! Journal entries: all that survives of a conversation. [`crate::codec`] writes and reads them.

use std::sync::Arc;

use crate::{
    EntryId, Labels, Metadata, RecordedError, ResponderInfo, Seq, Timestamp, TurnId, Usage,
};

/// The major format this crate writes, and the newest it reads (law J2).
pub const FORMAT: u32 = 1;

/// One entry of a journal. Immutable: an entry that was read keeps its text, and is written as it was (law J2).
#[derive(Debug, Clone)]
pub struct Entry {
    seq: Seq,
    id: EntryId,
    at: Timestamp,
    body: EntryBody,
    /// The JSON text it was read from, kept because it may hold fields that this program does not know.
    pub(crate) text: Option<Arc<str>>,
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum EntryBody {
    /// `session.created`: always the first entry.
    SessionCreated {
        /// The host's own labels.
        labels: Option<Labels>,
    },
    /// `turn.accepted`: the input is safe, and will be answered.
    TurnAccepted {
        /// The turn.
        turn_id: TurnId,
        /// What the person said.
        input: Arc<str>,
        /// The turn whose input this one answers again.
        retry_of: Option<TurnId>,
        /// The host's own labels.
        labels: Option<Labels>,
    },
    /// `turn.steered`: input that the responder took while it answered.
    TurnSteered {
        /// The turn.
        turn_id: TurnId,
        /// What the person added.
        input: Arc<str>,
    },
    /// `turn.completed`: the reply.
    TurnCompleted {
        /// The turn.
        turn_id: TurnId,
        /// The reply.
        text: Arc<str>,
        /// Model, usage and finish reason; its `responder` is written beside it.
        metadata: Metadata,
        /// Who answered.
        responder: ResponderInfo,
    },
    /// `turn.failed`: why there is no reply.
    TurnFailed {
        /// The turn.
        turn_id: TurnId,
        /// The error, bounded and redacted.
        error: RecordedError,
        /// Tokens used, as far as known.
        usage: Option<Usage>,
        /// Who failed.
        responder: ResponderInfo,
    },
    /// `turn.canceled`: someone stopped it.
    TurnCanceled {
        /// The turn.
        turn_id: TurnId,
        /// The first reason given.
        reason: Option<Arc<str>>,
        /// Tokens used, as far as known.
        usage: Option<Usage>,
        /// Who was answering, where someone was.
        responder: Option<ResponderInfo>,
    },
    /// An entry of a type that this program does not know: kept as written, ignored by replay (law J2).
    Unknown {
        /// Its type.
        kind: Arc<str>,
    },
}

impl Entry {
    /// A new entry.
    #[must_use]
    pub fn new(seq: Seq, id: EntryId, at: Timestamp, body: EntryBody) -> Self {
        Self {
            seq,
            id,
            at,
            body,
            text: None,
        }
    }

    /// Its place in the journal.
    #[must_use]
    pub fn seq(&self) -> Seq {
        self.seq
    }

    /// Its id, unique in the journal.
    #[must_use]
    pub fn id(&self) -> &EntryId {
        &self.id
    }

    /// When it was made.
    #[must_use]
    pub fn at(&self) -> Timestamp {
        self.at
    }

    /// What happened.
    #[must_use]
    pub fn body(&self) -> &EntryBody {
        &self.body
    }

    /// Whether both are the same entry: same place, same id (law S1).
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.seq == other.seq && self.id == other.id
    }
}

impl PartialEq for Entry {
    /// Equal is what is written equal: unknown fields count.
    fn eq(&self, other: &Self) -> bool {
        self.is_same(other) && self.encode() == other.encode()
    }
}

impl EntryBody {
    /// The type as it is written.
    #[must_use]
    pub fn kind(&self) -> &str {
        match self {
            Self::SessionCreated { .. } => "session.created",
            Self::TurnAccepted { .. } => "turn.accepted",
            Self::TurnSteered { .. } => "turn.steered",
            Self::TurnCompleted { .. } => "turn.completed",
            Self::TurnFailed { .. } => "turn.failed",
            Self::TurnCanceled { .. } => "turn.canceled",
            Self::Unknown { kind } => kind,
        }
    }

    /// The turn it speaks of, where it does.
    #[must_use]
    pub fn turn_id(&self) -> Option<&TurnId> {
        match self {
            Self::TurnAccepted { turn_id, .. }
            | Self::TurnSteered { turn_id, .. }
            | Self::TurnCompleted { turn_id, .. }
            | Self::TurnFailed { turn_id, .. }
            | Self::TurnCanceled { turn_id, .. } => Some(turn_id),
            Self::SessionCreated { .. } | Self::Unknown { .. } => None,
        }
    }
}
