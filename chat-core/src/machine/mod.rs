//! The turn machine: one value per session that holds the queue, the running turn and the transcript, and decides everything.
//!
//! It does nothing itself. Commands (`send`, `cancel`, `steer` ...) and completions (`handle_*`) go in, with the time where
//! something may be written; an ordered list of [`Output`]s comes out, drained with [`SessionMachine::poll_output`] after every call and before anything
//! else is awaited. Whatever order completions come in, it never panics and never says twice what may be said once.

mod acquiring;
mod ending;
mod number;
mod open;
mod output;
mod queue;
mod running;
mod state;
mod steering;
#[cfg(test)]
mod tests;
mod writing;

use std::{
    collections::{BTreeSet, VecDeque},
    sync::Arc,
};

pub use output::{Decision, NewSteer, NewTurn, Output, Shutdown, Start, SteerId, TurnInput};
use queue::Queue;
use state::{Active, Canceled, Intake, Phase, Queued, State};

use crate::{
    AnswerError, ApprovalId, ApprovalOutcome, ApprovalRequest, ChatEvent, Interruption,
    NotAccepted, ResponderInfo, RetryRefused, SessionId, SteerError, SteerRefused, Timestamp,
    Transcript, TurnError, TurnId, TurnRecord, TurnStatus,
};

/// The reason of whatever a shutdown cancels (law T14).
const SHUTTING_DOWN: &str = "shutting down";

/// One session's queue, running turn and transcript.
#[derive(Debug)]
pub struct SessionMachine {
    session: SessionId,
    responder: ResponderInfo,
    transcript: Transcript,
    queue: Queue<TurnId, Queued>,
    state: State,
    intake: Intake,
    /// Turns that were interrupted here: whoever has the hold, nobody is answering them.
    interrupted: BTreeSet<TurnId>,
    outputs: VecDeque<Output>,
}

impl SessionMachine {
    /// A session whose journal was replayed, answered by this responder.
    #[must_use]
    pub fn new(session: SessionId, responder: ResponderInfo, transcript: Transcript) -> Self {
        Self {
            session,
            responder,
            transcript,
            queue: Queue::default(),
            state: State::Idle,
            intake: Intake::Open,
            interrupted: BTreeSet::new(),
            outputs: VecDeque::new(),
        }
    }

    /// The next thing to do. Drain it fully after every call, before anything else is awaited.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// The next thing to do, where that is to show an event of this turn: as [`Self::poll_output`], for whoever shows many.
    pub fn poll_event(&mut self, turn: &TurnId) -> Option<ChatEvent> {
        match self
            .outputs
            .pop_front_if(|next| matches!(next, Output::Emit { turn: of, .. } if of == turn))?
        {
            Output::Emit { event, .. } => Some(event),
            // Only events are taken.
            other => {
                self.outputs.push_front(other);
                None
            }
        }
    }

    /// The journal as far as it is known here.
    #[must_use]
    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// Where a turn stands; `None` where it is neither queued here nor in the journal.
    #[must_use]
    pub fn status(&self, turn: &TurnId) -> Option<TurnStatus> {
        let waits = self.queue.contains(turn)
            || matches!(&self.state, State::Active(active, Phase::Accepting { .. }) if active.id == *turn);
        if waits {
            Some(TurnStatus::Queued)
        } else {
            self.transcript.turn(turn).map(|turn| turn.status)
        }
    }

    /// The approval requests of a turn that wait for an answer, in the order they were made (law R2).
    #[must_use]
    pub fn requests(&self, turn: &TurnId) -> Vec<Arc<ApprovalRequest>> {
        match &self.state {
            State::Active(active, Phase::Running(running)) if active.id == *turn => {
                running.open.requests().cloned().collect()
            }
            State::Active(..) | State::Idle | State::Acquiring | State::GivingUp => Vec::new(),
        }
    }

    /// Whether no turn is queued or under way.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.queue.is_empty() && !matches!(self.state, State::Active(..))
    }

    /// Queues a turn (laws T1, T2, T9). Whether it was taken is told by the outputs.
    pub fn send(&mut self, turn: NewTurn) {
        let refused = match self.intake {
            Intake::Open => turn
                .input
                .retry_of()
                .and_then(|original| self.retry_refused(original))
                .map(NotAccepted::Retry),
            Intake::ShuttingDown => Some(NotAccepted::ShuttingDown),
            Intake::Gone => Some(NotAccepted::RuntimeGone),
            Intake::Replaced => Some(NotAccepted::Store(self.replaced_error())),
        };
        match refused {
            Some(why) => self.refuse_turn(turn, why),
            None => {
                let queued = self.waiting(turn);
                self.queue.push_back(queued.turn.id.clone(), queued);
                self.begin_next();
            }
        }
    }

    /// Ends a turn that is not to be sent at all: as it ends where it is sent and not accepted.
    pub fn refuse_turn(&mut self, turn: NewTurn, why: NotAccepted) {
        let queued = self.waiting(turn);
        self.end_queued(queued, TurnError::NotAccepted(why), SteerRefused::Ended);
    }

    fn waiting(&self, turn: NewTurn) -> Queued {
        let input = match &turn.input {
            TurnInput::New(input) => input.clone(),
            TurnInput::Retry(original) => self
                .transcript
                .turn(original)
                .map_or("".into(), |turn| turn.input.clone()),
        };
        Queued {
            turn,
            input,
            steers: Vec::new(),
        }
    }

    /// Stops a turn (law T6). Of no effect where its outcome is chosen, or where there is no such turn.
    pub fn cancel(&mut self, now: Timestamp, turn: &TurnId, reason: Option<Arc<str>>) {
        if let Some(queued) = self.queue.remove(turn) {
            self.end_queued(
                queued,
                TurnError::Canceled { reason },
                SteerRefused::Canceled,
            );
            self.give_up_acquire();
            return;
        }
        if matches!(&self.state, State::Active(active, _) if active.id == *turn) {
            self.cancel_active(now, Canceled { reason });
        }
    }

    /// Offers input to a turn: to this one, or to the one that is accepting or running, else to the first that is queued
    /// (law T8). What became of it is told by [`Output::Steered`].
    pub fn steer(&mut self, turn: Option<&TurnId>, steer: NewSteer) {
        match self.intake {
            // Where the journal was replaced, no turn is left to steer.
            Intake::Open | Intake::Replaced => {}
            Intake::ShuttingDown => return self.refuse(steer, SteerRefused::ShuttingDown),
            Intake::Gone => return self.refuse(steer, SteerRefused::RuntimeGone),
        }
        match &self.state {
            State::Active(active, _) if turn.is_none_or(|turn| *turn == active.id) => {
                self.steer_active(steer)
            }
            State::Active(..) | State::Idle | State::Acquiring | State::GivingUp => {
                let waiting = match turn {
                    Some(turn) => self.queue.get_mut(turn),
                    None => self.queue.front_mut(),
                };
                match waiting {
                    Some(queued) => queued.steers.push(steer),
                    None => self.refuse(
                        steer,
                        if turn.is_some() {
                            SteerRefused::Ended
                        } else {
                            SteerRefused::NoTurn
                        },
                    ),
                }
            }
        }
    }

    /// Answers an approval request (law R2).
    ///
    /// # Errors
    /// [`AnswerError`] where nothing waits for this answer: then nothing happened.
    pub fn answer(
        &mut self,
        turn: &TurnId,
        request: &ApprovalId,
        decision: Decision,
    ) -> Result<(), AnswerError> {
        let State::Active(active, Phase::Running(running)) = &mut self.state else {
            return Err(AnswerError::NotRunning(turn.clone()));
        };
        if active.id != *turn {
            return Err(AnswerError::NotRunning(turn.clone()));
        }
        running.open.answer(request)?;
        let (outcome, reason) = match &decision {
            Decision::Approve => (ApprovalOutcome::Approved, None),
            Decision::Deny(reason) => (ApprovalOutcome::Denied, reason.clone()),
        };
        let id = request.clone();
        active.emit(&mut self.outputs, |seq| ChatEvent::ApprovalResolved {
            seq,
            id,
            outcome,
            reason,
        });
        self.outputs.push_back(Output::Answer {
            turn: turn.clone(),
            request: request.clone(),
            decision,
        });
        Ok(())
    }

    /// Winds the session up (law T14).
    pub fn shutdown(&mut self, now: Timestamp, step: Shutdown) {
        match step {
            Shutdown::Begin if self.intake != Intake::Open => {}
            Shutdown::Begin => {
                self.intake = Intake::ShuttingDown;
                for queued in std::mem::take(&mut self.queue).into_values() {
                    let error = TurnError::Canceled {
                        reason: Some(SHUTTING_DOWN.into()),
                    };
                    self.end_queued(queued, error, SteerRefused::ShuttingDown);
                }
                self.give_up_acquire();
                self.withdraw_steers();
            }
            Shutdown::Cancel => self.cancel_active(
                now,
                Canceled {
                    reason: Some(SHUTTING_DOWN.into()),
                },
            ),
        }
    }

    /// Ends every turn, because the runtime that drove them is gone (law T5). Nothing more is taken.
    pub fn abandon(&mut self, now: Timestamp) {
        self.intake = Intake::Gone;
        // The queue first, or the end of the running turn would begin the next.
        let queue = std::mem::take(&mut self.queue);
        if let Some((active, phase)) = self.take_active() {
            self.interrupt(now, active, phase, Interruption::RuntimeGone);
        }
        for queued in queue.into_values() {
            self.end_queued(
                queued,
                TurnError::NotAccepted(NotAccepted::RuntimeGone),
                SteerRefused::RuntimeGone,
            );
        }
        self.give_up_acquire();
    }

    /// Why a turn can't be retried, as far as this session knows (law T9).
    fn retry_refused(&self, original: &TurnId) -> Option<RetryRefused> {
        let active = matches!(&self.state, State::Active(active, _) if active.id == *original);
        if self.queue.contains(original) || active {
            return Some(RetryRefused::Active(original.clone()));
        }
        match self.transcript.turn(original) {
            None => Some(RetryRefused::Unknown(original.clone())),
            Some(turn) if turn.status == TurnStatus::Completed => {
                Some(RetryRefused::Completed(original.clone()))
            }
            Some(_) => None,
        }
    }

    /// Ends a turn that was never accepted: nothing of it is in the journal.
    fn end_queued(&mut self, queued: Queued, error: TurnError, steers: SteerRefused) {
        let record = ended(queued.record(), &error);
        for steer in queued.steers {
            self.refuse(steer, steers.clone());
        }
        let turn = queued.turn.id;
        self.outputs.push_back(Output::Accepted {
            turn: turn.clone(),
            result: Err(error.clone()),
        });
        let event = ChatEvent::TurnEnd {
            seq: 0,
            turn: Arc::new(record),
        };
        self.outputs.push_back(Output::Emit {
            turn: turn.clone(),
            event,
        });
        self.outputs.push_back(Output::Settle {
            turn,
            result: Box::new(Err(error)),
        });
    }

    /// The turn that has the hold, taken out: whoever takes it puts it back or ends it.
    fn take_active(&mut self) -> Option<(Box<Active>, Phase)> {
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Active(active, phase) => Some((active, phase)),
            other @ (State::Idle | State::Acquiring | State::GivingUp) => {
                self.state = other;
                None
            }
        }
    }

    fn refuse(&mut self, steer: NewSteer, why: SteerRefused) {
        let result = Err(SteerError {
            input: steer.input,
            why,
        });
        self.outputs.push_back(Output::Steered {
            ticket: steer.ticket,
            result,
        });
    }
}

/// A turn as it shows once it ended so, where the journal does not say it.
fn ended(record: TurnRecord, error: &TurnError) -> TurnRecord {
    let reason = match error {
        TurnError::Canceled { reason } => reason.clone(),
        TurnError::Failed(_) | TurnError::Interrupted(_) | TurnError::NotAccepted(_) => None,
    };
    let recorded = match error {
        TurnError::Canceled { .. } => None,
        TurnError::Failed(_) | TurnError::Interrupted(_) | TurnError::NotAccepted(_) => {
            Some(error.recorded())
        }
    };
    TurnRecord {
        status: error.status(),
        reason,
        error: recorded,
        ..record
    }
}

impl TurnInput {
    /// The turn whose input is answered again, where one is.
    #[must_use]
    pub fn retry_of(&self) -> Option<&TurnId> {
        match self {
            Self::New(_) => None,
            Self::Retry(original) => Some(original),
        }
    }
}
