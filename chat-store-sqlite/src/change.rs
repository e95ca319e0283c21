//! What is written: a journal created, an entry appended, a session deleted. Each runs inside a savepoint of whoever commits it,
//! and checks the rules of a journal before it writes.

use std::{collections::HashSet, sync::Arc};

use chat_core::{
    Appended, Durability, Entry, EntryBody, EntryId, Seq, SessionId, SessionSummary, StoreError,
};
use rusqlite::{Connection, OptionalExtension as _};
use tokio::sync::OwnedMutexGuard;

use crate::{
    database::Database,
    failure::{Constraint, Failure},
    hold::Hold,
    journal::Journal,
    row::{FoundRow, SessionRow},
    schema,
};

/// The longest entry, in bytes of its text.
const MAX_ENTRY: usize = 64 << 20;

/// What a holder has.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) hold: Hold,
    pub(crate) journal: Journal,
}

/// One thing to be written. Whoever asked gets it back with the answer, and with it the hold: until then it is not free, also
/// where nobody waits for the answer any more (law S2).
#[derive(Debug)]
pub(crate) enum Change {
    Create {
        session: SessionId,
        entries: Vec<NewEntry>,
    },
    /// A writer's hold is here while its write is under way. Never without one: whoever sends it has looked.
    Append {
        held: OwnedMutexGuard<Option<Held>>,
        entry: NewEntry,
    },
    Delete {
        held: Held,
    },
}

/// An entry as it will stand there.
#[derive(Debug)]
pub(crate) struct NewEntry {
    seq: Seq,
    id: EntryId,
    at: i64,
    text: Arc<str>,
    /// Of the text alone: where it will stand is not known yet.
    crc: u32,
    /// The title, where the entry accepts a turn.
    accepts: Option<Arc<str>>,
}

/// Why a change is not made.
#[derive(Debug)]
pub(crate) enum Refused {
    /// It breaks a rule, or its hold is gone: the answer. Nothing else is wrong.
    Answer(Appended),
    /// The database failed.
    Failed(Failure),
}

impl<E: Into<Failure>> From<E> for Refused {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

impl NewEntry {
    /// # Errors
    /// What is wrong with it: it must be read back as the same.
    pub(crate) fn new(entry: &Entry) -> Result<Self, Arc<str>> {
        let text = entry.encode();
        if text.len() > MAX_ENTRY {
            return Err(format!(
                "an entry of {} bytes is too long, the limit is {MAX_ENTRY}",
                text.len()
            )
            .into());
        }
        match Entry::decode(&text) {
            Ok(read) if read.is_same(entry) => {}
            Ok(_) => return Err("the entry is not read back as the same".into()),
            Err(error) => return Err(format!("the entry can't be read back: {error}").into()),
        }
        let accepts = match entry.body() {
            EntryBody::TurnAccepted { input, .. } => Some(SessionSummary::title_of(input)),
            _ => None,
        };
        Ok(Self {
            seq: entry.seq(),
            id: entry.id().clone(),
            at: entry.at().as_millis(),
            crc: crc32c::crc32c(text.as_bytes()),
            text,
            accepts,
        })
    }
}

impl Change {
    /// A journal with its first entries.
    ///
    /// # Errors
    /// [`StoreError::Misuse`] where they are none.
    pub(crate) fn create(session: SessionId, entries: &[Entry]) -> Result<Self, StoreError> {
        match check_first(entries) {
            Ok(entries) => Ok(Self::Create { session, entries }),
            Err(what) => Err(StoreError::Misuse { session, what }),
        }
    }

    pub(crate) fn session(&self) -> Option<&SessionId> {
        match self {
            Self::Create { session, .. } => Some(session),
            Self::Append { held, .. } => held.as_ref().map(|held| &held.journal.session),
            Self::Delete { held } => Some(&held.journal.session),
        }
    }

    /// What is being done, for errors.
    pub(crate) fn action(&self) -> &'static str {
        match self {
            Self::Create { .. } => "create a session in",
            Self::Append { .. } => "append to",
            Self::Delete { .. } => "delete from",
        }
    }

    pub(crate) fn apply(
        &self,
        connection: &Connection,
        database: &Database,
    ) -> Result<(), Refused> {
        match self {
            Self::Create { session, entries } => create(connection, database, session, entries),
            Self::Append { held, entry } => match &**held {
                Some(held) => append(connection, database, held, entry),
                None => unreachable!("whoever sends it has looked"),
            },
            Self::Delete { held } => delete(connection, database, held),
        }
    }

    /// What is left to do when it is committed.
    pub(crate) fn committed(&self) {
        match self {
            Self::Create { .. } | Self::Append { .. } => {}
            Self::Delete { held } => held.hold.remove_files(),
        }
    }
}

/// Whether entries make a journal: from place 0 on, `session.created` first, none twice.
fn check_first(entries: &[Entry]) -> Result<Vec<NewEntry>, Arc<str>> {
    let first = entries
        .first()
        .ok_or("a journal has at least its first entry")?;
    if !matches!(first.body(), EntryBody::SessionCreated { .. }) {
        return Err("the first entry of a journal is session.created".into());
    }
    let mut ids = HashSet::new();
    let mut expected = Seq::ZERO;
    for entry in entries {
        if entry.seq() != expected {
            return Err(format!("entry {} stands where {expected} belongs", entry.seq()).into());
        }
        if !ids.insert(entry.id()) {
            return Err(format!("two entries have the id {}", entry.id()).into());
        }
        expected = expected.next();
    }
    entries.iter().map(NewEntry::new).collect()
}

fn create(
    connection: &Connection,
    database: &Database,
    session: &SessionId,
    entries: &[NewEntry],
) -> Result<(), Refused> {
    let (Some(first), Some(last)) = (entries.first(), entries.last()) else {
        unreachable!("a change is made of checked entries")
    };
    let mut turns = entries.iter().filter_map(|entry| entry.accepts.as_deref());
    let title = turns.next().map(str::to_owned);
    let mut row = SessionRow {
        row: 0,
        name: session.to_string(),
        next: as_i64(entries.len() as u64),
        synced: synced(database),
        created_at: first.at,
        last_activity: last.at,
        turns: i64::from(title.is_some()) + as_i64(turns.count() as u64),
        title,
    };
    let created = connection
        .prepare_cached(
            "INSERT INTO sessions (name, next, synced, created_at, last_activity, title, turns, crc)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0)",
        )?
        .execute((
            &row.name,
            row.next,
            row.synced,
            row.created_at,
            row.last_activity,
            &row.title,
            row.turns,
        ))
        .map_err(Failure::from);
    match created {
        Ok(_) => {}
        Err(failure) if failure.constraint() == Some(Constraint::Unique) => {
            let session = session.clone();
            return Err(not_written(StoreError::Taken { session }));
        }
        Err(failure) => return Err(failure.into()),
    }
    // Which row it is is known only now.
    row.row = connection.last_insert_rowid();
    connection
        .prepare_cached("UPDATE sessions SET crc = ?2 WHERE row = ?1")?
        .execute((row.row, row.checksum()))?;
    let journal = Journal {
        session: session.clone(),
        row: row.row,
    };
    entries
        .iter()
        .try_for_each(|entry| insert(connection, database, &journal, entry))
}

fn append(
    connection: &Connection,
    database: &Database,
    held: &Held,
    entry: &NewEntry,
) -> Result<(), Refused> {
    let journal = &held.journal;
    if !held.hold.is_ours() {
        return Err(Refused::Answer(Appended::Fenced));
    }
    let Some(FoundRow { mut row, wrong }) = journal.row(connection)? else {
        return Err(not_written(database.lost(&journal.session)));
    };
    if let Some(what) = wrong {
        return Err(not_written(journal.damage(database, None, what)));
    }
    let (place, next) = (entry.seq.0, row.end());
    if place > next {
        let what = format!("entry {place} can't be written where entry {next} belongs");
        return Err(misuse(journal, what));
    }
    if place < next {
        return match id_at(connection, journal, place)? {
            // The same entry sent again is written once (law S1).
            Some(id) if id == entry.id.as_str().as_bytes() => Ok(()),
            Some(_) => Err(misuse(
                journal,
                format!("another entry has place {place} already"),
            )),
            None => Err(not_written(journal.damage(
                database,
                place,
                format!("entry {place} is missing"),
            ))),
        };
    }
    insert(connection, database, journal, entry)?;
    row.next += 1;
    row.synced = synced(database);
    row.last_activity = entry.at;
    if let Some(title) = &entry.accepts {
        row.title.get_or_insert_with(|| title.to_string());
        row.turns += 1;
    }
    connection
        .prepare_cached(
            "UPDATE sessions SET next = ?2, synced = ?3, last_activity = ?4, title = ?5, turns = ?6, crc = ?7 WHERE row = ?1",
        )?
        .execute((
            row.row,
            row.next,
            row.synced,
            row.last_activity,
            &row.title,
            row.turns,
            row.checksum(),
        ))?;
    Ok(())
}

fn insert(
    connection: &Connection,
    database: &Database,
    journal: &Journal,
    entry: &NewEntry,
) -> Result<(), Refused> {
    let seq = as_i64(entry.seq.0);
    let inserted = connection
        .prepare_cached(
            "INSERT INTO entries (session, seq, id, crc, text) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute((
            journal.row,
            seq,
            entry.id.as_str(),
            schema::checksum(entry.crc, journal.row, seq),
            &*entry.text,
        ))
        .map_err(Failure::from);
    match inserted {
        Ok(_) => Ok(()),
        Err(failure) if failure.constraint() == Some(Constraint::Primary) => {
            Err(not_written(journal.damage(
                database,
                entry.seq.0,
                "an entry stands behind the journal's end",
            )))
        }
        Err(failure) => Err(failure.into()),
    }
}

fn delete(connection: &Connection, database: &Database, held: &Held) -> Result<(), Refused> {
    let journal = &held.journal;
    if !held.hold.is_ours() {
        return Err(Refused::Answer(Appended::Fenced));
    }
    connection
        .prepare_cached("DELETE FROM entries WHERE session = ?1")?
        .execute([journal.row])?;
    let deleted = connection
        .prepare_cached("DELETE FROM sessions WHERE row = ?1")?
        .execute([journal.row])?;
    if deleted == 0 {
        return Err(not_written(database.lost(&journal.session)));
    }
    Ok(())
}

fn id_at(
    connection: &Connection,
    journal: &Journal,
    place: u64,
) -> Result<Option<Vec<u8>>, Failure> {
    Ok(connection
        .prepare_cached("SELECT id FROM entries WHERE session = ?1 AND seq = ?2")?
        .query_row((journal.row, as_i64(place)), |row| {
            Ok(row.get_ref(0)?.as_bytes().unwrap_or_default().to_vec())
        })
        .optional()?)
}

fn synced(database: &Database) -> i64 {
    i64::from(database.durability == Durability::Full)
}

/// Places and counts as SQLite has them. No journal is that long: what does not fit finds nothing.
fn as_i64(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn misuse(journal: &Journal, what: String) -> Refused {
    not_written(StoreError::Misuse {
        session: journal.session.clone(),
        what: what.into(),
    })
}

fn not_written(error: StoreError) -> Refused {
    Refused::Answer(Appended::NotWritten(error))
}
