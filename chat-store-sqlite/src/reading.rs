//! Reading a journal as a stream of batches. Each batch is one piece of blocking work in one short transaction: a slow reader
//! holds no thread and keeps no log from being written back. Takes nothing and changes nothing.

use std::sync::Arc;

use chat_core::{Entry, JournalPart, Seq, SessionId, StoreError};
use futures_util::{
    StreamExt as _,
    stream::{self, BoxStream},
};

use crate::{
    blocking::blocking,
    database::{Database, Reader},
    journal::{Batch, Journal, Then},
};

/// Streams a journal's parts. The first error ends the stream, after the entries before it.
pub(crate) fn stream(
    database: Arc<Database>,
    session: SessionId,
    from: Seq,
) -> BoxStream<'static, Result<JournalPart, StoreError>> {
    stream::unfold(State::Asked(session, from), move |state| {
        let database = database.clone();
        async move {
            let next = match state {
                State::Asked(session, from) => {
                    blocking(move || Reading::begin(database, &session)?.batch(from)).await
                }
                State::Open(reading, from) => blocking(move || reading.batch(from)).await,
                State::Failed(error) => Err(error),
                State::Over => return None,
            };
            match next {
                Ok((entries, state)) if entries.is_empty() => match state {
                    State::Failed(error) => Some((Err(error), State::Over)),
                    State::Asked(..) | State::Open(..) | State::Over => None,
                },
                Ok((entries, state)) => Some((Ok(JournalPart::Entries(entries)), state)),
                Err(error) => Some((Err(error), State::Over)),
            }
        }
    })
    .boxed()
}

enum State {
    Asked(SessionId, Seq),
    Open(Reading, Seq),
    Failed(StoreError),
    Over,
}

/// A journal that is being read, and the connection to do it with. Between batches no transaction is open.
pub(crate) struct Reading {
    database: Arc<Database>,
    reader: Reader,
    pub(crate) journal: Journal,
}

impl Reading {
    /// Opens a session's journal.
    pub(crate) fn begin(database: Arc<Database>, session: &SessionId) -> Result<Self, StoreError> {
        let (reader, journal) = find(&database, session)?;
        Ok(Self {
            database,
            reader,
            journal,
        })
    }

    fn batch(self, from: Seq) -> Result<(Vec<Entry>, State), StoreError> {
        let Batch { entries, then } = self.next(from)?;
        let state = match then {
            Then::More(from) => State::Open(self, from),
            Then::End => State::Over,
            Then::Failed(error) => State::Failed(error),
        };
        Ok((entries, state))
    }

    /// All entries from a place on. An error is that of the whole.
    pub(crate) fn rest(&self, mut from: Seq) -> Result<Vec<Entry>, StoreError> {
        let mut entries = Vec::new();
        loop {
            let batch = self.next(from)?;
            entries.extend(batch.entries);
            match batch.then {
                Then::More(next) => from = next,
                Then::End => return Ok(entries),
                Then::Failed(error) => return Err(error),
            }
        }
    }

    fn next(&self, from: Seq) -> Result<Batch, StoreError> {
        let Self {
            database,
            reader,
            journal,
        } = self;
        reader
            .snapshot(&database.path, |connection| {
                journal.batch(connection, database, from)
            })
            .map_err(|failure| database.error_of("read", &journal.session, failure))
    }

    /// Whether the last entry was written by a store that syncs; the session may be gone by now.
    pub(crate) fn is_synced(&self) -> Result<bool, StoreError> {
        let Self {
            database,
            reader,
            journal,
        } = self;
        let row = reader
            .snapshot(&database.path, |connection| journal.row(connection))
            .map_err(|failure| database.error_of("read", &journal.session, failure))?;
        Ok(row.ok_or_else(|| journal.missing())?.row.synced != 0)
    }
}

/// Looks a session up, and keeps the connection.
pub(crate) fn find(
    database: &Database,
    session: &SessionId,
) -> Result<(Reader, Journal), StoreError> {
    let look = || {
        let reader = database.reader()?;
        let journal = reader.snapshot(&database.path, |connection| {
            Journal::find(connection, session)
        })?;
        Ok((reader, journal))
    };
    match look() {
        Ok((reader, Some(journal))) => Ok((reader, journal)),
        Ok((_, None)) => Err(StoreError::Missing {
            session: session.clone(),
        }),
        Err(failure) => Err(database.error_of("read", session, failure)),
    }
}
