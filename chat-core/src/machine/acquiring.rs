//! The hold: asked for while a turn waits, given up when none does any more, and used to accept the first (laws T2, T9, T10).

use super::{
    Output, SessionMachine,
    state::{Active, Phase, Queued, State, Write},
};
use crate::{Entry, EntryBody, NotAccepted, SteerRefused, StoreError, Timestamp, TurnError};

impl SessionMachine {
    /// The answer to [`Output::Acquire`]: the hold and what others wrote meanwhile, or why there is none.
    pub fn handle_acquired(&mut self, now: Timestamp, result: Result<Vec<Entry>, StoreError>) {
        match (&self.state, result) {
            (State::GivingUp, result) => {
                self.state = State::Idle;
                if result.is_ok() {
                    self.outputs.push_back(Output::Release);
                }
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

    /// The answer to [`crate::Store::read`] and [`crate::Store::is_held`]: what others wrote, and whether someone else has the
    /// hold. While this session has the hold it changes nothing (law T2).
    pub fn handle_refreshed(&mut self, entries: &[Entry], held: bool) {
        if !matches!(self.state, State::Active(..)) {
            entries
                .iter()
                .for_each(|entry| self.transcript.apply(entry));
            let turns = self.transcript.turns();
            let ours = turns
                .last()
                .is_some_and(|last| self.interrupted.contains(&last.id));
            self.transcript.set_held_elsewhere(held && !ours);
        }
    }

    /// Asks for the hold, where a turn waits for it and none is asked for.
    pub(super) fn begin_next(&mut self) {
        if matches!(self.state, State::Idle) && !self.queue.is_empty() {
            self.state = State::Acquiring;
            self.outputs.push_back(Output::Acquire {
                from: self.transcript.next_seq(),
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
