//! The two entries that nearly all of a journal is, accepted turns and completed ones, read in one pass. Decides nothing on its
//! own: whatever is odd about a text is left to the reader that looks at its type first.

use std::{borrow::Cow, sync::Arc};

use serde::Deserialize;

use super::ReadMetadata;
use crate::{Entry, EntryBody, EntryId, FORMAT, Labels, ResponderInfo, Seq, Timestamp, TurnId};

/// The fields of both. One of the other type has to be well formed here, too, though nothing is made of it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Usual<'a> {
    v: u32,
    seq: Seq,
    id: EntryId,
    at: Timestamp,
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    turn_id: Option<TurnId>,
    input: Option<Text>,
    retry_of: Option<TurnId>,
    text: Option<Text>,
    metadata: Option<ReadMetadata>,
    responder: Option<ResponderInfo>,
    labels: Option<Labels>,
}

#[derive(Deserialize)]
struct Text(#[serde(deserialize_with = "crate::text::shared")] Arc<str>);

/// The entry, without its text; `None` where it takes another look.
pub(super) fn entry(text: &str) -> Option<Entry> {
    let Usual {
        v: FORMAT,
        seq,
        id,
        at,
        r#type,
        turn_id: Some(turn_id),
        input,
        retry_of,
        text,
        metadata,
        responder,
        labels,
    } = serde_json::from_str(text).ok()?
    else {
        return None;
    };
    let body = match &*r#type {
        "turn.accepted" => EntryBody::TurnAccepted {
            turn_id,
            input: input?.0,
            retry_of,
            labels,
        },
        "turn.completed" => EntryBody::TurnCompleted {
            turn_id,
            text: text?.0,
            metadata: metadata?.into(),
            responder: responder?,
        },
        _ => return None,
    };
    Some(Entry::new(seq, id, at, body))
}
