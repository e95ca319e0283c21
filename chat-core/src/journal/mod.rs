//! A session's whole journal in memory: out of any store, to be copied, exported or looked at. Opens nothing and writes nothing.

mod copy;
mod lines;
mod salvage;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use futures_util::StreamExt;

pub use copy::{Copied, CopyError, copy_all, copy_salvaged, copy_session};
pub use lines::{JournalLines, LineError, MAX_LINE_BYTES};

use crate::{Entry, JournalPart, Place, Seq, SessionId, Store, StoreError, TornTail};

/// A session's journal, whole. It costs about twice its text: each entry keeps what it was read from.
#[derive(Debug, Clone, Default)]
pub struct Journal {
    /// The entries, in order, at the places 0, 1, 2 ...
    pub entries: Vec<Entry>,
    /// What a crash left of an entry behind them: no one has seen it, and it is not among them (law S3).
    pub torn: Option<TornTail>,
    /// What was left out because it can't be read. Never any, unless salvage was asked for.
    pub gaps: Vec<Gap>,
}

/// A piece of a damaged journal that can't be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// Where it begins.
    pub place: Place,
    /// Its length in bytes, where known.
    pub bytes: Option<u64>,
    /// What is wrong with it.
    pub what: Arc<str>,
    /// How many entries stand before it.
    pub after: usize,
}

impl Journal {
    /// Reads a session's journal. Waits for nobody: what someone writes meanwhile may be missing at its end.
    ///
    /// # Errors
    /// What the store fails with, [`StoreError::Damaged`] among it: what can be read then, [`Self::salvage`] gives.
    pub async fn read(store: &dyn Store, session: &SessionId) -> Result<Self, StoreError> {
        let mut journal = Self::default();
        let mut parts = store.read(session, Seq::ZERO);
        while let Some(part) = parts.next().await {
            match part? {
                JournalPart::Entries(entries) => journal.entries.extend(entries),
                JournalPart::Torn(torn) => journal.torn = Some(torn),
            }
        }
        Ok(journal)
    }

    /// Reads what is readable of a session's journal, and says what is not.
    ///
    /// The entries behind a gap move up, so that it is a sound journal again: of each only its place changes, all else of it
    /// stays as written (law J2). Where the first entry can't be read, one without labels stands in for it.
    ///
    /// # Errors
    /// What the store fails with.
    pub async fn salvage(store: &dyn Store, session: &SessionId) -> Result<Self, StoreError> {
        Ok(salvage::closed_up(store.salvage(session).await?))
    }

    /// The journal as JSON, one entry a line, without line breaks: what [`JournalLines`] reads again.
    pub fn lines(&self) -> impl Iterator<Item = Arc<str>> {
        self.entries.iter().map(Entry::encode)
    }
}
