//! The suite of laws for stores, against a SQLite database of each durability.
#![allow(clippy::unwrap_used, reason = "a test panics where it is wrong")]

use std::{
    path::PathBuf,
    sync::atomic::{AtomicU32, Ordering},
};

use chat_conformance::{Harm, StoreFactory};
use chat_core::{Durability, SessionId};
use chat_store_sqlite::SqliteStore;
use rusqlite::{Connection, OptionalExtension as _};
use tempfile::TempDir;

/// Each store has a database of its own in the factory's folder.
struct Databases {
    folder: TempDir,
    made: AtomicU32,
    durability: Durability,
}

impl Databases {
    fn new(durability: Durability) -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            made: AtomicU32::new(0),
            durability,
        }
    }

    fn open(&self, path: PathBuf) -> SqliteStore {
        SqliteStore::options()
            .durability(self.durability)
            .open(path)
            .unwrap()
    }
}

impl StoreFactory for Databases {
    type Store = SqliteStore;

    async fn make(&self) -> SqliteStore {
        let made = self.made.fetch_add(1, Ordering::Relaxed);
        self.open(self.folder.path().join(format!("{made}.db")))
    }

    async fn reopen(&self, store: &SqliteStore) -> SqliteStore {
        self.open(store.path().to_owned())
    }

    /// A transaction is there whole or not at all: a torn write can't be played.
    async fn harm(&self, store: &SqliteStore, session: &SessionId, harm: Harm) -> bool {
        let Some(seq) = harm.seq().map(|seq| seq.0.cast_signed()) else {
            return false;
        };
        let connection = Connection::open(store.path()).unwrap();
        let of = "session = (SELECT row FROM sessions WHERE name = ?1) AND seq = ?2";
        let place = (session.as_str(), seq);
        if let Harm::DropEntry { .. } = harm {
            let sql = format!("DELETE FROM entries WHERE {of}");
            return connection.execute(&sql, place).unwrap() == 1;
        }
        let sql = format!("SELECT CAST(text AS BLOB), crc, session FROM entries WHERE {of}");
        let found = connection
            .query_row(&sql, place, |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })
            .optional()
            .unwrap();
        let Some((mut text, mut crc, row)): Option<(Vec<u8>, u32, i64)> = found else {
            return false;
        };
        if !harm.to_text(&mut text) {
            return false;
        }
        if let Harm::NewerFormat { .. } = harm {
            // A newer program's checksum is right, too.
            crc = crc32c::crc32c(&[&text[..], &row.to_le_bytes(), &seq.to_le_bytes()].concat());
        }
        let sql = format!("UPDATE entries SET text = CAST(?3 AS TEXT), crc = ?4 WHERE {of}");
        let row = (session.as_str(), seq, text, crc);
        connection.execute(&sql, row).unwrap() == 1
    }

    async fn stored(&self, store: &SqliteStore, session: &SessionId) -> Option<Vec<u8>> {
        let connection = Connection::open(store.path()).unwrap();
        let sql =
            "SELECT CAST(group_concat(seq || id || crc || text, char(10)) AS BLOB) FROM entries
            WHERE session = (SELECT row FROM sessions WHERE name = ?1)";
        connection
            .query_row(sql, [session.as_str()], |row| row.get(0))
            .unwrap()
    }
}

mod full {
    use super::*;
    chat_conformance::store_laws!(Databases::new(Durability::Full));
}

mod os {
    use super::*;
    chat_conformance::store_laws!(Databases::new(Durability::Os));
}
