//! The states a session can be in. Each carries what exists only then, so that no two of them can be mixed up.

use std::{collections::VecDeque, sync::Arc};

use super::{NewSteer, NewTurn, Output, number::numbered, open::Open};
use crate::{
    ChatEvent, ContextPolicy, Entry, EntryId, Interruption, Metadata, ResponderError,
    ResponderEvent, RunResult, SteerRefused, StoreError, TurnId, TurnRecord, Usage,
};

/// Where a session stands with its hold.
#[derive(Debug)]
pub(super) enum State {
    /// It has no hold and asks for none: the queue is empty.
    Idle,
    /// It waits for the hold, for the first turn of the queue.
    Acquiring,
    /// It waited in vain: the answer to a given-up acquire is still to come.
    GivingUp,
    /// It has the hold, for this turn.
    Active(Box<Active>, Phase),
}

/// Whether a session takes turns and steers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Intake {
    Open,
    /// The chat is shutting down (law T14).
    ShuttingDown,
    /// The runtime that drove it is gone (law T5).
    Gone,
    /// Its journal was deleted, and another one made under its id (law S7).
    Replaced,
}

/// A turn that waits.
#[derive(Debug)]
pub(super) struct Queued {
    pub(super) turn: NewTurn,
    /// Its input; a retry's is the original's.
    pub(super) input: Arc<str>,
    /// Steers that wait for it.
    pub(super) steers: Vec<NewSteer>,
}

impl Queued {
    /// The turn as it shows before it is accepted.
    pub(super) fn record(&self) -> TurnRecord {
        TurnRecord {
            retry_of: self.turn.input.retry_of().cloned(),
            labels: self.turn.labels.clone(),
            ..TurnRecord::queued(self.turn.id.clone(), self.input.clone())
        }
    }
}

/// The turn that has the hold.
#[derive(Debug)]
pub(super) struct Active {
    pub(super) id: TurnId,
    /// The turn as it shows while the journal does not have it.
    pub(super) unaccepted: TurnRecord,
    pub(super) outcome_id: EntryId,
    pub(super) context: Option<ContextPolicy>,
    /// Whether the hold was lost to another holder: nothing more is written then (law T13).
    pub(super) hold_lost: bool,
    /// The place of its next event.
    pub(super) next_event: u64,
    /// Tokens used, as its events last said (law T12).
    pub(super) usage: Option<Usage>,
}

impl Active {
    /// Shows an event at the turn's next place.
    pub(super) fn emit(
        &mut self,
        outputs: &mut VecDeque<Output>,
        event: impl FnOnce(u64) -> ChatEvent,
    ) {
        let event = event(self.next_event);
        self.next_event += 1;
        outputs.push_back(Output::Emit {
            turn: self.id.clone(),
            event,
        });
    }

    /// Shows what its responder said, where it is for showing.
    pub(super) fn show(&mut self, outputs: &mut VecDeque<Output>, event: ResponderEvent) {
        if let Some(event) = numbered(event, self.next_event) {
            self.emit(outputs, |_| event);
        }
    }
}

/// How far the turn with the hold has come.
#[derive(Debug)]
pub(super) enum Phase {
    /// Its `turn.accepted` is being written.
    Accepting {
        write: Box<Write>,
        /// It was canceled meanwhile, with the first reason.
        canceled: Option<Canceled>,
        /// Steers that wait for its responder.
        steers: Vec<NewSteer>,
    },
    /// Its responder is at work, or was until a moment ago and entries are still to be written.
    Running(Box<Running>),
    /// Its execution was dropped while a `turn.steered` was being written: that is finished first.
    Closing {
        write: Box<Write>,
        steer: NewSteer,
        ending: Ending,
    },
    /// Its outcome is being written.
    Recording { write: Box<Write>, ending: Ending },
}

/// The one write that is under way.
#[derive(Debug)]
pub(super) struct Write {
    pub(super) entry: Entry,
    pub(super) stage: Stage,
}

/// What is known of a write.
#[derive(Debug)]
pub(super) enum Stage {
    /// It is not answered yet.
    Appending,
    /// It may or may not be written, for this reason; recovery is finding out.
    Recovering(StoreError),
}

impl Write {
    /// Boxed, or every idle session would carry the room for it.
    pub(super) fn of(entry: Entry) -> Box<Self> {
        Box::new(Self {
            entry,
            stage: Stage::Appending,
        })
    }
}

/// A responder at work.
#[derive(Debug)]
pub(super) struct Running {
    /// Its reply, once it is in.
    pub(super) reply: Option<Replied>,
    pub(super) events_ended: bool,
    /// The text it streamed: a streamed reply is made of it.
    pub(super) streamed: String,
    pub(super) open: Open,
    /// Steers offered to it and not yet taken.
    pub(super) offered: Vec<NewSteer>,
    /// Steers it took, not yet being written, in the order it took them.
    pub(super) taken: VecDeque<NewSteer>,
    /// The steer that is being written.
    pub(super) writing: Option<(NewSteer, Box<Write>)>,
}

impl Running {
    pub(super) fn new() -> Self {
        Self {
            reply: None,
            events_ended: false,
            streamed: String::new(),
            open: Open::new(),
            offered: Vec::new(),
            taken: VecDeque::new(),
            writing: None,
        }
    }
}

/// A reply that is in.
#[derive(Debug)]
pub(super) struct Replied {
    /// `None`: all that was streamed.
    pub(super) text: Option<Arc<str>>,
    pub(super) metadata: Metadata,
    pub(super) run: Option<RunResult>,
}

/// A cancel that stands.
#[derive(Debug, Clone)]
pub(super) struct Canceled {
    pub(super) reason: Option<Arc<str>>,
}

/// A reply as it is going to be recorded.
#[derive(Debug)]
pub(super) struct Completed {
    pub(super) text: Arc<str>,
    pub(super) metadata: Metadata,
    pub(super) run: Option<RunResult>,
}

/// How a turn is going to end.
#[derive(Debug)]
pub(super) enum Ending {
    Completed(Box<Completed>),
    Failed(ResponderError),
    /// Canceled, and whether a responder was answering.
    Canceled {
        canceled: Canceled,
        answering: bool,
    },
    /// Nothing can be written for it.
    Interrupted(Interruption),
}

impl Ending {
    /// Why steers that were not recorded are refused by it.
    pub(super) fn steer_refused(&self) -> SteerRefused {
        match self {
            Self::Completed(_) => SteerRefused::ReplyIn,
            Self::Failed(_) => SteerRefused::Ended,
            Self::Canceled { .. } => SteerRefused::Canceled,
            Self::Interrupted(why) => unwritten_steer_refused(why),
        }
    }
}

/// Why a steer is refused that was not being written when its turn was interrupted.
pub(super) fn unwritten_steer_refused(why: &Interruption) -> SteerRefused {
    match why {
        Interruption::HoldLost => SteerRefused::HoldLost,
        Interruption::Store(_) => SteerRefused::Ended,
        Interruption::RuntimeGone => SteerRefused::RuntimeGone,
    }
}

/// Why the steer is refused that was being written when its turn was interrupted.
pub(super) fn written_steer_refused(why: &Interruption) -> SteerRefused {
    match why {
        Interruption::Store(error) => SteerRefused::Store(error.clone()),
        Interruption::HoldLost | Interruption::RuntimeGone => unwritten_steer_refused(why),
    }
}

impl Phase {
    /// The write that is under way, where one is.
    pub(super) fn write_mut(&mut self) -> Option<&mut Write> {
        match self {
            Self::Accepting { write, .. }
            | Self::Closing { write, .. }
            | Self::Recording { write, .. } => Some(write),
            Self::Running(running) => running.writing.as_mut().map(|(_, write)| &mut **write),
        }
    }
}
