//! Replay: what a journal's entries come to. Total: any sequence of entries gives a transcript (law J4).

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock, Weak},
};

use rpds::VectorSync;

use crate::{
    Entry, EntryBody, EntryId, Message, Metadata, Seq, TurnId, TurnRecord, TurnStatus,
    context::Counter,
};

/// A turn in a transcript, with what is worth keeping about it while it stays as it is.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) record: TurnRecord,
    /// What a context's counter counted for this turn, and which did: counted once (law R3).
    pub(crate) tokens: OnceLock<(Weak<Counter>, u64)>,
}

impl Slot {
    fn new(record: TurnRecord) -> Arc<Self> {
        Arc::new(Self {
            record,
            tokens: OnceLock::new(),
        })
    }
}

/// What replaying a journal gives. Entries are applied as they come; what was given out before stays as it was.
///
/// ```
/// use chat_core::{Entry, Transcript};
/// let journal = [
///     r#"{"v":1,"seq":0,"id":"e0","at":"2026-01-31T09:30:00.000Z","type":"session.created"}"#,
///     r#"{"v":1,"seq":1,"id":"e1","at":"2026-01-31T09:30:01.000Z","type":"turn.accepted","turnId":"t1","input":"Hi"}"#,
/// ];
/// let mut transcript = Transcript::default();
/// for line in journal { transcript.apply(&Entry::decode(line).unwrap()); }
/// assert_eq!(transcript.turns().last().unwrap().status.to_string(), "interrupted");
/// ```
#[derive(Debug, Clone, Default)]
pub struct Transcript {
    turns: Turns,
    /// Where each turn stands in `turns`.
    places: BTreeMap<TurnId, usize>,
    /// The last entry, by which the journal is told from another one.
    last: Option<(Seq, EntryId)>,
    /// The turn that shows as running though it has no outcome.
    live: Option<usize>,
}

impl Transcript {
    /// Takes the next entry into account. One whose place was already taken changes nothing, so that what was read twice
    /// counts once.
    pub fn apply(&mut self, entry: &Entry) {
        if entry.seq() < self.next_seq() {
            return;
        }
        self.last = Some((entry.seq(), entry.id().clone()));
        match entry.body() {
            EntryBody::SessionCreated { .. } | EntryBody::Unknown { .. } => {}
            EntryBody::TurnAccepted {
                turn_id,
                input,
                retry_of,
                labels,
            } => {
                if self.places.contains_key(turn_id) {
                    return;
                }
                self.set_live(None);
                self.places.insert(turn_id.clone(), self.turns.len());
                self.turns.slots.push_back_mut(Slot::new(TurnRecord {
                    status: TurnStatus::Interrupted,
                    retry_of: retry_of.clone(),
                    labels: labels.clone(),
                    accepted_at: Some(entry.at()),
                    ..TurnRecord::queued(turn_id.clone(), input.clone())
                }));
            }
            EntryBody::TurnSteered { turn_id, input } => {
                self.change_open(turn_id, |turn| turn.steering.push(input.clone()));
            }
            EntryBody::TurnCompleted {
                turn_id,
                text,
                metadata,
                responder,
            } => {
                self.end(entry, turn_id, TurnStatus::Completed, |turn| {
                    turn.output = Some(text.clone());
                    turn.metadata = Metadata {
                        responder: Some(responder.clone()),
                        ..metadata.clone()
                    };
                });
            }
            EntryBody::TurnFailed {
                turn_id,
                error,
                usage,
                responder,
            } => {
                self.end(entry, turn_id, TurnStatus::Failed, |turn| {
                    turn.error = Some(error.clone());
                    turn.metadata.usage = *usage;
                    turn.metadata.responder = Some(responder.clone());
                });
            }
            EntryBody::TurnCanceled {
                turn_id,
                reason,
                usage,
                responder,
            } => {
                self.end(entry, turn_id, TurnStatus::Canceled, |turn| {
                    turn.reason = reason.clone();
                    turn.metadata.usage = *usage;
                    turn.metadata.responder = responder.clone();
                });
            }
        }
    }

    /// The place of the next entry.
    #[must_use]
    pub fn next_seq(&self) -> Seq {
        self.last
            .as_ref()
            .map_or(Seq::ZERO, |(last, _)| last.next())
    }

    /// The place to read on from: that of the last entry, which shows again whether the journal is still this one.
    #[must_use]
    pub fn resume_from(&self) -> Seq {
        self.last.as_ref().map_or(Seq::ZERO, |(last, _)| *last)
    }

    /// Whether entries that were read from an earlier [`Self::resume_from`] on are of this journal: the last one known is among
    /// them. Looks at no more of them than are new.
    #[must_use]
    pub fn is_continued_by(&self, entries: &[Entry]) -> bool {
        self.last.as_ref().is_none_or(|(seq, id)| {
            let same = entries.iter().find(|entry| entry.seq() == *seq);
            same.is_some_and(|entry| entry.id() == id)
        })
    }

    /// The accepted turns as they now stand. A snapshot: later entries don't change it, and taking it copies nothing.
    #[must_use]
    pub fn turns(&self) -> Turns {
        self.turns.clone()
    }

    /// A turn as it now stands.
    #[must_use]
    pub fn turn(&self, id: &TurnId) -> Option<&TurnRecord> {
        self.places
            .get(id)
            .and_then(|place| self.turns.slots.get(*place))
            .map(|slot| &slot.record)
    }

    /// The first turn of the chain of retries that a turn stands in, itself where it is none (law T9). A retry answers an earlier
    /// turn: the chain ends where one claims to retry itself, a later turn or none that is known, so that a cycle is none.
    #[must_use]
    pub fn root_of<'a>(&'a self, id: &'a TurnId) -> &'a TurnId {
        let retried = |place: usize| {
            let retry_of = self.turns.get(place)?.retry_of.as_ref()?;
            self.places
                .get_key_value(retry_of)
                .filter(|(_, earlier)| **earlier < place)
        };
        let Some((mut root, mut place)) = self.places.get_key_value(id) else {
            return id;
        };
        while let Some(earlier) = retried(*place) {
            (root, place) = earlier;
        }
        root
    }

    /// Shows a turn without outcome as running, and any other as interrupted. Only the machine and a refresh know (law T10).
    pub(crate) fn set_live(&mut self, id: Option<&TurnId>) {
        let live = id.and_then(|id| self.places.get(id).copied());
        if self.live == live {
            return;
        }
        let before = std::mem::replace(&mut self.live, live);
        for (place, status) in [
            (before, TurnStatus::Interrupted),
            (live, TurnStatus::Running),
        ] {
            if let Some(slot) = place.and_then(|place| self.turns.slots.get_mut(place))
                && is_open(&slot.record)
            {
                *slot = Slot::new(TurnRecord {
                    status,
                    ..slot.record.clone()
                });
            }
        }
    }

    /// Shows the last turn as running, where it is open and someone else holds the session (law T10).
    pub fn set_held_elsewhere(&mut self, held: bool) {
        let last = self
            .turns
            .last()
            .filter(|turn| held && is_open(turn))
            .map(|turn| turn.id.clone());
        self.set_live(last.as_ref());
    }

    /// Records an outcome; the first one stands (law J4).
    fn end(
        &mut self,
        entry: &Entry,
        id: &TurnId,
        status: TurnStatus,
        outcome: impl FnOnce(&mut TurnRecord),
    ) {
        self.change_open(id, |turn| {
            turn.status = status;
            turn.ended_at = Some(entry.at());
            outcome(turn);
        });
    }

    fn change_open(&mut self, id: &TurnId, change: impl FnOnce(&mut TurnRecord)) {
        let Some(slot) = self
            .places
            .get(id)
            .and_then(|place| self.turns.slots.get_mut(*place))
        else {
            return;
        };
        if !is_open(&slot.record) {
            return;
        }
        match Arc::get_mut(slot) {
            // Nobody was given the turn as it was, which is so all the while a journal is replayed.
            Some(slot) => {
                change(&mut slot.record);
                slot.tokens = OnceLock::new();
            }
            None => {
                let mut record = slot.record.clone();
                change(&mut record);
                *slot = Slot::new(record);
            }
        }
    }
}

fn is_open(turn: &TurnRecord) -> bool {
    matches!(turn.status, TurnStatus::Running | TurnStatus::Interrupted)
}

/// The turns of a session at one moment, in the order they were accepted. A clone copies nothing.
#[derive(Debug, Clone)]
pub struct Turns {
    pub(crate) slots: VectorSync<Arc<Slot>>,
}

impl Default for Turns {
    fn default() -> Self {
        Self {
            slots: VectorSync::new_sync(),
        }
    }
}

impl Turns {
    /// The turns, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &TurnRecord> + ExactSizeIterator {
        self.slots.iter().map(|slot| &slot.record)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The turn at a place.
    #[must_use]
    pub fn get(&self, place: usize) -> Option<&TurnRecord> {
        self.slots.get(place).map(|slot| &slot.record)
    }

    /// The newest turn.
    #[must_use]
    pub fn last(&self) -> Option<&TurnRecord> {
        self.slots.last().map(|slot| &slot.record)
    }

    /// A turn by its id; looks from the newest back.
    #[must_use]
    pub fn find(&self, id: &TurnId) -> Option<&TurnRecord> {
        self.iter().rev().find(|turn| turn.id == *id)
    }

    /// The messages of the completed turns: what was said and answered, in order (law T7).
    pub fn messages(&self) -> impl Iterator<Item = Message> {
        self.iter().flat_map(turn_messages)
    }
}

/// The messages of one turn; none where it did not complete (law T7).
pub(crate) fn turn_messages(turn: &TurnRecord) -> impl Iterator<Item = Message> {
    turn.output.iter().flat_map(|output| {
        std::iter::once(Message::user(turn.input.clone()))
            .chain(
                turn.steering
                    .iter()
                    .map(|input| Message::user(input.clone())),
            )
            .chain([Message::assistant(output.clone())])
    })
}

#[cfg(test)]
mod tests;
