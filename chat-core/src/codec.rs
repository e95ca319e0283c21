//! The one encoder and decoder of journal entries (law J1), for every store, listing and export.
//!
//! An entry is one JSON object: `v` (the major format), `seq`, `id`, `at`, `type`, then the fields of its type. An entry that
//! was read is written as it was, to the byte, so that nothing this program does not know is lost (law J2).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    Entry, EntryBody, EntryId, FORMAT, Labels, Metadata, RecordedError, ResponderInfo, Seq, Timestamp, TurnId, Usage,
};

/// Why a text is no entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// It is of a newer major format: leave it to a newer program (law J2).
    #[error("the entry has format {found}, this program reads up to {FORMAT}")]
    NewerFormat {
        /// The format found.
        found: u32,
    },
    /// It is not a journal entry.
    #[error("{0}")]
    Invalid(Arc<str>),
}

impl DecodeError {
    fn invalid(what: impl Into<Arc<str>>) -> Self {
        Self::Invalid(what.into())
    }
}

/// What every entry of every format has; read first, so that a newer format is told from damage.
#[derive(Deserialize)]
struct Format {
    v: u32,
}

/// What every entry of this format has.
#[derive(Deserialize)]
struct Head {
    seq: Seq,
    id: EntryId,
    at: Timestamp,
    r#type: String,
}

/// All fields of all known types: one pass reads any of them. Types that are not known are read as a [`Head`] instead, since
/// their fields may have the same names and other shapes.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    v: u32,
    seq: Seq,
    id: EntryId,
    at: Timestamp,
    r#type: String,
    turn_id: Option<TurnId>,
    input: Option<Arc<str>>,
    retry_of: Option<TurnId>,
    labels: Option<Labels>,
    text: Option<Arc<str>>,
    metadata: Option<Metadata>,
    responder: Option<ResponderInfo>,
    error: Option<RecordedError>,
    usage: Option<Usage>,
    reason: Option<Arc<str>>,
}

/// The shape that is written: fields in this order, absent ones left out.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Written<'a> {
    v: u32,
    seq: Seq,
    id: &'a EntryId,
    at: Timestamp,
    r#type: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn_id: Option<&'a TurnId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_of: Option<&'a TurnId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<WrittenMetadata<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a RecordedError>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<&'a Usage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    responder: Option<&'a ResponderInfo>,
    #[serde(skip_serializing_if = "Option::is_none")]
    labels: Option<&'a Labels>,
}

/// Metadata without its responder, which an entry has beside it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WrittenMetadata<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a crate::ModelRef>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<&'a Usage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    finish_reason: Option<&'a crate::FinishReason>,
}

impl Entry {
    /// The entry as one line of JSON, without a newline. One that was read is given as it was read.
    #[must_use]
    pub fn encode(&self) -> Arc<str> {
        if let Some(text) = &self.text {
            return text.clone();
        }
        let written = self.written();
        // Strings, numbers and string-keyed maps: nothing in the shape can fail to be JSON.
        serde_json::to_string(&written).expect("an entry is always JSON").into()
    }

    fn written(&self) -> Written<'_> {
        let body = self.body();
        let mut written = Written {
            v: FORMAT,
            seq: self.seq(),
            id: self.id(),
            at: self.at(),
            r#type: body.kind(),
            turn_id: body.turn_id(),
            input: None,
            retry_of: None,
            text: None,
            metadata: None,
            error: None,
            reason: None,
            usage: None,
            responder: None,
            labels: None,
        };
        match body {
            EntryBody::SessionCreated { labels } => written.labels = labels.as_ref(),
            EntryBody::TurnAccepted { turn_id: _, input, retry_of, labels } => {
                written.input = Some(input);
                written.retry_of = retry_of.as_ref();
                written.labels = labels.as_ref();
            }
            EntryBody::TurnSteered { turn_id: _, input } => written.input = Some(input),
            EntryBody::TurnCompleted { turn_id: _, text, metadata, responder } => {
                written.text = Some(text);
                written.metadata = Some(WrittenMetadata {
                    model: metadata.model.as_ref(),
                    usage: metadata.usage.as_ref(),
                    finish_reason: metadata.finish_reason.as_ref(),
                });
                written.responder = Some(responder);
            }
            EntryBody::TurnFailed { turn_id: _, error, usage, responder } => {
                written.error = Some(error);
                written.usage = usage.as_ref();
                written.responder = Some(responder);
            }
            EntryBody::TurnCanceled { turn_id: _, reason, usage, responder } => {
                written.reason = reason.as_deref();
                written.usage = usage.as_ref();
                written.responder = responder.as_ref();
            }
            EntryBody::Unknown { kind: _ } => {}
        }
        written
    }

    /// Reads an entry from one JSON object, with or without white space around it.
    ///
    /// # Errors
    /// [`DecodeError::NewerFormat`] where a newer program wrote it, else [`DecodeError::Invalid`] with what is wrong.
    pub fn decode(text: &str) -> Result<Self, DecodeError> {
        let text = text.trim_matches([' ', '\t', '\r', '\n']);
        let (head, body) = match serde_json::from_str::<Wire>(text) {
            Ok(wire) if wire.v == FORMAT => wire.split()?,
            // Not of this format, not of a known type's shape, or no entry at all: the slow way says which.
            Ok(_) | Err(_) => decode_slowly(text)?,
        };
        let mut entry = Self::new(head.seq, head.id, head.at, body);
        entry.text = Some(text.into());
        Ok(entry)
    }
}

fn decode_slowly(text: &str) -> Result<(Head, EntryBody), DecodeError> {
    let invalid = |error: serde_json::Error| DecodeError::invalid(error.to_string());
    match serde_json::from_str::<Format>(text).map_err(invalid)?.v {
        FORMAT => {}
        found if found > FORMAT => return Err(DecodeError::NewerFormat { found }),
        found => return Err(DecodeError::invalid(format!("there is no format {found}"))),
    }
    let head: Head = serde_json::from_str(text).map_err(invalid)?;
    if is_known(&head.r#type) {
        serde_json::from_str::<Wire>(text).map_err(invalid)?.split()
    } else {
        let kind = head.r#type.as_str().into();
        Ok((head, EntryBody::Unknown { kind }))
    }
}

fn is_known(kind: &str) -> bool {
    matches!(
        kind,
        "session.created"
            | "turn.accepted"
            | "turn.steered"
            | "turn.completed"
            | "turn.failed"
            | "turn.canceled"
    )
}

impl Wire {
    fn split(self) -> Result<(Head, EntryBody), DecodeError> {
        let missing = |field: &str| DecodeError::invalid(format!("{} has no {field}", self.r#type));
        let turn_id = || self.turn_id.clone().ok_or_else(|| missing("turnId"));
        let body = match self.r#type.as_str() {
            "session.created" => EntryBody::SessionCreated { labels: self.labels },
            "turn.accepted" => EntryBody::TurnAccepted {
                turn_id: turn_id()?,
                input: self.input.clone().ok_or_else(|| missing("input"))?,
                retry_of: self.retry_of,
                labels: self.labels,
            },
            "turn.steered" => EntryBody::TurnSteered {
                turn_id: turn_id()?,
                input: self.input.clone().ok_or_else(|| missing("input"))?,
            },
            "turn.completed" => EntryBody::TurnCompleted {
                turn_id: turn_id()?,
                text: self.text.clone().ok_or_else(|| missing("text"))?,
                metadata: Metadata { responder: None, ..self.metadata.clone().unwrap_or_default() },
                responder: self.responder.clone().ok_or_else(|| missing("responder"))?,
            },
            "turn.failed" => EntryBody::TurnFailed {
                turn_id: turn_id()?,
                error: self.error.clone().ok_or_else(|| missing("error"))?,
                usage: self.usage,
                responder: self.responder.clone().ok_or_else(|| missing("responder"))?,
            },
            "turn.canceled" => EntryBody::TurnCanceled {
                turn_id: turn_id()?,
                reason: self.reason,
                usage: self.usage,
                responder: self.responder,
            },
            other => EntryBody::Unknown { kind: other.into() },
        };
        Ok((Head { seq: self.seq, id: self.id, at: self.at, r#type: self.r#type }, body))
    }
}
