//! Several processes on one database, killed ones among them.
#![allow(clippy::unwrap_used, reason = "a test panics where it is wrong")]

mod common;
#[path = "common/process.rs"]
mod process;

use std::{fs, path::Path};

use chat_core::{Acquired, Appended, ListRequest, Seq, Store};
use chat_store_sqlite::SqliteStore;
use common::{accepted, completed, created, read, script, session, write};
use futures_util::future::poll_immediate;
use process::{Other, listen, part, place, say};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_other_process() {
    let Some((part, path)) = part() else { return };
    if part == "first" {
        return open_first(&path).await;
    }
    let store = SqliteStore::open(&path).unwrap();
    match part.as_str() {
        "hold" => hold(store).await,
        "write" => keep_writing(store).await,
        "one" | "two" => take_turns(store, &part).await,
        "a" | "b" | "c" | "d" => write_from_many_tasks(store, &part).await,
        other => panic!("there is no part {other}"),
    }
}

/// Holds the session until it is told to let go.
async fn hold(store: SqliteStore) {
    let mut acquired = store.acquire(&session("s"), Seq::ZERO).await.unwrap();
    let next = acquired.entries.len() as u64;
    write(&mut acquired.writer, accepted(next, "held")).await;
    say("held");
    listen();
}

#[tokio::test]
async fn s5_c24_a_killed_holders_hold_is_free_at_once() {
    let (_folder, path) = place();
    let store = SqliteStore::open(&path).unwrap();
    let id = session("s");
    store.create(&id, script()).await.unwrap();
    for round in 0..3 {
        let mut other = Other::start("hold", &path);
        assert_eq!(other.answer(), "held");
        assert!(store.is_held(&id).await.unwrap());
        let mut acquire = store.acquire(&id, Seq(3));
        assert!(
            poll_immediate(&mut acquire).await.is_none(),
            "two holders at once"
        );
        assert_eq!(
            read(&store, &id).await.entries.len(),
            4 + round,
            "reading does not wait for it"
        );
        other.kill();
        let acquired = acquire.await.unwrap();
        assert_eq!(
            acquired.entries.last().unwrap().id().as_str(),
            format!("e{}-held", 3 + round)
        );
        assert_eq!(acquired.torn, None);
    }
    let mut other = Other::start("hold", &path);
    assert_eq!(other.answer(), "held");
    let acquire = store.acquire(&id, Seq(3));
    other.tell("let go");
    acquire.await.unwrap();
    other.end();
}

/// Appends until it is killed; says each entry once it is written.
async fn keep_writing(store: SqliteStore) {
    let id = session("s");
    let Acquired {
        mut writer,
        entries,
        ..
    } = store.acquire(&id, Seq::ZERO).await.unwrap();
    // Bounded, should nobody kill it.
    for seq in entries.len() as u64..100_000 {
        write(&mut writer, accepted(seq, "w")).await;
        say(&seq.to_string());
    }
}

#[tokio::test]
async fn s2_what_a_killed_writer_acknowledged_is_there_and_the_next_append_is_sound() {
    let (_folder, path) = place();
    let id = session("s");
    SqliteStore::open(&path)
        .unwrap()
        .create(&id, script())
        .await
        .unwrap();
    for round in 0..6 {
        // Where nobody else has it open, the next one to open it replays the log.
        let beside = (round % 2 == 0).then(|| SqliteStore::open(&path).unwrap());
        let mut other = Other::start("write", &path);
        let mut acknowledged = 0;
        for _ in 0..20 {
            acknowledged = other.answer().parse::<usize>().unwrap();
        }
        other.kill();
        let store = beside.unwrap_or_else(|| SqliteStore::open(&path).unwrap());
        let mut acquired = store.acquire(&id, Seq::ZERO).await.unwrap();
        let next = acquired.entries.len();
        assert!(
            next > acknowledged,
            "entry {acknowledged} was acknowledged, and {next} are there"
        );
        write(&mut acquired.writer, completed(next as u64, "w")).await;
        drop(acquired);
        let seen = read(&store, &id).await;
        assert_eq!((seen.entries.len(), seen.error.is_none()), (next + 1, true));
    }
}

const TURNS: usize = 500;

/// Takes turns on the session, as a chat does: hold, accept, answer.
async fn take_turns(store: SqliteStore, name: &str) {
    let id = session("s");
    say("ready");
    assert_eq!(listen(), "go");
    let mut next = Seq::ZERO;
    for turn in 0..TURNS {
        let mut acquired = store.acquire(&id, next).await.unwrap();
        next = acquired
            .entries
            .last()
            .map_or(next, |entry| entry.seq().next());
        let turn = format!("{name}-{turn}");
        write(&mut acquired.writer, accepted(next.0, &turn)).await;
        let answer = acquired
            .writer
            .append_last(completed(next.next().0, &turn))
            .await;
        assert!(matches!(answer, Appended::Written), "{answer:?}");
        next = next.next().next();
    }
    say("done");
}

#[tokio::test]
async fn s5_c23_two_processes_write_one_session_one_turn_at_a_time() {
    let (_folder, path) = place();
    let store = SqliteStore::open(&path).unwrap();
    let id = session("s");
    store.create(&id, vec![created()]).await.unwrap();
    let mut others = ["one", "two"].map(|name| Other::start(name, &path));
    for other in &mut others {
        assert_eq!(other.answer(), "ready");
    }
    others.iter_mut().for_each(|other| other.tell("go"));
    for mut other in others {
        assert_eq!(other.answer(), "done");
        other.end();
    }
    let seen = read(&store, &id).await;
    assert!(seen.error.is_none(), "{seen:?}");
    let turns: Vec<&str> = seen.entries[1..]
        .iter()
        .map(|entry| entry.body().turn_id().unwrap().as_str())
        .collect();
    assert_eq!(
        turns.len(),
        2 * 2 * TURNS,
        "every acknowledged entry is there"
    );
    assert!(
        turns.chunks(2).all(|turn| turn[0] == turn[1]),
        "no turn within another: {turns:?}"
    );
    for name in ["one", "two"] {
        let own = turns
            .chunks(2)
            .map(|turn| turn[0])
            .filter(|turn| turn.starts_with(name));
        assert_eq!(
            own.collect::<Vec<_>>(),
            (0..TURNS)
                .map(|turn| format!("{name}-{turn}"))
                .collect::<Vec<_>>()
        );
    }
    // Nobody starves: of the turns until the first one is done, the other had at least a quarter.
    let last = &turns[turns.len() - 1][..3];
    let first_done = turns
        .iter()
        .rposition(|turn| !turn.starts_with(last))
        .unwrap();
    let slower = turns[..first_done]
        .iter()
        .filter(|turn| turn.starts_with(last))
        .count();
    assert!(
        slower * 4 >= first_done,
        "the slower one had {slower} of {first_done} entries"
    );
}

/// How many sessions at once, and how many turns of each.
const TASKS: usize = 16;
const EACH: usize = 4;

/// Creates sessions and takes turns in all of them at once.
async fn write_from_many_tasks(store: SqliteStore, name: &str) {
    say("ready");
    assert_eq!(listen(), "go");
    let mut tasks = Vec::new();
    for task in 0..TASKS {
        let (store, id) = (store.clone(), session(&format!("{name}-{task}")));
        tasks.push(tokio::spawn(async move {
            store.create(&id, vec![created()]).await.unwrap();
            for turn in 0..EACH as u64 {
                let next = 2 * turn + 1;
                let mut acquired = store.acquire(&id, Seq(next)).await.unwrap();
                write(&mut acquired.writer, accepted(next, &format!("t{turn}"))).await;
                write(
                    &mut acquired.writer,
                    completed(next + 1, &format!("t{turn}")),
                )
                .await;
                drop(acquired);
                assert_eq!(read(&store, &id).await.entries.len() as u64, next + 2);
                let page = ListRequest {
                    after: None,
                    limit: 5,
                };
                store.list(page).await.unwrap();
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    say("done");
}

#[tokio::test]
async fn c29_many_tasks_of_many_processes_are_never_told_that_the_database_is_locked() {
    let (_folder, path) = place();
    let names = ["a", "b", "c", "d"];
    let mut others = names.map(|name| Other::start(name, &path));
    for other in &mut others {
        assert_eq!(other.answer(), "ready");
    }
    others.iter_mut().for_each(|other| other.tell("go"));
    for mut other in others {
        assert_eq!(other.answer(), "done");
        other.end();
    }
    let store = SqliteStore::open(&path).unwrap();
    for name in names {
        for task in 0..TASKS {
            let seen = read(&store, &session(&format!("{name}-{task}"))).await;
            assert_eq!(
                (seen.entries.len(), seen.error.is_none()),
                (1 + 2 * EACH, true)
            );
        }
    }
    let mut listed = 0;
    let mut request = ListRequest::default();
    for _ in 0..10 {
        let page = store.list(request.clone()).await.unwrap();
        assert!(page.sessions.iter().all(|shown| shown.error.is_none()));
        listed += page.sessions.len();
        match page.next {
            Some(next) => request.after = Some(next),
            None => break,
        }
    }
    assert_eq!(listed, names.len() * TASKS);
}

/// Opens a database that is not there, once it is told to.
async fn open_first(path: &Path) {
    say("ready");
    let name = listen();
    let store = SqliteStore::open(path).unwrap();
    store.create(&session(&name), script()).await.unwrap();
    say("done");
    listen();
}

#[tokio::test]
async fn c29_eight_processes_open_a_database_for_the_first_time_at_once() {
    for round in 0..3 {
        let (folder, path) = place();
        // A folder that is not there either, and one where a killed process left its beginnings.
        let path = match round {
            0 => path,
            1 => folder.path().join("below/it/chat.db"),
            _ => {
                fs::create_dir(folder.path().join("chat.db-holds")).unwrap();
                for left in ["chat.db-holds/new", "chat.db-holds/new-journal"] {
                    fs::write(folder.path().join(left), "cut off").unwrap();
                }
                path
            }
        };
        let mut others: Vec<_> = (0..8).map(|_| Other::start("first", &path)).collect();
        for other in &mut others {
            assert_eq!(other.answer(), "ready");
        }
        for (n, other) in others.iter_mut().enumerate() {
            other.tell(&format!("s{n}"));
        }
        for mut other in others {
            assert_eq!(other.answer(), "done");
            other.end();
        }
        let mut left: Vec<_> = fs::read_dir(path.parent().unwrap())
            .unwrap()
            .map(|file| file.unwrap().file_name())
            .collect();
        left.sort();
        assert_eq!(
            left,
            ["chat.db", "chat.db-holds"],
            "closed, it is one file and the locks"
        );
        let store = SqliteStore::open(&path).unwrap();
        let listed = store.list(ListRequest::default()).await.unwrap().sessions;
        assert_eq!(listed.len(), 8);
        assert!(listed.iter().all(|shown| shown.error.is_none()));
    }
}
