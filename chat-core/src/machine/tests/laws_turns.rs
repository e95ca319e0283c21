//! Laws T1 to T5, T7: a turn's way from sent to settled.

use super::{
    completions::{Luck, Others, Write},
    model,
    stage::At,
    world::{World, turn},
};
use crate::{Message, Reply, ResponderError, ResponderEvent, TurnStatus};

#[test]
fn t1_t3_a_turn_from_sent_to_settled() {
    let mut world = World::new();
    world.send();
    world.acquired(Luck::Good);
    world.wrote(Write::Written);
    world.say(vec![
        ResponderEvent::text("Hel"),
        ResponderEvent::text("lo"),
    ]);
    world.events_end(Luck::Good);
    world.replied(Ok(Reply::streamed()));
    world.wrote(Write::Written);
    insta::assert_snapshot!(world.log().join("\n"));
    model::check(&world);
}

#[test]
fn t2_turns_run_one_at_a_time_in_the_order_sent_and_each_takes_the_hold_anew() {
    let mut world = World::new();
    (0..3).for_each(|_| {
        world.send();
    });
    world.settle();
    let told = world.told();
    let order: Vec<_> = told
        .iter()
        .filter(|line| {
            ["acquire", "append", "respond", "settle"]
                .iter()
                .any(|what| line.starts_with(what))
        })
        .map(String::as_str)
        .collect();
    assert_eq!(
        order,
        [
            "acquire from 0",
            "append 1 turn.accepted t1 \"input 1\"",
            "respond t1 \"input 1\", root t1, history [t1 running]",
            "append 2 turn.completed t1 \"done\" as the last",
            "settle t1: ok \"done\"",
            "acquire from 2",
            "append 3 turn.accepted t2 \"input 2\"",
            "respond t2 \"input 2\", root t2, history [t1 completed, t2 running]",
            "append 4 turn.completed t2 \"done\" as the last",
            "settle t2: ok \"done\"",
            "acquire from 4",
            "append 5 turn.accepted t3 \"input 3\"",
            "respond t3 \"input 3\", root t3, history [t1 completed, t2 completed, t3 running]",
            "append 6 turn.completed t3 \"done\" as the last",
            "settle t3: ok \"done\"",
        ]
    );
    model::check(&world);
}

#[test]
fn t2_with_the_hold_comes_what_others_wrote_before_the_context_is_built() {
    let mut world = At::Acquiring.world();
    world.others_write(Others::Answered);
    world.acquired(Luck::Good);
    world.wrote(Write::Written);
    assert_eq!(
        world.told().last().unwrap(),
        "respond t1 \"input 1\", root t1, history [other1 completed, t1 running]"
    );
}

#[test]
fn t2_a_refresh_shows_what_others_wrote_and_changes_nothing_under_the_hold() {
    let mut world = World::new();
    world.others_write(Others::Answered);
    world.refreshed(false);
    assert_eq!(world.machine.transcript().turns().len(), 1);
    for at in At::ALL {
        let mut world = at.world();
        let before = world.machine.transcript().turns();
        world.refreshed(true);
        assert!(
            world.machine.transcript().turns().iter().eq(before.iter()),
            "{at:?}"
        );
        assert!(world.told().is_empty());
    }
}

#[test]
fn t2_status_says_where_a_turn_stands() {
    for at in At::ALL {
        let expected = match at {
            At::Behind | At::Acquiring | At::Accepting | At::AcceptUnknown => TurnStatus::Queued,
            At::Running
            | At::Offered
            | At::Steering
            | At::SteerUnknown
            | At::AllIn
            | At::Closing
            | At::ClosingUnknown
            | At::Recording
            | At::OutcomeUnknown => TurnStatus::Running,
            At::Ended => TurnStatus::Completed,
        };
        let world = at.world();
        assert_eq!(
            world.machine.status(&world.newest()),
            Some(expected),
            "{at:?}"
        );
        assert_eq!(world.machine.is_idle(), at == At::Ended, "{at:?}");
    }
    assert_eq!(World::new().machine.status(&turn("t1")), None);
}

#[test]
fn t4_a_turn_ends_once_its_result_and_its_events_are_in_in_either_order() {
    let mut world = At::Running.world();
    world.events_end(Luck::Good);
    assert!(world.told().is_empty());
    world.replied(Ok(Reply::text("done")));
    assert_eq!(
        world.told(),
        ["append 2 turn.completed t1 \"done\" as the last"]
    );

    let mut world = At::Running.world();
    world.replied(Ok(Reply::text("done")));
    assert!(world.told().is_empty());
    world.say(vec![ResponderEvent::text("late, but not too late")]);
    assert_eq!(
        world.told(),
        ["emit t1 1 text-delta \"late, but not too late\""]
    );
    world.events_end(Luck::Good);
    assert_eq!(
        world.told(),
        ["append 2 turn.completed t1 \"done\" as the last"]
    );
}

#[test]
fn t4_the_first_failure_decides_and_leaves_the_session_usable() {
    let fail: [fn(&mut World) -> bool; 3] = [
        |world| world.replied(Err(ResponderError::new("it broke"))),
        |world| world.replied(Ok(Reply::text("done"))) && world.events_end(Luck::Bad),
        |world| world.events_end(Luck::Good) && world.replied(Err(ResponderError::new("it broke"))),
    ];
    for fail in fail {
        let mut world = At::Running.world();
        assert!(fail(&mut world));
        let told = world.told();
        assert_eq!(told[..2], ["signal t1", "abandon t1"]);
        assert!(told[2].starts_with("append 2 turn.failed t1"), "{told:?}");
        let next = world.send();
        world.settle();
        assert_eq!(world.machine.status(&turn("t1")), Some(TurnStatus::Failed));
        assert_eq!(world.machine.status(&next), Some(TurnStatus::Completed));
        model::check(&world);
    }
}

/// C6: a late result of a stopped turn completes nothing, least of all the next turn.
#[test]
fn t5_what_is_said_after_the_end_is_never_credited_to_the_next_turn() {
    let mut world = At::Running.world();
    world.cancel("t1", "enough");
    world.wrote(Write::Written);
    world.send();
    world.acquired(Luck::Good);
    world.wrote(Write::Written);
    world.log();
    let now = world.tick();
    world
        .machine
        .handle_events(now, &turn("t1"), [ResponderEvent::text("late")]);
    world.machine.handle_events_ended(now, &turn("t1"), Ok(()));
    world
        .machine
        .handle_result(now, &turn("t1"), Ok(Reply::text("late")));
    assert!(world.machine.poll_output().is_none());
    world.settle();
    assert_eq!(world.told().last().unwrap(), "settle t2: ok \"done\"");
    model::check(&world);
}

/// C7, C13: what was streamed before a cancel or a failure is no reply, and neither it nor its input is in later context.
#[test]
fn t7_what_a_stopped_turn_said_is_never_a_reply() {
    for stop in [
        |world: &mut World| world.cancel("t1", "enough"),
        |world: &mut World| {
            world.replied(Err(ResponderError::new("it broke")));
        },
    ] {
        let mut world = At::Running.world();
        world.say(vec![ResponderEvent::text("half a thought")]);
        stop(&mut world);
        world.wrote(Write::Written);
        assert_eq!(
            world.machine.transcript().turn(&turn("t1")).unwrap().output,
            None
        );
        world.send();
        world.settle();
        let messages: Vec<Message> = world.machine.transcript().turns().messages().collect();
        assert_eq!(
            messages,
            [Message::user("input 2"), Message::assistant("done")]
        );
        model::check(&world);
    }
}

/// C10: a turn sent while another runs is queued under the id it will have.
#[test]
fn t2_c10_a_turn_sent_meanwhile_keeps_its_id() {
    let mut world = At::Behind.world();
    assert_eq!(world.machine.status(&turn("t2")), Some(TurnStatus::Queued));
    assert!(world.told().is_empty());
    world.settle();
    assert_eq!(
        world.machine.status(&turn("t2")),
        Some(TurnStatus::Completed)
    );
}

/// C2: whatever happens to the running turn, those behind it settle.
#[test]
fn t2_c2_queued_turns_survive_whatever_ends_the_one_before() {
    let ends: [fn(&mut World) -> bool; 5] = [
        |world| world.replied(Err(ResponderError::new("it broke"))),
        |world| {
            world.cancel("t1", "enough");
            true
        },
        |world| world.hold_lost(),
        |world| {
            world.cancel("t1", "enough");
            world.wrote(Write::NotWritten)
        },
        |world| {
            world.cancel("t1", "enough");
            world.wrote(Write::UnknownLost) && world.recovered(Luck::Bad)
        },
    ];
    for end in ends {
        let mut world = At::Behind.world();
        assert!(end(&mut world));
        world.settle();
        assert_eq!(world.told().last().unwrap(), "settle t2: ok \"done\"");
        model::check(&world);
    }
}

/// An idle session costs memory only, and little of it: 100,000 of them are 100,000 small values.
#[test]
fn an_idle_machine_is_small() {
    let bytes = size_of::<crate::SessionMachine>();
    assert!(bytes <= 512, "{bytes}");
}
