//! Listing sessions (law S6): a walk along an index, a page at a time, in one transaction. The sessions shown are checked as far as
//! a budget goes; the rest of a journal is checked when it is read.

use std::ops::ControlFlow;

use chat_core::{
    Cursor, ListRequest, SessionId, SessionPage, SessionSummary, StoreError, Timestamp,
};
use rusqlite::{Connection, Row};

use crate::{
    database::Database,
    failure::Failure,
    journal::{self, Journal},
};

/// How many bytes of entries a page checks, shared by the sessions it shows: of each its first entries, as many as fit and
/// one at least, then its last one.
const BUDGET: usize = 512 << 10;

/// Where a page ended.
struct Key {
    at: i64,
    name: String,
}

/// One row of the list.
struct Listed {
    row: i64,
    name: String,
    next: i64,
    created_at: i64,
    last_activity: i64,
    title: Option<String>,
    turns: i64,
}

pub(crate) fn page(database: &Database, request: &ListRequest) -> Result<SessionPage, StoreError> {
    let after = request.after.as_ref().map(Key::of).transpose()?;
    let limit = request.limit.max(1);
    let read = || {
        let reader = database.reader()?;
        reader.snapshot(&database.path, |connection| {
            // One more than asked for tells whether there is another page.
            let mut listed = match &after {
                Some(key) => behind(connection, key, limit.saturating_add(1))?,
                None => newest(connection, limit.saturating_add(1))?,
            };
            let more = listed.len() > limit;
            listed.truncate(limit);
            let next = match listed.last() {
                Some(last) if more => Some(last.cursor()),
                Some(_) | None => None,
            };
            let share = BUDGET / listed.len().max(1);
            let sessions = listed
                .into_iter()
                .map(|listed| listed.summary(connection, database, share))
                .collect::<Result<_, _>>()?;
            Ok(SessionPage { sessions, next })
        })
    };
    read().map_err(|failure| failure.into_error("list", &database.path, None))
}

impl Key {
    fn of(cursor: &Cursor) -> Result<Self, StoreError> {
        let parsed = cursor.0.split_once(':').and_then(|(at, name)| {
            Some(Self {
                at: at.parse().ok()?,
                name: SessionId::parse(name).ok()?.to_string(),
            })
        });
        parsed.ok_or_else(|| {
            StoreError::backend(format!(
                "{:?} is no cursor of a SQLite store's list",
                cursor.0
            ))
        })
    }
}

const COLUMNS: &str =
    "SELECT row, name, next, created_at, last_activity, title, turns FROM sessions";

fn newest(connection: &Connection, limit: usize) -> Result<Vec<Listed>, Failure> {
    let sql = format!("{COLUMNS} ORDER BY last_activity DESC, name ASC LIMIT ?1");
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map([as_limit(limit)], Listed::read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Those of the same moment first, then the older ones: two walks, each along the index, where one condition for both would look
/// at every session of that moment again.
fn behind(connection: &Connection, key: &Key, limit: usize) -> Result<Vec<Listed>, Failure> {
    let same = format!(
        "{COLUMNS} WHERE last_activity = ?1 AND name > ?2 ORDER BY last_activity DESC, name ASC LIMIT ?3"
    );
    let mut statement = connection.prepare_cached(&same)?;
    let rows = statement.query_map((key.at, &key.name, as_limit(limit)), Listed::read)?;
    let mut listed: Vec<Listed> = rows.collect::<Result<_, _>>()?;
    let older = format!(
        "{COLUMNS} WHERE last_activity < ?1 ORDER BY last_activity DESC, name ASC LIMIT ?2"
    );
    let mut statement = connection.prepare_cached(&older)?;
    let rows = statement.query_map((key.at, as_limit(limit - listed.len())), Listed::read)?;
    for row in rows {
        listed.push(row?);
    }
    Ok(listed)
}

fn as_limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

impl Listed {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            row: row.get(0)?,
            name: text(row, 1)?.unwrap_or_default(),
            next: row.get(2)?,
            created_at: row.get(3)?,
            last_activity: row.get(4)?,
            title: text(row, 5)?,
            turns: row.get(6)?,
        })
    }

    fn cursor(&self) -> Cursor {
        Cursor(format!("{}:{}", self.last_activity, self.name).into())
    }

    fn summary(
        self,
        connection: &Connection,
        database: &Database,
        share: usize,
    ) -> Result<SessionSummary, Failure> {
        let (id, named) = match SessionId::parse(&self.name) {
            Ok(id) => (id, Ok(())),
            // It can't be asked for; it is shown, for it is there.
            Err(error) => (unnamed(self.row), Err(error.to_string())),
        };
        let journal = Journal {
            session: id.clone(),
            row: self.row,
        };
        let next = u64::try_from(self.next).unwrap_or(0);
        let error = match first_error(connection, database, &journal, next, share) {
            Ok(error) => {
                named.map_or_else(|what| Some(journal.damage(database, 0, what)), |()| error)
            }
            Err(failure) if failure.is_corrupt() => {
                Some(failure.into_error("list", &database.path, Some(&id)))
            }
            Err(failure) => return Err(failure),
        };
        Ok(SessionSummary {
            id,
            title: self.title.map(Into::into),
            created_at: Timestamp::from_millis(self.created_at).ok(),
            last_activity: Timestamp::from_millis(self.last_activity).ok(),
            turns: u64::try_from(self.turns).unwrap_or(0),
            error,
        })
    }
}

/// As text, whatever a flipped bit made of it.
fn text(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<String>> {
    let bytes = row.get_ref(column)?.as_bytes_or_null()?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned()))
}

fn unnamed(row: i64) -> SessionId {
    SessionId::parse(format!("row-{row}")).expect("a number has no separator")
}

/// What is wrong with a journal, as far as a look within its share of the budget tells.
fn first_error(
    connection: &Connection,
    database: &Database,
    journal: &Journal,
    next: u64,
    share: usize,
) -> Result<Option<StoreError>, Failure> {
    // From a place on, until there is an error, nothing more, or enough looked at: the place behind it, and whether that is all.
    let look = |from: u64| {
        let (mut expected, mut bytes, mut error, mut all) = (from, 0, None, true);
        journal.walk(connection, from, |line| {
            let seq = line.seq;
            match journal.check(database, expected, line, &mut bytes) {
                Ok(_) => expected = seq + 1,
                Err(found) => error = Some(found),
            }
            all = error.is_none() && bytes < share;
            if all {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        })?;
        Ok::<_, Failure>((expected, all, error))
    };
    let (mut seen, all, mut error) = look(0)?;
    if error.is_none() && !all && seen < next {
        (seen, _, error) = look(next - 1)?;
    }
    Ok(error.or_else(|| {
        journal::end_is_wrong(seen, next, 0).map(|what| journal.damage(database, seen, what))
    }))
}
