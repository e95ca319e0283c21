//! Golden files pin the format (laws J1 and J2): what stands in `golden/` must be read, and written again, for ever.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use chat_core::{
    DecodeError, Entry, EntryBody, FinishReason, Labels, Metadata, ModelRef, RecordedError,
    ResponderInfo, Seq, Transcript, TurnStatus, Usage,
};
use serde_json::json;

const EVERY_TYPE: &str = include_str!("golden/every-type.jsonl");
const UNKNOWN: &str = include_str!("golden/unknown.jsonl");
const NEWER: &str = include_str!("golden/newer.jsonl");

fn read(journal: &str) -> Vec<Entry> {
    journal
        .lines()
        .map(|line| Entry::decode(line).expect(line))
        .collect()
}

/// The journal of `every-type.jsonl`, as a program makes it.
fn every_type() -> Vec<Entry> {
    let turn = |id: &str| id.parse().unwrap();
    let accepted = |id: &str, input: &str| EntryBody::TurnAccepted {
        turn_id: turn(id),
        input: input.into(),
        retry_of: None,
        labels: None,
    };
    let kind = ResponderInfo::of_kind;
    let labels =
        |value: serde_json::Value| Labels::from_map(value.as_object().unwrap().clone()).unwrap();
    let bodies = [
        (
            ":30:00.000",
            EntryBody::SessionCreated {
                labels: Some(labels(json!({"channel": "web", "tenant": {"id": 7}}))),
            },
        ),
        (
            ":30:01.250",
            accepted("t1", "What is a \"turn\"?\nBriefly, please. Grüße 👋"),
        ),
        (
            ":30:02.000",
            EntryBody::TurnSteered {
                turn_id: turn("t1"),
                input: "In one line.".into(),
            },
        ),
        (
            ":30:03.000",
            EntryBody::TurnCompleted {
                turn_id: turn("t1"),
                text: "One input,\tanswered once.".into(),
                metadata: Metadata {
                    model: Some(ModelRef::new("openai", "gpt-5-mini")),
                    usage: Some(Usage {
                        input_tokens: Some(12),
                        output_tokens: Some(5),
                        total_tokens: Some(17),
                        reasoning_tokens: Some(0),
                        cached_input_tokens: Some(8),
                    }),
                    finish_reason: Some(FinishReason::Stop),
                    // Written beside the metadata, never in it.
                    responder: Some(kind("overridden")),
                },
                responder: ResponderInfo {
                    kind: "model".into(),
                    id: Some("explainer".into()),
                    version: Some("3".into()),
                },
            },
        ),
        (":31:00.000", accepted("t2", "And a journal?")),
        (
            ":31:01.000",
            EntryBody::TurnFailed {
                turn_id: turn("t2"),
                error: RecordedError::of("the server is overloaded", "overloaded", Some(true)),
                usage: Some(Usage {
                    input_tokens: Some(20),
                    ..Usage::default()
                }),
                responder: kind("model"),
            },
        ),
        (
            ":32:00.000",
            EntryBody::TurnAccepted {
                turn_id: turn("t3"),
                input: "And a journal?".into(),
                retry_of: Some(turn("t2")),
                labels: Some(labels(json!({"attempt": 2}))),
            },
        ),
        (
            ":32:01.000",
            EntryBody::TurnCanceled {
                turn_id: turn("t3"),
                reason: Some("changed my mind".into()),
                usage: Some(Usage {
                    output_tokens: Some(3),
                    ..Usage::default()
                }),
                responder: Some(kind("model")),
            },
        ),
        (":33:00.000", accepted("t4", "")),
        (
            ":33:01.000",
            EntryBody::TurnCanceled {
                turn_id: turn("t4"),
                reason: None,
                usage: None,
                responder: None,
            },
        ),
        (":34:00.000", accepted("t5", "Cut it short.")),
        (
            ":34:01.000",
            EntryBody::TurnCompleted {
                turn_id: turn("t5"),
                text: "".into(),
                metadata: Metadata {
                    finish_reason: Some(FinishReason::Length),
                    ..Metadata::default()
                },
                responder: ResponderInfo::default(),
            },
        ),
        (":35:00.000", accepted("t6", "Once more.")),
        (
            ":35:01.000",
            EntryBody::TurnFailed {
                turn_id: turn("t6"),
                error: RecordedError::of("gone", "error", None),
                usage: None,
                responder: kind("agent"),
            },
        ),
    ];
    (0..)
        .zip(bodies)
        .map(|(seq, (time, body))| {
            let at = format!("2026-01-31T09{time}Z").parse().unwrap();
            Entry::new(Seq(seq), format!("e{seq}").parse().unwrap(), at, body)
        })
        .collect()
}

#[test]
fn j1_entries_are_written_as_the_golden_file_has_them() {
    let written: Vec<_> = every_type().iter().map(Entry::encode).collect();
    let golden: Vec<_> = EVERY_TYPE.lines().collect();
    assert_eq!(written.len(), golden.len());
    for (written, golden) in written.iter().zip(golden) {
        assert_eq!(**written, *golden);
    }
}

#[test]
fn j1_the_golden_file_is_read_as_the_entries_that_wrote_it() {
    for (read, made) in read(EVERY_TYPE).iter().zip(every_type()) {
        assert!(read.is_same(&made));
        assert_eq!((read.at(), read), (made.at(), &made));
        if let EntryBody::TurnCompleted { metadata, .. } = read.body() {
            assert_eq!(metadata.responder, None);
        } else {
            assert_eq!(read.body(), made.body());
        }
    }
}

#[test]
fn j2_what_is_read_is_written_to_the_byte() {
    for line in EVERY_TYPE.lines().chain(UNKNOWN.lines()) {
        assert_eq!(&*Entry::decode(line).unwrap().encode(), line);
    }
}

#[test]
fn j2_unknown_types_and_fields_are_ignored_by_replay() {
    let entries = read(UNKNOWN);
    assert!(matches!(entries[2].body(), EntryBody::Unknown { kind } if **kind == *"turn.branched"));
    assert_eq!(entries[2].at().to_string(), "2026-01-31T09:30:02.123Z");
    let mut transcript = Transcript::default();
    entries.iter().for_each(|entry| transcript.apply(entry));
    assert_eq!(transcript.next_seq(), Seq(7));
    let turns = transcript.turns();
    let seen: Vec<_> = turns
        .iter()
        .map(|turn| (turn.id.as_str(), turn.status, &*turn.input))
        .collect();
    assert_eq!(
        seen,
        [
            ("t1", TurnStatus::Completed, "Hi"),
            ("t2", TurnStatus::Failed, "Hi/")
        ]
    );
    assert_eq!(
        turns.get(0).unwrap().metadata.usage.unwrap().input_tokens,
        Some(1)
    );
}

#[test]
fn j2_c30_a_newer_major_format_is_refused_by_name_whatever_its_shape() {
    let found: Vec<_> = NEWER
        .lines()
        .map(|line| Entry::decode(line).unwrap_err())
        .collect();
    assert_eq!(
        found,
        [2, 2, 3].map(|found| DecodeError::NewerFormat { found })
    );
    assert_eq!(
        found[0].to_string(),
        "the entry has format 2, this program reads up to 1"
    );
}
