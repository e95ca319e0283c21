//! The factories of this project's own stores, for its table of laws and for the test that compares them.
#![allow(dead_code, reason = "not every user uses all of it")]
#![allow(
    clippy::unwrap_used,
    reason = "a factory that can't make a store panics"
)]

use std::{
    fs,
    path::PathBuf,
    sync::atomic::{AtomicU32, Ordering},
};

use chat_conformance::{Harm, StoreFactory};
use chat_core::{MemoryStore, SessionId};
use chat_store_file::FileStore;
use chat_store_sqlite::SqliteStore;
use rusqlite::{Connection, OptionalExtension as _, params};
use tempfile::TempDir;

/// A place for each store that is made, gone with the factory.
struct Places {
    folder: TempDir,
    made: AtomicU32,
}

impl Places {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            made: AtomicU32::new(0),
        }
    }

    fn next(&self) -> PathBuf {
        let made = self.made.fetch_add(1, Ordering::Relaxed);
        self.folder.path().join(made.to_string())
    }
}

pub(crate) struct Memory;

impl StoreFactory for Memory {
    type Store = MemoryStore;

    async fn make(&self) -> MemoryStore {
        MemoryStore::new()
    }

    async fn reopen(&self, _: &MemoryStore) -> MemoryStore {
        unreachable!("a store in memory claims neither to be shared nor to outlive its process")
    }
}

pub(crate) struct Files(Places);

impl Files {
    pub(crate) fn new() -> Self {
        Self(Places::new())
    }
}

impl StoreFactory for Files {
    type Store = FileStore;

    async fn make(&self) -> FileStore {
        FileStore::open(self.0.next()).unwrap()
    }

    async fn reopen(&self, store: &FileStore) -> FileStore {
        FileStore::open(store.folder()).unwrap()
    }

    async fn harm(&self, store: &FileStore, session: &SessionId, harm: Harm) -> bool {
        let path = store.journal_path(session);
        let mut journal = fs::read(&path).unwrap();
        let done = harm.to_lines(&mut journal);
        fs::write(&path, journal).unwrap();
        done
    }

    async fn stored(&self, store: &FileStore, session: &SessionId) -> Option<Vec<u8>> {
        fs::read(store.journal_path(session)).ok()
    }
}

pub(crate) struct Databases(Places);

impl Databases {
    pub(crate) fn new() -> Self {
        Self(Places::new())
    }
}

/// The rows of one session, to be looked at and harmed behind the store's back.
struct Rows {
    db: Connection,
    session: i64,
}

impl Rows {
    fn of(store: &SqliteStore, session: &SessionId) -> Option<Self> {
        let db = Connection::open(store.path()).unwrap();
        db.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
        let query = "SELECT row FROM sessions WHERE name = ?1";
        let row = db.query_row(query, [session.as_str()], |row| row.get(0));
        let session = row.optional().unwrap()?;
        Some(Self { db, session })
    }

    fn text(&self, seq: i64) -> Option<Vec<u8>> {
        let query = "SELECT CAST(text AS BLOB) FROM entries WHERE session = ?1 AND seq = ?2";
        let row = |row: &rusqlite::Row<'_>| row.get(0);
        let text = self.db.query_row(query, params![self.session, seq], row);
        text.optional().unwrap()
    }

    fn change(&self, sql: &str, params: impl rusqlite::Params) -> bool {
        self.db.execute(sql, params).unwrap() == 1
    }
}

impl StoreFactory for Databases {
    type Store = SqliteStore;

    async fn make(&self) -> SqliteStore {
        SqliteStore::open(self.0.next()).unwrap()
    }

    async fn reopen(&self, store: &SqliteStore) -> SqliteStore {
        SqliteStore::open(store.path()).unwrap()
    }

    /// SQLite's writes are whole or not there: nothing is torn.
    async fn harm(&self, store: &SqliteStore, session: &SessionId, harm: Harm) -> bool {
        let (Some(rows), Some(seq)) = (Rows::of(store, session), harm.seq()) else {
            return false;
        };
        let row = (rows.session, seq.0.cast_signed());
        if let Harm::DropEntry { .. } = harm {
            return rows.change("DELETE FROM entries WHERE session = ?1 AND seq = ?2", row);
        }
        let Some(mut text) = rows.text(row.1) else {
            return false;
        };
        if !harm.to_text(&mut text) {
            return false;
        }
        // A newer program's checksum is right, too.
        if let Harm::NewerFormat { .. } = harm {
            let place = [row.0.to_le_bytes(), row.1.to_le_bytes()].concat();
            let crc = crc32c::crc32c(&[&text[..], &place].concat());
            let sql = "UPDATE entries SET crc = ?3 WHERE session = ?1 AND seq = ?2";
            rows.change(sql, params![row.0, row.1, crc]);
        }
        let sql = "UPDATE entries SET text = CAST(?3 AS TEXT) WHERE session = ?1 AND seq = ?2";
        rows.change(sql, params![row.0, row.1, text])
    }

    async fn stored(&self, store: &SqliteStore, session: &SessionId) -> Option<Vec<u8>> {
        let rows = Rows::of(store, session)?;
        let texts = (0..1000).filter_map(|seq| rows.text(seq));
        Some(texts.collect::<Vec<_>>().join(&b'\n'))
    }
}
