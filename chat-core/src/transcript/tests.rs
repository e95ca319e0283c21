//! Laws J4, T7, T8, T9 and T10 for replay: tables of journals, and a reference that reads whole histories at once.

use proptest::prelude::*;

use super::*;
use crate::{EntryId, RecordedError, ResponderInfo, Timestamp, Usage, arbitrary};

fn turn(id: &str) -> TurnId {
    TurnId::parse(id).unwrap()
}

/// A journal from a line: `A1` accepts turn 1, `A2<1` as a retry of 1, `S1` steers, `C1` completes, `F1` fails, `X1` cancels,
/// `?` is of an unknown type.
fn journal(line: &str) -> Vec<Entry> {
    (0..)
        .zip(line.split_whitespace())
        .map(|(seq, word)| entry(seq, word))
        .collect()
}

fn entry(seq: u64, word: &str) -> Entry {
    let (kind, rest) = word.split_at(1);
    let (id, retry_of) = rest
        .split_once('<')
        .map_or((rest, None), |(id, of)| (id, Some(turn(of))));
    let (text, responder) = (
        format!("{word}@{seq}").into(),
        ResponderInfo::of_kind("model"),
    );
    let usage = Some(Usage {
        input_tokens: Some(seq),
        ..Usage::default()
    });
    let turn_id = || turn(id);
    let body = match kind {
        "A" => EntryBody::TurnAccepted {
            turn_id: turn_id(),
            input: text,
            retry_of,
            labels: None,
        },
        "S" => EntryBody::TurnSteered {
            turn_id: turn_id(),
            input: text,
        },
        "C" => {
            let metadata = Metadata {
                usage,
                ..Metadata::default()
            };
            EntryBody::TurnCompleted {
                turn_id: turn_id(),
                text,
                metadata,
                responder,
            }
        }
        "F" => EntryBody::TurnFailed {
            turn_id: turn_id(),
            error: RecordedError::of(&text, "error", None),
            usage,
            responder,
        },
        "X" => EntryBody::TurnCanceled {
            turn_id: turn_id(),
            reason: Some(text),
            usage,
            responder: Some(responder),
        },
        "?" => EntryBody::Unknown {
            kind: "later".into(),
        },
        other => panic!("no such entry: {other}"),
    };
    Entry::new(
        Seq(seq),
        EntryId::parse(format!("e{seq}")).unwrap(),
        Timestamp::from_millis(seq as i64).unwrap(),
        body,
    )
}

fn replay(entries: &[Entry]) -> Transcript {
    let mut transcript = Transcript::default();
    entries.iter().for_each(|entry| transcript.apply(entry));
    transcript
}

/// The turns as words: `1:completed(text)[steering]`.
fn shown(transcript: &Transcript) -> String {
    let turns = transcript.turns();
    let words = turns.iter().map(|turn| {
        let said = [
            turn.output.clone(),
            turn.error.as_ref().map(|error| error.message.clone()),
            turn.reason.clone(),
        ];
        let said: String = said
            .iter()
            .flatten()
            .map(|text| format!("({text})"))
            .collect();
        let steering: String = turn
            .steering
            .iter()
            .map(|text| format!("[{text}]"))
            .collect();
        format!("{}:{}{said}{steering}", turn.id, turn.status)
    });
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn j4_any_journal_gives_the_turns_that_its_first_entries_say() {
    for (line, expected) in [
        ("", ""),
        ("?", ""),
        ("A1", "1:interrupted"),
        ("A1 C1", "1:completed(C1@1)"),
        ("A1 F1", "1:failed(F1@1)"),
        ("A1 X1", "1:canceled(X1@1)"),
        ("A1 C1 F1 X1 C1", "1:completed(C1@1)"),
        ("A1 X1 C1", "1:canceled(X1@1)"),
        ("A1 A1 C1", "1:completed(C1@2)"),
        ("A1 C1 A1", "1:completed(C1@1)"),
        ("C1 S1 A1", "1:interrupted"),
        ("A1 C2 S2 C1", "1:completed(C1@3)"),
        ("A1 S1 S1 C1 S1", "1:completed(C1@3)[S1@1][S1@2]"),
        ("A1 A2 C2 C1", "1:completed(C1@3) 2:completed(C2@2)"),
        ("A1 ? C1 A2", "1:completed(C1@2) 2:interrupted"),
    ] {
        let transcript = replay(&journal(line));
        assert_eq!(shown(&transcript), expected, "{line}");
        assert_eq!(
            transcript.next_seq(),
            Seq(line.split_whitespace().count() as u64)
        );
    }
}

#[test]
fn j4_a_turn_keeps_what_its_entries_say() {
    let transcript = replay(&journal("A1 F1 A2<1 C2 A3 X3"));
    let [failed, completed, canceled] =
        ["1", "2", "3"].map(|id| transcript.turn(&turn(id)).unwrap());
    assert_eq!(
        (failed.error.as_ref().unwrap().kind.as_ref(), &failed.output),
        ("error", &None)
    );
    assert_eq!(completed.retry_of, Some(turn("1")));
    assert_eq!((&completed.error, &completed.reason), (&None, &None));
    assert_eq!(canceled.output, None);
    for (place, record) in [failed, completed, canceled].into_iter().enumerate() {
        let (accepted, ended) = (2 * place as i64, 2 * place as i64 + 1);
        assert_eq!(record.accepted_at.map(Timestamp::as_millis), Some(accepted));
        assert_eq!(record.ended_at.map(Timestamp::as_millis), Some(ended));
        // Usage and responder are kept on every way to end (law T12).
        assert_eq!(
            record.metadata.usage.unwrap().input_tokens,
            Some(ended as u64)
        );
        assert_eq!(
            record.metadata.responder,
            Some(ResponderInfo::of_kind("model"))
        );
    }
    assert_eq!(transcript.turn(&turn("4")), None);
    let turns = transcript.turns();
    assert_eq!(turns.find(&turn("2")), Some(completed));
    assert_eq!(
        (
            turns.last().unwrap().id.as_str(),
            turns.len(),
            turns.is_empty()
        ),
        ("3", 3, false)
    );
}

#[test]
fn t7_t8_messages_are_those_of_completed_turns_with_what_was_added_in_between() {
    let transcript = replay(&journal("A1 S1 F1 A2 S2 S2 C2 A3 S3 X3 A4 S4"));
    let messages: Vec<_> = transcript.turns().messages().collect();
    let expected = [
        Message::user("A2@3"),
        Message::user("S2@4"),
        Message::user("S2@5"),
        Message::assistant("C2@6"),
    ];
    assert_eq!(messages, expected);
}

#[test]
fn j4_a_snapshot_stays_as_it_was() {
    let entries = journal("A1 S1 C1 A2");
    let mut transcript = replay(&entries[..1]);
    let before = transcript.turns();
    entries.iter().for_each(|entry| transcript.apply(entry));
    assert_eq!(before.len(), 1);
    assert_eq!(before.last().unwrap().status, TurnStatus::Interrupted);
    assert_eq!(transcript.turns().len(), 2);
}

#[test]
fn t9_the_root_of_a_retry_is_the_first_turn_of_its_chain() {
    for (line, id, root) in [
        ("A1", "1", "1"),
        ("A1 A2<1 A3<2 A4<3", "4", "1"),
        ("A1 A2<1 A3<1", "3", "1"),
        ("A1 A2 A3<2", "3", "2"),
        // Nobody can have retried these.
        ("A1<9", "1", "1"),
        ("A1<9 A2<1", "2", "1"),
        ("A1<1", "1", "1"),
        ("A1<1 A2<1", "2", "1"),
        ("A1<2 A2<1", "1", "1"),
        ("A1<2 A2<1", "2", "1"),
        ("A1<3 A2<1 A3<2", "1", "1"),
        ("A1<3 A2<1 A3<2", "2", "1"),
        ("A1<3 A2<1 A3<2", "3", "1"),
        ("A1 A2<3 A3<2 A4<3", "4", "2"),
        ("A1", "9", "9"),
    ] {
        assert_eq!(
            *replay(&journal(line)).root_of(&turn(id)),
            turn(root),
            "{id} in {line}"
        );
    }
}

#[test]
fn t10_only_the_last_open_turn_can_be_running_elsewhere() {
    for (line, expected) in [
        ("A1", "1:running"),
        ("A1 A2", "1:interrupted 2:running"),
        ("A1 A2 C2", "1:interrupted 2:completed(C2@2)"),
        ("A1 A2 F2", "1:interrupted 2:failed(F2@2)"),
    ] {
        let mut transcript = replay(&journal(line));
        let before = shown(&transcript);
        transcript.set_held_elsewhere(true);
        assert_eq!(shown(&transcript), expected);
        transcript.set_held_elsewhere(true);
        assert_eq!(shown(&transcript), expected, "twice is once");
        transcript.set_held_elsewhere(false);
        assert_eq!(shown(&transcript), before);
    }
    let mut empty = Transcript::default();
    empty.set_held_elsewhere(true);
    assert!(empty.turns().is_empty());
}

#[test]
fn t10_a_running_turn_is_followed_by_its_outcome_or_the_next_turn() {
    let entries = journal("A1 S1 C1 A2 A3");
    let mut transcript = replay(&entries[..1]);
    transcript.set_live(Some(&turn("1")));
    transcript.apply(&entries[1]);
    assert_eq!(shown(&transcript), "1:running[S1@1]");
    transcript.apply(&entries[2]);
    assert_eq!(shown(&transcript), "1:completed(C1@2)[S1@1]");
    transcript.set_live(None);
    assert_eq!(
        shown(&transcript),
        "1:completed(C1@2)[S1@1]",
        "an outcome stands"
    );
    transcript.apply(&entries[3]);
    transcript.set_live(Some(&turn("2")));
    transcript.apply(&entries[4]);
    assert_eq!(
        shown(&transcript),
        "1:completed(C1@2)[S1@1] 2:interrupted 3:interrupted"
    );
    transcript.set_live(Some(&turn("9")));
    transcript.set_live(Some(&turn("3")));
    transcript.set_live(Some(&turn("2")));
    assert_eq!(
        shown(&transcript),
        "1:completed(C1@2)[S1@1] 2:running 3:interrupted"
    );
}

/// What a whole journal comes to, turn by turn: its first acceptance, the first outcome behind that, and the steering between.
fn reference(entries: &[Entry]) -> Vec<TurnRecord> {
    let mut turns = Vec::new();
    for (start, entry) in entries.iter().enumerate() {
        let EntryBody::TurnAccepted {
            turn_id,
            input,
            retry_of,
            labels,
        } = entry.body()
        else {
            continue;
        };
        if turns.iter().any(|turn: &TurnRecord| turn.id == *turn_id) {
            continue;
        }
        let mut turn = TurnRecord {
            status: TurnStatus::Interrupted,
            retry_of: retry_of.clone(),
            labels: labels.clone(),
            accepted_at: Some(entry.at()),
            ..TurnRecord::queued(turn_id.clone(), input.clone())
        };
        for later in entries[start + 1..]
            .iter()
            .filter(|later| later.body().turn_id() == Some(turn_id))
        {
            match later.body().clone() {
                EntryBody::TurnSteered { input, .. } => turn.steering.push(input),
                EntryBody::TurnCompleted {
                    text,
                    metadata,
                    responder,
                    ..
                } => {
                    turn.status = TurnStatus::Completed;
                    turn.output = Some(text);
                    turn.metadata = Metadata {
                        responder: Some(responder),
                        ..metadata
                    };
                }
                EntryBody::TurnFailed {
                    error,
                    usage,
                    responder,
                    ..
                } => {
                    turn.status = TurnStatus::Failed;
                    turn.error = Some(error);
                    turn.metadata = Metadata {
                        usage,
                        responder: Some(responder),
                        ..Metadata::default()
                    };
                }
                EntryBody::TurnCanceled {
                    reason,
                    usage,
                    responder,
                    ..
                } => {
                    turn.status = TurnStatus::Canceled;
                    turn.reason = reason;
                    turn.metadata = Metadata {
                        usage,
                        responder,
                        ..Metadata::default()
                    };
                }
                EntryBody::TurnAccepted { .. }
                | EntryBody::SessionCreated { .. }
                | EntryBody::Unknown { .. } => {}
            }
            if turn.status != TurnStatus::Interrupted {
                turn.ended_at = Some(later.at());
                break;
            }
        }
        turns.push(turn);
    }
    turns
}

fn turns(transcript: &Transcript) -> Vec<TurnRecord> {
    transcript.turns().iter().cloned().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn j4_replay_agrees_with_a_reading_of_the_whole_journal(entries in arbitrary::journal()) {
        prop_assert_eq!(turns(&replay(&entries)), reference(&entries));
    }

    #[test]
    fn j4_reading_part_of_it_twice_changes_nothing(
        entries in arbitrary::journal(), cut in any::<prop::sample::Index>(), again in any::<prop::sample::Index>(),
    ) {
        let cut = cut.index(entries.len() + 1);
        let again = again.index(cut + 1);
        let mut transcript = replay(&entries[..cut]);
        prop_assert_eq!(turns(&transcript), reference(&entries[..cut]));
        entries[again..].iter().for_each(|entry| transcript.apply(entry));
        prop_assert_eq!(turns(&transcript), reference(&entries));
        prop_assert_eq!(transcript.next_seq(), Seq(entries.len() as u64));
    }

    #[test]
    fn j4_entries_in_any_order_with_any_gaps_give_a_transcript(entries in prop::collection::vec(arbitrary::entry(), 0..8)) {
        let transcript = replay(&entries);
        for turn in transcript.turns().iter() {
            prop_assert!(transcript.turn(transcript.root_of(&turn.id)).is_some());
        }
        let replies = transcript.turns().iter().filter(|turn| turn.status == TurnStatus::Completed).count();
        prop_assert!(transcript.turns().messages().count() >= 2 * replies);
    }

    #[test]
    fn t9_all_turns_of_a_chain_have_the_same_root(entries in arbitrary::journal()) {
        let transcript = replay(&entries);
        for turn in transcript.turns().iter() {
            let root = transcript.root_of(&turn.id);
            prop_assert_eq!(transcript.root_of(root), root);
        }
    }
}
