//! Law T11: writes that fail, or of which nobody knows. What every state makes of them is in the snapshots of [`super::matrix`].

use super::{
    completions::{Luck, Write},
    model,
    stage::At,
    world::{World, turn},
};
use crate::TurnStatus;

const GONE: &str = "the store failed: the disk is gone";

/// C26: a write error is told, and nothing is shown that it would have made true.
#[test]
fn t11_accepted_not_written_leaves_no_turn() {
    for (write, recovered) in [(Write::NotWritten, false), (Write::UnknownLost, true)] {
        let mut world = At::Accepting.world();
        world.wrote(write);
        assert_eq!(world.recovered(Luck::Good), recovered);
        assert_eq!(
            world.told().split_off(usize::from(recovered)),
            [
                format!("accepted t1: the turn was not accepted: {GONE} [store-backend]"),
                format!(
                    "emit t1 0 turn-end failed, accepted never, error \"the turn was not accepted: {GONE}\""
                ),
                format!("settle t1: the turn was not accepted: {GONE} [store-backend]"),
                "release".into(),
            ]
        );
        assert_eq!(world.machine.status(&turn("t1")), None);
        assert!(world.machine.transcript().turns().is_empty());
        model::check(&world);
    }
}

#[test]
fn t11_where_the_hold_is_not_given_only_the_turn_that_asked_fails() {
    let mut world = At::Acquiring.world();
    world.send();
    world.steer(Some("t1"));
    world.log();
    world.acquired(Luck::Bad);
    assert_eq!(
        world.told(),
        [
            "steered #1: \"steer 1\" refused: the turn has ended".into(),
            format!("accepted t1: the turn was not accepted: {GONE} [store-backend]"),
            format!(
                "emit t1 0 turn-end failed, accepted never, error \"the turn was not accepted: {GONE}\""
            ),
            format!("settle t1: the turn was not accepted: {GONE} [store-backend]"),
            "acquire from 0".into(),
        ]
    );
    world.settle();
    model::check(&world);
}

#[test]
fn t11_outcome_not_written_interrupts() {
    let mut world = At::Recording.world();
    world.wrote(Write::NotWritten);
    let error = format!("the turn was interrupted: the outcome could not be recorded: {GONE}");
    assert_eq!(
        world.told(),
        [
            format!("emit t1 1 turn-end interrupted, error \"{error}\""),
            format!("settle t1: {error} [store-backend]"),
            "release".into(),
        ]
    );
    assert_eq!(
        world.machine.status(&turn("t1")),
        Some(TurnStatus::Interrupted)
    );
    model::check(&world);
}

#[test]
fn t11_recovery_under_the_same_hold_decides_and_the_turn_stays_as_it_is_until_then() {
    for (at, shown) in [
        (At::AcceptUnknown, TurnStatus::Queued),
        (At::SteerUnknown, TurnStatus::Running),
        (At::ClosingUnknown, TurnStatus::Running),
        (At::OutcomeUnknown, TurnStatus::Running),
    ] {
        let mut world = at.world();
        assert_eq!(world.machine.status(&turn("t1")), Some(shown), "{at:?}");
        assert!(
            !world.wrote(Write::Written),
            "{at:?}: nothing is written while nobody knows"
        );
        world.recovered(Luck::Good);
        world.settle();
        model::check(&world);
    }
}

#[test]
fn t11_an_outcome_that_turns_out_written_ends_the_turn_as_usual_and_the_hold_is_let_go() {
    let mut world = At::OutcomeUnknown.world();
    world.recovered(Luck::Good);
    assert_eq!(
        world.told(),
        [
            "emit t1 1 turn-end completed, output \"done\"",
            "settle t1: ok \"done\"",
            "release"
        ]
    );
    model::check(&world);
}

#[test]
fn t11_where_recovery_fails_the_turn_is_interrupted_and_those_behind_it_go_on() {
    for at in [
        At::AcceptUnknown,
        At::SteerUnknown,
        At::ClosingUnknown,
        At::OutcomeUnknown,
    ] {
        let mut world = at.world();
        let next = world.send();
        world.log();
        world.recovered(Luck::Bad);
        let told = world.told();
        let settled = told
            .iter()
            .position(|line| line.starts_with("settle t1"))
            .unwrap();
        assert!(
            told[settled].contains(GONE) && told[settled].contains("interrupted"),
            "{at:?}: {told:?}"
        );
        assert_eq!(
            told[settled + 1..],
            ["release".to_owned(), told.last().unwrap().clone()],
            "{at:?}"
        );
        assert!(
            told.last().unwrap().starts_with("acquire from"),
            "{at:?}: {told:?}"
        );
        world.settle();
        assert_eq!(world.machine.status(&next), Some(TurnStatus::Completed));
        model::check(&world);
    }
}

#[test]
fn t11_only_the_steer_that_was_being_written_is_refused_with_the_store_error() {
    let mut world = At::SteerUnknown.world();
    world.recovered(Luck::Bad);
    let told = world.told();
    let steers: Vec<_> = told
        .iter()
        .filter(|line| line.starts_with("steered"))
        .collect();
    assert_eq!(
        steers,
        [
            &format!("steered #1: \"steer 1\" refused: the input could not be recorded: {GONE}"),
            "steered #2: \"steer 2\" refused: the turn has ended",
        ]
    );
    let mut world = At::AcceptUnknown.world();
    world.steer(None);
    world.recovered(Luck::Bad);
    assert_eq!(
        world.told()[0],
        "steered #1: \"steer 1\" refused: the turn has ended"
    );
}

/// The next acquire decides: what nobody knew was in the journal.
#[test]
fn t11_the_next_acquire_brings_what_recovery_could_not_tell() {
    let mut world = At::OutcomeUnknown.world();
    world.recovered(Luck::Bad);
    assert_eq!(
        world.machine.status(&turn("t1")),
        Some(TurnStatus::Interrupted)
    );
    world.send();
    world.settle();
    assert_eq!(
        world.machine.status(&turn("t1")),
        Some(TurnStatus::Completed)
    );
    model::check(&world);
}

#[test]
fn t11_unknown_while_accepting_a_pending_accepted_rejects_with_the_recovery_error() {
    let mut world = At::AcceptUnknown.world();
    world.cancel("t1", "enough");
    world.recovered(Luck::Bad);
    let told = world.told();
    assert!(
        told[0].starts_with("accepted t1: the turn was interrupted"),
        "{told:?}"
    );
    assert!(
        told[1].starts_with("emit t1 0 turn-end interrupted, accepted never"),
        "{told:?}"
    );
    model::check(&world);
}

/// A store that brings back another entry than the one that was to be written, at its place.
#[test]
fn t11_another_entry_at_the_place_is_not_the_one_that_was_to_be_written() {
    let mut world: World = At::Recording.world();
    world.wrote(Write::UnknownLost);
    let theirs = crate::Entry::new(
        world.next_seq(),
        super::world::entry_id("theirs"),
        crate::Timestamp::UNIX_EPOCH,
        crate::EntryBody::Unknown { kind: "odd".into() },
    );
    world.journal.push(theirs);
    world.recovered(Luck::Good);
    assert!(
        world
            .told()
            .iter()
            .any(|line| line.starts_with("settle t1: the turn was interrupted"))
    );
    assert_eq!(world.machine.transcript().next_seq(), world.next_seq());
    model::check(&world);
}
