//! What goes into the machine with a command, and what comes out: one ordered list of things to do.

use std::sync::Arc;

use crate::{
    ApprovalId, ChatEvent, ContextPolicy, Entry, EntryId, Labels, Seq, SteerError, TurnError,
    TurnId, TurnReply, Turns,
};

/// A turn to be answered, with the ids of the entries it will leave.
#[derive(Debug, Clone)]
pub struct NewTurn {
    /// The turn.
    pub id: TurnId,
    /// What is to be answered.
    pub input: TurnInput,
    /// The host's own labels.
    pub labels: Option<Labels>,
    /// What the responder sees of earlier turns, where it differs from the chat's.
    pub context: Option<ContextPolicy>,
    /// The id of its `turn.accepted`.
    pub accepted_id: EntryId,
    /// The id of its outcome.
    pub outcome_id: EntryId,
}

/// What a turn answers.
#[derive(Debug, Clone)]
pub enum TurnInput {
    /// A new input.
    New(Arc<str>),
    /// An earlier turn's input, again (law T9).
    Retry(TurnId),
}

/// Input for a turn that is being answered, with the id of the entry it will leave.
#[derive(Debug, Clone)]
pub struct NewSteer {
    /// Tells its answer from others'.
    pub ticket: SteerId,
    /// What the person adds.
    pub input: Arc<str>,
    /// The id of its `turn.steered`.
    pub entry_id: EntryId,
}

/// Tells one steer from another, within a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SteerId(pub u64);

/// A person's answer to an approval request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Yes.
    Approve,
    /// No, and perhaps why.
    Deny(Option<Arc<str>>),
}

/// How far a shutdown has come (law T14).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shutdown {
    /// Nothing new is taken; what runs may go on.
    Begin,
    /// What runs is canceled.
    Cancel,
}

/// What a responder is to be asked. The shell builds the context from it, unlocked.
#[derive(Debug, Clone)]
pub struct Start {
    /// The turn.
    pub turn_id: TurnId,
    /// The first turn of its chain of retries.
    pub root_turn_id: TurnId,
    /// What the person said.
    pub input: Arc<str>,
    /// The session's turns when it was accepted, itself among them.
    pub history: Turns,
    /// What the responder sees of them, where it differs from the chat's.
    pub context: Option<ContextPolicy>,
}

/// One thing for the shell to do. They are done in order.
///
/// Each `Acquire`, `Append` and `Recover` is answered exactly once, with `handle_acquired`, `handle_appended` or
/// `handle_recovered`; a given-up `Acquire` too. There is never more than one of them unanswered.
#[derive(Debug, Clone)]
pub enum Output {
    /// Ask for the hold, and for the entries from this place on. The first of them is the last one known here: by it a journal
    /// that was deleted and made anew is told.
    Acquire {
        /// The place.
        from: Seq,
    },
    /// The hold is no longer wanted. The `Acquire` is still to be answered; a hold that comes all the same is released.
    GiveUpAcquire,
    /// Let go of the hold.
    Release,
    /// Write an entry.
    Append {
        /// The entry.
        entry: Box<Entry>,
        /// Whether it is the last of this hold: where it is written, the hold is let go of without a `Release`.
        last: bool,
    },
    /// Find out what was written, from this place on; the first entry there is known.
    Recover {
        /// The place.
        from: Seq,
    },
    /// Call the responder.
    Respond(Box<Start>),
    /// Fire the turn's cancellation signal.
    Signal(TurnId),
    /// Drop the turn's execution. What it still says is ignored.
    Abandon(TurnId),
    /// Hand a person's answer to the execution.
    Answer {
        /// The turn.
        turn: TurnId,
        /// What was asked.
        request: ApprovalId,
        /// What the person said.
        decision: Decision,
    },
    /// Offer input to the execution; answered with `handle_steered`, unless the execution is dropped first.
    OfferSteer {
        /// The turn.
        turn: TurnId,
        /// The steer.
        ticket: SteerId,
        /// What the person adds.
        input: Arc<str>,
    },
    /// Take an offer back: drop its future, and answer it as refused; one that was taken in the same moment, as taken.
    WithdrawSteer {
        /// The turn.
        turn: TurnId,
        /// The steer.
        ticket: SteerId,
    },
    /// Show an event.
    Emit {
        /// The turn.
        turn: TurnId,
        /// The event.
        event: ChatEvent,
    },
    /// Tell whoever waits whether the turn was accepted.
    Accepted {
        /// The turn.
        turn: TurnId,
        /// Whether it was.
        result: Result<(), TurnError>,
    },
    /// Tell whoever waits how the turn ended.
    Settle {
        /// The turn.
        turn: TurnId,
        /// How. Boxed, so that the many outputs that are events stay small.
        result: Box<Result<TurnReply, TurnError>>,
    },
    /// Tell whoever waits what became of a steer.
    Steered {
        /// The steer.
        ticket: SteerId,
        /// What became of it.
        result: Result<(), SteerError>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_is_small_enough_to_move_by_the_million() {
        assert!(size_of::<Output>() <= 160, "{}", size_of::<Output>());
    }
}
