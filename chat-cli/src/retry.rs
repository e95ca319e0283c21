//! `chat retry`: an input that has no reply, answered again as a new turn.

use std::collections::BTreeSet;

use chat_core::{SessionId, TurnId, TurnRecord, TurnStatus, Turns};
use chat_runtime::Chat;

use crate::{
    again::Call, ask::note_other, desk::Desk, errors::Problem, exit::Exit, interrupts::Interrupts,
    lookup, watch::watch,
};

pub(crate) async fn retry(
    chat: &Chat,
    session: &SessionId,
    turn: Option<&TurnId>,
    desk: &mut Desk,
    interrupts: &Interrupts,
) -> Result<Exit, Problem> {
    let session = lookup::open(chat, session).await?;
    let turns = session.turns();
    let id = match turn {
        Some(given) => lookup::turn(&turns, given)?,
        None => {
            let newest = unanswered(&turns).next_back();
            let Some(newest) = newest else {
                return Err(nothing_to_retry(&turns, session.id()));
            };
            newest.id.clone()
        }
    };
    note_other(&session, desk);
    let turn = session.retry(&id);
    Ok(watch(&session, &turn, desk, interrupts).await)
}

/// The turns that can be retried, and whose input no retry has been answered to since.
pub(crate) fn unanswered(turns: &Turns) -> impl DoubleEndedIterator<Item = &TurnRecord> {
    let mut answered: BTreeSet<&TurnId> = BTreeSet::new();
    // A retry stands behind what it retries: from the end each chain is walked from its answer to its first turn.
    for turn in turns.iter().rev() {
        if turn.status == TurnStatus::Completed || answered.contains(&turn.id) {
            answered.extend(&turn.retry_of);
        }
    }
    turns
        .iter()
        .filter(move |turn| turn.status.can_retry() && !answered.contains(&turn.id))
}

fn nothing_to_retry(turns: &Turns, session: &SessionId) -> Problem {
    let what = match turns.last().map(|turn| turn.status) {
        None => "it has no turns",
        Some(TurnStatus::Running | TurnStatus::Queued) => {
            "its last turn is being answered by another process"
        }
        Some(
            TurnStatus::Completed
            | TurnStatus::Failed
            | TurnStatus::Canceled
            | TurnStatus::Interrupted,
        ) => "every input in it has its reply",
    };
    Problem::failed(format!(
        "there is nothing to retry in session {session}: {what}"
    ))
    .propose("see its turns", Call::of("show").word(session.as_str()))
}

#[cfg(test)]
mod tests {
    use chat_core::{Entry, Transcript};

    use super::*;

    fn turns(entries: &[&str]) -> Turns {
        let mut transcript = Transcript::default();
        for (seq, entry) in entries.iter().enumerate() {
            let json = format!(
                r#"{{"v":1,"seq":{seq},"id":"e{seq}","at":"2020-01-31T09:30:00.000Z",{entry}}}"#
            );
            transcript.apply(&Entry::decode(&json).unwrap());
        }
        transcript.turns()
    }

    #[test]
    fn t9_what_a_later_retry_answered_is_not_offered_again() {
        const FAILED: &str =
            r#""error":{"message":"x","kind":"error"},"responder":{"kind":"custom"}"#;
        let a = [
            r#""type":"turn.accepted","turnId":"a","input":"1""#.to_owned(),
            format!(r#""type":"turn.failed","turnId":"a",{FAILED}"#),
            r#""type":"turn.accepted","turnId":"b","input":"1","retryOf":"a""#.to_owned(),
            format!(r#""type":"turn.failed","turnId":"b",{FAILED}"#),
            r#""type":"turn.accepted","turnId":"c","input":"1","retryOf":"b""#.to_owned(),
            r#""type":"turn.completed","turnId":"c","text":"ok","metadata":{},"responder":{"kind":"custom"}"#.to_owned(),
        ];
        let a: Vec<&str> = a.iter().map(String::as_str).collect();
        let left = |entries: &[&str]| {
            let turns = turns(entries);
            unanswered(&turns)
                .map(|turn| turn.id.to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(left(&a[..2]), ["a"]);
        assert_eq!(left(&a[..4]), ["a", "b"]);
        assert_eq!(left(&a[..5]), ["a", "b", "c"], "c is interrupted");
        assert_eq!(left(&a), Vec::<String>::new());
    }
}
