//! How a turn ends: its execution is dropped, its outcome written, and the end told, in that order (laws T3 to T6).

use std::sync::Arc;

use super::{
    NewSteer, Output, SessionMachine, ended,
    state::{Active, Canceled, Ending, Phase, Running, Write},
    writing::HoldAfter,
};
use crate::{
    ChatEvent, Entry, EntryBody, Interruption, Metadata, RecordedError, SteerRefused, Timestamp,
    TurnError, TurnRecord, TurnReply,
};

impl SessionMachine {
    /// Cancels the turn that has the hold, where its outcome is not chosen yet (law T6).
    pub(super) fn cancel_active(&mut self, now: Timestamp, canceled: Canceled) {
        let Some((active, phase)) = self.take_active() else {
            return;
        };
        let phase = match phase {
            Phase::Running(running) => {
                return self.stop(
                    now,
                    active,
                    *running,
                    Ending::Canceled {
                        canceled,
                        answering: true,
                    },
                );
            }
            Phase::Accepting {
                write,
                canceled: None,
                steers,
            } => {
                self.refuse_all(steers, &SteerRefused::Canceled);
                Phase::Accepting {
                    write,
                    canceled: Some(canceled),
                    steers: Vec::new(),
                }
            }
            // A failure that is not being written yet: the turn still counts as running.
            Phase::Closing {
                write,
                steer,
                ending: Ending::Failed(_),
            } => Phase::Closing {
                write,
                steer,
                ending: Ending::Canceled {
                    canceled,
                    answering: true,
                },
            },
            decided @ (Phase::Accepting { .. }
            | Phase::Closing { .. }
            | Phase::Recording { .. }) => decided,
        };
        self.state = super::State::Active(active, phase);
    }

    /// Drops a running execution, closes what its events left open, and ends its turn. A `turn.steered` that is being written
    /// is finished first; what else was offered or taken is handed back.
    pub(super) fn stop(
        &mut self,
        now: Timestamp,
        mut active: Box<Active>,
        mut running: Running,
        ending: Ending,
    ) {
        self.outputs.push_back(Output::Signal(active.id.clone()));
        self.outputs.push_back(Output::Abandon(active.id.clone()));
        for event in running.open.close(now) {
            active.show(&mut self.outputs, event);
        }
        let unrecorded: Vec<NewSteer> = running.taken.into_iter().chain(running.offered).collect();
        self.refuse_all(unrecorded, &ending.steer_refused());
        match running.writing {
            Some((steer, write)) => {
                self.state = super::State::Active(
                    active,
                    Phase::Closing {
                        write,
                        steer,
                        ending,
                    },
                )
            }
            None => self.record(now, active, ending),
        }
    }

    /// Writes the outcome, where one can be written.
    pub(super) fn record(&mut self, now: Timestamp, active: Box<Active>, ending: Ending) {
        let turn_id = active.id.clone();
        let body = match &ending {
            _ if active.hold_lost => {
                return self.finish(
                    active,
                    Ending::Interrupted(Interruption::HoldLost),
                    HoldAfter::Kept,
                );
            }
            Ending::Interrupted(_) => return self.finish(active, ending, HoldAfter::Kept),
            Ending::Completed(completed) => EntryBody::TurnCompleted {
                turn_id,
                text: completed.text.clone(),
                metadata: Metadata {
                    responder: None,
                    ..completed.metadata.clone()
                },
                responder: self.responder.clone(),
            },
            Ending::Failed(error) => EntryBody::TurnFailed {
                turn_id,
                error: RecordedError::from(error),
                usage: active.usage,
                responder: self.responder.clone(),
            },
            Ending::Canceled {
                canceled,
                answering,
            } => EntryBody::TurnCanceled {
                turn_id,
                reason: canceled.reason.clone(),
                usage: active.usage,
                responder: answering.then(|| self.responder.clone()),
            },
        };
        let entry = Entry::new(
            self.transcript.next_seq(),
            active.outcome_id.clone(),
            now,
            body,
        );
        self.outputs.push_back(Output::Append {
            entry: Box::new(entry.clone()),
            last: true,
        });
        self.state = super::State::Active(
            active,
            Phase::Recording {
                write: Write::of(entry),
                ending,
            },
        );
    }

    /// Tells an end whose outcome is in the journal, or never will be.
    pub(super) fn finish(&mut self, active: Box<Active>, ending: Ending, hold: HoldAfter) {
        let result = match ending {
            Ending::Completed(completed) => Ok(TurnReply {
                session_id: self.session.clone(),
                turn_id: active.id.clone(),
                text: completed.text,
                metadata: Metadata {
                    responder: Some(self.responder.clone()),
                    ..completed.metadata
                },
                run: completed.run,
            }),
            Ending::Failed(error) => Err(TurnError::Failed(error)),
            Ending::Canceled {
                canceled,
                answering: _,
            } => Err(TurnError::Canceled {
                reason: canceled.reason,
            }),
            Ending::Interrupted(why) => Err(TurnError::Interrupted(why)),
        };
        self.end(active, result, hold);
    }

    /// The last of a turn: `turn-end`, then the result, then the hold, then the next turn (law T3).
    pub(super) fn end(
        &mut self,
        mut active: Box<Active>,
        result: Result<TurnReply, TurnError>,
        hold: HoldAfter,
    ) {
        self.transcript.set_live(None);
        if let Err(TurnError::Interrupted(_)) = &result {
            self.interrupted.insert(active.id.clone());
        }
        let record = self.last_record(&active, &result);
        active.emit(&mut self.outputs, |seq| ChatEvent::TurnEnd {
            seq,
            turn: Arc::new(record),
        });
        self.outputs.push_back(Output::Settle {
            turn: active.id,
            result: Box::new(result),
        });
        if hold == HoldAfter::Kept {
            self.outputs.push_back(Output::Release);
        }
        self.begin_next();
    }

    /// The turn as it shows in its `turn-end`: as the journal has it, and with how it ended where the journal does not say.
    fn last_record(&self, active: &Active, result: &Result<TurnReply, TurnError>) -> TurnRecord {
        let journaled = self.transcript.turn(&active.id);
        let record = journaled.unwrap_or(&active.unaccepted).clone();
        match result {
            Ok(_) => record,
            Err(error) => ended(record, error),
        }
    }
}
