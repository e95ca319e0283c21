//! Every state that a turn can be in, and a world in which the newest turn is in it.

use super::{
    completions::{Luck, Write},
    world::World,
};
use crate::{Reply, ResponderError, SteerId, TurnId};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum At {
    /// Queued behind a turn that runs.
    Behind,
    /// First in the queue, waiting for the hold.
    Acquiring,
    Accepting,
    /// Recovery is finding out whether it was accepted.
    AcceptUnknown,
    Running,
    /// A steer was offered to its responder and is not taken.
    Offered,
    /// A steer was taken and is being written, another one is offered.
    Steering,
    SteerUnknown,
    /// Reply and events are in, a steer is still being written.
    AllIn,
    /// It failed while a steer was being written.
    Closing,
    ClosingUnknown,
    Recording,
    OutcomeUnknown,
    Ended,
}

impl At {
    pub(super) const ALL: [Self; 14] = [
        Self::Behind,
        Self::Acquiring,
        Self::Accepting,
        Self::AcceptUnknown,
        Self::Running,
        Self::Offered,
        Self::Steering,
        Self::SteerUnknown,
        Self::AllIn,
        Self::Closing,
        Self::ClosingUnknown,
        Self::Recording,
        Self::OutcomeUnknown,
        Self::Ended,
    ];

    /// A world that has just come there; what was told on the way is not in its log.
    pub(super) fn world(self) -> World {
        let mut world = World::new();
        world.go(self);
        world.log();
        world
    }
}

impl World {
    pub(super) fn newest(&self) -> TurnId {
        self.turns.last().expect("a turn was sent").clone()
    }

    /// Sends a turn and lets it come so far.
    fn go(&mut self, at: At) {
        match at {
            At::Behind => {
                self.go(At::Running);
                self.send();
            }
            At::Acquiring => {
                self.send();
            }
            At::Accepting => {
                self.go(At::Acquiring);
                assert!(self.acquired(Luck::Good));
            }
            At::AcceptUnknown => {
                self.go(At::Accepting);
                assert!(self.wrote(Write::UnknownWritten));
            }
            At::Running => {
                self.go(At::Accepting);
                assert!(self.wrote(Write::Written));
            }
            At::Offered => {
                self.go(At::Running);
                self.steer(None);
            }
            At::Steering => {
                self.go(At::Offered);
                self.steer(None);
                assert!(self.steer_taken(SteerId(1)));
            }
            At::SteerUnknown => {
                self.go(At::Steering);
                assert!(self.wrote(Write::UnknownWritten));
            }
            At::AllIn => {
                self.go(At::Steering);
                assert!(self.replied(Ok(Reply::text("done"))));
                assert!(self.events_end(Luck::Good));
            }
            At::Closing => {
                self.go(At::Steering);
                assert!(self.replied(Err(ResponderError::new("no answer"))));
            }
            At::ClosingUnknown => {
                self.go(At::Closing);
                assert!(self.wrote(Write::UnknownWritten));
            }
            At::Recording => {
                self.go(At::Running);
                assert!(self.events_end(Luck::Good));
                assert!(self.replied(Ok(Reply::text("done"))));
            }
            At::OutcomeUnknown => {
                self.go(At::Recording);
                assert!(self.wrote(Write::UnknownWritten));
            }
            At::Ended => {
                self.go(At::Recording);
                assert!(self.wrote(Write::Written));
            }
        }
    }
}
