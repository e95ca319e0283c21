//! Law T8: a steer waits for the turn's responder, and is acknowledged once it was taken and is in the journal.

use super::{
    completions::{Luck, Write},
    model,
    stage::At,
    world::{Blow, World, turn},
};
use crate::{Message, Reply, ResponderError, SteerId, SteerRefused, TurnStatus};

#[test]
fn t8_a_steer_is_acknowledged_once_it_was_taken_and_is_in_the_journal() {
    let mut world = At::Running.world();
    world.steer(None);
    assert_eq!(world.told(), ["offer t1 #1 \"steer 1\""]);
    world.steer_taken(SteerId(1));
    assert_eq!(world.told(), ["append 2 turn.steered t1 \"steer 1\""]);
    world.wrote(Write::Written);
    assert_eq!(
        world.told(),
        ["emit t1 1 steered \"steer 1\"", "steered #1: ok"]
    );
    assert_eq!(
        world
            .machine
            .transcript()
            .turn(&turn("t1"))
            .unwrap()
            .steering
            .len(),
        1
    );
    world.settle();
    let messages: Vec<Message> = world.machine.transcript().turns().messages().collect();
    assert_eq!(
        messages,
        [
            Message::user("input 1"),
            Message::user("steer 1"),
            Message::assistant("done")
        ]
    );
    model::check(&world);
}

#[test]
fn t8_a_steer_waits_for_the_turn_that_is_queued_or_accepting() {
    for (at, to) in [
        (At::Behind, Some("t2")),
        (At::Acquiring, Some("t1")),
        (At::Acquiring, None),
        (At::Accepting, Some("t1")),
        (At::Accepting, None),
        (At::AcceptUnknown, None),
    ] {
        let mut world = at.world();
        world.steer(to);
        assert!(world.told().is_empty(), "{at:?}");
        for _ in 0..20 {
            if world.machine.status(&world.newest()) == Some(TurnStatus::Running) {
                break;
            }
            let _ = world.acquired(Luck::Good)
                || world.wrote(Write::Written)
                || world.recovered(Luck::Good)
                || world.events_end(Luck::Good)
                || world.replied(Ok(Reply::text("done")));
        }
        let id = world.newest();
        assert_eq!(
            world.told().last().unwrap(),
            &format!("offer {id} #1 \"steer 1\""),
            "{at:?}"
        );
        world.steer_taken(SteerId(1));
        world.settle();
        assert_eq!(
            world.machine.transcript().turn(&id).unwrap().steering.len(),
            1
        );
        model::check(&world);
    }
}

#[test]
fn t8_the_sessions_steer_goes_to_the_running_turn_before_any_queued_one() {
    let mut world = At::Behind.world();
    world.steer(None);
    assert_eq!(world.told(), ["offer t1 #1 \"steer 1\""]);
}

#[test]
fn t8_a_steer_is_refused_with_its_input_handed_back() {
    let refused = |world: &mut World, to: Option<&str>| {
        world.steer(to);
        world.told().concat()
    };
    for (at, why) in [
        (At::AllIn, "the reply was already in"),
        (At::Closing, "the turn has ended"),
        (At::Recording, "the reply was already in"),
        (At::OutcomeUnknown, "the reply was already in"),
    ] {
        let mut world = at.world();
        let ticket = world.steers + 1;
        let expected = format!("steered #{ticket}: \"steer {ticket}\" refused: {why}");
        assert_eq!(refused(&mut world, Some("t1")), expected, "{at:?}");
    }
    assert_eq!(
        refused(&mut World::new(), None),
        "steered #1: \"steer 1\" refused: no turn is running"
    );
    assert_eq!(
        refused(&mut At::Ended.world(), None),
        "steered #1: \"steer 1\" refused: no turn is running"
    );
    assert_eq!(
        refused(&mut At::Ended.world(), Some("t1")),
        "steered #1: \"steer 1\" refused: the turn has ended"
    );

    for at in [At::Accepting, At::Running] {
        let mut world = at.world();
        world.cancel("t1", "enough");
        world.log();
        assert_eq!(
            refused(&mut world, Some("t1")),
            "steered #1: \"steer 1\" refused: the turn was canceled"
        );
    }
    let mut world = At::Running.world();
    world.replied(Ok(Reply::text("done")));
    assert_eq!(
        refused(&mut world, None),
        "steered #1: \"steer 1\" refused: the reply was already in"
    );

    let mut world = At::Offered.world();
    world.steer_answered(SteerId(1), Err(SteerRefused::Unsupported));
    assert_eq!(
        world.told(),
        ["steered #1: \"steer 1\" refused: the responder can't be steered"]
    );
}

/// C1: a steer taken in the same breath as the reply is recorded before the reply is.
#[test]
fn t8_c1_a_steer_taken_with_the_reply_is_recorded_before_it() {
    let mut world = At::Offered.world();
    world.steer(None);
    world.replied(Ok(Reply::text("done")));
    world.steer_taken(SteerId(1));
    world.events_end(Luck::Good);
    world.wrote(Write::Written);
    world.wrote(Write::Written);
    insta::assert_snapshot!(world.log().join("\n"));
    model::check(&world);
}

#[test]
fn t8_steers_are_written_one_at_a_time_in_the_order_they_were_taken() {
    let mut world = At::Running.world();
    (0..3).for_each(|_| {
        world.steer(None);
    });
    world.log();
    for ticket in [3, 1, 2] {
        world.steer_taken(SteerId(ticket));
    }
    assert_eq!(world.told(), ["append 2 turn.steered t1 \"steer 3\""]);
    world.replied(Ok(Reply::text("done")));
    world.events_end(Luck::Good);
    world.settle();
    let turns = world.machine.transcript().turns();
    assert_eq!(
        turns.last().unwrap().steering.join(", "),
        "steer 3, steer 1, steer 2"
    );
    assert_eq!(
        world.journal.len(),
        1 + 2 + 3,
        "J5: two entries, and one a steer"
    );
    model::check(&world);
}

/// C1: what was taken and can't be written fails the turn, and nothing is acknowledged.
#[test]
fn t8_c1_a_steer_that_was_taken_and_not_written_fails_the_turn() {
    let mut world = At::Steering.world();
    world.wrote(Write::NotWritten);
    assert_eq!(
        world.told(),
        [
            "steered #1: \"steer 1\" refused: the input could not be recorded: the store failed: the disk is gone",
            "signal t1",
            "abandon t1",
            "steered #2: \"steer 2\" refused: the turn has ended",
            "append 2 turn.failed t1 \"an input that the responder took could not be recorded: the store failed: the disk is gone\" as the last",
        ]
    );
    world.settle();
    assert_eq!(world.machine.status(&turn("t1")), Some(TurnStatus::Failed));
    model::check(&world);
}

/// C1: steers that were taken and wait behind another are handed back where the turn ends under them.
#[test]
fn t8_c1_what_waits_to_be_written_is_handed_back_where_the_turn_ends() {
    let ends: [(&str, Blow); 3] = [
        ("the turn was canceled", |world| {
            world.cancel("t1", "enough")
        }),
        ("the turn has ended", |world| {
            world.replied(Err(ResponderError::new("it broke")));
        }),
        ("the hold on the session was lost", |world| {
            world.hold_lost();
        }),
    ];
    for (why, end) in ends {
        let mut world = At::Steering.world();
        world.steer_taken(SteerId(2));
        world.log();
        end(&mut world);
        assert!(
            world
                .told()
                .contains(&format!("steered #2: \"steer 2\" refused: {why}"))
        );
        world.settle();
        let steering = world
            .machine
            .transcript()
            .turns()
            .last()
            .unwrap()
            .steering
            .join(", ");
        assert_eq!(steering, "steer 1", "what is being written is finished");
        model::check(&world);
    }
}

#[test]
fn t8_while_nobody_knows_whether_a_steer_is_written_the_responder_goes_on() {
    let mut world = At::SteerUnknown.world();
    world.replied(Ok(Reply::text("done")));
    world.events_end(Luck::Good);
    assert_eq!(
        world.told(),
        ["steered #2: \"steer 2\" refused: the reply was already in"]
    );
    world.recovered(Luck::Good);
    assert_eq!(
        world.told(),
        [
            "emit t1 1 steered \"steer 1\"",
            "steered #1: ok",
            "append 3 turn.completed t1 \"done\" as the last",
        ]
    );
    world.settle();
    model::check(&world);
}
