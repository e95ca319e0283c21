//! Any entry, for property tests. Tests only.

use proptest::{option, prelude::*};
use serde_json::{Map, Value};

use crate::{
    Entry, EntryBody, EntryId, FinishReason, Labels, Metadata, ModelRef, RecordedError,
    ResponderInfo, Seq, Timestamp, TurnId, Usage,
};

/// Any entry a program of this version could make.
pub(crate) fn entry() -> impl Strategy<Value = Entry> {
    (
        any::<u64>(),
        "[^/\\\\\\pC]{3,8}",
        -62_135_596_800_000_i64..253_402_207_200_000,
        body("\\PC{1,8}"),
    )
        .prop_map(|(seq, id, millis, body)| made(Seq(seq), &id, millis, body))
}

/// A journal of few turns, so that its entries meet: seqs without gaps, anything else in any order.
pub(crate) fn journal() -> impl Strategy<Value = Vec<Entry>> {
    prop::collection::vec(body("t[0-4]"), 0..24).prop_map(|bodies| {
        (0..)
            .zip(bodies)
            .map(|(seq, body)| made(Seq(seq), &format!("e{seq}"), seq as i64, body))
            .collect()
    })
}

fn made(seq: Seq, id: &str, millis: i64, body: EntryBody) -> Entry {
    let at = Timestamp::from_millis(millis).expect("in range");
    Entry::new(
        seq,
        EntryId::parse(id).expect("no separators in it"),
        at,
        body,
    )
}

fn body(turns: &'static str) -> impl Strategy<Value = EntryBody> {
    let turn = move || turns.prop_filter_map("no id", |id: String| TurnId::parse(id).ok());
    let info = || {
        (text(), option::of(text()), option::of(text())).prop_map(|(kind, id, version)| {
            ResponderInfo {
                kind: kind.into(),
                id: id.map(Into::into),
                version: version.map(Into::into),
            }
        })
    };
    prop_oneof![
        1 => option::of(labels()).prop_map(|labels| EntryBody::SessionCreated { labels }),
        4 => (turn(), text(), option::of(turn()), option::of(labels())).prop_map(|(turn_id, input, retry_of, labels)| {
            EntryBody::TurnAccepted { turn_id, input: input.into(), retry_of, labels }
        }),
        2 => (turn(), text()).prop_map(|(turn_id, input)| EntryBody::TurnSteered { turn_id, input: input.into() }),
        2 => (turn(), text(), metadata(), info()).prop_map(|(turn_id, text, metadata, responder)| {
            EntryBody::TurnCompleted { turn_id, text: text.into(), metadata, responder }
        }),
        2 => (turn(), text(), text(), any::<Option<bool>>(), option::of(usage()), info()).prop_map(
            |(turn_id, message, kind, retryable, usage, responder)| EntryBody::TurnFailed {
                turn_id,
                error: RecordedError { message: message.into(), kind: kind.into(), retryable },
                usage,
                responder,
            }
        ),
        2 => (turn(), option::of(text()), option::of(usage()), option::of(info())).prop_map(
            |(turn_id, reason, usage, responder)| EntryBody::TurnCanceled {
                turn_id,
                reason: reason.map(Into::into),
                usage,
                responder,
            }
        ),
        1 => "later\\.[a-z]{1,8}".prop_map(|kind| EntryBody::Unknown { kind: kind.into() }),
    ]
}

/// Text with everything that needs escaping.
fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(
        prop_oneof![
            any::<char>(),
            prop::sample::select(vec!['\n', '\r', '"', '\\', '\0', '\u{2028}', 'a'])
        ],
        0..12,
    )
    .prop_map(String::from_iter)
}

fn usage() -> impl Strategy<Value = Usage> {
    any::<[Option<u64>; 5]>().prop_map(
        |[
            input_tokens,
            output_tokens,
            total_tokens,
            reasoning_tokens,
            cached_input_tokens,
        ]| Usage {
            input_tokens,
            output_tokens,
            total_tokens,
            reasoning_tokens,
            cached_input_tokens,
        },
    )
}

fn metadata() -> impl Strategy<Value = Metadata> {
    (
        option::of((text(), text())),
        option::of(usage()),
        option::of(text()),
    )
        .prop_map(|(model, usage, reason)| Metadata {
            model: model.map(|(provider, id)| ModelRef::new(provider, id)),
            usage,
            finish_reason: reason.map(|word| FinishReason::from(word.as_str())),
            responder: None,
        })
}

fn labels() -> impl Strategy<Value = Labels> {
    let value = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        text().prop_map(Value::from)
    ];
    prop::collection::vec((text(), value), 0..4)
        .prop_map(|pairs| Labels::from_map(Map::from_iter(pairs)).expect("few and short"))
}
