//! Law T14, and the end of law T5: shutting down, and a runtime that goes away.

use super::{
    completions::{Luck, Write},
    model,
    stage::At,
    world::{World, turn},
};
use crate::{Reply, Shutdown, SteerId, TurnStatus};

#[test]
fn t14_at_once_the_queue_is_canceled_unwritten_and_what_runs_goes_on() {
    let mut world = At::Behind.world();
    world.send();
    world.steer(Some("t3"));
    world.log();
    world.shutdown(Shutdown::Begin);
    assert_eq!(
        world.told(),
        [
            "accepted t2: shutting down [canceled]",
            "emit t2 0 turn-end canceled, accepted never, reason \"shutting down\"",
            "settle t2: shutting down [canceled]",
            "steered #1: \"steer 1\" refused: the chat is shutting down",
            "accepted t3: shutting down [canceled]",
            "emit t3 0 turn-end canceled, accepted never, reason \"shutting down\"",
            "settle t3: shutting down [canceled]",
        ]
    );
    world.settle();
    assert_eq!(world.told().last().unwrap(), "settle t1: ok \"done\"");
    model::check(&world);
}

#[test]
fn t14_a_wait_for_the_hold_is_given_up() {
    let mut world = At::Acquiring.world();
    world.shutdown(Shutdown::Begin);
    assert_eq!(world.told().last().unwrap(), "give up acquire");
    world.acquired(Luck::Good);
    assert_eq!(world.told(), ["release"]);
    model::check(&world);
}

#[test]
fn t14_no_new_turns_and_steers_are_taken() {
    let mut world = At::Running.world();
    world.shutdown(Shutdown::Begin);
    world.steer(None);
    world.steer(Some("t1"));
    world.send();
    assert_eq!(
        world.told(),
        [
            "steered #1: \"steer 1\" refused: the chat is shutting down",
            "steered #2: \"steer 2\" refused: the chat is shutting down",
            "accepted t2: the turn was not accepted: the chat is shutting down and takes no new turns [shutting-down]",
            "emit t2 0 turn-end failed, accepted never, error \"the turn was not accepted: the chat is shutting down and takes no new turns\"",
            "settle t2: the turn was not accepted: the chat is shutting down and takes no new turns [shutting-down]",
        ]
    );
}

#[test]
fn t14_a_steer_that_waits_for_its_responder_is_refused() {
    let mut world = At::Accepting.world();
    world.steer(None);
    world.shutdown(Shutdown::Begin);
    assert_eq!(
        world.told(),
        ["steered #1: \"steer 1\" refused: the chat is shutting down"]
    );
    world.settle();
    assert_eq!(world.told().last().unwrap(), "settle t1: ok \"done\"");
    model::check(&world);
}

/// What was offered is taken back, and what the responder took in that moment is recorded.
#[test]
fn t14_steers_not_yet_taken_are_withdrawn_and_those_taken_recorded() {
    let mut world = At::Offered.world();
    world.steer(None);
    world.log();
    world.shutdown(Shutdown::Begin);
    world.shutdown(Shutdown::Begin);
    assert_eq!(
        world.told(),
        ["withdraw t1 #1", "withdraw t1 #2"],
        "each once"
    );
    world.steer_answered(SteerId(1), Err(crate::SteerRefused::ShuttingDown));
    world.steer_taken(SteerId(2));
    assert_eq!(
        world.told(),
        [
            "steered #1: \"steer 1\" refused: the chat is shutting down",
            "append 2 turn.steered t1 \"steer 2\""
        ]
    );
    world.settle();
    assert_eq!(
        world
            .machine
            .transcript()
            .turns()
            .last()
            .unwrap()
            .steering
            .len(),
        1
    );
    model::check(&world);
}

#[test]
fn t14_after_the_grace_what_runs_is_canceled() {
    for at in [At::Accepting, At::Running] {
        let mut world = at.world();
        world.shutdown(Shutdown::Begin);
        world.shutdown(Shutdown::Cancel);
        world.shutdown(Shutdown::Cancel);
        world.settle();
        assert_eq!(
            world.told().last().unwrap(),
            "settle t1: shutting down [canceled]"
        );
        assert_eq!(
            world.machine.status(&turn("t1")),
            Some(TurnStatus::Canceled)
        );
        model::check(&world);
    }
}

#[test]
fn t5_if_the_runtime_goes_away_every_turn_ends() {
    let mut world = At::Behind.world();
    world.steer(Some("t2"));
    world.log();
    world.abandon(false);
    let gone = "the async runtime that drove the turn is gone";
    let queued = "the turn was not accepted: the async runtime that drove the session is gone";
    assert_eq!(
        world.told(),
        [
            "signal t1".to_owned(),
            "abandon t1".into(),
            format!("emit t1 1 turn-end interrupted, error \"the turn was interrupted: {gone}\""),
            format!("settle t1: the turn was interrupted: {gone} [runtime-gone]"),
            "release".into(),
            format!("steered #1: \"steer 1\" refused: {gone}"),
            format!("accepted t2: {queued} [runtime-gone]"),
            format!("emit t2 0 turn-end failed, accepted never, error \"{queued}\""),
            format!("settle t2: {queued} [runtime-gone]"),
        ]
    );
    world.abandon(false);
    assert!(world.told().is_empty(), "once is enough");
    model::check(&world);
}

#[test]
fn t5_with_the_runtime_gone_nothing_is_taken_any_more() {
    for begin in [false, true] {
        let mut world = World::new();
        if begin {
            world.shutdown(Shutdown::Begin);
        }
        world.abandon(false);
        // A shutdown that comes later takes nothing back.
        world.shutdown(Shutdown::Begin);
        world.steer(None);
        world.send();
        let told = world.told();
        assert_eq!(
            told[0],
            "steered #1: \"steer 1\" refused: the async runtime that drove the turn is gone"
        );
        assert!(
            told[1].ends_with("[runtime-gone]") && told[3].ends_with("[runtime-gone]"),
            "{told:?}"
        );
        model::check(&world);
    }
}

/// A hold that comes to a session without runtime is let go of like any that comes too late.
#[test]
fn t5_a_hold_that_comes_after_the_runtime_is_gone_is_released() {
    let mut world = At::Acquiring.world();
    world.abandon(false);
    assert_eq!(world.told().last().unwrap(), "give up acquire");
    world.acquired(Luck::Good);
    assert_eq!(world.told(), ["release"]);
    model::check(&world);
}

/// Nobody knows what becomes of a write in flight: the turn is interrupted, and the next to open the session sees.
#[test]
fn t5_a_write_in_flight_when_the_runtime_goes_away_is_unknown() {
    for landed in [false, true] {
        let mut world = At::Recording.world();
        world.abandon(landed);
        assert!(
            world
                .told()
                .concat()
                .contains("settle t1: the turn was interrupted")
        );
        world
            .machine
            .handle_appended(crate::Timestamp::UNIX_EPOCH, crate::Appended::Written);
        assert!(
            world.machine.poll_output().is_none(),
            "its answer comes too late"
        );
        let reopened = World::of(std::mem::take(&mut world.journal));
        let status = if landed {
            TurnStatus::Completed
        } else {
            TurnStatus::Interrupted
        };
        assert_eq!(reopened.machine.status(&turn("t1")), Some(status));
    }
}

/// C8: that a caller stops reading, or the chat winds up, does not cancel the write of a reply that is in.
#[test]
fn t14_c8_a_reply_that_is_in_is_recorded_all_the_same() {
    for step in [Shutdown::Begin, Shutdown::Cancel] {
        let mut world = At::Running.world();
        world.events_end(Luck::Good);
        world.replied(Ok(Reply::text("done")));
        world.shutdown(step);
        world.wrote(Write::Written);
        assert_eq!(world.told().last().unwrap(), "settle t1: ok \"done\"");
        model::check(&world);
    }
}
