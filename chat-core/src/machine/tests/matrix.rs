//! Every state against everything that can cut into it, whole: one snapshot for each blow, a section for each state.

use super::{
    completions::{Luck, Write},
    model,
    stage::At,
    world::World,
};
use crate::{ResponderError, Shutdown};

/// Deals the blow in every state where it can be dealt, then lets all go well.
fn in_every_state(blow: impl Fn(&mut World) -> bool) -> String {
    let mut told = String::new();
    for at in At::ALL {
        let mut world = at.world();
        if !blow(&mut world) {
            continue;
        }
        world.settle();
        model::check(&world);
        told.push_str(&format!("{at:?}\n"));
        for line in world.log() {
            told.push_str(&format!("    {line}\n"));
        }
    }
    told
}

macro_rules! matrix {
    ($($law:ident: $blow:expr;)*) => {$(
        #[test]
        fn $law() {
            insta::assert_snapshot!(in_every_state($blow));
        }
    )*};
}

matrix! {
    t6_cancel: |world| {
        let turn = world.newest();
        world.cancel(turn.as_str(), "enough");
        true
    };
    t8_steer: |world| {
        let turn = world.newest();
        let ticket = world.steer(Some(turn.as_str()));
        world.steer_taken(ticket);
        true
    };
    t4_no_reply: |world| world.replied(Err(ResponderError::new("it broke")));
    t11_not_written: |world| world.wrote(Write::NotWritten);
    t11_unknown_and_written: |world| world.wrote(Write::UnknownWritten) && world.recovered(Luck::Good);
    t11_unknown_and_not_written: |world| world.wrote(Write::UnknownLost) && world.recovered(Luck::Good);
    t11_recovery_fails: |world| (world.recovered(Luck::Bad) || world.wrote(Write::UnknownWritten)) && {
        world.recovered(Luck::Bad);
        true
    };
    t13_fenced: |world| world.wrote(Write::Fenced);
    t13_hold_lost: |world| world.hold_lost();
    t13_hold_lost_and_not_written: |world| world.hold_lost() && world.wrote(Write::NotWritten);
    t13_hold_lost_and_unknown: |world| world.hold_lost() && world.wrote(Write::UnknownWritten);
    t14_shutdown_begins: |world| {
        world.shutdown(Shutdown::Begin);
        true
    };
    t14_shutdown_cancels: |world| {
        world.shutdown(Shutdown::Begin);
        world.shutdown(Shutdown::Cancel);
        true
    };
    t5_the_runtime_is_gone: |world| {
        world.abandon(false);
        true
    };
}
