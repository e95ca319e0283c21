//! Lists (law S6) through the store itself, against what reading every journal gives: over several stores, other processes, and
//! hundreds of sessions.
#![allow(clippy::unwrap_used, reason = "a test panics where it is wrong")]
#![cfg(unix)]

mod common;

use std::{collections::BTreeMap, fs, io::Write as _, path::Path};

use chat_conformance::{
    files::mode,
    process::{self, OtherProcess},
};
use chat_core::{
    Durability, Entry, EntryBody, ListRequest, Salvaged, Seq, SessionId, SessionSummary, Store,
    StoreError, Timestamp,
};
use chat_store_file::FileStore;
use common::{accepted, completed, created, read, session, write};

fn open(folder: &Path) -> FileStore {
    let options = FileStore::options().durability(Durability::Os);
    options.open(folder).unwrap()
}

/// What a list shows of a session, without the words of its error.
#[derive(Debug, PartialEq)]
struct Line {
    id: SessionId,
    title: Option<String>,
    created_at: Option<Timestamp>,
    last_activity: Option<Timestamp>,
    turns: u64,
    error: Option<&'static str>,
}

async fn list(store: &FileStore, limit: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut after = None;
    loop {
        let page = store.list(ListRequest { after, limit }).await.unwrap();
        lines.extend(page.sessions.into_iter().map(|one| Line {
            id: one.id,
            title: one.title.map(|title| title.to_string()),
            created_at: one.created_at,
            last_activity: one.last_activity,
            turns: one.turns,
            error: one.error.map(|error| error.kind()),
        }));
        after = page.next;
        if after.is_none() {
            return lines;
        }
    }
}

/// The same by reading every journal in full.
async fn truth(store: &FileStore) -> Vec<Line> {
    let mut lines = Vec::new();
    for name in fs::read_dir(store.folder()).unwrap() {
        let name = name.unwrap().file_name().into_string().unwrap();
        let Some(id) = name.strip_suffix(".jsonl") else {
            continue;
        };
        let id = session(id);
        let seen = read(store, &id).await;
        let mut inputs = seen.entries.iter().filter_map(|entry| match entry.body() {
            EntryBody::TurnAccepted { input, .. } => Some(input),
            _ => None,
        });
        let title = inputs.clone().next();
        let mut last = seen.entries.last().map(Entry::at);
        if seen.error.is_some() {
            let pieces = store.salvage(&id).await.unwrap();
            let entries = pieces.iter().filter_map(|piece| match piece {
                Salvaged::Entry(entry) => Some(entry),
                Salvaged::Gap { .. } => None,
            });
            last = entries.max_by_key(|entry| entry.seq()).map(Entry::at);
        }
        lines.push(Line {
            title: title.map(|input| SessionSummary::title_of(input).to_string()),
            created_at: seen.entries.first().map(Entry::at),
            last_activity: last,
            turns: inputs.by_ref().count() as u64,
            error: seen.error.map(|error| error.kind()),
            id,
        });
    }
    lines.sort_by(|a, b| {
        let order = |line: &Line| (std::cmp::Reverse(line.last_activity), line.id.clone());
        order(a).cmp(&order(b))
    });
    lines
}

/// An entry at a time of its own.
fn at(entry: Entry, millis: i64) -> Entry {
    let at = Timestamp::from_millis(millis).unwrap();
    Entry::new(entry.seq(), entry.id().clone(), at, entry.body().clone())
}

async fn create(store: &FileStore, id: &str, millis: i64) {
    let created = store
        .create(&session(id), vec![at(created(), millis)])
        .await;
    created.unwrap();
}

async fn turn(store: &FileStore, id: &str, millis: i64) {
    let acquired = store.acquire(&session(id), Seq::ZERO).await.unwrap();
    let (mut writer, next) = (acquired.writer, acquired.entries.len() as u64);
    write(&mut writer, at(accepted(next, "t"), millis)).await;
    write(&mut writer, at(completed(next + 1, "t"), millis + 1)).await;
}

fn append(store: &FileStore, id: &str, bytes: &[u8]) {
    let mut options = fs::OpenOptions::new();
    let file = options.append(true).open(store.journal_path(&session(id)));
    file.unwrap().write_all(bytes).unwrap();
}

#[tokio::test]
async fn s6_a_list_is_what_reading_every_journal_gives() {
    let folder = tempfile::tempdir().unwrap();
    let stores = [open(folder.path()), open(folder.path())];
    let mut random = fastrand::Rng::with_seed(7);
    // What is damaged for good is in nobody's way.
    let mut sound: BTreeMap<String, bool> = BTreeMap::new();
    for step in 0..150 {
        let (id, millis) = (format!("s{:02}", random.u8(..20)), random.i64(0..1000));
        let store = &stores[random.usize(..2)];
        match (sound.get(&id).copied(), random.u8(..10)) {
            (None, _) => {
                create(store, &id, millis).await;
                sound.insert(id, true);
            }
            (Some(true), 0..6) => turn(store, &id, millis).await,
            (Some(true), 6) => append(store, &id, b"{\"v\":1,\"torn"),
            (Some(true), 7) => {
                append(store, &id, b"harm\n");
                sound.insert(id, false);
            }
            (Some(_), _) => {
                store.delete(&session(&id)).await.unwrap();
                sound.remove(&id);
            }
        }
        let limit = 1 + step % 7;
        assert_eq!(list(store, limit).await, truth(store).await, "step {step}");
    }
    let fresh = open(folder.path());
    assert_eq!(list(&fresh, 3).await, truth(&fresh).await);
}

/// More marks than are left alone: lists take the old ones away, and nothing is lost by it.
#[tokio::test]
async fn s6_lists_remove_the_lock_files_of_sessions_left_alone() {
    const SESSIONS: i64 = 700;
    let folder = tempfile::tempdir().unwrap();
    let stores = [open(folder.path()), open(folder.path())];
    for n in 0..SESSIONS {
        create(&stores[0], &format!("s{n:03}"), n).await;
    }
    let held = stores[0]
        .acquire(&session("s000"), Seq::ZERO)
        .await
        .unwrap();
    let locks = || {
        let names = fs::read_dir(folder.path()).unwrap();
        let names = names.map(|name| name.unwrap().path());
        let locks = names.filter(|path| path.extension().is_some_and(|ending| ending == "lock"));
        locks.count()
    };
    // A file that was written this very moment is not settled: as many lists as that takes, each of them right.
    let mut lists = 0;
    while locks() > 512 {
        let store = &stores[lists % 2];
        let page = store.list(ListRequest::default()).await.unwrap();
        assert_eq!(page.sessions[0].id.as_str(), "s699");
        assert_eq!(page.sessions[49].id.as_str(), "s650");
        lists += 1;
        assert!(lists < 100_000, "the marks stay");
    }
    assert!(locks() > 100, "those in use stay");
    assert!(folder.path().join("s000.lock").exists(), "it is held");
    drop(held);
    for id in ["s000", "s001", "s699"] {
        turn(&stores[1], id, SESSIONS).await;
        assert_eq!(list(&stores[0], 100).await[0].id.as_str(), id);
        stores[1].delete(&session(id)).await.unwrap();
    }
    for store in [&stores[0], &stores[1], &open(folder.path())] {
        assert_eq!(list(store, 300).await, truth(store).await);
    }
}

/// Writes in sessions that are there and a new one, holds one of them, and is killed.
#[tokio::test]
async fn the_other_process() {
    let Some(part) = process::part() else { return };
    let store = open(&part.place);
    create(&store, "new", 500).await;
    turn(&store, "s2", 600).await;
    let acquired = store.acquire(&session("s1"), Seq::ZERO).await.unwrap();
    let mut writer = acquired.writer;
    write(&mut writer, at(accepted(1, "held"), 700)).await;
    append(&store, "s1", b"{\"v\":1,\"seq\":2,");
    process::say("written");
    process::listen();
}

#[tokio::test]
async fn s6_c28_what_a_killed_process_wrote_is_listed_where_it_belongs() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    for n in 0..5 {
        create(&store, &format!("s{n}"), n).await;
    }
    list(&store, 2).await;
    let mut other = OtherProcess::start("write", folder.path());
    other.says("written");
    let ids = async || {
        let lines = list(&store, 3).await;
        let ids = lines.iter().map(|line| line.id.to_string());
        ids.collect::<Vec<_>>().join(" ")
    };
    let expected = "s1 s2 new s4 s3 s0";
    assert_eq!(ids().await, expected, "while it holds one of them");
    other.kill();
    assert_eq!(ids().await, expected);
    assert_eq!(list(&store, 1).await, truth(&store).await);
    turn(&store, "s0", 800).await;
    assert_eq!(ids().await, "s0 s1 s2 new s4 s3");
}

#[tokio::test]
async fn s4_c33_the_index_is_private_to_its_owner() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    create(&store, "a", 1).await;
    list(&store, 1).await;
    let home = folder.path().join("list");
    assert_eq!(mode(&home), 0o700);
    for name in ["index", "lock"] {
        assert_eq!(mode(&home.join(name)), 0o600, "{name}");
    }
    fs::remove_dir_all(home).unwrap();
    assert_eq!(list(&store, 1).await, truth(&store).await);
}

#[tokio::test]
async fn s6_what_is_no_cursor_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    for cursor in ["", "1", "x:a", "1:", "1:a/b", ":a"] {
        let after = Some(chat_core::Cursor(cursor.into()));
        let refused = store.list(ListRequest { after, limit: 1 }).await;
        assert!(
            matches!(refused, Err(StoreError::Backend { .. })),
            "{cursor:?}"
        );
    }
}
