//! Laws T9 and T10: retries, and turns without outcome.

use super::{
    completions::{Luck, Others, Write},
    model,
    stage::At,
    world::{World, turn},
};
use crate::{Entry, EntryBody, ResponderError, ResponderInfo, Seq, Timestamp, TurnStatus};

/// Turn t1 failed.
fn failed() -> World {
    let mut world = At::Running.world();
    world.replied(Err(ResponderError::new("it broke")));
    world.settle();
    world.log();
    world
}

/// C12: every request bears the first turn of its chain, so that tools can tell a retry.
#[test]
fn t9_c12_a_retry_is_a_new_turn_with_the_same_input_and_root() {
    let mut world = failed();
    world.retry("t1");
    world.acquired(Luck::Good);
    world.wrote(Write::Written);
    assert_eq!(
        world.told().last().unwrap(),
        "respond t2 \"input 1\", root t1, history [t1 failed, t2 running]"
    );
    world.cancel("t2", "enough");
    world.settle();
    world.log();
    world.retry("t2");
    world.acquired(Luck::Good);
    world.wrote(Write::Written);
    assert_eq!(
        world.told().last().unwrap(),
        "respond t3 \"input 1\", root t1, history [t1 failed, t2 canceled, t3 running]"
    );
    world.settle();
    let turns = world.machine.transcript().turns();
    assert_eq!(turns.find(&turn("t3")).unwrap().retry_of, Some(turn("t2")));
    assert_eq!(
        turns.find(&turn("t1")).unwrap().status,
        TurnStatus::Failed,
        "the original keeps its entries"
    );
    model::check(&world);
}

#[test]
fn t9_retrying_twice_makes_two_turns() {
    let mut world = failed();
    world.retry("t1");
    world.retry("t1");
    world.settle();
    assert_eq!(world.machine.transcript().turns().len(), 3);
    model::check(&world);
}

#[test]
fn t9_what_can_be_retried() {
    for at in At::ALL {
        let mut world = at.world();
        let id = world.newest();
        world.retry(id.as_str());
        let told = world.told();
        let last = told.last().unwrap();
        if at == At::Ended {
            assert_eq!(
                *last,
                format!(
                    "settle t2: the turn was not accepted: turn {id} completed and can't be retried; send its input again for another answer [retry-refused]"
                )
            );
        } else {
            assert!(
                last.contains("is still queued or running and can't be retried"),
                "{at:?}: {last}"
            );
        }
        assert_eq!(told.len(), 3, "{at:?}: refused at once: {told:?}");
        world.settle();
        model::check(&world);
    }
    let mut world = World::new();
    world.retry("nobody");
    assert_eq!(
        world.told(),
        [
            "accepted t1: the turn was not accepted: there is no turn nobody in this session to retry [retry-refused]",
            "emit t1 0 turn-end failed, accepted never, error \"the turn was not accepted: there is no turn nobody in this session to retry\"",
            "settle t1: the turn was not accepted: there is no turn nobody in this session to retry [retry-refused]",
        ]
    );
    assert!(world.machine.is_idle());
}

/// Another host was still answering it when it was retried here, and completed it before the hold came.
#[test]
fn t9_what_the_original_is_is_looked_at_again_under_the_hold() {
    let mut world = World::new();
    world.others_write(Others::Open);
    world.refreshed(true);
    assert_eq!(
        world.machine.status(&turn("other1")),
        Some(TurnStatus::Running)
    );
    world.retry("other1");
    world.send();
    let completed = EntryBody::TurnCompleted {
        turn_id: turn("other1"),
        text: "their reply".into(),
        metadata: crate::Metadata::default(),
        responder: ResponderInfo::default(),
    };
    let seq = world.next_seq();
    world.journal.push(Entry::new(
        seq,
        super::world::entry_id("theirs"),
        Timestamp::UNIX_EPOCH,
        completed,
    ));
    world.log();
    world.acquired(Luck::Good);
    let told = world.told();
    assert!(
        told[2].contains("turn other1 completed and can't be retried"),
        "{told:?}"
    );
    assert_eq!(
        told[3..],
        ["release", "acquire from 2"],
        "the next turn takes the hold anew"
    );
    world.settle();
    assert_eq!(world.told().last().unwrap(), "settle t2: ok \"done\"");
    model::check(&world);
}

/// C9: after a restart a dead turn is interrupted, and can be retried.
#[test]
fn t10_c9_a_turn_without_outcome_is_interrupted_and_can_be_retried() {
    let mut before = At::Running.world();
    let mut world = World::of(std::mem::take(&mut before.journal));
    world.turns.push(turn("t1"));
    assert_eq!(
        world.machine.status(&turn("t1")),
        Some(TurnStatus::Interrupted)
    );
    assert!(world.machine.is_idle(), "nothing is retried by itself");
    world.retry("t1");
    world.settle();
    assert_eq!(world.told().last().unwrap(), "settle t2: ok \"done\"");
    assert_eq!(
        world.machine.status(&turn("t1")),
        Some(TurnStatus::Interrupted)
    );
}

#[test]
fn t10_only_the_last_turn_can_run_elsewhere_as_of_the_last_refresh() {
    let mut world = World::new();
    world.others_write(Others::Open);
    world.others_write(Others::Open);
    let status =
        |world: &World| ["other1", "other2"].map(|id| world.machine.status(&turn(id)).unwrap());
    world.refreshed(true);
    assert_eq!(
        status(&world),
        [TurnStatus::Interrupted, TurnStatus::Running]
    );
    world.refreshed(false);
    assert_eq!(status(&world), [TurnStatus::Interrupted; 2]);
    world.refreshed(true);
    // Who has the hold knows that nobody else is answering.
    world.send();
    world.acquired(Luck::Good);
    assert_eq!(status(&world), [TurnStatus::Interrupted; 2]);
}

/// A turn that ended here runs nowhere, whoever has the hold; it would look as if it had never ended.
#[test]
fn t10_a_turn_that_was_interrupted_here_is_never_shown_as_running_elsewhere() {
    let mut world = At::Running.world();
    world.hold_lost();
    world.refreshed(true);
    assert_eq!(
        world.machine.status(&turn("t1")),
        Some(TurnStatus::Interrupted)
    );
    // Nor where a later turn of this session came to nothing.
    world.send();
    world.acquired(Luck::Good);
    world.abandon(false);
    world.refreshed(true);
    assert_eq!(
        world.machine.status(&turn("t1")),
        Some(TurnStatus::Interrupted)
    );
    assert_eq!(world.next_seq(), Seq(2));
    // Nor where it turns out to have been accepted after all.
    let mut world = At::AcceptUnknown.world();
    world.recovered(Luck::Bad);
    assert_eq!(world.machine.status(&turn("t1")), None);
    world.refreshed(true);
    assert_eq!(
        world.machine.status(&turn("t1")),
        Some(TurnStatus::Interrupted)
    );
}
