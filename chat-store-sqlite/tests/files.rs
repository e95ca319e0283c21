//! What is on the disk: modes, links, what is not ours (laws S4, S7). Unix, where modes and
//! links are.
#![allow(clippy::unwrap_used, reason = "a test panics where it is wrong")]
#![cfg(unix)]

mod common;

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use chat_conformance::files::{mode, names};
use chat_core::{Appended, Durability, ListRequest, Seq, Store, StoreError};
use chat_store_sqlite::SqliteStore;
use common::{accepted, place, read, script, session, write};
use rusqlite::Connection;

fn foreign(error: Option<StoreError>, path: &Path) {
    assert!(
        matches!(&error, Some(StoreError::Foreign { path: named, .. }) if named.ends_with(path.file_name().unwrap())),
        "{error:?}"
    );
}

#[tokio::test]
async fn s4_c33_files_and_folders_are_private_to_their_owner() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("made").join("for/us");
    let store = SqliteStore::open(folder.join("chat.db")).unwrap();
    let id = session("s");
    store.create(&id, script()).await.unwrap();
    let acquired = store.acquire(&id, Seq::ZERO).await.unwrap();
    assert_eq!(
        names(&folder),
        ["chat.db", "chat.db-holds", "chat.db-shm", "chat.db-wal"]
    );
    for name in ["chat.db", "chat.db-shm", "chat.db-wal"] {
        assert_eq!(mode(&folder.join(name)), 0o600, "{name}");
    }
    let holds = folder.join("chat.db-holds");
    assert_eq!(names(&holds), ["1.hold", "1.turn", "set-up"]);
    for name in names(&holds) {
        assert_eq!(mode(&holds.join(&name)), 0o600, "{name}");
    }
    for made in [
        holds.as_path(),
        &folder,
        &root.path().join("made/for"),
        &root.path().join("made"),
    ] {
        assert_eq!(mode(made), 0o700, "{}", made.display());
    }
    drop((acquired, store));
    assert_eq!(names(&folder), ["chat.db", "chat.db-holds"]);
}

#[tokio::test]
async fn s4_c32_an_id_is_never_a_path() {
    let (folder, path) = place();
    let store = SqliteStore::open(&path).unwrap();
    for id in ["...", "C:x", "a'; DROP TABLE sessions; --", "%s"] {
        store.create(&session(id), script()).await.unwrap();
        drop(store.acquire(&session(id), Seq(3)).await.unwrap());
        assert_eq!(read(&store, &session(id)).await.entries, script());
    }
    assert_eq!(
        names(&folder.path().join("chat.db-holds")).len(),
        2 * 4 + 1,
        "named by rows"
    );
}

#[tokio::test]
async fn s4_links_are_not_followed() {
    let (folder, path) = place();
    let store = SqliteStore::open(&path).unwrap();
    store.create(&session("s"), script()).await.unwrap();
    let link = folder.path().join("link.db");
    symlink(&path, &link).unwrap();
    foreign(SqliteStore::open(&link).err(), &link);
    let dangling = folder.path().join("dangling.db");
    symlink(folder.path().join("elsewhere"), &dangling).unwrap();
    foreign(SqliteStore::open(&dangling).err(), &dangling);
    assert!(!folder.path().join("elsewhere").exists());

    // A lock file that is a link would lock, and create, something elsewhere.
    symlink(
        folder.path().join("elsewhere"),
        folder.path().join("chat.db-holds/1.hold"),
    )
    .unwrap();
    let error = store.acquire(&session("s"), Seq::ZERO).await.err();
    assert!(
        matches!(error, Some(StoreError::Foreign { .. })),
        "{error:?}"
    );
    assert!(!folder.path().join("elsewhere").exists());

    // Nor a link, or anything else, in the place of their folder: before there is a database, before it is opened, and after.
    let fresh = folder.path().join("fresh.db");
    let holds = |path: &Path| PathBuf::from(format!("{}-holds", path.display()));
    let elsewhere = folder.path().join("a-folder");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, holds(&fresh)).unwrap();
    foreign(SqliteStore::open(&fresh).err(), &holds(&fresh));
    assert!(!fresh.exists());
    fs::remove_dir_all(holds(&path)).unwrap();
    for link in [true, false] {
        if link {
            symlink(&elsewhere, holds(&path)).unwrap();
        } else {
            fs::write(holds(&path), "").unwrap();
        }
        foreign(SqliteStore::open(&path).err(), &holds(&path));
        let acquired = store.acquire(&session("s"), Seq::ZERO).await;
        foreign(acquired.err(), &holds(&path));
        foreign(store.is_held(&session("s")).await.err(), &holds(&path));
        fs::remove_file(holds(&path)).unwrap();
    }
    assert_eq!(names(&elsewhere), [""; 0]);

    // A link to the folder is the user's own way to it.
    let way = folder.path().join("way");
    symlink(folder.path(), &way).unwrap();
    let again = SqliteStore::open(way.join("chat.db")).unwrap();
    assert_eq!(again.path(), store.path());
}

#[tokio::test]
async fn s5_a_database_of_two_names_is_refused_by_both() {
    let (folder, path) = place();
    let store = SqliteStore::open(&path).unwrap();
    store.create(&session("s"), script()).await.unwrap();
    drop(store);
    let other = folder.path().join("other.db");
    fs::hard_link(&path, &other).unwrap();
    foreign(SqliteStore::open(&path).err(), &path);
    foreign(SqliteStore::open(&other).err(), &other);
    fs::remove_file(&path).unwrap();
    let store = SqliteStore::open(&other).unwrap();
    assert_eq!(read(&store, &session("s")).await.entries, script());
}

#[test]
fn s7_what_is_no_chat_store_is_foreign_and_left_as_it_is() {
    let (folder, path) = place();
    let untouched = |what: &str| {
        let before = fs::read(&path).unwrap();
        let around = names(folder.path());
        foreign(SqliteStore::open(&path).err(), &path);
        assert_eq!(fs::read(&path).unwrap(), before, "{what}");
        assert_eq!(names(folder.path()), around, "{what}: nothing beside it");
    };
    fs::write(&path, "").unwrap();
    untouched("empty");
    fs::write(&path, "what I wrote down\n".repeat(500)).unwrap();
    untouched("a text");

    for (journal, id) in [("DELETE", 0), ("DELETE", 0x1234), ("WAL", 0)] {
        fs::remove_file(&path).unwrap();
        let connection = Connection::open(&path).unwrap();
        connection
            .execute_batch(&format!(
                "PRAGMA journal_mode = {journal}; PRAGMA application_id = {id}; CREATE TABLE notes (text);"
            ))
            .unwrap();
        connection.close().unwrap();
        untouched("another program's");
    }

    // One that another program is in the middle of: its log is not replayed, its journal not rolled back.
    fs::remove_file(&path).unwrap();
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE notes (text); BEGIN; INSERT INTO notes VALUES ('x');")
        .unwrap();
    untouched("open elsewhere");
    drop(connection);

    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    foreign(SqliteStore::open(&path).err(), &path);
    fs::remove_dir(&path).unwrap();
    // A pipe must not hang the store.
    let made = std::process::Command::new("mkfifo")
        .arg(&path)
        .status()
        .unwrap();
    assert!(made.success());
    foreign(SqliteStore::open(&path).err(), &path);
}

#[tokio::test]
async fn s7_c30_tables_of_a_newer_format_are_refused_and_left_as_they_are() {
    let (_folder, path) = place();
    let store = SqliteStore::open(&path).unwrap();
    let id = session("s");
    store.create(&id, script()).await.unwrap();
    let mut writer = store.acquire(&id, Seq(3)).await.unwrap().writer;
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("PRAGMA user_version = 2").unwrap();
    let newer = |error: Option<StoreError>| match error {
        Some(StoreError::NewerFormat {
            what,
            found,
            supported,
        }) => {
            assert_eq!((found, supported), (2, 1));
            assert!(what.contains("chat.db"), "{what}");
        }
        other => panic!("{other:?}"),
    };
    // A newer program came while this store is open.
    match writer.append(accepted(3, "t2")).await {
        Appended::NotWritten(error) => newer(Some(error)),
        other => panic!("{other:?}"),
    }
    newer(read(&store, &id).await.error);
    newer(store.create(&session("t"), script()).await.err());
    newer(store.list(ListRequest::default()).await.err());
    drop((writer, store));
    let (before, log) = (
        fs::read(&path).unwrap(),
        fs::read(path.with_file_name("chat.db-wal")).unwrap(),
    );
    newer(SqliteStore::open(&path).err());
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(fs::read(path.with_file_name("chat.db-wal")).unwrap(), log);
    drop(connection);
    let before = fs::read(&path).unwrap();
    newer(SqliteStore::open(&path).err());
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn s7_a_path_is_always_a_files() {
    let folder = tempfile::tempdir().unwrap();
    for name in [
        ":memory:",
        "file:x?mode=memory",
        "file::memory:?cache=shared",
        "50%25 #?&.db",
        "\u{fc}\u{1f331}.db",
        "-x.db",
    ] {
        let path = folder.path().join(name);
        let store = SqliteStore::open(&path).unwrap();
        store.create(&session("s"), script()).await.unwrap();
        drop(store);
        assert!(path.is_file(), "{name}");
        let store = SqliteStore::open(&path).unwrap();
        assert_eq!(
            read(&store, &session("s")).await.entries,
            script(),
            "{name}"
        );
    }
    for path in [Path::new(""), Path::new("/"), &folder.path().join("..")] {
        let error = SqliteStore::open(path).err();
        assert!(
            matches!(error, Some(StoreError::Backend { .. })),
            "{path:?}: {error:?}"
        );
    }
    let error = SqliteStore::options()
        .durability(Durability::Memory)
        .open(folder.path().join("x.db"))
        .err();
    assert!(
        matches!(error, Some(StoreError::Backend { .. })),
        "{error:?}"
    );
    assert!(!folder.path().join("x.db").exists());
}

#[tokio::test]
async fn s7_the_longest_path_is_said_and_works() {
    let root = tempfile::tempdir().unwrap();
    let folder = root
        .path()
        .canonicalize()
        .unwrap()
        .join("f".repeat(200))
        .join("g".repeat(200));
    let path = |length: usize| folder.join("n".repeat(length - 1 - folder.as_os_str().len()));
    for length in [495, 504, 505, 512, 600] {
        let error = SqliteStore::open(path(length)).err();
        let message = error.as_ref().map(ToString::to_string).unwrap_or_default();
        assert!(
            matches!(error, Some(StoreError::Backend { .. })) && message.contains("more than 494"),
            "{length}: {error:?}"
        );
        assert_eq!(names(root.path()), [""; 0], "{length}: a folder was made");
    }
    let store = SqliteStore::open(path(494)).unwrap();
    store.create(&session("s"), script()).await.unwrap();
    let mut writer = store.acquire(&session("s"), Seq(3)).await.unwrap().writer;
    write(&mut writer, accepted(3, "t2")).await;

    // The way to it is short, and what it leads to is not.
    let way = root.path().join("way");
    symlink(&folder, &way).unwrap();
    let error = SqliteStore::open(way.join("n".repeat(250))).err();
    assert!(
        matches!(error, Some(StoreError::Backend { .. })),
        "{error:?}"
    );
}

#[test]
fn s4_s7_a_log_that_is_no_plain_file_is_foreign_and_left_as_it_is() {
    for ending in ["-wal", "-shm"] {
        let (folder, path) = place();
        drop(SqliteStore::open(&path).unwrap());
        let beside = path.with_file_name(format!("chat.db{ending}"));
        let victim = folder.path().join("victim");
        fs::write(&victim, "mine").unwrap();
        // Left by one that only read.
        fs::remove_file(path.with_file_name("chat.db-wal")).unwrap();
        fs::remove_file(path.with_file_name("chat.db-shm")).unwrap();
        symlink(&victim, &beside).unwrap();
        foreign(SqliteStore::open(&path).err(), &beside);
        symlink(folder.path().join("nowhere"), folder.path().join("link")).unwrap();
        fs::rename(folder.path().join("link"), &beside).unwrap();
        foreign(SqliteStore::open(&path).err(), &beside);
        assert_eq!(fs::read(&victim).unwrap(), b"mine");
        assert!(!folder.path().join("nowhere").exists());
        fs::remove_file(&beside).unwrap();
        SqliteStore::open(&path).unwrap();
    }
}

#[tokio::test]
async fn s7_opening_one_database_touches_nothing_that_stands_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chat.db");
    let beside = ["-new", "-bak", "-probe", ".new"];
    let id = session("s");
    for ending in beside {
        let store = SqliteStore::open(folder.path().join(format!("chat.db{ending}"))).unwrap();
        store.create(&id, script()).await.unwrap();
    }
    let before = names(folder.path());
    // What a killed maker left is cleared away.
    fs::create_dir(folder.path().join("chat.db-holds")).unwrap();
    fs::write(folder.path().join("chat.db-holds/new"), "half of it").unwrap();
    let store = SqliteStore::open(&path).unwrap();
    store.create(&id, script()).await.unwrap();
    drop(store);
    assert_eq!(names(&folder.path().join("chat.db-holds")), ["set-up"]);
    let mut expected = [
        &["chat.db".to_owned(), "chat.db-holds".to_owned()],
        &before[..],
    ]
    .concat();
    expected.sort();
    assert_eq!(names(folder.path()), expected);
    for ending in beside {
        let store = SqliteStore::open(folder.path().join(format!("chat.db{ending}"))).unwrap();
        assert_eq!(read(&store, &id).await.entries, script(), "{ending}");
    }
}

/// Any FUSE or 9p mount that is there; where there is none, only the numbers are tested.
#[test]
fn c31_a_mounted_fuse_or_9p_file_system_is_refused_by_name() {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let found = mounts.lines().find_map(|line| {
        let mut fields = line.split(' ').skip(1);
        let (place, kind) = (fields.next()?, fields.next()?);
        let is_one = kind.starts_with("fuse.") || kind == "fuse" || kind == "9p" || kind == "nfs4";
        is_one
            .then(|| PathBuf::from(place))
            .filter(|place| place.is_dir())
    });
    let Some(place) = found else {
        println!("skipped: no FUSE, 9p or NFS file system is mounted here");
        return;
    };
    let error = SqliteStore::open(place.join("chat.db")).err();
    let message = error.as_ref().map(ToString::to_string).unwrap_or_default();
    assert!(
        matches!(error, Some(StoreError::Backend { .. })) && message.contains("local disk"),
        "{error:?}"
    );
    assert!(!place.join("chat.db").exists());
}
