//! Law S7: a session that was deleted and made anew elsewhere, under a handle that knows the old one.

use super::{
    completions::{Luck, Write},
    model,
    stage::At,
    world::{Hold, World, turn},
};
use crate::{StoreError, TurnStatus};

const REPLACED: &str =
    "session s was deleted and made anew elsewhere; open it again to go on with the new one";

/// Fewer entries than the old one, as many, more: an old session of one entry among them.
const LENGTHS: [usize; 5] = [1, 2, 3, 4, 9];

/// A session that nothing was ever said in, and one of a turn.
fn idle() -> [World; 2] {
    [World::new(), At::Ended.world()]
}

#[test]
fn s7_t2_no_turn_is_accepted_into_another_journal() {
    for length in LENGTHS {
        for mut world in idle() {
            let (known, journal) = (world.machine.transcript().turns(), world.journal.clone());
            let (first, second) = (world.send(), world.send());
            world.log();
            assert!(world.made_anew(length));
            world.acquired(Luck::Good);
            let error = format!("the turn was not accepted: {REPLACED}");
            let ended = |turn| {
                [
                    format!("accepted {turn}: {error} [session-replaced]"),
                    format!("emit {turn} 0 turn-end failed, accepted never, error \"{error}\""),
                    format!("settle {turn}: {error} [session-replaced]"),
                ]
            };
            let mut told = vec!["release".to_owned()];
            told.extend([first, second].iter().flat_map(ended));
            assert_eq!(world.told(), told, "{length} entries");
            assert!(world.machine.is_replaced());
            assert_eq!(world.journal, journal, "T11: nothing is written");
            let turns = world.machine.transcript().turns();
            assert!(turns.iter().eq(known.iter()), "nothing is mixed");
            model::check(&world);
        }
    }
}

#[test]
fn s7_what_is_sent_later_is_refused_without_asking_the_store() {
    let mut world = At::Acquiring.world();
    world.made_anew(3);
    world.acquired(Luck::Good);
    world.log();
    let late = world.send();
    world.steer(None);
    let told = world.told();
    assert!(
        told[0].starts_with(&format!("accepted {late}: ")),
        "{told:?}"
    );
    assert!(told[2].ends_with("[session-replaced]"), "{told:?}");
    assert!(told[3].ends_with("refused: no turn is running"), "{told:?}");
    assert_eq!(world.hold, Hold::Free);
    model::check(&world);
}

#[test]
fn s7_a_refresh_says_so_and_changes_nothing() {
    for length in LENGTHS {
        for mut world in idle() {
            let known = world.machine.transcript().turns();
            world.made_anew(length);
            for held in [true, false] {
                let refreshed = world.refresh(held);
                assert!(
                    matches!(refreshed, Err(StoreError::Replaced { session }) if session.as_str() == "s")
                );
                let turns = world.machine.transcript().turns();
                assert!(turns.iter().eq(known.iter()), "{length} entries");
            }
        }
    }
}

#[test]
fn s7_t2_a_refresh_that_finds_it_out_ends_what_waits_for_the_hold() {
    let mut world = At::Acquiring.world();
    world.made_anew(2);
    assert!(world.refresh(false).is_err());
    let told = world.told();
    assert!(
        told[2].starts_with("settle t1: the turn was not accepted: session s was deleted"),
        "{told:?}"
    );
    assert_eq!(told[3..], ["give up acquire"]);
    world.acquired(Luck::Good);
    assert_eq!(world.told(), ["release"]);
    model::check(&world);
}

/// Nobody deletes a session that is held, unless behind the store's back. The write of which nobody knows is nowhere then.
#[test]
fn s7_t11_a_recovery_that_finds_another_journal_interrupts_the_turn_and_writes_nothing_more() {
    for at in [At::Accepting, At::Steering, At::Closing, At::Recording] {
        for length in LENGTHS {
            let mut world = at.world();
            world.send();
            world.wrote(Write::UnknownLost);
            world.make_anew(length);
            world.recovered(Luck::Good);
            let told = world.told();
            let settled = |turn: &str| {
                let start = format!("settle {turn}: ");
                told.iter().find(|line| line.starts_with(&start)).unwrap()
            };
            let error = format!("the outcome could not be recorded: {REPLACED} [session-replaced]");
            assert!(settled("t1").ends_with(&error), "{at:?}: {told:?}");
            let error = format!("the turn was not accepted: {REPLACED} [session-replaced]");
            assert!(settled("t2").ends_with(&error), "{at:?}: {told:?}");
            assert_eq!(told.last().unwrap(), "release");
            assert_eq!(world.machine.status(&turn("anew1")), None);
            model::check(&world);
        }
    }
}

#[test]
fn t2_a_refresh_that_read_before_this_session_wrote_more_is_no_other_journal() {
    let mut world = At::Ended.world();
    let read = world.stored(world.machine.transcript().resume_from());
    world.send();
    world.settle();
    assert!(world.machine.handle_refreshed(&read, false).is_ok());
    assert_eq!(
        world.machine.status(&turn("t2")),
        Some(TurnStatus::Completed)
    );
    // As late, and of a turn that others wrote between the question and the answer.
    world.send();
    world.others_write(super::completions::Others::Answered);
    world.refreshed(false);
    world.settle();
    assert_eq!(
        world.machine.status(&turn("t3")),
        Some(TurnStatus::Completed)
    );
    model::check(&world);
}
