//! A session's row: where its journal ends, and what a list shows of it. Read as it stands there: a bad disk may have left another
//! value, or one of another type, and then the row says that it is wrong.

use std::sync::Arc;

use rusqlite::{Row, types::ValueRef};

/// What [`SessionRow::read`] reads, in its order.
pub(crate) const COLUMNS: &str = "row, name, next, synced, created_at, last_activity, title, turns";

/// What stands in a session's row. Where it is wrong, what could not be read is 0 or empty.
#[derive(Debug)]
pub(crate) struct SessionRow {
    pub(crate) row: i64,
    pub(crate) name: String,
    /// The place behind the last entry.
    pub(crate) next: u64,
    /// Whether the last entry was written by a store that syncs.
    pub(crate) synced: bool,
    pub(crate) created_at: i64,
    pub(crate) last_activity: i64,
    pub(crate) title: Option<String>,
    pub(crate) turns: u64,
    /// What is wrong with it, if anything: then nothing in it is to be relied on.
    pub(crate) wrong: Option<Arc<str>>,
}

impl SessionRow {
    pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut wrong = None;
        let mut is_wrong = |column| {
            let name = COLUMNS.split(", ").nth(column).unwrap_or_default();
            wrong = Some(format!("the {name} in its row is not what was written").into());
        };
        let mut number = |column| {
            Ok::<_, rusqlite::Error>(match row.get_ref(column)? {
                ValueRef::Integer(number) => number,
                // Where it stands in the order of a list.
                ValueRef::Real(number) => {
                    is_wrong(column);
                    #[allow(clippy::cast_possible_truncation, reason = "it saturates")]
                    let number = number.floor() as i64;
                    number
                }
                ValueRef::Text(_) | ValueRef::Blob(_) => {
                    is_wrong(column);
                    i64::MAX
                }
                ValueRef::Null => {
                    is_wrong(column);
                    i64::MIN
                }
            })
        };
        let (of, next, synced) = (number(0)?, number(2)?, number(3)?);
        let (created_at, last_activity, turns) = (number(4)?, number(5)?, number(7)?);
        let mut text = |column| {
            Ok::<_, rusqlite::Error>(match row.get_ref(column)? {
                ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
                    Ok(text) => Some(text.to_owned()),
                    Err(_) => {
                        is_wrong(column);
                        Some(String::from_utf8_lossy(bytes).into_owned())
                    }
                },
                ValueRef::Null => None,
                ValueRef::Integer(_) | ValueRef::Real(_) | ValueRef::Blob(_) => {
                    is_wrong(column);
                    None
                }
            })
        };
        let (name, title) = (text(1)?, text(6)?);
        for (number, column, least) in [(next, 2, 1), (turns, 7, 0)] {
            if number < least {
                is_wrong(column);
            }
        }
        Ok(Self {
            row: of,
            name: name.unwrap_or_default(),
            next: u64::try_from(next).unwrap_or(0),
            synced: synced != 0,
            created_at,
            last_activity,
            title,
            turns: u64::try_from(turns).unwrap_or(0),
            wrong,
        })
    }
}
