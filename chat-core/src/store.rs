//! The contract of a store (laws S1 to S8). `chat-conformance` is its proof.

use std::{sync::Arc, time::Duration};

use futures_core::{future::BoxFuture, stream::BoxStream};

use crate::{Entry, Place, Seq, SessionId, StoreError, Timestamp};

/// A place where journals live. Dyn-safe; every method may be called from any task of any thread.
///
/// Futures do not borrow the store, so that a caller can hold one while the store's owner moves on. Dropping a future gives
/// up what it waits for; what it had begun on a disk may still happen, as after a crash.
pub trait Store: Send + Sync + 'static {
    /// Creates a session's journal with its first entries (`session.created` first, places from 0): all of them or nothing,
    /// durable when it returns.
    ///
    /// # Errors
    /// [`StoreError::Taken`] where the id is taken: then nothing changed.
    fn create(
        &self,
        session: &SessionId,
        entries: Vec<Entry>,
    ) -> BoxFuture<'static, Result<(), StoreError>>;

    /// Reads a journal from a place on, in order, in batches. Never waits for a writer, changes nothing. From a place behind the
    /// journal's end there are no entries, which is no error.
    ///
    /// A torn tail ends the stream and is returned as its last item, where nobody holds the journal (law S3).
    /// The stream ends after its first error.
    fn read(
        &self,
        session: &SessionId,
        from: Seq,
    ) -> BoxStream<'static, Result<JournalPart, StoreError>>;

    /// Waits for the hold on a session: the right to write its journal (law S5). First come, first served within a process;
    /// across processes nobody starves ([`hold`](crate::hold) is of help there). Dropping the future gives up the place.
    ///
    /// It gives the journal's entries from a place on; from one behind the journal's end none, which is no error.
    ///
    /// # Errors
    /// [`StoreError::Missing`] where there is no such session, or no longer.
    fn acquire(
        &self,
        session: &SessionId,
        from: Seq,
    ) -> BoxFuture<'static, Result<Acquired, StoreError>>;

    /// One page of the sessions there are (law S6): the newest [`last_activity`](SessionSummary::last_activity) first, those of
    /// the same time by their ids, ascending by byte, and those of no readable time last. Where a page ended is a place in this order, so that a cursor stays good
    /// while sessions come and go; a session that something happens in meanwhile moves in front of it.
    ///
    /// # Errors
    /// [`StoreError::Backend`] where the cursor is none of this store's.
    fn list(&self, page: ListRequest) -> BoxFuture<'static, Result<SessionPage, StoreError>>;

    /// Deletes a session's journal: takes the hold first.
    ///
    /// # Errors
    /// [`StoreError::Busy`] where this process holds the session or waits for it, [`StoreError::Missing`] where it is not there.
    fn delete(&self, session: &SessionId) -> BoxFuture<'static, Result<(), StoreError>>;

    /// Whether someone has the hold on a session, in this process or any other.
    fn is_held(&self, session: &SessionId) -> BoxFuture<'static, Result<bool, StoreError>>;

    /// What is readable of a journal, with its gaps marked; changes nothing (law S3).
    fn salvage(&self, session: &SessionId)
    -> BoxFuture<'static, Result<Vec<Salvaged>, StoreError>>;

    /// What this store promises.
    fn capabilities(&self) -> Capabilities;
}

/// The right to write one journal, lent to a single holder at a time. Dropping it lets go of the hold, once whatever it was
/// doing has really ended (law S2).
///
/// The lease side (`lost`) becomes final with a store whose holds can be lost.
pub trait JournalWriter: Send {
    /// Writes one whole entry at the next place; durable when it answers [`Appended::Written`] (law S1).
    /// The same entry (place and id) sent again is written once.
    ///
    /// Dropping the future leaves the answer [`Appended::Unknown`].
    fn append(&mut self, entry: Entry) -> BoxFuture<'_, Appended>;

    /// Writes the last entry of this hold: with [`Appended::Written`] the hold may be let go of in the same step. After any
    /// other answer it stays until the writer is dropped.
    fn append_last(&mut self, entry: Entry) -> BoxFuture<'_, Appended> {
        self.append(entry)
    }

    /// Finds out what is in the journal, after [`Appended::Unknown`] the only thing the writer does (law S2): sets a torn tail
    /// aside, makes sure of a whole last entry, and returns the entries from a place on, all of them durable.
    ///
    /// # Errors
    /// Where it can't be found out; it may be asked again.
    fn recover(&mut self, from: Seq) -> BoxFuture<'_, Result<Recovered, StoreError>>;

    /// Resolves when the hold is lost to another holder; never where it can't be.
    fn lost(&self) -> BoxFuture<'static, ()> {
        Box::pin(std::future::pending())
    }
}

/// How a write ended.
#[derive(Debug, Clone)]
pub enum Appended {
    /// It is written and durable.
    Written,
    /// It is not written and never will be; the writer can go on.
    NotWritten(StoreError),
    /// It may be written: [`JournalWriter::recover`] finds out.
    Unknown(StoreError),
    /// It is not written: the hold was lost to another holder.
    Fenced,
}

/// A hold, and what there was to know when it was taken.
pub struct Acquired {
    /// The right to write.
    pub writer: Box<dyn JournalWriter>,
    /// The entries from the place asked for, all of them durable.
    pub entries: Vec<Entry>,
    /// A torn tail that was found and set aside.
    pub torn: Option<TornTail>,
}

impl std::fmt::Debug for Acquired {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Acquired")
            .field("entries", &self.entries)
            .field("torn", &self.torn)
            .finish_non_exhaustive()
    }
}

/// What [`JournalWriter::recover`] found.
#[derive(Debug, Clone, Default)]
pub struct Recovered {
    /// The entries from the place asked for, all of them durable.
    pub entries: Vec<Entry>,
    /// A torn tail that was found and set aside.
    pub torn: Option<TornTail>,
}

/// What a crash left of an entry that was being written: it was never seen by anyone (law T3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TornTail {
    /// Where it begins.
    pub place: Place,
    /// Its length in bytes.
    pub bytes: u64,
    /// Where it was put aside, once it was.
    pub set_aside: Option<std::path::PathBuf>,
}

/// A piece of a journal as it is read.
#[derive(Debug, Clone)]
pub enum JournalPart {
    /// The next entries, in order.
    Entries(Vec<Entry>),
    /// The end of a journal whose last write was cut off.
    Torn(TornTail),
}

/// A piece of a damaged journal.
#[derive(Debug, Clone)]
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all pieces of a journal are entries"
)]
pub enum Salvaged {
    /// The next readable entry.
    Entry(Entry),
    /// Something between the entries that can't be read.
    Gap {
        /// Where it begins.
        place: Place,
        /// Its length in bytes, where known.
        bytes: Option<u64>,
        /// What is wrong with it.
        what: Arc<str>,
    },
}

/// Which page of a list is wanted.
#[derive(Debug, Clone)]
pub struct ListRequest {
    /// Where the page before ended; `None` for the first.
    pub after: Option<Cursor>,
    /// How many sessions at most.
    pub limit: usize,
}

impl Default for ListRequest {
    fn default() -> Self {
        Self {
            after: None,
            limit: 50,
        }
    }
}

/// A place in a list. Opaque: only the store that made it can read it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Cursor(pub Arc<str>);

/// One page of a list.
#[derive(Debug, Clone, Default)]
pub struct SessionPage {
    /// The sessions, in the list's order.
    pub sessions: Vec<SessionSummary>,
    /// Where the next page begins, where there is one.
    pub next: Option<Cursor>,
}

/// One line of a list.
#[derive(Debug, Clone)]
pub struct SessionSummary {
    /// The session.
    pub id: SessionId,
    /// Its first input, shortened on a character.
    pub title: Option<Arc<str>>,
    /// When it was created, where that can be read.
    pub created_at: Option<Timestamp>,
    /// When something last happened, where that can be read: the time of the last readable entry in the journal's order, which
    /// need not be the latest of all.
    pub last_activity: Option<Timestamp>,
    /// How many turns were accepted.
    pub turns: u64,
    /// Why it can't be read in full: a damaged session is listed with its error and hides no other.
    pub error: Option<StoreError>,
}

/// The most characters a title has; longer inputs are shortened to this, an ellipsis included.
pub const MAX_TITLE_CHARS: usize = 80;

impl SessionSummary {
    /// The title for a first input: its first line with anything in it, shortened on a character.
    #[must_use]
    pub fn title_of(input: &str) -> Arc<str> {
        let line = input
            .lines()
            .map(str::trim)
            .find(|line| !line.is_empty())
            .unwrap_or_default();
        let clean = line.chars().map(|c| if c.is_control() { ' ' } else { c });
        let mut title: String = clean.clone().take(MAX_TITLE_CHARS).collect();
        if clean.count() > MAX_TITLE_CHARS {
            title.pop();
            title.push('…');
        }
        title.into()
    }
}

/// What "durable" means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Survives power loss: synced to the device when the write answers.
    #[default]
    Full,
    /// The named, weaker choice: survives a crash of the process, not of the machine.
    Os,
    /// Lives and dies with the process.
    Memory,
}

/// How soon a killed holder's hold is free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HoldRelease {
    /// At once: the system lets go of it.
    AtOnce,
    /// When its lease has run out.
    AfterLease(Duration),
    /// It can't outlive the process, and no other process can see the store.
    WithProcess,
}

/// What a store promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// What "durable" means as the store is set up.
    pub durability: Durability,
    /// How soon a killed holder's hold is free.
    pub hold_release: HoldRelease,
    /// Whether other processes can open the same store.
    pub shared: bool,
    /// Whether a reopened store shows what was there before.
    pub persistent: bool,
}

impl Capabilities {
    /// The promises of a store that other processes can open and that outlives them.
    #[must_use]
    pub fn persistent(durability: Durability, hold_release: HoldRelease) -> Self {
        Self {
            durability,
            hold_release,
            shared: true,
            persistent: true,
        }
    }

    /// The promises of a store that lives in one process's memory.
    #[must_use]
    pub fn in_memory() -> Self {
        Self {
            durability: Durability::Memory,
            hold_release: HoldRelease::WithProcess,
            shared: false,
            persistent: false,
        }
    }

    /// Says whether other processes can open the same store.
    #[must_use]
    pub fn with_shared(self, shared: bool) -> Self {
        Self { shared, ..self }
    }

    /// Says whether a reopened store shows what was there before.
    #[must_use]
    pub fn with_persistent(self, persistent: bool) -> Self {
        Self { persistent, ..self }
    }
}

impl<S: Store + ?Sized> Store for Arc<S> {
    fn create(
        &self,
        session: &SessionId,
        entries: Vec<Entry>,
    ) -> BoxFuture<'static, Result<(), StoreError>> {
        (**self).create(session, entries)
    }
    fn read(
        &self,
        session: &SessionId,
        from: Seq,
    ) -> BoxStream<'static, Result<JournalPart, StoreError>> {
        (**self).read(session, from)
    }
    fn acquire(
        &self,
        session: &SessionId,
        from: Seq,
    ) -> BoxFuture<'static, Result<Acquired, StoreError>> {
        (**self).acquire(session, from)
    }
    fn list(&self, page: ListRequest) -> BoxFuture<'static, Result<SessionPage, StoreError>> {
        (**self).list(page)
    }
    fn delete(&self, session: &SessionId) -> BoxFuture<'static, Result<(), StoreError>> {
        (**self).delete(session)
    }
    fn is_held(&self, session: &SessionId) -> BoxFuture<'static, Result<bool, StoreError>> {
        (**self).is_held(session)
    }
    fn salvage(
        &self,
        session: &SessionId,
    ) -> BoxFuture<'static, Result<Vec<Salvaged>, StoreError>> {
        (**self).salvage(session)
    }
    fn capabilities(&self) -> Capabilities {
        (**self).capabilities()
    }
}
