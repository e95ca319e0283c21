//! One journal's rows, read and checked: every entry against its checksum and its place (law S3). Reads in the transaction it is
//! given, and never more than a batch.

use std::{ops::ControlFlow, sync::Arc};

use chat_core::{Damage, DecodeError, Entry, EntryBody, FORMAT, Place, Seq, SessionId, StoreError};
use rusqlite::{Connection, OptionalExtension as _, Row};

use crate::{
    database::Database,
    failure::Failure,
    row::{COLUMNS, FoundRow},
    schema::{self, SESSIONS, SESSIONS_UNINDEXED},
};

/// A batch ends with the entry that reaches either.
const BATCH_ENTRIES: usize = 256;
const BATCH_BYTES: usize = 1 << 20;

/// Which session, and which row that is. A session made anew is another row.
#[derive(Debug, Clone)]
pub(crate) struct Journal {
    pub(crate) session: SessionId,
    pub(crate) row: i64,
}

/// A piece of a journal.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) entries: Vec<Entry>,
    /// Whether there may be more behind it, or what is wrong there.
    pub(crate) then: Then,
}

#[derive(Debug)]
pub(crate) enum Then {
    More(Seq),
    End,
    Failed(StoreError),
}

/// One row of a journal.
pub(crate) struct Line {
    /// Its place; `None` where that is none.
    pub(crate) seq: Option<u64>,
    pub(crate) bytes: usize,
    pub(crate) entry: Result<Entry, Bad>,
}

/// Why a row is no entry.
pub(crate) enum Bad {
    Newer(u32),
    Damaged(Arc<str>),
}

impl Journal {
    /// The journal of a session, as it now is.
    pub(crate) fn find(
        connection: &Connection,
        session: &SessionId,
    ) -> Result<Option<Self>, Failure> {
        let look = |table| {
            let row = connection
                .prepare_cached(&format!("SELECT row FROM {table} WHERE name = ?1"))?
                .query_row([session.as_str()], |row| row.get(0));
            row.optional().map_err(Failure::from)
        };
        let row = match look(SESSIONS) {
            // Its row may be sound.
            Err(failure) if failure.is_corrupt() => look(SESSIONS_UNINDEXED)?,
            looked => looked?,
        };
        Ok(row.map(|row| Self {
            session: session.clone(),
            row,
        }))
    }

    /// Its session's row; `None` where it was deleted.
    pub(crate) fn row(&self, connection: &Connection) -> Result<Option<FoundRow>, Failure> {
        Ok(connection
            .prepare_cached(&format!("SELECT {COLUMNS} FROM sessions WHERE row = ?1"))?
            .query_row([self.row], FoundRow::read)
            .optional()?)
    }

    /// Reads the next entries from a place on. All of a batch is of one moment.
    pub(crate) fn batch(
        &self,
        connection: &Connection,
        database: &Database,
        from: Seq,
    ) -> Result<Batch, Failure> {
        let Some(FoundRow { row, wrong }) = self.row(connection)? else {
            return Err(self.missing().into());
        };
        let mut batch = Batch {
            entries: Vec::new(),
            then: Then::End,
        };
        let (mut expected, mut bytes) = (from.0, 0);
        let walked = self.walk(connection, from.0, |line| {
            match self.check(database, expected, line, &mut bytes) {
                Ok(entry) => {
                    batch.entries.push(entry);
                    expected += 1;
                }
                Err(error) => {
                    batch.then = Then::Failed(error);
                    return ControlFlow::Break(());
                }
            }
            if batch.entries.len() == BATCH_ENTRIES || bytes >= BATCH_BYTES {
                batch.then = Then::More(Seq(expected));
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        });
        match walked {
            Ok(()) => {}
            // Damaged pages: what was read before them is sound.
            Err(failure) if failure.is_corrupt() => {
                let error = database.error_of("read", &self.session, failure);
                batch.then = Then::Failed(error);
            }
            Err(failure) => return Err(failure),
        }
        if let Then::End = batch.then {
            if let Some(what) = wrong {
                batch.then = Then::Failed(self.damage(database, None, what));
            } else if let Some(what) = end_is_wrong(expected, row.end(), from.0) {
                batch.then = Then::Failed(self.damage(database, expected, what));
            }
        }
        Ok(batch)
    }

    /// Checks a line of the journal at its place, and counts its bytes.
    pub(crate) fn check(
        &self,
        database: &Database,
        expected: u64,
        line: Line,
        bytes: &mut usize,
    ) -> Result<Entry, StoreError> {
        *bytes += line.bytes;
        let out_of_place = match line.seq {
            Some(seq) if seq == expected => None,
            Some(seq) if seq > expected => Some(missing(expected, seq)),
            Some(_) => Some("an entry before it stands there again".into()),
            None => Some("the place of what stands there is none".into()),
        };
        if let Some(what) = out_of_place {
            return Err(self.damage(database, expected, what));
        }
        match line.entry {
            Ok(entry) => match first_is_wrong(&entry) {
                None => Ok(entry),
                Some(what) => Err(self.damage(database, expected, what)),
            },
            Err(Bad::Newer(found)) => Err(self.newer(database, found)),
            Err(Bad::Damaged(what)) => Err(self.damage(database, expected, what)),
        }
    }

    /// Walks the rows from a place on, in order.
    pub(crate) fn walk(
        &self,
        connection: &Connection,
        from: u64,
        mut look: impl FnMut(Line) -> ControlFlow<()>,
    ) -> Result<(), Failure> {
        let Ok(from) = i64::try_from(from) else {
            return Ok(());
        };
        let mut statement = connection.prepare_cached(
            "SELECT seq, id, crc, text FROM entries WHERE session = ?1 AND seq >= ?2 ORDER BY seq",
        )?;
        let mut rows = statement.query([self.row, from])?;
        while let Some(row) = rows.next()? {
            if look(self.line(row)?).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn line(&self, row: &Row<'_>) -> Result<Line, Failure> {
        let number = |column| Ok::<_, rusqlite::Error>(row.get_ref(column)?.as_i64().ok());
        let (seq, crc) = (number(0)?, number(2)?);
        // Read as bytes: a flipped bit may leave what is no text.
        let (id, text) = (row.get_ref(1)?, row.get_ref(3)?);
        let (id, text) = (
            id.as_bytes().unwrap_or_default(),
            text.as_bytes().unwrap_or_default(),
        );
        let is_whole = |seq| {
            let found = schema::checksum(crc32c::crc32c(text), self.row, seq);
            crc == Some(found.into())
        };
        // The walk begins at 0, and a page that is wrong may go on below it.
        let place = seq.and_then(|seq| u64::try_from(seq).ok());
        Ok(Line {
            seq: place,
            bytes: text.len(),
            entry: match (seq, place) {
                (Some(seq), Some(place)) if is_whole(seq) => entry(place, id, text),
                _ => Err(Bad::Damaged("checksum differs".into())),
            },
        })
    }

    pub(crate) fn missing(&self) -> StoreError {
        StoreError::Missing {
            session: self.session.clone(),
        }
    }

    pub(crate) fn damage(
        &self,
        database: &Database,
        seq: impl Into<Option<u64>>,
        what: impl Into<Arc<str>>,
    ) -> StoreError {
        Damage {
            session: self.session.clone(),
            place: place(database, seq),
            what: what.into(),
        }
        .into()
    }

    pub(crate) fn newer(&self, database: &Database, found: u32) -> StoreError {
        StoreError::NewerFormat {
            what: format!(
                "the journal of session {} ({})",
                self.session,
                database.path.display()
            )
            .into(),
            found,
            supported: FORMAT,
        }
    }
}

pub(crate) fn place(database: &Database, seq: impl Into<Option<u64>>) -> Place {
    Place {
        seq: seq.into().map(Seq),
        path: Some(database.path.clone()),
        ..Place::default()
    }
}

/// What is wrong where the rows end at `expected`, if anything: the session's own row says where they should.
pub(crate) fn end_is_wrong(expected: u64, next: u64, from: u64) -> Option<String> {
    if expected < next {
        Some(missing(expected, next))
    } else if expected > next && expected > from {
        Some(format!(
            "it stands behind the end, which is entry {}",
            next - 1
        ))
    } else {
        None
    }
}

pub(crate) fn missing(expected: u64, found: u64) -> String {
    match found.saturating_sub(1) {
        last if last == expected => format!("entry {expected} is missing"),
        last => format!("entries {expected} to {last} are missing"),
    }
}

/// A journal begins with what made it.
fn first_is_wrong(entry: &Entry) -> Option<String> {
    let wrong =
        entry.seq() == Seq::ZERO && !matches!(entry.body(), EntryBody::SessionCreated { .. });
    wrong.then(|| {
        format!(
            "the first entry is {}, not session.created",
            entry.body().kind()
        )
    })
}

fn entry(seq: u64, id: &[u8], text: &[u8]) -> Result<Entry, Bad> {
    let damaged = |what: &str| Bad::Damaged(what.into());
    let text = std::str::from_utf8(text).map_err(|_| damaged("not valid UTF-8"))?;
    let entry = Entry::decode(text).map_err(|error| match error {
        DecodeError::NewerFormat { found } => Bad::Newer(found),
        DecodeError::Invalid(what) => {
            Bad::Damaged(format!("it is not a journal entry: {what}").into())
        }
    })?;
    if entry.seq() != Seq(seq) || entry.id().as_str().as_bytes() != id {
        return Err(damaged("another entry's text stands there"));
    }
    Ok(entry)
}
