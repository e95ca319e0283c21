//! The writer of one journal in memory. It can't fail as a disk does, so what it answers is written, or misused.

use futures_core::future::BoxFuture;
use futures_util::FutureExt;

use super::{MemoryStore, hold::Hold};
use crate::{Appended, Entry, JournalWriter, Recovered, Seq, SessionId, StoreError};

#[derive(Debug)]
pub(super) struct Writer {
    store: MemoryStore,
    session: SessionId,
    /// Let go of with the last entry.
    hold: Option<Hold>,
    /// An append was dropped before it answered: only `recover` is taken (law S2).
    unknown: bool,
}

impl Writer {
    pub(super) fn new(hold: Hold) -> Self {
        let (store, session) = (hold.store.clone(), hold.session.clone());
        Self {
            store,
            session,
            hold: Some(hold),
            unknown: false,
        }
    }

    fn misuse(&self, what: &str) -> StoreError {
        StoreError::Misuse {
            session: self.session.clone(),
            what: what.into(),
        }
    }

    fn released(&self) -> StoreError {
        self.misuse("the hold was let go of with the last entry")
    }

    fn write(&mut self, entry: Entry, last: bool) -> BoxFuture<'_, Appended> {
        let refused = match &self.hold {
            None => Some(self.released()),
            Some(_) if self.unknown => {
                Some(self.misuse("after an append whose end is unknown only recover is taken"))
            }
            Some(_) => None,
        };
        if let Some(error) = refused {
            return std::future::ready(Appended::NotWritten(error)).boxed();
        }
        // From the call until the answer: a future that is never polled leaves it open, too.
        self.unknown = true;
        async move {
            let written = self.store.lock().append(&self.session, &entry);
            self.unknown = false;
            match written {
                Ok(()) => {
                    if last {
                        self.hold = None;
                    }
                    Appended::Written
                }
                Err(error) => Appended::NotWritten(error),
            }
        }
        .boxed()
    }
}

impl JournalWriter for Writer {
    fn append(&mut self, entry: Entry) -> BoxFuture<'_, Appended> {
        self.write(entry, false)
    }

    fn append_last(&mut self, entry: Entry) -> BoxFuture<'_, Appended> {
        self.write(entry, true)
    }

    fn recover(&mut self, from: Seq) -> BoxFuture<'_, Result<Recovered, StoreError>> {
        async move {
            if self.hold.is_none() {
                return Err(self.released());
            }
            let entries = self
                .store
                .lines(&self.session)?
                .entries_from(&self.session, from)?;
            self.unknown = false;
            Ok(Recovered {
                entries,
                torn: None,
            })
        }
        .boxed()
    }
}
