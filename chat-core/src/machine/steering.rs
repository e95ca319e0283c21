//! Steers: offered to the responder, taken by it, and acknowledged only once they are in the journal (law T8).

use super::{NewSteer, Output, SessionMachine, State, SteerId, state::Phase};
use crate::{SteerRefused, Timestamp};

impl SessionMachine {
    /// A steer for the turn that has the hold.
    pub(super) fn steer_active(&mut self, steer: NewSteer) {
        let State::Active(active, phase) = &mut self.state else {
            return self.refuse(steer, SteerRefused::NoTurn);
        };
        let refused = match phase {
            Phase::Accepting {
                canceled: None,
                steers,
                ..
            } => {
                steers.push(steer);
                return;
            }
            Phase::Running(running) if running.reply.is_none() => {
                let (turn, ticket, input) = (active.id.clone(), steer.ticket, steer.input.clone());
                self.outputs.push_back(Output::OfferSteer {
                    turn,
                    ticket,
                    input,
                });
                running.offered.push(steer);
                return;
            }
            Phase::Accepting {
                canceled: Some(_), ..
            } => SteerRefused::Canceled,
            Phase::Running(_) => SteerRefused::ReplyIn,
            Phase::Closing { ending, .. } | Phase::Recording { ending, .. } => {
                ending.steer_refused()
            }
        };
        self.refuse(steer, refused);
    }

    /// What became of an offered steer: the responder took it, or refused it.
    pub fn handle_steered(
        &mut self,
        now: Timestamp,
        ticket: SteerId,
        result: Result<(), SteerRefused>,
    ) {
        let State::Active(_, Phase::Running(running)) = &mut self.state else {
            return;
        };
        let Some(place) = running
            .offered
            .iter()
            .position(|steer| steer.ticket == ticket)
        else {
            return;
        };
        let steer = running.offered.remove(place);
        match result {
            Ok(()) => {
                running.taken.push_back(steer);
                self.conclude(now);
            }
            Err(why) => self.refuse(steer, why),
        }
    }

    /// Takes back what the responder has not taken yet (law T14).
    pub(super) fn withdraw_steers(&mut self) {
        let State::Active(active, phase) = &mut self.state else {
            return;
        };
        match phase {
            Phase::Accepting { steers, .. } => {
                let steers = std::mem::take(steers);
                self.refuse_all(steers, &SteerRefused::ShuttingDown);
            }
            Phase::Running(running) => {
                for steer in &running.offered {
                    let (turn, ticket) = (active.id.clone(), steer.ticket);
                    self.outputs
                        .push_back(Output::WithdrawSteer { turn, ticket });
                }
            }
            Phase::Closing { .. } | Phase::Recording { .. } => {}
        }
    }
}
