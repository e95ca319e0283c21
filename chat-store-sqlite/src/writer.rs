//! The writer that a hold on a journal is lent as. Its work goes on when nobody awaits it any more, and the hold is let go of
//! only when that has ended (law S2).

use std::sync::Arc;

use chat_core::{
    Appended, Entry, JournalWriter, Recovered, Seq, SessionId, StoreError, hold::Interest,
};
use futures_util::future::BoxFuture;
use tokio::sync::Mutex;

use crate::{
    blocking::blocking,
    change::{Change, Held, NewEntry},
    reading::Reading,
    store::Inner,
};

/// A [`JournalWriter`] over one session's rows.
pub(crate) struct SqliteWriter {
    /// Before the store: the hold is let go of while the store is still there.
    held: Arc<Mutex<Option<Held>>>,
    /// `None` once it is let go of.
    interest: Option<Interest>,
    session: SessionId,
    store: Arc<Inner>,
    /// Whether only `recover` may come next.
    unknown: bool,
}

/// Whether a write lets go of the hold.
#[derive(Debug, Clone, Copy)]
enum Release {
    Never,
    WithWritten,
}

impl SqliteWriter {
    pub(crate) fn new(store: Arc<Inner>, held: Held, interest: Interest) -> Self {
        Self {
            session: held.journal.session.clone(),
            held: Arc::new(Mutex::new(Some(held))),
            interest: Some(interest),
            store,
            unknown: false,
        }
    }

    async fn write(&mut self, entry: Entry, release: Release) -> Appended {
        if self.unknown {
            return Appended::NotWritten(self.misuse("the write before is unknown: recover first"));
        }
        let entry = match NewEntry::new(&entry) {
            Ok(entry) => entry,
            Err(what) => return Appended::NotWritten(self.misuse(&what)),
        };
        let held = self.held.clone().lock_owned().await;
        if held.is_none() {
            return Appended::NotWritten(self.misuse("its hold was let go of with its last entry"));
        }
        // Unknown until answered: so a dropped future leaves it.
        self.unknown = true;
        let (answer, change) = self
            .store
            .committer
            .write(Change::Append { held, entry })
            .await;
        if let (Appended::Written, Release::WithWritten, Some(Change::Append { mut held, .. })) =
            (&answer, release, change)
        {
            *held = None;
            self.interest = None;
        }
        self.unknown = matches!(answer, Appended::Unknown(_));
        answer
    }

    async fn recovered(&mut self, from: Seq) -> Result<Recovered, StoreError> {
        // Waits for a write whose future was dropped.
        let guard = self.held.clone().lock_owned().await;
        let Some(held) = &*guard else {
            return Err(self.misuse("its hold was let go of with its last entry"));
        };
        if !held.hold.is_ours() {
            return Err(StoreError::HoldLost {
                session: self.session.clone(),
            });
        }
        let row = held.journal.row;
        self.unknown = true;
        if !self.store.committer.is_sure() {
            let sure = self.store.committer.make_sure().await;
            sure.map_err(|error| self.store.database.or_lost(&self.session, error))?;
        }
        let (database, session) = (self.store.database.clone(), self.session.clone());
        let entries = blocking(move || {
            // The hold stays as long as this reads.
            let _guard = guard;
            let lost = database.lost(&session);
            match Reading::begin(database, &session) {
                Ok(reading) if reading.journal.row == row => reading.rest(from),
                Ok(_) | Err(StoreError::Missing { .. }) => Err(lost),
                Err(error) => Err(error),
            }
        })
        .await?;
        self.unknown = false;
        // A transaction is there whole or not at all: nothing is ever torn.
        Ok(Recovered {
            entries,
            torn: None,
        })
    }

    fn misuse(&self, what: &str) -> StoreError {
        StoreError::Misuse {
            session: self.session.clone(),
            what: what.into(),
        }
    }
}

impl JournalWriter for SqliteWriter {
    fn append(&mut self, entry: Entry) -> BoxFuture<'_, Appended> {
        Box::pin(self.write(entry, Release::Never))
    }

    fn append_last(&mut self, entry: Entry) -> BoxFuture<'_, Appended> {
        Box::pin(self.write(entry, Release::WithWritten))
    }

    fn recover(&mut self, from: Seq) -> BoxFuture<'_, Result<Recovered, StoreError>> {
        Box::pin(self.recovered(from))
    }
}
