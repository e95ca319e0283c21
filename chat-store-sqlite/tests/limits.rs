//! What only a process of its own can be put through: a full disk, a folder it may not write. Unix, where such limits are.
#![allow(clippy::unwrap_used, reason = "a test panics where it is wrong")]
#![cfg(unix)]

mod common;
#[path = "common/process.rs"]
mod process;

use std::{
    env, fs,
    os::unix::{
        fs::{PermissionsExt as _, chown},
        process::CommandExt as _,
    },
    path::{Path, PathBuf},
    process::Command,
};

use chat_core::{Appended, ListRequest, Seq, SessionId, Store, StoreError};
use chat_store_sqlite::SqliteStore;
use common::{accepted, read, script, session, write};
use process::{Other, listen, part, place, say};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_other_process() {
    let Some((part, path)) = part() else { return };
    let store = SqliteStore::open(&path).unwrap();
    match part.as_str() {
        "full" => fill_the_disk(store).await,
        "forbidden" => write_where_it_is_forbidden(store).await,
        "files" => open_as_many_files_as_there_may_be(store).await,
        other => panic!("there is no part {other}"),
    }
}

/// As on a disk that is full: the kernel takes what fits and refuses the rest.
async fn fill_the_disk(store: SqliteStore) {
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
    let log = {
        let mut path = store.path().as_os_str().to_owned();
        path.push("-wal");
        PathBuf::from(path)
    };
    store.create(&id, script()).await.unwrap();
    let mut writer = store.acquire(&id, Seq(3)).await.unwrap().writer;
    // C34: a session exists whole or not at all.
    for more in [0, 30, 5000] {
        room(Some(fs::metadata(&log).unwrap().len() + more));
        let error = store.create(&session("t"), script()).await.unwrap_err();
        assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
        assert_eq!(
            store
                .list(ListRequest::default())
                .await
                .unwrap()
                .sessions
                .len(),
            1
        );
        let answer = writer.append(accepted(3, "t2")).await;
        assert!(
            matches!(answer, Appended::Unknown(StoreError::Full { .. })),
            "{answer:?}"
        );
        let recovered = writer.recover(Seq(3)).await.unwrap();
        assert_eq!((recovered.entries.len(), recovered.torn), (0, None));
    }
    room(None);
    write(&mut writer, accepted(3, "t2")).await;
    drop(writer);
    assert_eq!(read(&store, &id).await.entries.len(), 4);
    store.create(&session("t"), script()).await.unwrap();
    say("done");
}

#[test]
fn s7_c25_c34_a_full_disk_is_a_typed_error_and_sound_again_when_there_is_room() {
    let (_folder, path) = place();
    // A process is killed for writing past its limit, unless it inherits that it ignores the signal.
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""])
        .arg(env::current_exe().unwrap());
    let mut other = Other::spawn(shell, "full", &path);
    assert_eq!(other.answer(), "done");
    other.end();
}

async fn open_as_many_files_as_there_may_be(store: SqliteStore) {
    let id = session("s");
    store.create(&id, script()).await.unwrap();
    let maximum = getrlimit(Resource::Nofile).maximum;
    let current = Some(64);
    setrlimit(Resource::Nofile, Rlimit { current, maximum }).unwrap();
    let mut open: Vec<_> = std::iter::from_fn(|| fs::File::open("/dev/null").ok()).collect();
    let mut refused = 0;
    let mut check = |error: Option<StoreError>| match error {
        Some(StoreError::Io { source, .. }) => {
            assert_eq!(source.raw_os_error(), Some(24), "{source:?}");
            refused += 1;
        }
        Some(other) => panic!("{other:?}"),
        None => {}
    };
    // How many a connection needs depends on which others there are.
    for _ in 0..6 {
        check(read(&store, &id).await.error);
        check(store.list(ListRequest::default()).await.err());
        check(store.acquire(&id, Seq::ZERO).await.err());
        check(store.salvage(&id).await.err());
        open.pop();
    }
    assert!(refused > 3, "{refused}");
    drop(open);
    assert_eq!(
        store.acquire(&id, Seq::ZERO).await.unwrap().entries,
        script()
    );
    say("done");
}

#[test]
fn s7_too_many_open_files_are_no_read_only_disk() {
    let (_folder, path) = place();
    let mut other = Other::start("files", &path);
    assert_eq!(other.answer(), "done");
    other.end();
}

/// Another process has it open, so that the files which readers need are there.
async fn write_where_it_is_forbidden(store: SqliteStore) {
    let id = session("s");
    let errors = [
        store.create(&session("t"), script()).await.err(),
        store.acquire(&id, Seq::ZERO).await.err(),
        store.delete(&id).await.err(),
        SqliteStore::open(store.path().with_file_name("other.db")).err(),
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
    let path = store.path().to_owned();
    drop(store);
    say("read");
    assert_eq!(listen(), "closed");
    // Nobody has it open now, and what readers need can't be made.
    let error = SqliteStore::open(path).err();
    let message = error.as_ref().map(ToString::to_string).unwrap_or_default();
    assert!(
        matches!(error, Some(StoreError::ReadOnly { .. })) && message.contains("chat.db-shm"),
        "{error:?}"
    );
    say("done");
}

#[tokio::test]
async fn s7_a_folder_that_may_not_be_written_is_read_as_far_as_it_can_be() {
    const NOBODY: u32 = 65534;
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("store");
    let path = folder.join("chat.db");
    let store = SqliteStore::open(&path).unwrap();
    let id: SessionId = session("s");
    store.create(&id, script()).await.unwrap();
    drop(store.acquire(&id, Seq::ZERO).await.unwrap());
    let mut command = Command::new(env::current_exe().unwrap());
    let paths = || {
        let below = |folder: &Path| {
            fs::read_dir(folder)
                .unwrap()
                .map(|file| file.unwrap().path())
                .collect::<Vec<_>>()
        };
        let mut paths = below(&folder);
        paths.extend(below(&folder.join("chat.db-holds")));
        paths
    };
    // Root may write everywhere: then someone else has to try.
    if rustix::process::geteuid().is_root() {
        for path in paths()
            .into_iter()
            .chain([root.path().into(), folder.clone()])
        {
            chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        command.uid(NOBODY).gid(NOBODY);
    }
    let set =
        |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    for path in paths() {
        set(&path, if path.is_dir() { 0o555 } else { 0o444 });
    }
    set(&folder, 0o555);
    let mut other = Other::spawn(command, "forbidden", &path);
    assert_eq!(other.answer(), "read");
    set(&folder, 0o755);
    set(&path, 0o644);
    drop(store);
    set(&path, 0o444);
    set(&folder, 0o555);
    other.tell("closed");
    assert_eq!(other.answer(), "done");
    other.end();
    set(&folder, 0o755);
}
