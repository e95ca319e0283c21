//! Law R3: what is in a context, what never is, and that building one copies nothing and counts each turn once.

use std::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use proptest::prelude::*;

use super::*;
use crate::{Entry, Part, Transcript, arbitrary};

/// A conversation from a line of outcomes, a turn each: `c` completed, `f` failed, `x` canceled, `i` interrupted. Turn 3 of
/// them has input `in3` and reply `out3`.
fn conversation(outcomes: &str) -> Transcript {
    let mut transcript = Transcript::default();
    let mut seq = 0;
    let mut write = |kind: &str, fields: String| {
        let head = format!(r#""v":1,"seq":{seq},"id":"e{seq}","at":"2026-01-31T09:30:00.000Z""#);
        transcript
            .apply(&Entry::decode(&format!(r#"{{{head},"type":"{kind}"{fields}}}"#)).unwrap());
        seq += 1;
    };
    for (turn, outcome) in outcomes.chars().enumerate() {
        write(
            "turn.accepted",
            format!(r#","turnId":"t{turn}","input":"in{turn}""#),
        );
        write(
            "turn.steered",
            format!(r#","turnId":"t{turn}","input":"add{turn}""#),
        );
        let responder = r#""responder":{"kind":"model"}"#;
        match outcome {
            'c' => write(
                "turn.completed",
                format!(r#","turnId":"t{turn}","text":"out{turn}","metadata":{{}},{responder}"#),
            ),
            'f' => write(
                "turn.failed",
                format!(r#","turnId":"t{turn}","error":{{"message":"m","kind":"k"}},{responder}"#),
            ),
            'x' => write("turn.canceled", format!(r#","turnId":"t{turn}""#)),
            _ => {}
        }
    }
    transcript
}

fn ids(context: &Context) -> String {
    context
        .turns()
        .map(|turn| turn.id.as_str().trim_start_matches('t'))
        .collect::<Vec<_>>()
        .join(" ")
}

/// A budget in which each turn costs as much as its number.
fn by_number(budget: u64) -> ContextPolicy {
    ContextPolicy::token_budget(budget, |turn| turn.id.as_str()[1..].parse().unwrap())
}

#[test]
fn r3_a_context_has_the_newest_completed_turns_the_policy_allows() {
    for (outcomes, policy, expected) in [
        ("", ContextPolicy::Whole, ""),
        ("fxi", ContextPolicy::Whole, ""),
        ("cfcxcic", ContextPolicy::Whole, "0 2 4 6"),
        ("cfcxcic", ContextPolicy::LastTurns(0), ""),
        ("cfcxcic", ContextPolicy::LastTurns(1), "6"),
        ("cfcxcic", ContextPolicy::LastTurns(2), "4 6"),
        ("cfcxcici", ContextPolicy::LastTurns(2), "4 6"),
        ("cfcxcic", ContextPolicy::LastTurns(4), "0 2 4 6"),
        ("cfcxcic", ContextPolicy::LastTurns(usize::MAX), "0 2 4 6"),
        ("cfcxcic", by_number(0), ""),
        ("cfcxcic", by_number(5), ""),
        ("cfcxcic", by_number(6), "6"),
        ("cfcxcic", by_number(9), "6"),
        ("cfcxcic", by_number(10), "4 6"),
        ("cfcxcic", by_number(12), "0 2 4 6"),
        ("cfcxcic", by_number(u64::MAX), "0 2 4 6"),
        // What is too large ends the context: nothing older is taken in its place.
        ("cccc", by_number(4), "3"),
        ("ffff", by_number(100), ""),
    ] {
        let context = policy.build(&conversation(outcomes).turns());
        assert_eq!(ids(&context), expected, "{policy:?} of {outcomes}");
        assert_eq!(context.is_empty(), expected.is_empty());
    }
}

#[test]
fn r3_t7_t8_a_turn_is_in_it_whole_or_not_at_all() {
    let context = ContextPolicy::LastTurns(1).build(&conversation("ccfxi").turns());
    let messages: Vec<_> = context.iter().collect();
    assert_eq!(
        messages,
        [
            Message::user("in1"),
            Message::user("add1"),
            Message::assistant("out1")
        ]
    );
}

#[test]
fn r3_a_turn_is_counted_once_and_only_as_far_back_as_needed() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = asked.clone();
    let policy = ContextPolicy::token_budget(2, move |turn| {
        seen.lock().unwrap().push(turn.id.to_string());
        1
    });
    let mut transcript = conversation("ccccf");
    for _ in 0..10 {
        assert_eq!(ids(&policy.build(&transcript.turns())), "2 3");
    }
    assert_eq!(*asked.lock().unwrap(), ["t3", "t2", "t1"]);
    // A new turn is counted when it has its reply; the others were.
    for line in [
        r#"{"v":1,"seq":99,"id":"a","at":"2026-01-31T09:30:00.000Z","type":"turn.accepted","turnId":"t9","input":""}"#,
        r#"{"v":1,"seq":100,"id":"b","at":"2026-01-31T09:30:00.000Z","type":"turn.completed","turnId":"t9","text":"","metadata":{},"responder":{"kind":"model"}}"#,
    ] {
        transcript.apply(&Entry::decode(line).unwrap());
        let _ = policy.build(&transcript.turns());
    }
    assert_eq!(ids(&policy.build(&transcript.turns())), "3 9");
    assert_eq!(*asked.lock().unwrap(), ["t3", "t2", "t1", "t9"]);
}

#[test]
fn r3_no_counter_is_given_what_another_counted() {
    let turns = conversation("cccc").turns();
    let budget = |tokens: u64| ContextPolicy::token_budget(10, move |_| tokens);
    let (small, large) = (budget(1), budget(5));
    for _ in 0..2 {
        assert_eq!(small.build(&turns).turns().count(), 4);
        assert_eq!(large.build(&turns).turns().count(), 2);
    }
}

#[test]
fn r3_a_counter_that_panicked_is_asked_again() {
    let calls = AtomicUsize::new(0);
    let calls: &'static AtomicUsize = Box::leak(Box::new(calls));
    let policy = ContextPolicy::token_budget(9, move |_| {
        assert!(calls.fetch_add(1, Relaxed) > 0, "the first time");
        1
    });
    let turns = conversation("c").turns();
    assert!(
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| policy.build(&turns))).is_err()
    );
    assert_eq!(ids(&policy.build(&turns)), "0");
}

#[test]
fn r3_no_text_is_copied() {
    let transcript = conversation("ccc");
    let context = ContextPolicy::Whole.build(&transcript.turns());
    let turns = transcript.turns();
    let kept: Vec<_> = turns
        .iter()
        .flat_map(|turn| {
            [
                &turn.input,
                &turn.steering[0],
                turn.output.as_ref().unwrap(),
            ]
        })
        .collect();
    let texts: Vec<_> = context.iter().flat_map(|message| message.parts).collect();
    assert_eq!((texts.len(), kept.len()), (9, 9));
    for (part, kept) in texts.iter().zip(kept) {
        assert!(matches!(part, Part::Text { text } if Arc::ptr_eq(text, kept)));
    }
}

#[test]
fn r3_a_context_stays_as_it_was() {
    let mut transcript = conversation("ci");
    let context = ContextPolicy::Whole.build(&transcript.turns());
    let late = r#"{"v":1,"seq":99,"id":"b","at":"2026-01-31T09:30:00.000Z","type":"turn.completed","turnId":"t1","text":"late","metadata":{},"responder":{"kind":"model"}}"#;
    transcript.apply(&Entry::decode(late).unwrap());
    assert_eq!(ids(&context), "0");
    assert_eq!(ids(&ContextPolicy::Whole.build(&transcript.turns())), "0 1");
}

#[test]
fn a_policy_shows_its_numbers_and_a_context_its_size() {
    assert_eq!(format!("{:?}", ContextPolicy::LastTurns(3)), "LastTurns(3)");
    assert_eq!(
        format!("{:?}", by_number(7)),
        "TokenBudget { budget: 7, .. }"
    );
    let context = ContextPolicy::default().build(&conversation("ccf").turns());
    assert_eq!(format!("{context:?}"), "Context { turns: 2 }");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn r3_every_context_is_the_end_of_the_whole_one(entries in arbitrary::journal(), size in 0_usize..6) {
        let mut transcript = Transcript::default();
        entries.iter().for_each(|entry| transcript.apply(entry));
        let turns = transcript.turns();
        let whole: Vec<Message> = turns.messages().collect();
        prop_assert_eq!(ContextPolicy::Whole.build(&turns).iter().collect::<Vec<_>>(), whole.clone());
        let by_turns = ContextPolicy::LastTurns(size).build(&turns);
        let by_tokens = ContextPolicy::token_budget(size as u64, |_| 1).build(&turns);
        let messages: Vec<Message> = by_turns.iter().collect();
        prop_assert!(whole.ends_with(&messages));
        prop_assert_eq!(by_tokens.iter().collect::<Vec<_>>(), messages);
        let completed = turns.iter().filter(|turn| turn.status == TurnStatus::Completed).count();
        prop_assert_eq!(by_turns.turns().count(), completed.min(size));
    }
}
