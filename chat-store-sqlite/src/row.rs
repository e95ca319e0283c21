//! A session's row: where its journal ends, and what a list shows of it. All of it is under a checksum: what a bad disk left there,
//! in the table or in the index that a list walks, is not shown as good.

use std::sync::Arc;

use rusqlite::{Row, types::ValueRef};

/// What [`SessionRow::read`] reads, in its order.
pub(crate) const COLUMNS: &str =
    "row, name, next, synced, created_at, last_activity, title, turns, crc";

/// What stands in a session's row.
#[derive(Debug)]
pub(crate) struct SessionRow {
    pub(crate) row: i64,
    pub(crate) name: String,
    /// The place behind the last entry.
    pub(crate) next: i64,
    /// 1 where the last entry was written by a store that syncs, else 0.
    pub(crate) synced: i64,
    pub(crate) created_at: i64,
    pub(crate) last_activity: i64,
    pub(crate) title: Option<String>,
    pub(crate) turns: i64,
}

/// A row as it was found.
#[derive(Debug)]
pub(crate) struct FoundRow {
    /// As far as it could be read; where its checksum differs, nothing in it is to be relied on.
    pub(crate) row: SessionRow,
    /// What is wrong with it, if anything.
    pub(crate) wrong: Option<Arc<str>>,
}

impl SessionRow {
    /// The place behind the last entry.
    pub(crate) fn end(&self) -> u64 {
        u64::try_from(self.next).unwrap_or(0)
    }

    /// The CRC-32C of its numbers, in 8 bytes each, little-endian, and then of name and title, each with a byte before it: 1, or
    /// 0 for a title that is none.
    pub(crate) fn checksum(&self) -> u32 {
        let numbers = [
            self.row,
            self.next,
            self.synced,
            self.created_at,
            self.last_activity,
            self.turns,
        ];
        let mut crc = crc32c::crc32c(numbers.map(i64::to_le_bytes).as_flattened());
        for text in [Some(&self.name), self.title.as_ref()] {
            crc = crc32c::crc32c_append(crc, &[u8::from(text.is_some())]);
            crc = crc32c::crc32c_append(crc, text.map_or(&[], |text| text.as_bytes()));
        }
        crc
    }
}

impl FoundRow {
    pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let number = |column| Ok::<_, rusqlite::Error>(as_number(row.get_ref(column)?));
        let text = |column| Ok::<_, rusqlite::Error>(as_text(row.get_ref(column)?));
        let crc = number(8)?;
        let row = SessionRow {
            row: number(0)?,
            name: text(1)?.unwrap_or_default(),
            next: number(2)?,
            synced: number(3)?,
            created_at: number(4)?,
            last_activity: number(5)?,
            title: text(6)?,
            turns: number(7)?,
        };
        let wrong = (crc != i64::from(row.checksum()))
            .then(|| "the checksum of its row of the sessions differs".into());
        Ok(Self { row, wrong })
    }
}

/// A flipped bit may make a value one of another type: as what stands in the same place of the order of a list.
fn as_number(value: ValueRef<'_>) -> i64 {
    match value {
        ValueRef::Integer(number) => number,
        #[allow(clippy::cast_possible_truncation, reason = "it saturates")]
        ValueRef::Real(number) => number.floor() as i64,
        ValueRef::Text(_) | ValueRef::Blob(_) => i64::MAX,
        ValueRef::Null => i64::MIN,
    }
}

fn as_text(value: ValueRef<'_>) -> Option<String> {
    let bytes = value.as_bytes_or_null().ok().flatten();
    bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned())
}
