//! Every point of a turn's life against every blow and every answer to the writes that follow: whatever wins, there is one
//! outcome, one `turn-end`, and a next turn.

use super::{
    completions::{Luck, Write},
    model,
    world::{Fact, World},
};
use crate::{Decision, Output, Reply, ResponderError, ResponderEvent, SteerId};

type Act = fn(&mut World) -> bool;

/// A turn's whole life, one act after another.
const LIFE: [(&str, Act); 11] = [
    ("sent", |world| {
        world.send();
        true
    }),
    ("acquired", |world| world.acquired(Luck::Good)),
    ("accepted", |world| world.wrote(Write::Written)),
    ("said something", |world| {
        world.say(vec![ResponderEvent::text("so far")])
    }),
    ("steer offered", |world| {
        world.steer(None);
        true
    }),
    ("steer taken", |world| world.steer_taken(SteerId(1))),
    ("steer written", |world| world.wrote(Write::Written)),
    ("reply in", |world| world.replied(Ok(Reply::text("done")))),
    ("events ended", |world| world.events_end(Luck::Good)),
    ("recorded", |world| world.wrote(Write::Written)),
    ("settled", |_| true),
];

/// What cuts in. Some can't everywhere: then nothing happens.
const BLOWS: [(&str, Act); 8] = [
    ("nothing", |_| true),
    ("cancel", |world| {
        world.cancel("t1", "enough");
        true
    }),
    // C4: twice is once.
    ("cancel twice", |world| {
        world.cancel("t1", "enough");
        world.cancel("t1", "really");
        true
    }),
    ("steer", |world| {
        let ticket = world.steer(Some("t1"));
        world.steer_taken(ticket)
    }),
    ("failure", |world| {
        world.replied(Err(ResponderError::new("it broke")))
    }),
    ("broken stream", |world| world.events_end(Luck::Bad)),
    ("lost hold", |world| world.hold_lost()),
    ("answer", |world| {
        world.answer("t1", "a1", Decision::Approve).is_ok()
    }),
];

/// How the first write after the blow is answered.
const WRITES: [(Write, Luck); 6] = [
    (Write::Written, Luck::Good),
    (Write::NotWritten, Luck::Good),
    (Write::UnknownWritten, Luck::Good),
    (Write::UnknownLost, Luck::Good),
    (Write::UnknownWritten, Luck::Bad),
    (Write::Fenced, Luck::Good),
];

#[test]
fn every_point_against_every_blow_leaves_one_end_and_a_next_turn() {
    let mut points = 0;
    for cut in 1..=LIFE.len() {
        for (blow, strike) in BLOWS {
            for (write, luck) in WRITES {
                let told = race(cut, strike, write, luck);
                assert_eq!(
                    told,
                    1,
                    "{blow} after {}, then {write:?}: {told} ends",
                    LIFE[cut - 1].0
                );
                points += 1;
            }
        }
        println!(
            "{:>14}: {} races",
            LIFE[cut - 1].0,
            BLOWS.len() * WRITES.len()
        );
    }
    assert_eq!(points, 11 * 8 * 6);
}

/// How often the turn ended.
fn race(cut: usize, strike: Act, write: Write, luck: Luck) -> usize {
    let mut world = World::new();
    for (_, act) in &LIFE[..cut] {
        act(&mut world);
    }
    strike(&mut world);
    world.wrote(write);
    world.recovered(luck);
    // The rest of its life, as far as the turn still lives.
    for (_, act) in &LIFE[cut..] {
        act(&mut world);
    }
    world.settle();
    let ends = settled(&world, "t1").len();
    let next = world.send();
    world.settle();
    model::check(&world);
    assert_eq!(
        settled(&world, next.as_str()),
        [true],
        "the next turn did not complete"
    );
    ends
}

/// Each time a turn settled, and whether with a reply.
fn settled(world: &World, turn: &str) -> Vec<bool> {
    world
        .facts
        .iter()
        .filter_map(|fact| match fact {
            Fact::Told(Output::Settle { turn: of, result }) if of.as_str() == turn => {
                Some(result.is_ok())
            }
            _ => None,
        })
        .collect()
}
