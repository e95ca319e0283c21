//! Several processes on one folder, killed ones among them, and what only a process of its own can be put through: a full disk,
//! a folder it may not write.
//!
//! The other process is this test binary again, as the test `the_other_process` with a part to play.
#![allow(clippy::unwrap_used, reason = "a test panics where it is wrong")]
#![cfg(unix)]

mod common;

use std::{
    env, fs,
    io::{BufRead as _, BufReader, Lines, Write as _},
    os::unix::{
        fs::{PermissionsExt as _, chown},
        process::CommandExt as _,
    },
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use chat_core::{Acquired, Appended, ListRequest, Seq, SessionId, Store, StoreError};
use chat_store_file::FileStore;
use common::{accepted, completed, created, one_session, read, script, session, write};
use futures_util::future::poll_immediate;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

const PART: &str = "CHAT_STORE_FILE_TEST_PART";
const FOLDER: &str = "CHAT_STORE_FILE_TEST_FOLDER";

/// A process that plays a part. It is told things on its input and answers on its output, a line at a time.
struct Other {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Other {
    fn start(part: &str, folder: &Path) -> Self {
        Self::spawn(Command::new(env::current_exe().unwrap()), part, folder)
    }

    fn spawn(mut command: Command, part: &str, folder: &Path) -> Self {
        let mut child = command
            .args(["--exact", "the_other_process", "--nocapture"])
            .env(PART, part)
            .env(FOLDER, folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        Self {
            child,
            input,
            output,
        }
    }

    fn tell(&mut self, what: &str) {
        writeln!(self.input, "{what}").unwrap();
    }

    /// Its next answer. The test harness prints lines of its own in between.
    fn answer(&mut self) -> String {
        let lines = self.output.by_ref().map(|line| line.unwrap());
        let mut answers =
            lines.filter_map(|line| Some(line.split_once("the other: ")?.1.to_owned()));
        answers.next().expect("the other process goes on")
    }

    fn end(mut self) {
        drop(self.input);
        assert!(self.child.wait().unwrap().success());
    }
}

#[expect(clippy::print_stdout, reason = "its output is how it answers")]
fn say(what: &str) {
    println!("\nthe other: {what}");
}

fn listen() -> String {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    line.trim().to_owned()
}

#[tokio::test]
async fn the_other_process() {
    let Ok(part) = env::var(PART) else { return };
    let folder = env::var_os(FOLDER).unwrap();
    let store = FileStore::open(&folder).unwrap();
    match part.as_str() {
        "hold" => hold(store).await,
        "write" => keep_writing(store).await,
        "one" | "two" => take_turns(store, &part).await,
        "full" => fill_the_disk(store).await,
        "forbidden" => write_where_it_is_forbidden(store).await,
        other => panic!("there is no part {other}"),
    }
}

/// Holds the session until it is told to let go.
async fn hold(store: FileStore) {
    let mut acquired = store.acquire(&session("s"), Seq::ZERO).await.unwrap();
    let next = acquired.entries.len() as u64;
    write(&mut acquired.writer, accepted(next, "held")).await;
    say("held");
    listen();
}

#[tokio::test]
async fn s5_c24_a_killed_holders_hold_is_free_at_once() {
    let (folder, store, id) = one_session().await;
    for round in 0..3 {
        let mut other = Other::start("hold", folder.path());
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
        other.child.kill().unwrap();
        let acquired = acquire.await.unwrap();
        other.child.wait().unwrap();
        assert_eq!(
            acquired.entries.last().unwrap().id().as_str(),
            format!("e{}-held", 3 + round)
        );
        assert_eq!(acquired.torn, None);
    }
    let mut other = Other::start("hold", folder.path());
    assert_eq!(other.answer(), "held");
    let acquire = store.acquire(&id, Seq(3));
    other.tell("let go");
    acquire.await.unwrap();
    other.end();
}

/// Appends until it is killed; says each entry once it is written.
async fn keep_writing(store: FileStore) {
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
    let (folder, store, id) = one_session().await;
    for _ in 0..5 {
        let mut other = Other::start("write", folder.path());
        let mut acknowledged = 0;
        for _ in 0..20 {
            acknowledged = other.answer().parse::<usize>().unwrap();
        }
        other.child.kill().unwrap();
        other.child.wait().unwrap();
        let mut acquired = store.acquire(&id, Seq::ZERO).await.unwrap();
        let next = acquired.entries.len();
        assert!(
            next > acknowledged,
            "entry {acknowledged} was acknowledged, and {next} are there"
        );
        write(&mut acquired.writer, completed(next as u64, "w")).await;
        drop(acquired);
        let seen = read(&store, &id).await;
        assert_eq!(
            (
                seen.entries.len(),
                seen.torn.is_none(),
                seen.error.is_none()
            ),
            (next + 1, true, true)
        );
    }
}

const TURNS: usize = 40;

/// Takes turns on the session, as a chat does: hold, accept, answer.
async fn take_turns(store: FileStore, name: &str) {
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
    let folder = tempfile::tempdir().unwrap();
    let store = FileStore::open(folder.path()).unwrap();
    let id = session("s");
    store.create(&id, vec![created()]).await.unwrap();
    let mut others = ["one", "two"].map(|name| Other::start(name, folder.path()));
    for other in &mut others {
        assert_eq!(other.answer(), "ready");
    }
    others.iter_mut().for_each(|other| other.tell("go"));
    for mut other in others {
        assert_eq!(other.answer(), "done");
        other.end();
    }
    let seen = read(&store, &id).await;
    assert!(seen.torn.is_none() && seen.error.is_none(), "{seen:?}");
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
    // Nobody starves: when the first is done, the other one is nearly done too.
    let first_done = turns
        .iter()
        .rposition(|turn| !turn.starts_with(&turns[turns.len() - 1][..3]))
        .unwrap();
    let left = (turns.len() - 1 - first_done) / 2;
    assert!(
        left <= TURNS / 2,
        "{left} of {TURNS} turns were left for the slower one: {turns:?}"
    );
}

/// As on a disk that is full: the kernel takes what fits and refuses the rest.
async fn fill_the_disk(store: FileStore) {
    let id = session("s");
    let room = |bytes: Option<u64>| {
        let maximum = getrlimit(Resource::Fsize).maximum;
        setrlimit(
            Resource::Fsize,
            Rlimit {
                current: bytes,
                maximum,
            },
        )
        .unwrap();
    };
    let path = store.journal_path(&id);
    let len = || fs::metadata(&path).unwrap().len();
    let refused =
        |answer: &Appended| matches!(answer, Appended::NotWritten(StoreError::Full { .. }));

    // C34: a session exists whole or not at all.
    room(Some(20));
    let error = store.create(&id, script()).await.unwrap_err();
    assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
    assert!(
        store
            .list(ListRequest::default())
            .await
            .unwrap()
            .sessions
            .is_empty()
    );
    assert_eq!(fs::read_dir(store.folder()).unwrap().count(), 0);
    room(None);
    store.create(&id, script()).await.unwrap();

    let mut writer = store.acquire(&id, Seq(3)).await.unwrap().writer;
    room(Some(len()));
    for _ in 0..2 {
        let answer = writer.append(accepted(3, "t2")).await;
        assert!(refused(&answer), "{answer:?}");
    }
    room(Some(len() + 30));
    let answer = writer.append(accepted(3, "t2")).await;
    assert!(
        matches!(answer, Appended::Unknown(StoreError::Full { .. })),
        "a part of it is in the file: {answer:?}"
    );
    let answer = writer.append(accepted(3, "t2")).await;
    assert!(
        matches!(answer, Appended::NotWritten(StoreError::Misuse { .. })),
        "{answer:?}"
    );
    let recovered = writer.recover(Seq(3)).await.unwrap();
    assert_eq!(
        (
            recovered.entries.len(),
            recovered.torn.map(|torn| torn.bytes)
        ),
        (0, Some(30))
    );
    room(None);
    write(&mut writer, accepted(3, "t2")).await;
    drop(writer);
    assert_eq!(read(&store, &id).await.entries.len(), 4);
    say("done");
}

#[test]
fn s7_c25_c34_a_full_disk_is_a_typed_error_and_sound_again_when_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    // A process is killed for writing past its limit, unless it inherits that it ignores the signal.
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""])
        .arg(env::current_exe().unwrap());
    let mut other = Other::spawn(shell, "full", folder.path());
    assert_eq!(other.answer(), "done");
    other.end();
}

async fn write_where_it_is_forbidden(store: FileStore) {
    let id = session("s");
    let errors = [
        store.create(&session("t"), script()).await.err(),
        store.acquire(&id, Seq::ZERO).await.err(),
        store.delete(&id).await.err(),
        FileStore::open(store.folder().join("below")).err(),
    ];
    for error in errors {
        assert!(
            matches!(error, Some(StoreError::ReadOnly { .. })),
            "{error:?}"
        );
    }
    let seen = read(&store, &id).await;
    assert!(
        seen.entries == script() && seen.error.is_none(),
        "what may be read is read: {seen:?}"
    );
    assert_eq!(
        store
            .list(ListRequest::default())
            .await
            .unwrap()
            .sessions
            .len(),
        1
    );
    assert!(!store.is_held(&id).await.unwrap());
    say("done");
}

#[tokio::test]
async fn s7_a_folder_that_may_not_be_written_is_read_and_not_written() {
    const NOBODY: u32 = 65534;
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("store");
    let store = FileStore::open(&folder).unwrap();
    let id: SessionId = session("s");
    store.create(&id, script()).await.unwrap();
    let mut command = Command::new(env::current_exe().unwrap());
    // Root may write everywhere: then someone else has to try.
    if rustix::process::geteuid().is_root() {
        let (journal, lock) = (store.journal_path(&id), folder.join("s.lock"));
        for path in [root.path(), &folder, &journal, &lock] {
            chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        command.uid(NOBODY).gid(NOBODY);
    }
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).unwrap();
    let mut other = Other::spawn(command, "forbidden", &folder);
    assert_eq!(other.answer(), "done");
    other.end();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
}
