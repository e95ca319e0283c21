//! Law T13: a hold that is lost in the middle of a turn.

use super::{
    completions::{Luck, Others, Write},
    model,
    stage::At,
    world::turn,
};
use crate::TurnStatus;

const LOST: &str = "the hold on the session was lost; another process may be writing it";

#[test]
fn t13_a_running_turn_is_stopped_and_interrupted_and_nothing_more_is_written() {
    let mut world = At::Offered.world();
    world.hold_lost();
    assert_eq!(
        world.told(),
        [
            "signal t1".to_owned(),
            "abandon t1".into(),
            "steered #1: \"steer 1\" refused: the hold on the session was lost".into(),
            format!("emit t1 1 turn-end interrupted, error \"the turn was interrupted: {LOST}\""),
            format!("settle t1: the turn was interrupted: {LOST} [hold-lost]"),
            "release".into(),
        ]
    );
    model::check(&world);
}

#[test]
fn t13_an_outcome_in_flight_is_awaited_and_stands_where_it_is_written() {
    let mut world = At::Recording.world();
    world.hold_lost();
    assert!(world.told().is_empty());
    world.wrote(Write::Written);
    assert_eq!(
        world.told(),
        [
            "emit t1 1 turn-end completed, output \"done\"",
            "settle t1: ok \"done\""
        ]
    );
    model::check(&world);
}

#[test]
fn t13_an_accept_in_flight_is_awaited_resolves_and_then_the_turn_is_interrupted() {
    let mut world = At::Accepting.world();
    world.steer(None);
    world.hold_lost();
    assert!(world.told().is_empty());
    world.wrote(Write::Written);
    assert_eq!(
        world.told(),
        [
            "accepted t1: ok".to_owned(),
            "emit t1 0 turn-start".into(),
            "steered #1: \"steer 1\" refused: the hold on the session was lost".into(),
            format!("emit t1 1 turn-end interrupted, error \"the turn was interrupted: {LOST}\""),
            format!("settle t1: the turn was interrupted: {LOST} [hold-lost]"),
            "release".into(),
        ]
    );
    model::check(&world);
}

#[test]
fn t13_fenced_or_lost_while_accepting_and_not_written_there_is_no_turn() {
    for lost_first in [false, true] {
        let mut world = At::Accepting.world();
        if lost_first {
            world.hold_lost();
            world.others_write(Others::Open);
        }
        world.wrote(if lost_first {
            Write::NotWritten
        } else {
            Write::Fenced
        });
        let error = "the turn was not accepted: the hold on the session was lost before the turn was written";
        assert_eq!(
            world.told(),
            [
                format!("accepted t1: {error} [hold-lost]"),
                format!("emit t1 0 turn-end failed, accepted never, error \"{error}\""),
                format!("settle t1: {error} [hold-lost]"),
                "release".into(),
            ]
        );
        model::check(&world);
    }
}

/// Whatever the store says of a write after the hold was lost: if it is not written, that is why.
#[test]
fn t13_with_the_hold_lost_every_end_says_so() {
    for at in At::ALL {
        for (write, luck) in [
            (Write::NotWritten, Luck::Bad),
            (Write::UnknownLost, Luck::Bad),
            (Write::Fenced, Luck::Bad),
        ] {
            let mut world = at.world();
            if !world.hold_lost() {
                continue;
            }
            world.wrote(write);
            world.recovered(luck);
            let told = world.told();
            let settled = told
                .iter()
                .find(|line| line.starts_with("settle t1"))
                .unwrap();
            assert!(
                settled.ends_with("[hold-lost]"),
                "{at:?}, {write:?}: {settled}"
            );
            world.settle();
            model::check(&world);
        }
    }
}

#[test]
fn t13_a_cancel_changes_nothing_once_the_hold_is_lost() {
    let mut world = At::Steering.world();
    world.hold_lost();
    world.cancel("t1", "enough");
    world.wrote(Write::Written);
    let told = world.told();
    assert!(
        told.contains(&"steered #1: ok".to_owned()),
        "written stands: {told:?}"
    );
    assert!(
        told.contains(&format!(
            "settle t1: the turn was interrupted: {LOST} [hold-lost]"
        )),
        "{told:?}"
    );
    model::check(&world);
}

#[test]
fn t13_the_session_goes_on_behind_the_other_holder() {
    let mut world = At::Behind.world();
    world.hold_lost();
    world.others_write(Others::Answered);
    world.settle();
    assert_eq!(world.told().last().unwrap(), "settle t2: ok \"done\"");
    assert_eq!(
        world.machine.status(&turn("t1")),
        Some(TurnStatus::Interrupted)
    );
    assert_eq!(
        world.machine.status(&turn("other1")),
        Some(TurnStatus::Completed)
    );
    model::check(&world);
}
