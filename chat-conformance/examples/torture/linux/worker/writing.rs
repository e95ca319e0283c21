//! Writing entries to one journal and saying so: before, and after with the store's answer. What a store's answers oblige a writer to
//! do is done here and nowhere else.

use chat_core::{
    Acquired, Appended, Entry, EntryId, JournalWriter, Seq, SessionId, Store, StoreError,
};
use futures_util::future::poll_immediate;

use super::{failed, no_room, say};
use crate::linux::lines::{Line, Note};

/// How a worker says what it writes: truly, but for those that must be caught.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Honesty {
    Honest,
    SaidTooEarly,
    NotAnnounced,
    SaidWrong,
}

/// Where a journal was last seen to end.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) journal: EntryId,
    last: EntryId,
    next: Seq,
}

/// A hold, and what is known of its journal.
pub(super) struct Writing {
    session: SessionId,
    writer: Box<dyn JournalWriter>,
    pub(super) known: Known,
    pub(super) honesty: Honesty,
}

/// How a line begins that says so.
pub(crate) const RECOVERY_FAILED: &str = "recovery failed";

/// How often a write is recovered before a worker gives up.
const TRIES: usize = 20;

impl Writing {
    /// Takes the hold and catches up; `None` where the session is not there, or not the one that was known.
    pub(super) async fn acquire(
        store: &dyn Store,
        session: &SessionId,
        known: Option<&Known>,
    ) -> Result<Option<Self>, StoreError> {
        let from = known.map_or(Seq::ZERO, |known| Seq(known.next.0 - 1));
        let Acquired {
            writer,
            entries,
            torn,
        } = match store.acquire(session, from).await {
            Ok(acquired) => acquired,
            Err(StoreError::Missing { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        if torn.is_some() {
            say(&Line::Torn(session.clone()));
        }
        let (Some(first), Some(last)) = (entries.first(), entries.last()) else {
            return Ok(None);
        };
        // Deleted and made anew: another journal.
        if known.is_some_and(|known| known.last != *first.id()) {
            return Ok(None);
        }
        let journal = known.map_or_else(|| first.id().clone(), |known| known.journal.clone());
        let known = Known {
            journal,
            last: last.id().clone(),
            next: last.seq().next(),
        };
        Ok(Some(Self {
            session: session.clone(),
            writer,
            known,
            honesty: Honesty::Honest,
        }))
    }

    pub(super) fn next(&self) -> Seq {
        self.known.next
    }

    fn note(&self, entry: &Entry) -> Note {
        Note::of(&self.session, &self.known.journal, entry)
    }

    pub(super) fn intend(&self, entry: &Entry) {
        let mut note = self.note(entry);
        match self.honesty {
            Honesty::Honest | Honesty::SaidTooEarly => say(&Line::Intended(note)),
            Honesty::SaidWrong => {
                note.crc ^= 1;
                say(&Line::Intended(note));
            }
            Honesty::NotAnnounced => {}
        }
    }

    fn written(&mut self, entry: &Entry) {
        if self.honesty == Honesty::Honest {
            say(&Line::Written(self.note(entry)));
        }
        self.known.last = entry.id().clone();
        self.known.next = entry.seq().next();
    }

    /// Writes an entry, recovering as often as it takes.
    ///
    /// # Errors
    /// Where it is not written.
    pub(super) async fn append(&mut self, entry: Entry, last: bool) -> Result<(), StoreError> {
        match self.offer(entry, last).await? {
            None => Ok(()),
            Some(refusal) => Err(refusal),
        }
    }

    /// As `append`, and gives the refusal where the store refused it, ready for another.
    ///
    /// # Errors
    /// Where nothing more can be written.
    pub(super) async fn offer(
        &mut self,
        entry: Entry,
        last: bool,
    ) -> Result<Option<StoreError>, StoreError> {
        self.intend(&entry);
        if self.honesty == Honesty::SaidTooEarly {
            say(&Line::Written(self.note(&entry)));
        }
        let answer = if last {
            self.writer.append_last(entry.clone()).await
        } else {
            self.writer.append(entry.clone()).await
        };
        self.answered(entry, answer).await
    }

    /// Begins to write an entry, drops that, and finds out.
    ///
    /// # Errors
    /// Where it is not written in the end.
    pub(super) async fn append_dropped(&mut self, entry: Entry) -> Result<(), StoreError> {
        self.intend(&entry);
        let answer = match poll_immediate(self.writer.append(entry.clone())).await {
            Some(answer) => answer,
            None => Appended::Unknown(StoreError::backend("its future was dropped")),
        };
        match self.answered(entry, answer).await? {
            None => Ok(()),
            Some(refusal) => Err(refusal),
        }
    }

    /// Writes an entry where there is no room for it, makes room, and goes on with the same writer (C25). Says how it went.
    ///
    /// # Errors
    /// Where the store says something else than that it is full, or goes on being so.
    pub(super) async fn append_without_room(
        &mut self,
        entry: Entry,
        make_room: impl FnOnce(),
    ) -> Result<&'static str, StoreError> {
        let full = |error: StoreError| match error {
            StoreError::Full { .. } => Ok(()),
            other => Err(other),
        };
        self.intend(&entry);
        match self.writer.append(entry.clone()).await {
            Appended::Written => {
                self.written(&entry);
                Ok(no_room::ROOM)
            }
            Appended::NotWritten(error) => {
                full(error)?;
                say(&Line::NotWritten(self.note(&entry)));
                make_room();
                Ok(no_room::REFUSED)
            }
            Appended::Unknown(error) => {
                full(error)?;
                // Setting a part aside takes room too: then it is found out later.
                if let Err(error) = self.writer.recover(entry.seq()).await {
                    full(error)?;
                }
                make_room();
                let answer = Appended::Unknown(StoreError::backend("a part of it was written"));
                match self.answered(entry, answer).await? {
                    None => Ok(no_room::CUT),
                    Some(refusal) => Err(refusal),
                }
            }
            Appended::Fenced => Err(StoreError::HoldLost {
                session: self.session.clone(),
            }),
        }
    }

    /// Does what an answer obliges to. Gives the refusal, where that was the last answer.
    async fn answered(
        &mut self,
        entry: Entry,
        mut answer: Appended,
    ) -> Result<Option<StoreError>, StoreError> {
        let mut last = None;
        for _ in 0..TRIES {
            match answer {
                Appended::Written => {
                    self.written(&entry);
                    return Ok(None);
                }
                Appended::NotWritten(refusal) => {
                    say(&Line::NotWritten(self.note(&entry)));
                    return Ok(Some(refusal));
                }
                Appended::Fenced => {
                    return Err(StoreError::HoldLost {
                        session: self.session.clone(),
                    });
                }
                Appended::Unknown(error) => {
                    say(&Line::Unknown(self.note(&entry)));
                    last = Some(error);
                    if self.recovered(&entry).await? {
                        self.written(&entry);
                        return Ok(None);
                    }
                    answer = self.writer.append(entry.clone()).await;
                }
            }
        }
        let last = last.map(|error| error.to_string()).unwrap_or_default();
        Err(StoreError::backend(format!(
            "{TRIES} recoveries did not help; at last: {last}"
        )))
    }

    /// Whether recovery found the entry: then it is durable.
    async fn recovered(&mut self, entry: &Entry) -> Result<bool, StoreError> {
        let mut tries = 0;
        let recovered = loop {
            match self.writer.recover(entry.seq()).await {
                Ok(recovered) => break recovered,
                Err(error) if tries < TRIES => {
                    say(&failed_to_recover(&error));
                    tries += 1;
                }
                Err(error) => return Err(error),
            }
        };
        if recovered.torn.is_some() {
            say(&Line::Torn(self.session.clone()));
        }
        match &recovered.entries[..] {
            [] => Ok(false),
            [found] if found.is_same(entry) => Ok(true),
            others => {
                let error = StoreError::backend(format!(
                    "recovery of entry {} found {} entries which the holder did not write",
                    entry.seq(),
                    others.len()
                ));
                say(&failed(&error));
                Err(error)
            }
        }
    }
}

fn failed_to_recover(error: &StoreError) -> Line {
    Line::Said(format!("{RECOVERY_FAILED}: {} {error}", error.kind()))
}
