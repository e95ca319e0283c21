//! The index against the journals it is an index of. The truth is what the journals read as, one after the other.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use chat_core::{
    Acquired, Appended, Cursor, Durability, Entry, EntryBody, EntryId, ListRequest, Metadata,
    ResponderInfo, Seq, SessionId, SessionSummary, Store as _, Timestamp, TurnId,
};
use tokio::runtime::Runtime;

use super::{
    Bounds, Index,
    row::{Key, Row, Stamp, Standing},
    summary,
};
use crate::{
    FileStore, list,
    name::{self, JOURNAL},
    system::{Disk, FileId, FileSystem as _, Folder},
};

mod belief;
mod harm;
mod lab;
mod marks;
mod saving;
mod scripts;

use lab::{Asked, Lab};

pub(crate) fn row(id: &str, at: i64) -> Row {
    Row {
        id: session(id),
        at,
        created: Some(at),
        turns: 1,
        title: None,
        stamp: Stamp {
            id: FileId { device: 1, file: 2 },
            len: 3,
            modified: 4,
            changed: 5,
        },
        standing: Standing::Settled,
        marked: false,
    }
}

fn session(id: &str) -> SessionId {
    SessionId::parse(id).unwrap()
}

/// No mark is left alone, and every list saves.
const EAGER: Bounds = Bounds {
    per_unsaved: usize::MAX,
    marks: 0,
    cleared: 1000,
};

/// A store's list, over a file system of a test.
struct Lister {
    index: Index,
    folder: Folder,
}

impl Lister {
    fn new(lab: &Lab, path: &Path, bounds: Bounds) -> Self {
        Self {
            index: Index {
                bounds,
                ..Index::default()
            },
            folder: Folder {
                files: Arc::new(lab.clone()),
                path: path.to_owned(),
            },
        }
    }

    fn page(
        &mut self,
        after: Option<&Cursor>,
        limit: usize,
    ) -> (Vec<SessionSummary>, Option<Cursor>) {
        let after = after.cloned();
        let page = list::page(&mut self.index, &self.folder, &ListRequest { after, limit });
        let page = page.unwrap();
        (page.sessions, page.next)
    }

    /// Everything, in pages.
    fn list(&mut self, limit: usize) -> Vec<SessionSummary> {
        let (mut sessions, mut next) = self.page(None, limit);
        while let Some(cursor) = next {
            let (more, after) = self.page(Some(&cursor), limit);
            assert!(!more.is_empty(), "a page that was promised is there");
            sessions.extend(more);
            next = after;
        }
        sessions
    }

    /// The first so many, and nothing of them but who they are.
    fn ids(&mut self, limit: usize) -> Vec<String> {
        let (list, _) = self.page(None, limit);
        list.into_iter().map(|one| one.id.to_string()).collect()
    }
}

/// Every session of a folder as its journal reads.
fn truth(path: &Path) -> Vec<SessionSummary> {
    let folder = Folder {
        files: Arc::new(Disk),
        path: path.to_owned(),
    };
    let names = Disk.names(path).unwrap();
    let names = names.map(|name| name.unwrap().into_string().unwrap());
    let mut rows: Vec<(Key, SessionSummary)> = names
        .filter_map(|name| {
            let id = session(&name::session_of(&name, JOURNAL)?);
            let (row, error) = summary::read(&folder, &id).unwrap();
            Some((row.key(), row.summary(error)))
        })
        .collect();
    rows.sort_by(|(a, _), (b, _)| a.cmp(b));
    rows.into_iter().map(|(_, summary)| summary).collect()
}

#[track_caller]
fn assert_same(seen: &[SessionSummary], truth: &[SessionSummary]) {
    let show = |list: &[SessionSummary]| {
        let lines = list.iter().map(|one| format!("{one:?}"));
        lines.collect::<Vec<_>>()
    };
    assert_eq!(show(seen), show(truth));
}

/// A process that writes, over the disk itself. After each write the clock ticks.
struct Writer {
    store: FileStore,
    runtime: Runtime,
}

impl Writer {
    fn new(path: &Path) -> Self {
        Self {
            store: FileStore::options()
                .durability(Durability::Os)
                .open(path)
                .unwrap(),
            runtime: tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .build()
                .unwrap(),
        }
    }

    /// Creates a session, at a time.
    fn create(&self, id: &str, at: i64) {
        let first = entry(0, at, EntryBody::SessionCreated { labels: None });
        let created = self.store.create(&session(id), vec![first]);
        self.runtime.block_on(created).unwrap();
        self.tick(id);
    }

    /// A turn that takes no time.
    fn turn(&self, id: &str, at: i64, input: &str) {
        let mut acquired = self.acquire(id);
        self.write(id, &mut acquired, at, input);
    }

    fn acquire(&self, id: &str) -> Acquired {
        let acquired = self.store.acquire(&session(id), Seq::ZERO);
        self.runtime.block_on(acquired).unwrap()
    }

    fn write(&self, id: &str, acquired: &mut Acquired, at: i64, input: &str) {
        let turn_id = TurnId::parse("t").unwrap();
        let seq = acquired.entries.len() as u64;
        for (seq, body) in [
            (
                seq,
                EntryBody::TurnAccepted {
                    turn_id: turn_id.clone(),
                    input: input.into(),
                    retry_of: None,
                    labels: None,
                },
            ),
            (
                seq + 1,
                EntryBody::TurnCompleted {
                    turn_id,
                    text: "an answer".into(),
                    metadata: Metadata::default(),
                    responder: ResponderInfo::of_kind("test"),
                },
            ),
        ] {
            let written = acquired.writer.append(entry(seq, at, body));
            let written = self.runtime.block_on(written);
            assert!(matches!(written, Appended::Written), "{written:?}");
        }
        self.tick(id);
    }

    fn delete(&self, id: &str) {
        let deleted = self.store.delete(&session(id));
        self.runtime.block_on(deleted).unwrap();
    }

    fn is_held(&self, id: &str) -> bool {
        let held = self.store.is_held(&session(id));
        self.runtime.block_on(held).unwrap()
    }

    fn journal(&self, id: &str) -> PathBuf {
        self.store.journal_path(&session(id))
    }

    fn lock(&self, id: &str) -> PathBuf {
        self.journal(id).with_extension("lock")
    }

    fn tick(&self, id: &str) {
        tick(&self.journal(id));
    }
}

/// Gives a file a time of its own, as a clock does that ticks between any two writes: those of a test may come within a tick.
fn tick(path: &Path) {
    static TICKS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
    let ticks = TICKS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let at = SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_001 + ticks);
    let file = fs::File::options().write(true).open(path).unwrap();
    file.set_modified(at).unwrap();
}

fn entry(seq: u64, at: i64, body: EntryBody) -> Entry {
    let at = Timestamp::from_millis(at).unwrap();
    let id = EntryId::parse(format!("e{seq}")).unwrap();
    Entry::new(Seq(seq), id, at, body)
}
