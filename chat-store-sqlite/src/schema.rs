//! What is in the database: two tables, and the two numbers in its header that say whose it is. Another program may read it by
//! this; only this crate writes it.

/// In the database's header: that it is a chat store ("CHAT").
pub(crate) const APPLICATION_ID: i32 = 0x4348_4154;

/// In the database's header: the format of the tables. A newer one is refused, untouched (law J2).
pub(crate) const FORMAT: u32 = 1;

/// A session's row is never used again, not even when it is deleted: what is named by it can't be mistaken for another's. `next`
/// is the place behind its last entry, so that entries lost from the end are missed. What a list shows stands beside it, in the
/// same transaction. `synced` is 0 where its last entry was written by a store that does not sync. `crc` is
/// of the whole row: see [`SessionRow::checksum`](crate::row::SessionRow::checksum).
///
/// Entries stand in the order of their places, all of a session together: reading one is one walk. `crc` is their [`checksum`].
pub(crate) const TABLES: &str = "
    CREATE TABLE sessions (
        row INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL UNIQUE,
        next INTEGER NOT NULL,
        synced INTEGER NOT NULL,
        created_at INTEGER NOT NULL,
        last_activity INTEGER NOT NULL,
        title TEXT,
        turns INTEGER NOT NULL,
        crc INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX sessions_by_activity ON sessions (last_activity DESC, name ASC);
    CREATE TABLE entries (
        session INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        id TEXT NOT NULL,
        crc INTEGER NOT NULL,
        text TEXT NOT NULL,
        PRIMARY KEY (session, seq)
    ) STRICT, WITHOUT ROWID;
";

/// The sessions, found by what index there is.
pub(crate) const SESSIONS: &str = "sessions";

/// The sessions, where an index is damaged: all of them are looked at.
pub(crate) const SESSIONS_UNINDEXED: &str = "sessions NOT INDEXED";

/// An entry's `crc`: the CRC-32C of `text`, `session` and `seq`, one behind the other, the numbers in 8 bytes, little-endian. A text
/// that a disk puts in another's place is known by it. Of the text only its own CRC-32C is needed.
pub(crate) fn checksum(text: u32, session: i64, seq: i64) -> u32 {
    let crc = crc32c::crc32c_append(text, &session.to_le_bytes());
    crc32c::crc32c_append(crc, &seq.to_le_bytes())
}
