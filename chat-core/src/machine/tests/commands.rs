//! What people can ask of a machine, as calls on its world.

use super::{
    completions::{Luck, Write},
    world::{Ask, Fact, World, entry_id, turn},
};
use crate::{
    AnswerError, ApprovalId, Decision, NewSteer, Reply, Shutdown, SteerId, TurnId, TurnInput,
};

impl World {
    pub(super) fn send(&mut self) -> TurnId {
        let input = format!("input {}", self.turns.len() + 1);
        self.send_input(TurnInput::New(input.into()))
    }

    pub(super) fn retry(&mut self, original: &str) -> TurnId {
        self.send_input(TurnInput::Retry(turn(original)))
    }

    fn send_input(&mut self, input: TurnInput) -> TurnId {
        let new = self.new_turn(input);
        let (id, retry_of) = (new.id.clone(), new.input.retry_of().cloned());
        self.facts.push(Fact::Sent {
            turn: id.clone(),
            retry_of,
        });
        self.machine.send(new);
        self.drain();
        id
    }

    pub(super) fn cancel(&mut self, id: &str, reason: &str) {
        let (id, now) = (turn(id), self.tick());
        self.facts.push(Fact::Cancel {
            turn: id.clone(),
            reason: reason.into(),
        });
        self.machine.cancel(now, &id, Some(reason.into()));
        self.drain();
    }

    pub(super) fn steer(&mut self, to: Option<&str>) -> SteerId {
        self.steers += 1;
        let (ticket, to) = (SteerId(self.steers), to.map(turn));
        self.facts.push(Fact::Steer {
            ticket,
            turn: to.clone(),
        });
        let steer = NewSteer {
            ticket,
            input: format!("steer {}", ticket.0).into(),
            entry_id: entry_id(format!("s{}", ticket.0)),
        };
        self.machine.steer(to.as_ref(), steer);
        self.drain();
        ticket
    }

    pub(super) fn answer(
        &mut self,
        id: &str,
        request: &str,
        decision: Decision,
    ) -> Result<(), AnswerError> {
        let (id, request) = (turn(id), ApprovalId::from(request));
        let pending = self
            .machine
            .requests(&id)
            .iter()
            .any(|pending| pending.id == request);
        self.facts.push(Fact::Did(format!("answer {id} {request}")));
        let result = self.machine.answer(&id, &request, decision);
        assert_eq!(
            result.is_ok(),
            pending,
            "what is pending can be answered, and nothing else"
        );
        self.drain();
        result
    }

    pub(super) fn shutdown(&mut self, step: Shutdown) {
        let now = self.tick();
        self.facts.push(Fact::Shutdown(step));
        self.machine.shutdown(now, step);
        self.drain();
    }

    /// The runtime is gone: what the store was asked is never answered, whatever it came to.
    pub(super) fn abandon(&mut self, write_landed: bool) {
        let now = self.tick();
        self.facts.push(Fact::Abandon);
        match self.ask.take() {
            Some(Ask::Append { entry, .. }) => {
                self.unknown.insert(entry.id().clone());
                if write_landed && entry.seq() == self.next_seq() && self.made_anew.is_none() {
                    self.land(entry);
                }
            }
            Some(Ask::Recover { .. }) | None => {}
            acquire @ Some(Ask::Acquire { .. }) => self.ask = acquire,
        }
        self.machine.abandon(now);
        self.drain();
    }

    /// All that is asked works out from here on, until nothing is asked any more.
    pub(super) fn settle(&mut self) {
        for _ in 0..10_000 {
            let went_on = self.acquired(Luck::Good)
                || self.wrote(Write::Written)
                || self.recovered(Luck::Good)
                || self.events_end(Luck::Good)
                || self.replied(Ok(Reply::text("done")));
            if !went_on {
                return;
            }
        }
        panic!("it never comes to an end");
    }
}
