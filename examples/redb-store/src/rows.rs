//! The tables and what is done to them, each in one transaction. Knows nothing of holds; all of it may block.

use std::{ops::Bound, path::Path, sync::Arc};

use chat_core::{
    Appended, Cursor, Damage, DecodeError, Entry, EntryBody, FORMAT, ListRequest, Place, Salvaged,
    Seq, SessionId, SessionPage, SessionSummary, StoreError, Timestamp,
};
use redb::{
    ReadOnlyTable, ReadableDatabase as _, ReadableTable as _, TableDefinition, WriteTransaction,
};

use crate::RedbStore;

/// A session's entries by their place. Each is the text that the one codec of `chat-core` gives: so nothing is lost that this
/// program does not know (J1, J2).
const ENTRIES: TableDefinition<'_, (&str, u64), &str> = TableDefinition::new("entries");

/// What the list shows of a session: created, last activity, turns, title.
const SESSIONS: TableDefinition<'_, &str, Row<'_>> = TableDefinition::new("sessions");
type Row<'a> = (i64, i64, u64, Option<&'a str>);

/// The order of the list: newest first, then by id (S6). The same key is what a cursor names: it stays where it is, whatever
/// comes and goes.
const ACTIVITY: TableDefinition<'_, (i64, &str), ()> = TableDefinition::new("activity");

/// A session's entries as they were at one moment.
pub(crate) type Snapshot = Arc<ReadOnlyTable<(&'static str, u64), &'static str>>;

/// All of the entries, or none (S7): a transaction.
pub(crate) fn create(
    store: &RedbStore,
    session: &SessionId,
    entries: &[Entry],
) -> Result<(), StoreError> {
    let is_first = |entry: &Entry| matches!(entry.body(), EntryBody::SessionCreated { .. });
    let places = entries.iter().map(|entry| entry.seq().0);
    if !entries.first().is_some_and(is_first) || !places.eq(0..entries.len() as u64) {
        let what = "a journal begins with session.created at 0 and has no gap".into();
        let session = session.clone();
        return Err(StoreError::Misuse { session, what });
    }
    let failed = |error| backend(&store.path, error);
    (|| -> Result<_, redb::Error> {
        let write = store.db.begin_write()?;
        if write.open_table(SESSIONS)?.get(session.as_str())?.is_some() {
            return Ok(Err(StoreError::Taken {
                session: session.clone(),
            }));
        }
        for entry in entries {
            insert(&write, session, entry)?;
        }
        Ok(Ok(write.commit()?))
    })()
    .map_err(failed)?
}

/// Writes an entry at the next place; the same one sent again is written once (S1).
pub(crate) fn append(store: &RedbStore, session: &SessionId, next: Seq, entry: &Entry) -> Appended {
    let failed = |error: redb::Error| backend(&store.path, error);
    let misuse = |what: String| StoreError::Misuse {
        session: session.clone(),
        what: what.into(),
    };
    let write = (|| -> Result<_, redb::Error> {
        let write = store.db.begin_write()?;
        let there = {
            let entries = write.open_table(ENTRIES)?;
            let row = entries.get((session.as_str(), entry.seq().0))?;
            row.map(|row| row.value().to_owned())
        };
        match there {
            Some(text) if Entry::decode(&text).is_ok_and(|there| there.is_same(entry)) => {
                return Ok(Err(Appended::Written));
            }
            None if entry.seq() == next => insert(&write, session, entry)?,
            Some(_) | None => {
                let what = format!("entry {} where {next} belongs", entry.seq());
                return Ok(Err(Appended::NotWritten(misuse(what))));
            }
        }
        Ok(Ok(write))
    })();
    match write {
        Ok(Ok(write)) => match write.commit() {
            Ok(()) => Appended::Written,
            // Whether a commit that failed is on the disk, nobody knows before it is read again.
            Err(error) => Appended::Unknown(failed(error.into())),
        },
        Ok(Err(answer)) => answer,
        Err(error) => Appended::NotWritten(failed(error)),
    }
}

/// An entry, and what it changes in the list.
fn insert(write: &WriteTransaction, session: &SessionId, entry: &Entry) -> Result<(), redb::Error> {
    let (id, at) = (session.as_str(), entry.at().as_millis());
    let mut sessions = write.open_table(SESSIONS)?;
    let mut activity = write.open_table(ACTIVITY)?;
    let before = sessions.get(id)?.map(|row| {
        let (created, last, turns, title) = row.value();
        (created, last, turns, title.map(Arc::from))
    });
    let (created, last, mut turns, mut title) = before.unwrap_or((at, at, 0, None));
    if let EntryBody::TurnAccepted { input, .. } = entry.body() {
        turns += 1;
        title.get_or_insert_with(|| SessionSummary::title_of(input));
    }
    // The last entry says when, even where its clock was set back.
    activity.remove((-last, id))?;
    activity.insert((-at, id), ())?;
    sessions.insert(id, (created, at, turns, title.as_deref()))?;
    let mut entries = write.open_table(ENTRIES)?;
    entries.insert((id, entry.seq().0), &*entry.encode())?;
    Ok(())
}

pub(crate) fn delete(store: &RedbStore, session: &SessionId) -> Result<(), StoreError> {
    let id = session.as_str();
    let is_gone = (|| -> Result<_, redb::Error> {
        let write = store.db.begin_write()?;
        let last = {
            let mut sessions = write.open_table(SESSIONS)?;
            let row = sessions.remove(id)?;
            row.map(|row| row.value().1)
        };
        let Some(last) = last else { return Ok(false) };
        write.open_table(ACTIVITY)?.remove((-last, id))?;
        write
            .open_table(ENTRIES)?
            .retain_in((id, 0)..=(id, u64::MAX), |_, _| false)?;
        write.commit()?;
        Ok(true)
    })();
    if is_gone.map_err(|error| backend(&store.path, error))? {
        Ok(())
    } else {
        Err(missing(session))
    }
}

/// The entries as they now are, of a session that is there.
pub(crate) fn snapshot(store: &RedbStore, session: &SessionId) -> Result<Snapshot, StoreError> {
    let found = (|| -> Result<_, redb::Error> {
        let read = store.db.begin_read()?;
        let Some(sessions) = optional(read.open_table(SESSIONS))? else {
            return Ok(None);
        };
        let is_there = sessions.get(session.as_str())?.is_some();
        Ok(is_there.then_some(read.open_table(ENTRIES)?))
    })();
    let entries = found.map_err(|error| backend(&store.path, error))?;
    entries.map(Arc::new).ok_or_else(|| missing(session))
}

/// What was read of a journal: its entries, up to an error.
pub(crate) struct Read {
    pub(crate) entries: Vec<Entry>,
    pub(crate) error: Option<StoreError>,
}

impl Read {
    pub(crate) fn all(self) -> Result<Vec<Entry>, StoreError> {
        self.error.map_or(Ok(self.entries), Err)
    }
}

/// At most so many entries from a place on. Nothing is skipped: a missing place is damage (S3).
pub(crate) fn read(
    store: &RedbStore,
    snapshot: &Snapshot,
    session: &SessionId,
    from: Seq,
    most: usize,
) -> Read {
    let mut entries: Vec<Entry> = Vec::new();
    let mut error = None;
    let rows = snapshot.range((session.as_str(), from.0)..=(session.as_str(), u64::MAX));
    let rows = match rows {
        Ok(rows) => rows,
        Err(failed) => {
            let error = Some(backend(&store.path, failed));
            return Read { entries, error };
        }
    };
    for row in rows.take(most) {
        let expected = entries.last().map_or(from, |last| last.seq().next());
        let decoded = match row {
            Ok((_, text)) => decode(session, expected, text.value()),
            Err(failed) => Err(backend(&store.path, failed)),
        };
        match decoded {
            Ok(entry) => entries.push(entry),
            Err(found) => {
                error = Some(found);
                break;
            }
        }
    }
    Read { entries, error }
}

/// The place of the next entry.
pub(crate) fn next(
    store: &RedbStore,
    snapshot: &Snapshot,
    session: &SessionId,
) -> Result<Seq, StoreError> {
    let last = (|| -> Result<_, redb::Error> {
        let mut rows = snapshot.range((session.as_str(), 0)..=(session.as_str(), u64::MAX))?;
        let last = rows.next_back().transpose()?;
        Ok(last.map(|(key, _)| Seq(key.value().1)))
    })();
    let last = last.map_err(|error| backend(&store.path, error))?;
    Ok(last.map_or(Seq::ZERO, Seq::next))
}

/// What is readable, with its gaps marked (S3).
pub(crate) fn salvage(store: &RedbStore, session: &SessionId) -> Result<Vec<Salvaged>, StoreError> {
    let snapshot = snapshot(store, session)?;
    let last = next(store, &snapshot, session)?;
    let mut pieces = Vec::new();
    let mut expected = Seq::ZERO;
    while expected < last {
        match read(store, &snapshot, session, expected, 1).all() {
            Ok(entries) => pieces.extend(entries.into_iter().map(Salvaged::Entry)),
            Err(error) => pieces.push(Salvaged::Gap {
                place: place(store, expected),
                bytes: None,
                what: error.to_string().into(),
            }),
        }
        expected = expected.next();
    }
    Ok(pieces)
}

pub(crate) fn page(store: &RedbStore, request: &ListRequest) -> Result<SessionPage, StoreError> {
    let after = request.after.as_ref().map(parse).transpose()?;
    let after = match &after {
        Some((at, id)) => Bound::Excluded((*at, id.as_str())),
        None => Bound::Unbounded,
    };
    // One more than was asked for tells whether there is a next page.
    let limit = request.limit.max(1);
    let found = (|| -> Result<_, redb::Error> {
        let read = store.db.begin_read()?;
        let Some(activity) = optional(read.open_table(ACTIVITY))? else {
            return Ok(Vec::new());
        };
        let sessions = read.open_table(SESSIONS)?;
        let keys = activity.range((after, Bound::Unbounded))?;
        keys.take(limit.saturating_add(1))
            .map(|key| summary(&sessions, key?.0.value().1))
            .collect()
    })();
    let mut sessions = found.map_err(|error| backend(&store.path, error))?;
    let is_more = sessions.len() > limit;
    sessions.truncate(limit);
    let next = sessions.last().filter(|_| is_more).map(cursor);
    Ok(SessionPage { sessions, next })
}

fn summary(
    sessions: &ReadOnlyTable<&'static str, Row<'static>>,
    id: &str,
) -> Result<SessionSummary, redb::Error> {
    let row = sessions.get(id)?;
    let row = row.ok_or_else(|| redb::Error::Corrupted(format!("session {id} has no row")))?;
    let (created, last, turns, title) = row.value();
    Ok(SessionSummary {
        id: SessionId::parse(id).map_err(|error| redb::Error::Corrupted(error.to_string()))?,
        title: title.map(Arc::from),
        created_at: Timestamp::from_millis(created).ok(),
        last_activity: Timestamp::from_millis(last).ok(),
        turns,
        error: None,
    })
}

fn cursor(last: &SessionSummary) -> Cursor {
    let at = last.last_activity.map_or(0, Timestamp::as_millis);
    Cursor(format!("{at}:{}", last.id).into())
}

/// The key that a cursor names. One that this store did not make is refused, not read as a start (S6).
fn parse(cursor: &Cursor) -> Result<(i64, SessionId), StoreError> {
    let key = cursor.0.split_once(':').and_then(|(at, id)| {
        let at = Timestamp::from_millis(at.parse().ok()?).ok()?;
        Some((-at.as_millis(), SessionId::parse(id).ok()?))
    });
    key.ok_or_else(|| StoreError::backend(format!("{:?} is no cursor of this store", cursor.0)))
}

/// The entry of a row. What can't be read, or stands in another's place, is an error that names session and place (S3); what a
/// newer program wrote is left alone (J2).
fn decode(session: &SessionId, expected: Seq, text: &str) -> Result<Entry, StoreError> {
    let damage = |what: Arc<str>| Damage {
        session: session.clone(),
        place: Place {
            seq: Some(expected),
            ..Place::default()
        },
        what,
    };
    match Entry::decode(text) {
        Ok(entry) if entry.seq() == expected => Ok(entry),
        Ok(entry) => Err(damage(format!("entry {} stands there", entry.seq()).into()).into()),
        Err(DecodeError::Invalid(what)) => Err(damage(what).into()),
        Err(DecodeError::NewerFormat { found }) => Err(StoreError::NewerFormat {
            what: format!("session {session}").into(),
            found,
            supported: FORMAT,
        }),
    }
}

fn place(store: &RedbStore, seq: Seq) -> Place {
    Place {
        seq: Some(seq),
        path: Some(store.path.clone()),
        ..Place::default()
    }
}

/// A table that nobody has written to yet is not there.
fn optional<T>(opened: Result<T, redb::TableError>) -> Result<Option<T>, redb::Error> {
    match opened {
        Ok(table) => Ok(Some(table)),
        Err(redb::TableError::TableDoesNotExist(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn missing(session: &SessionId) -> StoreError {
    StoreError::Missing {
        session: session.clone(),
    }
}

/// S7: what redb says, sorted by what one can do about it, with the file's name.
pub(crate) fn backend(path: &Path, error: impl Into<redb::Error>) -> StoreError {
    match error.into() {
        redb::Error::Io(error) => StoreError::from_io("use", path, error),
        error => StoreError::Backend {
            message: format!("{}: {error}", path.display()).into(),
            source: Some(Arc::new(error)),
        },
    }
}
