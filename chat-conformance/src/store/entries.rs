//! Entries for laws to write, each known by its place, and the small steps that laws share.

use std::future::Future;

use chat_core::{Entry, EntryBody, EntryId, Metadata, ResponderInfo, Seq, Timestamp, TurnId};

pub(super) use crate::entries::{session as session_id, waits, write};

/// Polls a future so often and drops it; what it answered, where it did by then.
pub(super) async fn dropped_after<F: Future + Unpin>(
    mut future: F,
    polls: usize,
) -> Option<F::Output> {
    for _ in 0..polls {
        let answer = futures_util::future::poll_immediate(&mut future).await;
        if answer.is_some() {
            return answer;
        }
        tokio::task::yield_now().await;
    }
    None
}

pub(super) fn turn_id(n: u64) -> TurnId {
    TurnId::parse(format!("turn-{n}")).expect("the laws' ids are ids")
}

/// An entry whose id and time follow from its place.
pub(super) fn entry(seq: u64, body: EntryBody) -> Entry {
    entry_at(seq, 1_764_535_040_000 + seq.cast_signed(), body)
}

/// An entry of a time of its own, in milliseconds.
pub(super) fn entry_at(seq: u64, millis: i64, body: EntryBody) -> Entry {
    let id = EntryId::parse(format!("entry-{seq}")).expect("the laws' ids are ids");
    let at = Timestamp::from_millis(millis).expect("the laws' times are times");
    Entry::new(Seq(seq), id, at, body)
}

pub(super) fn created() -> Entry {
    entry(0, EntryBody::SessionCreated { labels: None })
}

pub(super) fn accepted_body(turn: u64, input: &str) -> EntryBody {
    EntryBody::TurnAccepted {
        turn_id: turn_id(turn),
        input: input.into(),
        retry_of: None,
        labels: None,
    }
}

pub(super) fn accepted(seq: u64, turn: u64) -> Entry {
    entry(
        seq,
        accepted_body(
            turn,
            &format!("question {turn}\nwith a \"second\" line, ünïcode and \u{1f331}"),
        ),
    )
}

pub(super) fn steered(seq: u64, turn: u64) -> Entry {
    entry(
        seq,
        EntryBody::TurnSteered {
            turn_id: turn_id(turn),
            input: "and briefly".into(),
        },
    )
}

pub(super) fn completed(seq: u64, turn: u64) -> Entry {
    let responder = ResponderInfo::of_kind("scripted");
    let text = format!("answer {turn}").into();
    entry(
        seq,
        EntryBody::TurnCompleted {
            turn_id: turn_id(turn),
            text,
            metadata: Metadata::default(),
            responder,
        },
    )
}

pub(super) fn canceled(seq: u64, turn: u64) -> Entry {
    let reason = Some("changed my mind".into());
    entry(
        seq,
        EntryBody::TurnCanceled {
            turn_id: turn_id(turn),
            reason,
            usage: None,
            responder: None,
        },
    )
}

/// A journal of some turns: one steered, one canceled, one without outcome.
pub(super) fn script() -> Vec<Entry> {
    vec![
        created(),
        accepted(1, 1),
        completed(2, 1),
        accepted(3, 2),
        steered(4, 2),
        completed(5, 2),
        accepted(6, 3),
        canceled(7, 3),
        accepted(8, 4),
    ]
}
