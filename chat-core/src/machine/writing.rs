//! The one write that is under way: how it was answered, and what follows from that (laws T3, T11, T13).

use super::{
    NewSteer, Output, SessionMachine, Start,
    state::{
        Active, Ending, Phase, Running, Stage, unwritten_steer_refused, written_steer_refused,
    },
};
use crate::{
    Appended, ChatEvent, Entry, Interruption, NotAccepted, ResponderError, SteerRefused,
    StoreError, Timestamp, TurnError,
};

/// Why an entry is not in the journal.
enum NotWritten {
    Store(StoreError),
    HoldLost,
}

/// What a written outcome did to the hold.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum HoldAfter {
    /// It went with the write.
    Released,
    /// It is still there.
    Kept,
}

impl SessionMachine {
    /// The answer to [`Output::Append`].
    pub fn handle_appended(&mut self, now: Timestamp, result: Appended) {
        let Some((mut active, mut phase)) = self.take_active() else {
            return;
        };
        match phase.write_mut() {
            Some(write) if matches!(write.stage, Stage::Appending) => match result {
                Appended::Written => return self.written(now, active, phase, HoldAfter::Released),
                Appended::NotWritten(error) => {
                    return self.not_written(now, active, phase, NotWritten::Store(error));
                }
                Appended::Fenced => {
                    active.hold_lost = true;
                    return self.not_written(now, active, phase, NotWritten::HoldLost);
                }
                // Finding out needs the hold.
                Appended::Unknown(_) if active.hold_lost => {
                    return self.interrupt(now, active, phase, Interruption::HoldLost);
                }
                Appended::Unknown(error) => {
                    write.stage = Stage::Recovering(error);
                    self.outputs.push_back(Output::Recover {
                        from: self.transcript.resume_from(),
                    });
                }
            },
            // Nothing was asked for.
            Some(_) | None => {}
        }
        self.state = super::State::Active(active, phase);
    }

    /// The answer to [`Output::Recover`]: what is in the journal from the place asked for, all of it durable. Where the last
    /// entry known is not among it, the journal is another one, and the turn is interrupted (law S7).
    pub fn handle_recovered(&mut self, now: Timestamp, result: Result<Vec<Entry>, StoreError>) {
        let Some((active, mut phase)) = self.take_active() else {
            return;
        };
        match phase.write_mut() {
            Some(write) if matches!(write.stage, Stage::Recovering(_)) => {
                let entries = match result {
                    Ok(entries) => entries,
                    Err(_) if active.hold_lost => {
                        return self.interrupt(now, active, phase, Interruption::HoldLost);
                    }
                    Err(error) => return self.interrupt(now, active, phase, error.into()),
                };
                if !self.transcript.is_continued_by(&entries) {
                    self.replaced();
                    let error = self.replaced_error();
                    return self.interrupt(now, active, phase, error.into());
                }
                let written = entries.iter().any(|entry| entry.is_same(&write.entry));
                let Stage::Recovering(error) =
                    std::mem::replace(&mut write.stage, Stage::Appending)
                else {
                    return;
                };
                entries
                    .iter()
                    .for_each(|entry| self.transcript.apply(entry));
                if written {
                    self.written(now, active, phase, HoldAfter::Kept);
                } else {
                    self.not_written(now, active, phase, NotWritten::Store(error));
                }
            }
            // Nothing was asked for.
            Some(_) | None => self.state = super::State::Active(active, phase),
        }
    }

    /// The hold was lost to another holder: a write that is under way is awaited, nothing more is written (law T13).
    pub fn handle_hold_lost(&mut self, now: Timestamp) {
        let Some((mut active, phase)) = self.take_active() else {
            return;
        };
        active.hold_lost = true;
        match phase {
            Phase::Running(running) => {
                self.stop(
                    now,
                    active,
                    *running,
                    Ending::Interrupted(Interruption::HoldLost),
                );
            }
            Phase::Closing {
                write,
                steer,
                ending: _,
            } => {
                let ending = Ending::Interrupted(Interruption::HoldLost);
                self.state = super::State::Active(
                    active,
                    Phase::Closing {
                        write,
                        steer,
                        ending,
                    },
                );
            }
            phase @ (Phase::Accepting { .. } | Phase::Recording { .. }) => {
                self.state = super::State::Active(active, phase);
            }
        }
    }

    /// The entry is durable: only now is anything of it seen (law T3).
    fn written(&mut self, now: Timestamp, mut active: Box<Active>, phase: Phase, hold: HoldAfter) {
        match phase {
            Phase::Accepting {
                write,
                canceled,
                steers,
            } => {
                self.transcript.apply(&write.entry);
                self.transcript.set_live(Some(&active.id));
                self.outputs.push_back(Output::Accepted {
                    turn: active.id.clone(),
                    result: Ok(()),
                });
                let (session_id, turn_id) = (self.session.clone(), active.id.clone());
                active.emit(&mut self.outputs, |seq| ChatEvent::TurnStart {
                    seq,
                    session_id,
                    turn_id,
                });
                if active.hold_lost {
                    self.refuse_all(steers, &SteerRefused::HoldLost);
                    self.record(now, active, Ending::Interrupted(Interruption::HoldLost));
                } else if let Some(canceled) = canceled {
                    self.refuse_all(steers, &SteerRefused::Canceled);
                    self.record(
                        now,
                        active,
                        Ending::Canceled {
                            canceled,
                            answering: false,
                        },
                    );
                } else {
                    self.respond(active, steers);
                }
            }
            Phase::Running(mut running) => {
                if let Some((steer, write)) = running.writing.take() {
                    self.steered(&mut active, steer, &write.entry);
                }
                self.state = super::State::Active(active, Phase::Running(running));
                self.conclude(now);
            }
            Phase::Closing {
                write,
                steer,
                ending,
            } => {
                self.steered(&mut active, steer, &write.entry);
                self.record(now, active, ending);
            }
            Phase::Recording { write, ending } => {
                self.transcript.apply(&write.entry);
                self.finish(active, ending, hold);
            }
        }
    }

    /// The entry is not in the journal, and never will be.
    fn not_written(&mut self, now: Timestamp, active: Box<Active>, phase: Phase, why: NotWritten) {
        let why = if active.hold_lost {
            NotWritten::HoldLost
        } else {
            why
        };
        match phase {
            Phase::Accepting {
                write: _,
                canceled,
                steers,
            } => {
                let (error, refused) = match (canceled, why) {
                    (Some(canceled), _) => (
                        TurnError::Canceled {
                            reason: canceled.reason,
                        },
                        SteerRefused::Canceled,
                    ),
                    (None, NotWritten::Store(error)) => (
                        TurnError::NotAccepted(NotAccepted::Store(error)),
                        SteerRefused::Ended,
                    ),
                    (None, NotWritten::HoldLost) => (
                        TurnError::NotAccepted(NotAccepted::HoldLost),
                        SteerRefused::HoldLost,
                    ),
                };
                self.refuse_all(steers, &refused);
                self.outputs.push_back(Output::Accepted {
                    turn: active.id.clone(),
                    result: Err(error.clone()),
                });
                self.end(active, Err(error), HoldAfter::Kept);
            }
            Phase::Running(mut running) => {
                let steer = running.writing.take().map(|(steer, _)| steer);
                let ending = match &why {
                    NotWritten::Store(error) => Ending::Failed(unrecorded_steer(error)),
                    NotWritten::HoldLost => Ending::Interrupted(Interruption::HoldLost),
                };
                self.refuse_all(steer, &why.into());
                self.stop(now, active, *running, ending);
            }
            Phase::Closing {
                write: _,
                steer,
                ending,
            } => {
                self.refuse(steer, why.into());
                self.record(now, active, ending);
            }
            Phase::Recording { .. } => {
                let ending = match why {
                    NotWritten::Store(error) => Ending::Interrupted(error.into()),
                    NotWritten::HoldLost => Ending::Interrupted(Interruption::HoldLost),
                };
                self.finish(active, ending, HoldAfter::Kept);
            }
        }
    }

    /// Ends a turn of which nothing more can be written, and of whose write under way nothing can be known.
    pub(super) fn interrupt(
        &mut self,
        now: Timestamp,
        active: Box<Active>,
        phase: Phase,
        why: Interruption,
    ) {
        match phase {
            Phase::Accepting {
                write: _,
                canceled: _,
                steers,
            } => {
                self.refuse_all(steers, &unwritten_steer_refused(&why));
                let error = TurnError::Interrupted(why);
                self.outputs.push_back(Output::Accepted {
                    turn: active.id.clone(),
                    result: Err(error.clone()),
                });
                self.end(active, Err(error), HoldAfter::Kept);
            }
            Phase::Running(mut running) => {
                let steer = running.writing.take().map(|(steer, _)| steer);
                self.refuse_all(steer, &written_steer_refused(&why));
                self.stop(now, active, *running, Ending::Interrupted(why));
            }
            Phase::Closing {
                write: _,
                steer,
                ending: _,
            } => {
                self.refuse(steer, written_steer_refused(&why));
                self.finish(active, Ending::Interrupted(why), HoldAfter::Kept);
            }
            Phase::Recording { .. } => {
                self.finish(active, Ending::Interrupted(why), HoldAfter::Kept)
            }
        }
    }

    fn respond(&mut self, active: Box<Active>, steers: Vec<NewSteer>) {
        self.outputs.push_back(Output::Respond(Box::new(Start {
            turn_id: active.id.clone(),
            root_turn_id: self.transcript.root_of(&active.id).clone(),
            input: active.unaccepted.input.clone(),
            history: self.transcript.turns(),
            context: active.context.clone(),
        })));
        self.state = super::State::Active(active, Phase::Running(Box::new(Running::new())));
        for steer in steers {
            self.steer_active(steer);
        }
    }

    /// A steer is in the journal: shown, told, and whoever sent it knows (law T8).
    fn steered(&mut self, active: &mut Active, steer: NewSteer, entry: &Entry) {
        self.transcript.apply(entry);
        let input = steer.input;
        active.emit(&mut self.outputs, |seq| ChatEvent::Steered { seq, input });
        self.outputs.push_back(Output::Steered {
            ticket: steer.ticket,
            result: Ok(()),
        });
    }

    pub(super) fn refuse_all(
        &mut self,
        steers: impl IntoIterator<Item = NewSteer>,
        why: &SteerRefused,
    ) {
        for steer in steers {
            self.refuse(steer, why.clone());
        }
    }
}

/// The failure of a turn whose responder took an input that the journal did not (law T8).
fn unrecorded_steer(error: &StoreError) -> ResponderError {
    ResponderError::new(format!(
        "an input that the responder took could not be recorded: {error}"
    ))
    .with_kind(error.kind())
    .with_source(error.clone())
}

impl From<NotWritten> for SteerRefused {
    fn from(why: NotWritten) -> Self {
        match why {
            NotWritten::Store(error) => Self::Store(error),
            NotWritten::HoldLost => Self::HoldLost,
        }
    }
}

impl From<StoreError> for Interruption {
    fn from(error: StoreError) -> Self {
        if matches!(error, StoreError::HoldLost { .. }) {
            Self::HoldLost
        } else {
            Self::Store(error)
        }
    }
}
