//! What a store and a responder can answer a machine, as calls on its world. A completion that nothing asked for does nothing and says so, so that
//! any script is one that a shell could have produced.

use super::world::{Ask, Hold, World, entry_id, turn};
use crate::{
    Appended, Entry, EntryBody, Reply, ResponderError, ResponderEvent, ResponderInfo, Seq, SteerId,
    SteerRefused, StoreError, TurnId,
};

/// How a write is answered, and whether the entry really is in the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Write {
    Written,
    NotWritten,
    /// Nobody knows; it is.
    UnknownWritten,
    /// Nobody knows; it is not.
    UnknownLost,
    Fenced,
}

/// Whether what was asked works out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Luck {
    Good,
    Bad,
}

/// What another writer leaves in the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Others {
    /// A whole turn.
    Answered,
    /// A turn without outcome: it runs there, or was interrupted.
    Open,
}

pub(super) fn broken() -> StoreError {
    StoreError::backend("the disk is gone")
}

impl World {
    /// The acquire is answered.
    pub(super) fn acquired(&mut self, luck: Luck) -> bool {
        let Some(Ask::Acquire { from, .. }) = self.ask else {
            return false;
        };
        self.ask = None;
        let now = self.tick();
        let result = match luck {
            Luck::Good => {
                self.hold = Hold::Here(None);
                Ok(self.stored(from))
            }
            Luck::Bad => Err(broken()),
        };
        self.did(match luck {
            Luck::Good => "acquired",
            Luck::Bad => "acquire failed",
        });
        self.machine.handle_acquired(now, result);
        self.drain();
        true
    }

    /// The append is answered. Nothing is written where another holder wrote meanwhile.
    pub(super) fn wrote(&mut self, write: Write) -> bool {
        let Some(Ask::Append { entry, last }) =
            self.ask.take_if(|ask| matches!(ask, Ask::Append { .. }))
        else {
            return false;
        };
        let now = self.tick();
        let write = if entry.seq() < self.next_seq() || self.made_anew.is_some() {
            Write::Fenced
        } else {
            write
        };
        let id = entry.id().clone();
        let answer = match write {
            Write::Written => {
                self.land(entry);
                if last {
                    self.hold = Hold::Free;
                }
                Appended::Written
            }
            Write::NotWritten => Appended::NotWritten(broken()),
            Write::UnknownWritten => {
                self.unknown.insert(id);
                self.land(entry);
                Appended::Unknown(broken())
            }
            Write::UnknownLost => {
                self.unknown.insert(id);
                Appended::Unknown(broken())
            }
            Write::Fenced => {
                self.lose();
                Appended::Fenced
            }
        };
        self.did(match write {
            Write::Written => "written",
            Write::NotWritten => "not written",
            Write::UnknownWritten | Write::UnknownLost => "unknown whether written",
            Write::Fenced => "fenced",
        });
        self.machine.handle_appended(now, answer);
        self.drain();
        true
    }

    /// The recover is answered.
    pub(super) fn recovered(&mut self, luck: Luck) -> bool {
        let Some(Ask::Recover { from }) = self.ask else {
            return false;
        };
        self.ask = None;
        let now = self.tick();
        let asked = self.writing.clone();
        let result = match luck {
            Luck::Good => {
                self.writing = None;
                if self.made_anew.is_none() {
                    self.unknown.retain(|id| Some(id) != asked.as_ref());
                }
                Ok(self.stored(from))
            }
            Luck::Bad => Err(broken()),
        };
        let is_asked = |entry: &Entry| Some(entry.id()) == asked.as_ref();
        self.did(match &result {
            Ok(entries) if entries.iter().any(is_asked) => "recovered: there",
            Ok(_) => "recovered: not there",
            Err(_) => "recovery failed",
        });
        self.machine.handle_recovered(now, result);
        self.drain();
        true
    }

    /// The store says that the hold went to another holder.
    pub(super) fn hold_lost(&mut self) -> bool {
        if self.hold == Hold::Free {
            return false;
        }
        self.lose();
        let now = self.tick();
        self.did("hold lost");
        self.machine.handle_hold_lost(now);
        self.drain();
        true
    }

    /// Another writer writes, where it could.
    pub(super) fn others_write(&mut self, what: Others) -> bool {
        if matches!(self.hold, Hold::Here(_)) || self.made_anew.is_some() {
            return false;
        }
        self.others += 1;
        let id = turn(format!("other{}", self.others));
        let accepted = EntryBody::TurnAccepted {
            turn_id: id.clone(),
            input: "theirs".into(),
            retry_of: None,
            labels: None,
        };
        let completed = EntryBody::TurnCompleted {
            turn_id: id,
            text: "their reply".into(),
            metadata: crate::Metadata::default(),
            responder: ResponderInfo::default(),
        };
        let bodies = match what {
            Others::Answered => vec![accepted, completed],
            Others::Open => vec![accepted],
        };
        for body in bodies {
            let (seq, at) = (self.next_seq(), self.tick());
            self.journal
                .push(Entry::new(seq, entry_id(format!("other.{seq}")), at, body));
        }
        self.did("another writer writes");
        true
    }

    /// Another holder deletes the session and makes one of so many entries under its id, where it could: no entry of it is one
    /// of the old session's.
    pub(super) fn made_anew(&mut self, entries: usize) -> bool {
        if matches!(self.hold, Hold::Here(_)) {
            return false;
        }
        self.make_anew(entries);
        true
    }

    /// As [`Self::made_anew`], also behind the back of whoever has the hold.
    pub(super) fn make_anew(&mut self, entries: usize) {
        let at = self.tick();
        let anew = (0..entries).map(|place| {
            let body = match place {
                0 => EntryBody::SessionCreated { labels: None },
                _ => EntryBody::TurnAccepted {
                    turn_id: turn(format!("anew{place}")),
                    input: "anew".into(),
                    retry_of: None,
                    labels: None,
                },
            };
            let seq = Seq(place as u64);
            Entry::new(seq, entry_id(format!("anew.{place}.{at}")), at, body)
        });
        self.made_anew = Some(anew.collect());
        self.did("deleted and made anew");
    }

    /// A refresh is answered, by the same journal.
    pub(super) fn refreshed(&mut self, held: bool) {
        assert!(self.refresh(held).is_ok());
    }

    /// A refresh is answered.
    pub(super) fn refresh(&mut self, held: bool) -> Result<(), StoreError> {
        let entries = self.stored(self.machine.transcript().resume_from());
        self.did(if held {
            "refreshed, held elsewhere"
        } else {
            "refreshed"
        });
        let result = self.machine.handle_refreshed(&entries, held);
        self.drain();
        result
    }

    /// The responder says this.
    pub(super) fn say(&mut self, events: Vec<ResponderEvent>) -> bool {
        let Some(execution) = self
            .execution
            .as_mut()
            .filter(|execution| !execution.events_ended)
        else {
            return false;
        };
        let id = execution.turn.clone();
        execution
            .requested
            .extend(events.iter().filter_map(|event| match event {
                ResponderEvent::ApprovalRequest(request) => Some(request.id.clone()),
                _ => None,
            }));
        let now = self.tick();
        self.did(&format!("{id} says {} events", events.len()));
        self.machine.handle_events(now, &id, events);
        self.drain();
        true
    }

    pub(super) fn events_end(&mut self, luck: Luck) -> bool {
        let Some(execution) = self
            .execution
            .as_mut()
            .filter(|execution| !execution.events_ended)
        else {
            return false;
        };
        execution.events_ended = true;
        self.drop_offers();
        let id = self.working();
        let now = self.tick();
        let result = match luck {
            Luck::Good => Ok(()),
            Luck::Bad => Err(ResponderError::new("the stream broke")),
        };
        self.did(match luck {
            Luck::Good => "events end",
            Luck::Bad => "events break",
        });
        self.machine.handle_events_ended(now, &id, result);
        self.drain();
        true
    }

    pub(super) fn replied(&mut self, result: Result<Reply, ResponderError>) -> bool {
        let Some(execution) = self
            .execution
            .as_mut()
            .filter(|execution| !execution.replied)
        else {
            return false;
        };
        execution.replied = true;
        self.drop_offers();
        let id = self.working();
        let now = self.tick();
        if let Ok(reply) = &result {
            self.replies.push((id.clone(), reply.clone()));
        }
        self.did(if result.is_ok() { "reply" } else { "no reply" });
        self.machine.handle_result(now, &id, result);
        self.drain();
        true
    }

    pub(super) fn steer_taken(&mut self, ticket: SteerId) -> bool {
        self.steer_answered(ticket, Ok(()))
    }

    pub(super) fn steer_answered(
        &mut self,
        ticket: SteerId,
        result: Result<(), SteerRefused>,
    ) -> bool {
        let Some(execution) = &mut self.execution else {
            return false;
        };
        let Some(place) = execution
            .offered
            .iter()
            .position(|offered| *offered == ticket)
        else {
            return false;
        };
        execution.offered.remove(place);
        let now = self.tick();
        self.did(&format!(
            "steer #{} {}",
            ticket.0,
            if result.is_ok() { "taken" } else { "refused" }
        ));
        self.machine.handle_steered(now, ticket, result);
        self.drain();
        true
    }

    /// Once all is in, the shell polls no offer any more.
    fn drop_offers(&mut self) {
        if let Some(execution) = self
            .execution
            .as_mut()
            .filter(|execution| execution.all_in())
        {
            execution.offered.clear();
        }
    }

    fn working(&self) -> TurnId {
        self.execution
            .as_ref()
            .expect("a responder is at work")
            .turn
            .clone()
    }
}
