//! The one encoder and decoder of journal entries (law J1), for every store, listing and export.
//!
//! An entry is one JSON object: `v` (the major format), `seq`, `id`, `at`, `type`, then the fields of its type. An entry that
//! was read is written as it was, to the byte, so that nothing this program does not know is lost (law J2). A field this program
//! reads may stand there once only, and `null` is the same as none. Nothing is read here for its meaning: an entry that replay
//! would ignore is as good as any.

use std::{borrow::Cow, cmp::Ordering, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{
    Entry, EntryBody, EntryId, FORMAT, FinishReason, Labels, Metadata, ModelRef, RecordedError,
    ResponderInfo, Seq, Timestamp, TurnId, Usage,
};

mod usual;

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
struct Head<'a> {
    v: u32,
    seq: Seq,
    id: EntryId,
    at: Timestamp,
    #[serde(borrow)]
    r#type: Cow<'a, str>,
}

/// An entry's place, as it is written.
#[derive(Deserialize)]
struct Placed<'a> {
    #[serde(borrow)]
    seq: &'a RawValue,
}

// The fields of each type. One type's fields are never read of another: there they are unknown, and may have any shape.

#[derive(Deserialize)]
struct SessionCreated {
    labels: Option<Labels>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TurnAccepted {
    turn_id: TurnId,
    #[serde(deserialize_with = "crate::text::shared")]
    input: Arc<str>,
    retry_of: Option<TurnId>,
    labels: Option<Labels>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TurnSteered {
    turn_id: TurnId,
    #[serde(deserialize_with = "crate::text::shared")]
    input: Arc<str>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TurnCompleted {
    turn_id: TurnId,
    #[serde(deserialize_with = "crate::text::shared")]
    text: Arc<str>,
    metadata: ReadMetadata,
    responder: ResponderInfo,
}

/// Metadata without its responder, which an entry has beside it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReadMetadata {
    model: Option<ModelRef>,
    usage: Option<Usage>,
    finish_reason: Option<FinishReason>,
}

impl From<ReadMetadata> for Metadata {
    fn from(read: ReadMetadata) -> Self {
        let ReadMetadata {
            model,
            usage,
            finish_reason,
        } = read;
        Self {
            model,
            usage,
            finish_reason,
            responder: None,
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TurnFailed {
    turn_id: TurnId,
    error: RecordedError,
    usage: Option<Usage>,
    responder: ResponderInfo,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TurnCanceled {
    turn_id: TurnId,
    reason: Option<Arc<str>>,
    usage: Option<Usage>,
    responder: Option<ResponderInfo>,
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
    model: Option<&'a ModelRef>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<&'a Usage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    finish_reason: Option<&'a FinishReason>,
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
        serde_json::to_string(&written)
            .expect("an entry is always JSON")
            .into()
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
            EntryBody::TurnAccepted {
                turn_id: _,
                input,
                retry_of,
                labels,
            } => {
                written.input = Some(input);
                written.retry_of = retry_of.as_ref();
                written.labels = labels.as_ref();
            }
            EntryBody::TurnSteered { turn_id: _, input } => written.input = Some(input),
            EntryBody::TurnCompleted {
                turn_id: _,
                text,
                metadata,
                responder,
            } => {
                written.text = Some(text);
                written.metadata = Some(WrittenMetadata {
                    model: metadata.model.as_ref(),
                    usage: metadata.usage.as_ref(),
                    finish_reason: metadata.finish_reason.as_ref(),
                });
                written.responder = Some(responder);
            }
            EntryBody::TurnFailed {
                turn_id: _,
                error,
                usage,
                responder,
            } => {
                written.error = Some(error);
                written.usage = usage.as_ref();
                written.responder = Some(responder);
            }
            EntryBody::TurnCanceled {
                turn_id: _,
                reason,
                usage,
                responder,
            } => {
                written.reason = reason.as_deref();
                written.usage = usage.as_ref();
                written.responder = responder.as_ref();
            }
            EntryBody::Unknown { kind: _ } => {}
        }
        written
    }

    /// The same entry at another place: of what it was read from, nothing but that number changes.
    pub(crate) fn moved_to(self, seq: Seq) -> Self {
        if self.seq() == seq {
            return self;
        }
        let text = self.text.as_deref().map(|text| {
            let Placed { seq: before } =
                serde_json::from_str(text).expect("an entry's text has its place");
            // What was read borrows from the text: where it stands there is told by its address.
            let start = before.get().as_ptr().addr() - text.as_ptr().addr();
            let (head, tail) = (&text[..start], &text[start + before.get().len()..]);
            format!("{head}{seq}{tail}").into()
        });
        let mut moved = Self::new(seq, self.id().clone(), self.at(), self.body().clone());
        moved.text = text;
        moved
    }

    /// Reads an entry from one JSON object, with or without white space around it.
    ///
    /// # Errors
    /// [`DecodeError::NewerFormat`] where a newer program wrote it, else [`DecodeError::Invalid`] with what is wrong.
    pub fn decode(text: &str) -> Result<Self, DecodeError> {
        let text = text.trim_matches([' ', '\t', '\r', '\n']);
        if !text.starts_with('{') {
            // A list of the right values would pass for an object otherwise.
            return Err(DecodeError::invalid(
                "an entry is a JSON object, and this is none",
            ));
        }
        let mut entry = usual::entry(text).map_or_else(|| by_type(text), Ok)?;
        entry.text = Some(one_line(text));
        Ok(entry)
    }
}

/// Any entry, without its text: its head, and then what its type has.
fn by_type(text: &str) -> Result<Entry, DecodeError> {
    let head = serde_json::from_str::<Head<'_>>(text).map_err(|error| not_ours(text, error))?;
    check_format(head.v)?;
    let body = body(&head.r#type, text)
        .map_err(|error| DecodeError::invalid(format!("{}: {error}", head.r#type)))?;
    Ok(Entry::new(head.seq, head.id, head.at, body))
}

/// Why a text has no head of this format: a newer format may have another.
fn not_ours(text: &str, error: serde_json::Error) -> DecodeError {
    serde_json::from_str::<Format>(text)
        .ok()
        .and_then(|format| check_format(format.v).err())
        .unwrap_or_else(|| DecodeError::invalid(error.to_string()))
}

fn check_format(found: u32) -> Result<(), DecodeError> {
    match found.cmp(&FORMAT) {
        Ordering::Equal => Ok(()),
        Ordering::Greater => Err(DecodeError::NewerFormat { found }),
        Ordering::Less => Err(DecodeError::invalid(format!("there is no format {found}"))),
    }
}

fn body(kind: &str, text: &str) -> Result<EntryBody, serde_json::Error> {
    Ok(match kind {
        "session.created" => {
            let SessionCreated { labels } = serde_json::from_str(text)?;
            EntryBody::SessionCreated { labels }
        }
        "turn.accepted" => {
            let TurnAccepted {
                turn_id,
                input,
                retry_of,
                labels,
            } = serde_json::from_str(text)?;
            EntryBody::TurnAccepted {
                turn_id,
                input,
                retry_of,
                labels,
            }
        }
        "turn.steered" => {
            let TurnSteered { turn_id, input } = serde_json::from_str(text)?;
            EntryBody::TurnSteered { turn_id, input }
        }
        "turn.completed" => {
            let TurnCompleted {
                turn_id,
                text,
                metadata,
                responder,
            } = serde_json::from_str(text)?;
            EntryBody::TurnCompleted {
                turn_id,
                text,
                metadata: metadata.into(),
                responder,
            }
        }
        "turn.failed" => {
            let TurnFailed {
                turn_id,
                error,
                usage,
                responder,
            } = serde_json::from_str(text)?;
            EntryBody::TurnFailed {
                turn_id,
                error,
                usage,
                responder,
            }
        }
        "turn.canceled" => {
            let TurnCanceled {
                turn_id,
                reason,
                usage,
                responder,
            } = serde_json::from_str(text)?;
            EntryBody::TurnCanceled {
                turn_id,
                reason,
                usage,
                responder,
            }
        }
        other => EntryBody::Unknown { kind: other.into() },
    })
}

/// JSON on one line, for a store may keep an entry a line. A raw line break in JSON is white space, never part of a string.
fn one_line(text: &str) -> Arc<str> {
    // Sought as bytes: a search for characters would take longer than the checksum and the copy together.
    if [b'\r', b'\n']
        .iter()
        .any(|end| text.as_bytes().contains(end))
    {
        text.replace(['\r', '\n'], " ").into()
    } else {
        text.into()
    }
}

#[cfg(test)]
mod tests;
