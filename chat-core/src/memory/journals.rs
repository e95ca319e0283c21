//! The journals of a [`MemoryStore`](super::MemoryStore), and the rules an entry has to keep. Knows nothing of holds and waiting.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    ops::{Bound, Range},
    sync::Arc,
};

use rpds::VectorSync;

use super::hold::Queue;
use crate::{
    Damage, DecodeError, Entry, EntryBody, EntryId, FORMAT, Place, Seq, SessionId, SessionSummary,
    StoreError, Timestamp,
};

/// Where a session stands in the list (law S6): the newest activity first, ties by id.
pub(super) type Standing = (Reverse<Timestamp>, SessionId);

#[derive(Debug, Default)]
pub(super) struct Journals {
    sessions: BTreeMap<SessionId, Journal>,
    listed: BTreeSet<Standing>,
}

#[derive(Debug)]
pub(super) struct Journal {
    pub(super) lines: Lines,
    pub(super) queue: Queue,
    ids: BTreeSet<EntryId>,
    /// The time of its last entry.
    last_activity: Timestamp,
    created_at: Timestamp,
    title: Option<Arc<str>>,
    turns: u64,
}

/// The lines of a journal, an entry each. A clone costs one reference count, and stays as it is.
#[derive(Debug, Clone)]
pub(super) struct Lines(VectorSync<Arc<str>>);

/// What is to be done with an entry that breaks no rule.
#[derive(PartialEq)]
enum Admitted {
    Write(Arc<str>),
    /// It is there already (law S1).
    Skip,
}

impl Journals {
    pub(super) fn journal(&self, session: &SessionId) -> Result<&Journal, StoreError> {
        self.sessions
            .get(session)
            .ok_or_else(|| StoreError::Missing {
                session: session.clone(),
            })
    }

    pub(super) fn journal_mut(&mut self, session: &SessionId) -> Result<&mut Journal, StoreError> {
        self.sessions
            .get_mut(session)
            .ok_or_else(|| StoreError::Missing {
                session: session.clone(),
            })
    }

    /// All of the entries or none.
    pub(super) fn create(
        &mut self,
        session: &SessionId,
        entries: &[Entry],
    ) -> Result<(), StoreError> {
        let misuse = |what: Arc<str>| StoreError::Misuse {
            session: session.clone(),
            what,
        };
        let (first, last) = match entries {
            [first, .., last] => (first, last),
            [only] => (only, only),
            [] => return Err(misuse("a journal has at least its first entry".into())),
        };
        if !matches!(first.body(), EntryBody::SessionCreated { .. }) {
            return Err(misuse(
                "the first entry of a journal is session.created".into(),
            ));
        }
        let mut journal = Journal {
            lines: Lines(VectorSync::new_sync()),
            queue: Queue::default(),
            ids: BTreeSet::new(),
            last_activity: last.at(),
            created_at: first.at(),
            title: None,
            turns: 0,
        };
        for entry in entries {
            match journal.admit(entry).map_err(misuse)? {
                Admitted::Write(line) => journal.push(entry, line),
                Admitted::Skip => return Err(misuse("an entry is given twice".into())),
            }
        }
        // Last: what is no journal is the caller's mistake, whatever stands in its way.
        if self.sessions.contains_key(session) {
            return Err(StoreError::Taken {
                session: session.clone(),
            });
        }
        self.listed.insert(journal.standing(session));
        self.sessions.insert(session.clone(), journal);
        Ok(())
    }

    /// Writes an entry, where it is not there yet.
    pub(super) fn append(&mut self, session: &SessionId, entry: &Entry) -> Result<(), StoreError> {
        let journal = self.journal_mut(session)?;
        let admitted = journal.admit(entry).map_err(|what| StoreError::Misuse {
            session: session.clone(),
            what,
        })?;
        if let Admitted::Write(line) = admitted {
            journal.push(entry, line);
            let before = journal.standing(session);
            journal.last_activity = entry.at();
            let now = journal.standing(session);
            self.listed.remove(&before);
            self.listed.insert(now);
        }
        Ok(())
    }

    pub(super) fn delete(&mut self, session: &SessionId) -> Result<(), StoreError> {
        let journal = self.journal(session)?;
        if journal.queue.is_held() {
            return Err(StoreError::Busy {
                session: session.clone(),
            });
        }
        let standing = journal.standing(session);
        self.listed.remove(&standing);
        self.sessions.remove(session);
        Ok(())
    }

    /// The sessions behind a place in the list, in its order, and where the page ends if there are more.
    pub(super) fn page(
        &self,
        after: Bound<Standing>,
        limit: usize,
    ) -> (Vec<SessionSummary>, Option<Standing>) {
        let mut rest = self.listed.range((after, Bound::Unbounded));
        let page: Vec<_> = rest.by_ref().take(limit).collect();
        let more = rest.next().is_some();
        let next = page.last().filter(|_| more).map(|last| (*last).clone());
        let summary = |id: &SessionId| self.sessions.get(id).map(|journal| journal.summary(id));
        (
            page.into_iter().filter_map(|(_, id)| summary(id)).collect(),
            next,
        )
    }
}

impl Journal {
    /// Whether an entry may be written next or is there already, else which rule it breaks.
    fn admit(&self, entry: &Entry) -> Result<Admitted, Arc<str>> {
        let (place, line) = (index(entry.seq()), entry.encode());
        match self.lines.0.get(place) {
            Some(written) if *written == line => Ok(Admitted::Skip),
            Some(_) => Err(format!("another entry stands at place {place}").into()),
            None if place > self.lines.0.len() => {
                Err(format!("place {place} leaves a gap behind the last entry").into())
            }
            None if self.ids.contains(entry.id()) => {
                Err(format!("another entry has the id {}", entry.id()).into())
            }
            None => match Entry::decode(&line) {
                Ok(read) if read.is_same(entry) => Ok(Admitted::Write(line)),
                Ok(_) => Err("the entry is not read back as the same".into()),
                Err(error) => Err(format!("the entry can't be read back: {error}").into()),
            },
        }
    }

    fn push(&mut self, entry: &Entry, line: Arc<str>) {
        self.lines.0.push_back_mut(line);
        self.ids.insert(entry.id().clone());
        if let EntryBody::TurnAccepted { input, .. } = entry.body() {
            self.turns += 1;
            self.title
                .get_or_insert_with(|| SessionSummary::title_of(input));
        }
    }

    fn standing(&self, id: &SessionId) -> Standing {
        (Reverse(self.last_activity), id.clone())
    }

    fn summary(&self, id: &SessionId) -> SessionSummary {
        SessionSummary {
            id: id.clone(),
            title: self.title.clone(),
            created_at: Some(self.created_at),
            last_activity: Some(self.last_activity),
            turns: self.turns,
            error: None,
        }
    }
}

impl Lines {
    /// The places from one on.
    pub(super) fn places(&self, from: Seq) -> Range<usize> {
        index(from)..self.0.len()
    }

    /// The entries from a place on, read from their text.
    pub(super) fn entries_from(
        &self,
        session: &SessionId,
        from: Seq,
    ) -> Result<Vec<Entry>, StoreError> {
        self.entries(session, index(from), usize::MAX)
    }

    /// At most so many of the entries from a place on.
    pub(super) fn entries(
        &self,
        session: &SessionId,
        from: usize,
        most: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        let lines = (from..self.0.len())
            .take(most)
            .filter_map(|place| Some((place, self.0.get(place)?)));
        lines
            .map(|(place, line)| decode(session, place, line))
            .collect()
    }
}

fn index(seq: Seq) -> usize {
    // No journal in memory is longer than that.
    usize::try_from(seq.0).unwrap_or(usize::MAX)
}

fn decode(session: &SessionId, place: usize, line: &str) -> Result<Entry, StoreError> {
    Entry::decode(line).map_err(|error| match error {
        DecodeError::NewerFormat { found } => StoreError::NewerFormat {
            what: format!("session {session}").into(),
            found,
            supported: FORMAT,
        },
        DecodeError::Invalid(what) => {
            let place = Place {
                seq: Some(Seq(place as u64)),
                ..Place::default()
            };
            Damage {
                session: session.clone(),
                place,
                what,
            }
            .into()
        }
    })
}
