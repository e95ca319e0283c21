//! Listing sessions (law S6): a walk along an index, a page at a time, in one transaction. The sessions shown are checked as far as
//! a budget goes; the rest of a journal is checked when it is read.

use std::ops::ControlFlow;

use chat_core::{
    Cursor, ListRequest, SessionId, SessionPage, SessionSummary, StoreError, Timestamp,
};
use rusqlite::{Connection, types::Null};

use crate::{
    database::Database,
    failure::Failure,
    journal::{self, Journal},
    row::{COLUMNS, FoundRow, SessionRow},
    schema::{SESSIONS, SESSIONS_UNINDEXED},
};

/// How many bytes of entries a page checks, shared by the sessions it shows: of each its first entries, as many as fit and
/// one at least, then its last one.
const BUDGET: usize = 512 << 10;

/// Where a page ended.
struct Key {
    at: i64,
    name: String,
}

pub(crate) fn page(database: &Database, request: &ListRequest) -> Result<SessionPage, StoreError> {
    let after = request.after.as_ref().map(Key::of).transpose()?;
    let limit = request.limit.max(1);
    let read = |table| {
        let reader = database.reader()?;
        reader.snapshot(&database.path, |connection| {
            // One more than asked for tells whether there is another page.
            let mut listed = match &after {
                Some(key) => behind(connection, table, key, limit.saturating_add(1))?,
                None => newest(connection, table, limit.saturating_add(1))?,
            };
            let more = listed.len() > limit;
            listed.truncate(limit);
            let next = match listed.last() {
                Some(last) if more => Some(cursor(&last.row)),
                Some(_) | None => None,
            };
            let share = BUDGET / listed.len().max(1);
            let sessions = listed
                .into_iter()
                .map(|found| summary(found, connection, database, share))
                .collect::<Result<_, _>>()?;
            Ok(SessionPage { sessions, next })
        })
    };
    let page = match read(SESSIONS) {
        Err(failure) if failure.is_corrupt() => read(SESSIONS_UNINDEXED),
        page => page,
    };
    page.map_err(|failure| failure.into_error("list", &database.path, None))
}

impl Key {
    fn of(cursor: &Cursor) -> Result<Self, StoreError> {
        let parsed = cursor.0.split_once(':').and_then(|(at, name)| {
            Some(Self {
                at: at.parse().ok()?,
                // Any: a damaged session may be a page's last one.
                name: name.to_owned(),
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

fn newest(connection: &Connection, table: &str, limit: usize) -> Result<Vec<FoundRow>, Failure> {
    let sql =
        format!("SELECT {COLUMNS} FROM {table} ORDER BY last_activity DESC, name ASC LIMIT ?1");
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map([as_limit(limit)], FoundRow::read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Those of the same moment first, then the older ones: two walks, each along the index, where one condition for both would look
/// at every session of that moment again.
fn behind(
    connection: &Connection,
    table: &str,
    key: &Key,
    limit: usize,
) -> Result<Vec<FoundRow>, Failure> {
    let same = format!(
        "SELECT {COLUMNS} FROM {table} WHERE last_activity = ?1 AND name > ?2 ORDER BY last_activity DESC, name ASC LIMIT ?3"
    );
    let mut statement = connection.prepare_cached(&same)?;
    let rows = statement.query_map((key.at, &key.name, as_limit(limit)), FoundRow::read)?;
    let mut listed: Vec<FoundRow> = rows.collect::<Result<_, _>>()?;
    let older = format!(
        "SELECT {COLUMNS} FROM {table} WHERE last_activity < ?1 ORDER BY last_activity DESC, name ASC LIMIT ?2"
    );
    let mut statement = connection.prepare_cached(&older)?;
    let rows = statement.query_map((key.at, as_limit(limit - listed.len())), FoundRow::read)?;
    for row in rows {
        listed.push(row?);
    }
    // A time that is none, which only a bad disk leaves there, is less than no other: those come last, by their names. It is bound, for
    // SQLite takes it from the column's word that there are none.
    let none = format!(
        "SELECT {COLUMNS} FROM {table} WHERE last_activity IS ?1 AND name > ?2 ORDER BY name ASC LIMIT ?3"
    );
    let name = if key.at == i64::MIN { &key.name } else { "" };
    let mut statement = connection.prepare_cached(&none)?;
    let rows = statement.query_map((Null, name, as_limit(limit - listed.len())), FoundRow::read)?;
    for row in rows {
        listed.push(row?);
    }
    Ok(listed)
}

fn as_limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

fn cursor(row: &SessionRow) -> Cursor {
    Cursor(format!("{}:{}", row.last_activity, row.name).into())
}

fn summary(
    FoundRow { row, wrong }: FoundRow,
    connection: &Connection,
    database: &Database,
    share: usize,
) -> Result<SessionSummary, Failure> {
    let (id, wrong) = match SessionId::parse(&row.name) {
        Ok(id) => (id, wrong),
        // It can't be asked for; it is shown, for it is there.
        Err(error) => (unnamed(row.row), Some(error.to_string().into())),
    };
    let journal = Journal {
        session: id.clone(),
        row: row.row,
    };
    let error = match wrong {
        Some(what) => Some(journal.damage(database, None, what)),
        None => match first_error(connection, database, &journal, row.end(), share) {
            Ok(error) => error,
            Err(failure) if failure.is_corrupt() => {
                Some(failure.into_error("list", &database.path, Some(&id)))
            }
            Err(failure) => return Err(failure),
        },
    };
    Ok(SessionSummary {
        id,
        title: row.title.map(Into::into),
        created_at: Timestamp::from_millis(row.created_at).ok(),
        last_activity: Timestamp::from_millis(row.last_activity).ok(),
        turns: u64::try_from(row.turns).unwrap_or(0),
        error,
    })
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
            match journal.check(database, expected, line, &mut bytes) {
                Ok(_) => expected += 1,
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
