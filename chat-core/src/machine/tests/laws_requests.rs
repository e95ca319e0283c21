//! Laws R2, T12 and J3: who may answer what a turn asks, and what is kept of how it was answered.

use super::{
    completions::{Luck, Write},
    laws_events::{half_done, request, used},
    model,
    stage::At,
    world::{Blow, Fact, World, turn},
};
use crate::{
    AnswerError, ApprovalId, Decision, Entry, EntryBody, Metadata, Output, Reply, ResponderError,
    ResponderEvent, ResponderInfo, Usage,
};

#[test]
fn r2_requests_are_pending_until_they_are_answered_or_withdrawn() {
    let pending = |world: &World| -> Vec<String> {
        world
            .machine
            .requests(&turn("t1"))
            .iter()
            .map(|request| request.id.to_string())
            .collect()
    };
    let mut world = At::Running.world();
    world.say(vec![request("a1"), request("a2"), request("a3")]);
    assert_eq!(pending(&world), ["a1", "a2", "a3"]);
    world.log();
    world
        .answer("t1", "a2", Decision::Deny(Some("no".into())))
        .unwrap();
    assert_eq!(
        world.told(),
        [
            "emit t1 4 approval-resolved a2 denied",
            "answer t1 a2 Deny(Some(\"no\"))"
        ]
    );
    world.answer("t1", "a1", Decision::Approve).unwrap();
    assert_eq!(
        world.told(),
        [
            "emit t1 5 approval-resolved a1 approved",
            "answer t1 a1 Approve"
        ]
    );
    let withdrawn = |id: &str| ResponderEvent::ApprovalWithdrawn {
        id: id.into(),
        reason: None,
    };
    world.say(vec![
        withdrawn("a3"),
        withdrawn("a3"),
        withdrawn("a1"),
        withdrawn("unknown"),
    ]);
    assert_eq!(
        world.told(),
        ["emit t1 6 approval-resolved a3 withdrawn"],
        "once, and only what was pending"
    );
    assert!(pending(&world).is_empty());

    let mut answer = |id: &str| world.answer("t1", id, Decision::Approve);
    assert_eq!(answer("a1"), Err(AnswerError::Answered("a1".into())));
    assert_eq!(answer("a3"), Err(AnswerError::Withdrawn("a3".into())));
    assert_eq!(answer("a4"), Err(AnswerError::Unknown("a4".into())));
    assert!(world.told().is_empty(), "a refused answer does nothing");
}

#[test]
fn r2_an_answer_can_not_race_the_end_of_its_turn() {
    let not_running = Err(AnswerError::NotRunning(turn("t1")));
    for at in At::ALL {
        let mut world = at.world();
        let answered = world.answer("t1", "a1", Decision::Approve);
        let expected = match at {
            At::Behind
            | At::Running
            | At::Offered
            | At::Steering
            | At::SteerUnknown
            | At::AllIn => Err(AnswerError::Unknown("a1".into())),
            At::Acquiring
            | At::Accepting
            | At::AcceptUnknown
            | At::Closing
            | At::ClosingUnknown
            | At::Recording
            | At::OutcomeUnknown
            | At::Ended => not_running.clone(),
        };
        assert_eq!(answered, expected, "{at:?}");
    }
    let mut world = half_done();
    world.cancel("t1", "enough");
    assert!(world.machine.requests(&turn("t1")).is_empty());
    assert_eq!(world.answer("t1", "a1", Decision::Approve), not_running);
    // Another turn's id answers nothing of this one.
    let mut world = half_done();
    assert_eq!(
        world.answer("t2", "a1", Decision::Approve),
        Err(AnswerError::NotRunning(turn("t2")))
    );
    assert!(world.machine.requests(&turn("t2")).is_empty());
}

/// Nobody would act on the answer: the responder is done, and only a steer of it is still being written.
#[test]
fn r2_once_all_is_in_what_is_pending_is_withdrawn() {
    let mut world = At::Steering.world();
    world.say(vec![request("a1")]);
    world.replied(Ok(Reply::text("done")));
    world.events_end(Luck::Good);
    assert!(world.machine.requests(&turn("t1")).is_empty());
    assert_eq!(
        world.answer("t1", "a1", Decision::Approve),
        Err(AnswerError::Withdrawn("a1".into()))
    );
    world.settle();
    model::check(&world);
}

/// C61: two requests never share an id, or a person would answer one and mean the other.
#[test]
fn r2_a_second_request_of_the_same_id_fails_the_turn() {
    let used_before: [Blow; 3] = [
        |_| {},
        |world| world.answer("t1", "a1", Decision::Approve).unwrap(),
        |world| {
            world.say(vec![ResponderEvent::ApprovalWithdrawn {
                id: ApprovalId::from("a1"),
                reason: None,
            }]);
        },
    ];
    for before in used_before {
        let mut world = At::Running.world();
        world.say(vec![request("a1")]);
        before(&mut world);
        world.log();
        world.say(vec![request("a1"), ResponderEvent::text("more")]);
        let told = world.told();
        assert_eq!(told[..2], ["signal t1", "abandon t1"]);
        assert!(
            told.last().unwrap().contains(
                "turn.failed t1 \"the responder asked for two approvals with one id, a1\""
            )
        );
        world.settle();
        model::check(&world);
    }
}

#[test]
fn t12_usage_known_so_far_is_kept_and_unknown_is_absent() {
    let ends: [Blow; 3] = [
        |world| world.cancel("t1", "enough"),
        |world| {
            world.replied(Err(ResponderError::new("it broke")));
        },
        |world| {
            world.events_end(Luck::Good);
            world.replied(Ok(Reply::text("done")));
        },
    ];
    for end in ends {
        for (said, kept) in [
            (vec![], None),
            (vec![used(Some(3)), used(Some(5))], Some(5)),
            // One that knows nothing takes nothing back, and is never written as a usage.
            (vec![used(Some(3)), used(None)], Some(3)),
            (vec![used(None)], None),
        ] {
            let mut world = At::Running.world();
            world.say(said);
            end(&mut world);
            world.settle();
            let metadata = &world
                .machine
                .transcript()
                .turn(&turn("t1"))
                .unwrap()
                .metadata;
            assert_eq!(
                metadata.usage.map(|usage| usage.total_tokens),
                kept.map(Some)
            );
            model::check(&world);
        }
    }
}

#[test]
fn t12_the_replys_own_usage_goes_before_what_its_events_said() {
    for (replied, kept) in [(Some(9), Some(9)), (None, Some(3))] {
        let mut world = At::Running.world();
        world.say(vec![used(Some(3))]);
        world.events_end(Luck::Good);
        let usage = Some(Usage {
            total_tokens: replied,
            ..Usage::default()
        });
        world.replied(Ok(Reply::text("done").with_metadata(Metadata {
            usage,
            ..Metadata::default()
        })));
        world.wrote(Write::Written);
        let metadata = &world
            .machine
            .transcript()
            .turn(&turn("t1"))
            .unwrap()
            .metadata;
        assert_eq!(metadata.usage.unwrap().total_tokens, kept);
    }
}

/// Whoever a reply says it is from, the responder that was asked is recorded, once, and told.
#[test]
fn j3_who_answered_is_recorded_and_told() {
    let metadata = Metadata {
        responder: Some(ResponderInfo::of_kind("somebody else")),
        ..Metadata::default()
    };
    let mut world = At::Running.world();
    world.events_end(Luck::Good);
    world.replied(Ok(Reply::text("done").with_metadata(metadata)));
    world.wrote(Write::Written);
    let written = world.journal.last().map(Entry::body);
    let Some(EntryBody::TurnCompleted {
        metadata,
        responder,
        ..
    }) = written
    else {
        panic!("{written:?}");
    };
    assert_eq!(metadata.responder, None, "it stands beside it");
    assert_eq!(*responder, ResponderInfo::default());
    let turns = world.machine.transcript().turns();
    let shown = &turns.last().unwrap().metadata;
    assert_eq!(shown.responder.as_ref(), Some(responder));
    let settled = world.facts.iter().find_map(|fact| match fact {
        Fact::Told(Output::Settle { result, .. }) => (**result).as_ref().ok(),
        _ => None,
    });
    assert_eq!(settled.unwrap().metadata, *shown);
}
