//! The hold: asked for while a turn waits, given up when none does any more, and used to accept the first (laws T2, T9, T10).

use super::{
    Output, SessionMachine,
    state::{Active, Intake, Phase, Queued, State, Write},
};
use crate::{Entry, EntryBody, NotAccepted, SteerRefused, StoreError, Timestamp, TurnError};

impl SessionMachine {
    /// The answer to [`Output::Acquire`]: the hold and the entries that were asked for, or why there is none. Where the last
    /// entry known is not among them, no turn of this session is accepted any more (law S7).
    pub fn handle_acquired(&mut self, now: Timestamp, result: Result<Vec<Entry>, StoreError>) {
        match (&self.state, result) {
            (State::GivingUp, result) => {
                self.state = State::Idle;
                if result.is_ok() {
                    self.outputs.push_back(Output::Release);
                }
            }
            (State::Acquiring, Ok(entries)) if !self.transcript.is_continued_by(&entries) => {
                self.state = State::Idle;
                self.outputs.push_back(Output::Release);
                self.replaced();
            }
            (State::Acquiring, Ok(entries)) => {
                self.state = State::Idle;
                entries
                    .iter()
                    .for_each(|entry| self.transcript.apply(entry));
                // Who has the hold knows that nobody else is answering.
                self.transcript.set_live(None);
                match self.queue.pop_front() {
                    Some(queued) => self.accept(now, queued),
                    None => self.outputs.push_back(Output::Release),
                }
            }
            (State::Acquiring, Err(error)) => {
                self.state = State::Idle;
                if let Some(queued) = self.queue.pop_front() {
                    self.end_queued(
                        queued,
                        TurnError::NotAccepted(NotAccepted::Store(error)),
                        SteerRefused::Ended,
                    );
                }
            }
            // Nothing was asked for.
            (State::Idle | State::Active(..), _) => {}
        }
        self.begin_next();
    }

    /// The answer to [`crate::Store::read`], from [`Transcript::resume_from`](crate::Transcript::resume_from) on, and to
    /// [`crate::Store::is_held`]: what others wrote, and whether someone else has the hold. While this session has the hold it
    /// changes nothing (law T2).
    ///
    /// # Errors
    /// [`StoreError::Replaced`] where the entries are another journal's: none of them is taken into account, and no turn of this
    /// session is accepted any more.
    pub fn handle_refreshed(&mut self, entries: &[Entry], held: bool) -> Result<(), StoreError> {
        if matches!(self.state, State::Active(..)) {
            return Ok(());
        }
        // What was read before this session itself wrote more says nothing of what it wrote.
        let is_late = entries
            .last()
            .is_some_and(|last| last.seq() < self.transcript.resume_from());
        if self.is_replaced() || !(is_late || self.transcript.is_continued_by(entries)) {
            self.replaced();
            return Err(self.replaced_error());
        }
        entries
            .iter()
            .for_each(|entry| self.transcript.apply(entry));
        let turns = self.transcript.turns();
        let ours = turns
            .last()
            .is_some_and(|last| self.interrupted.contains(&last.id));
        self.transcript.set_held_elsewhere(held && !ours);
        Ok(())
    }

    /// Whether its journal was deleted and another one made under its id: every turn is refused then, and what is known of the
    /// old one stays as it is (law S7).
    #[must_use]
    pub fn is_replaced(&self) -> bool {
        self.intake == Intake::Replaced
    }

    /// Takes nothing more, and ends all that waits: the journal it was meant for is gone.
    pub(super) fn replaced(&mut self) {
        self.intake = Intake::Replaced;
        for queued in std::mem::take(&mut self.queue).into_values() {
            let error = NotAccepted::Store(self.replaced_error());
            self.end_queued(queued, TurnError::NotAccepted(error), SteerRefused::Ended);
        }
        self.give_up_acquire();
    }

    pub(super) fn replaced_error(&self) -> StoreError {
        StoreError::Replaced {
            session: self.session.clone(),
        }
    }

    /// Asks for the hold, where a turn waits for it and none is asked for.
    pub(super) fn begin_next(&mut self) {
        if matches!(self.state, State::Idle) && !self.queue.is_empty() {
            self.state = State::Acquiring;
            self.outputs.push_back(Output::Acquire {
                from: self.transcript.resume_from(),
            });
        }
    }

    /// Gives up waiting for the hold, where no turn waits for it any more.
    pub(super) fn give_up_acquire(&mut self) {
        if matches!(self.state, State::Acquiring) && self.queue.is_empty() {
            self.state = State::GivingUp;
            self.outputs.push_back(Output::GiveUpAcquire);
        }
    }

    /// Writes `turn.accepted`, or, where the hold shows that the turn can't be, ends it.
    fn accept(&mut self, now: Timestamp, queued: Queued) {
        let refused = queued
            .turn
            .input
            .retry_of()
            .and_then(|original| self.retry_refused(original));
        if let Some(why) = refused {
            self.end_queued(
                queued,
                TurnError::NotAccepted(NotAccepted::Retry(why)),
                SteerRefused::Ended,
            );
            self.outputs.push_back(Output::Release);
            return;
        }
        let unaccepted = queued.record();
        let Queued {
            turn,
            input,
            steers,
        } = queued;
        let entry = Entry::new(
            self.transcript.next_seq(),
            turn.accepted_id,
            now,
            EntryBody::TurnAccepted {
                turn_id: turn.id.clone(),
                input,
                retry_of: turn.input.retry_of().cloned(),
                labels: turn.labels,
            },
        );
        self.outputs.push_back(Output::Append {
            entry: Box::new(entry.clone()),
            last: false,
        });
        let active = Active {
            id: turn.id,
            unaccepted,
            outcome_id: turn.outcome_id,
            context: turn.context,
            hold_lost: false,
            next_event: 0,
            usage: None,
        };
        self.state = State::Active(
            Box::new(active),
            Phase::Accepting {
                write: Write::of(entry),
                canceled: None,
                steers,
            },
        );
    }
}
