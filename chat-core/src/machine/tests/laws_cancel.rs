//! Law T6: a cancel in every state. The whole table is in the snapshot `t6_cancel` of [`super::matrix`].

use super::{
    completions::{Luck, Write},
    model,
    stage::At,
    world::{World, turn},
};
use crate::{Reply, ResponderEvent, TurnStatus};

#[test]
fn t6_a_queued_turn_is_canceled_unwritten() {
    for at in [At::Behind, At::Acquiring] {
        let mut world = at.world();
        let id = world.newest();
        world.cancel(id.as_str(), "enough");
        let told = world.told();
        assert_eq!(
            told[..3],
            [
                format!("accepted {id}: enough [canceled]"),
                format!("emit {id} 0 turn-end canceled, accepted never, reason \"enough\""),
                format!("settle {id}: enough [canceled]"),
            ]
        );
        assert_eq!(
            told.get(3).map(String::as_str),
            (at == At::Acquiring).then_some("give up acquire")
        );
        assert_eq!(world.machine.status(&id), None);
        world.settle();
        assert!(world.machine.transcript().turn(&id).is_none());
        model::check(&world);
    }
}

#[test]
fn t6_an_acquire_is_given_up_only_where_nobody_else_waits() {
    let mut world = At::Acquiring.world();
    world.send();
    world.cancel("t1", "enough");
    assert!(!world.told().contains(&"give up acquire".to_owned()));
    world.settle();
    assert_eq!(world.told().last().unwrap(), "settle t2: ok \"done\"");
    model::check(&world);
}

#[test]
fn t6_a_hold_that_comes_too_late_is_released_and_asked_for_anew() {
    let mut world = At::Acquiring.world();
    world.cancel("t1", "enough");
    world.send();
    world.log();
    world.acquired(Luck::Good);
    assert_eq!(world.told(), ["release", "acquire from 0"]);

    let mut world = At::Acquiring.world();
    world.cancel("t1", "enough");
    world.log();
    world.acquired(Luck::Bad);
    assert!(world.told().is_empty());
    assert!(world.machine.is_idle());
}

#[test]
fn t6_canceled_while_accepting_the_write_is_awaited_and_then_the_cancel_written() {
    let mut world = At::Accepting.world();
    world.cancel("t1", "enough");
    assert!(world.told().is_empty());
    world.wrote(Write::Written);
    assert_eq!(
        world.told(),
        [
            "accepted t1: ok",
            "emit t1 0 turn-start",
            "append 2 turn.canceled t1 \"enough\" as the last"
        ]
    );
    world.wrote(Write::Written);
    assert_eq!(
        world.told(),
        [
            "emit t1 1 turn-end canceled, reason \"enough\"",
            "settle t1: enough [canceled]"
        ]
    );
    model::check(&world);
}

#[test]
fn t6_canceled_while_accepting_and_not_written_the_reason_stands() {
    for write in [Write::NotWritten, Write::Fenced, Write::UnknownLost] {
        let mut world = At::Accepting.world();
        world.cancel("t1", "enough");
        world.wrote(write);
        world.recovered(Luck::Good);
        assert_eq!(
            world
                .told()
                .split_off(usize::from(write == Write::UnknownLost)),
            [
                "accepted t1: enough [canceled]",
                "emit t1 0 turn-end canceled, accepted never, reason \"enough\"",
                "settle t1: enough [canceled]",
                "release",
            ]
        );
        model::check(&world);
    }
}

/// C5: whether or not the responder heeds, the turn ends at once and the next one starts.
#[test]
fn t6_c5_canceled_while_running_the_responder_is_stopped_and_the_cancel_written_at_once() {
    let mut world = At::Running.world();
    world.say(vec![ResponderEvent::text("so far")]);
    world.log();
    world.cancel("t1", "enough");
    assert_eq!(
        world.told(),
        [
            "signal t1",
            "abandon t1",
            "append 2 turn.canceled t1 \"enough\", was answering as the last"
        ]
    );
    world.send();
    world.wrote(Write::Written);
    assert_eq!(
        world.told(),
        [
            "emit t1 2 turn-end canceled, reason \"enough\"",
            "settle t1: enough [canceled]",
            "acquire from 2",
        ]
    );
    world.settle();
    model::check(&world);
}

#[test]
fn t6_a_steer_that_is_being_written_is_finished_first_and_the_cancel_wins_either_way() {
    for write in [Write::Written, Write::NotWritten] {
        let mut world = At::Steering.world();
        world.cancel("t1", "enough");
        assert_eq!(
            world.told(),
            [
                "signal t1",
                "abandon t1",
                "steered #2: \"steer 2\" refused: the turn was canceled"
            ]
        );
        world.wrote(write);
        let told = world.told();
        assert!(
            told.last()
                .unwrap()
                .contains("turn.canceled t1 \"enough\", was answering as the last"),
            "{told:?}"
        );
        world.settle();
        assert_eq!(
            world.machine.status(&turn("t1")),
            Some(TurnStatus::Canceled)
        );
        model::check(&world);
    }
}

#[test]
fn t6_a_cancel_wins_over_a_failure_that_is_not_being_written() {
    let mut world = At::Closing.world();
    world.cancel("t1", "enough");
    assert!(world.told().is_empty());
    world.settle();
    assert_eq!(world.told().last().unwrap(), "settle t1: enough [canceled]");
}

#[test]
fn t6_once_the_outcome_is_chosen_a_cancel_has_no_effect() {
    for at in [At::Recording, At::OutcomeUnknown, At::Ended] {
        let mut world = at.world();
        world.cancel("t1", "enough");
        assert!(world.told().is_empty(), "{at:?}");
        world.settle();
        assert_eq!(
            world.machine.status(&turn("t1")),
            Some(TurnStatus::Completed),
            "{at:?}"
        );
    }
    // A reply that waits for a steer to be written is not chosen yet.
    let mut world = At::AllIn.world();
    world.cancel("t1", "enough");
    world.settle();
    assert_eq!(
        world.machine.status(&turn("t1")),
        Some(TurnStatus::Canceled)
    );
    model::check(&world);
}

/// C4: canceling twice hangs nobody, and the first reason stands.
#[test]
fn t6_c4_a_cancel_may_come_any_number_of_times_and_the_first_reason_stands() {
    for at in At::ALL {
        let mut once = at.world();
        let id = once.newest();
        once.cancel(id.as_str(), "first");
        once.settle();
        let mut often = at.world();
        (0..3).for_each(|n| often.cancel(id.as_str(), ["first", "second", "third"][n]));
        often.settle();
        assert_eq!(often.told(), once.told(), "{at:?}");
        model::check(&often);
    }
}

#[test]
fn t6_a_cancel_touches_no_other_turn() {
    let mut world = At::Behind.world();
    world.cancel("t2", "enough");
    world.cancel("nobody", "enough");
    world.events_end(Luck::Good);
    world.replied(Ok(Reply::text("done")));
    world.settle();
    assert_eq!(world.told().last().unwrap(), "settle t1: ok \"done\"");
    model::check(&world);
}

#[test]
fn t6_without_a_reason_it_is_just_canceled() {
    let mut world = At::Running.world();
    let now = world.tick();
    world.machine.cancel(now, &turn("t1"), None);
    world.drain();
    world.settle();
    assert_eq!(
        world.told().last().unwrap(),
        "settle t1: canceled [canceled]"
    );
}

#[test]
fn t6_where_the_cancel_was_not_written_the_store_error_stands() {
    let mut world = At::Running.world();
    world.cancel("t1", "enough");
    world.log();
    world.wrote(Write::NotWritten);
    assert_eq!(
        world.told(),
        [
            "emit t1 1 turn-end interrupted, error \"the turn was interrupted: the outcome could not be recorded: the store failed: the disk is gone\"",
            "settle t1: the turn was interrupted: the outcome could not be recorded: the store failed: the disk is gone [store-backend]",
            "release",
        ]
    );
    model::check(&world);
}

/// A world is only as good as what it refuses.
#[test]
#[should_panic(expected = "the machine is not idle")]
fn a_turn_that_hangs_is_noticed() {
    let world: World = At::Running.world();
    model::check(&world);
}
