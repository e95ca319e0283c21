//! A database that comes to harm behind the store's back.

use std::{fs, path::PathBuf};

use chat_core::{Damage, Entry, ListRequest, Salvaged, Seq, SessionId, Store, StoreError};
use chat_store_sqlite::SqliteStore;
use rusqlite::Connection;
use tempfile::TempDir;

use super::common::{accepted, completed, created, read, session};

/// A database with a session `s` of seven entries and a session `t` beside it, and no store that has it open.
pub(crate) struct Lab {
    _folder: TempDir,
    pub(crate) path: PathBuf,
    pub(crate) id: SessionId,
    pub(crate) entries: Vec<Entry>,
}

impl Lab {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("chat.db");
        let store = SqliteStore::open(&path).unwrap();
        let mut entries = vec![created()];
        for turn in ["t1", "t2", "t3"] {
            entries.push(accepted(entries.len() as u64, turn));
            entries.push(completed(entries.len() as u64, turn));
        }
        let id = session("s");
        store.create(&id, entries.clone()).await.unwrap();
        store.create(&session("t"), vec![created()]).await.unwrap();
        Self {
            _folder: folder,
            path,
            id,
            entries,
        }
    }

    pub(crate) fn harm(&self, sql: &str) {
        let connection = Connection::open(&self.path).unwrap();
        assert_eq!(connection.execute(sql, []).unwrap(), 1, "{sql}");
    }

    pub(crate) fn set_text(&self, seq: u64, text: &[u8]) {
        let connection = Connection::open(&self.path).unwrap();
        let sql =
            "UPDATE entries SET text = CAST(?1 AS TEXT), crc = ?2 WHERE session = 1 AND seq = ?3";
        let place = [1_u64.to_le_bytes(), seq.to_le_bytes()].concat();
        let crc = crc32c::crc32c(&[text, &place].concat());
        assert_eq!(
            connection
                .execute(sql, (text, crc, seq.cast_signed()))
                .unwrap(),
            1
        );
    }

    /// Reading, acquiring, listing and recovering all say that an entry is damaged, and what; nothing is changed by it.
    pub(crate) async fn check(&self, seq: u64, what: &str) {
        let before = fs::read(&self.path).unwrap();
        let store = SqliteStore::open(&self.path).unwrap();
        let named = |error: &StoreError| match error {
            StoreError::Damaged(Damage {
                session,
                place,
                what: found,
            }) => {
                assert_eq!(session, &self.id);
                assert_eq!(place.path.as_deref(), Some(store.path()));
                assert_eq!((place.seq, &**found), (Some(Seq(seq)), what));
                let text = error.to_string();
                assert!(
                    text.contains("session s") && text.contains("chat.db"),
                    "{text}"
                );
            }
            other => panic!("{what}: {other:?}"),
        };
        let seen = read(&store, &self.id).await;
        named(&seen.error.unwrap());
        assert_eq!(seen.entries, self.entries[..usize::try_from(seq).unwrap()]);
        named(&store.acquire(&self.id, Seq::ZERO).await.unwrap_err());
        let listed = store.list(ListRequest::default()).await.unwrap().sessions;
        assert_eq!(listed.len(), 2, "it hides no other");
        for shown in listed {
            if shown.id == self.id {
                named(&shown.error.unwrap());
            } else {
                assert!(shown.error.is_none());
            }
        }
        drop(store);
        assert_eq!(before, fs::read(&self.path).unwrap(), "{what}: repaired");
    }

    /// What is readable: the places of the entries, and of the gaps with their lengths.
    pub(crate) async fn salvage(&self) -> (Vec<u64>, Vec<(u64, Option<u64>)>) {
        let store = SqliteStore::open(&self.path).unwrap();
        let (mut entries, mut gaps) = (Vec::new(), Vec::new());
        for piece in store.salvage(&self.id).await.unwrap() {
            match piece {
                Salvaged::Entry(entry) => {
                    assert_eq!(entry, self.entries[usize::try_from(entry.seq().0).unwrap()]);
                    entries.push(entry.seq().0);
                }
                Salvaged::Gap { place, bytes, .. } => gaps.push((place.seq.unwrap().0, bytes)),
            }
        }
        (entries, gaps)
    }
}
