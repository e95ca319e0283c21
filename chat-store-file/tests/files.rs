//! What is in the folder: names, modes, links, leftovers (laws S4, S6, S7). Unix, where modes and links are.
#![allow(clippy::unwrap_used, reason = "a test panics where it is wrong")]
#![cfg(unix)]

mod common;

use std::{
    fs,
    os::unix::{fs::symlink, net::UnixListener},
};

use chat_conformance::{
    files::{mode, names},
    holds::{check_lost, check_nothing_open},
};
use chat_core::{ListRequest, Seq, SessionId, Store, StoreError};
use chat_store_file::FileStore;
use common::{accepted, created, one_session, read, script, session};

#[tokio::test]
async fn s4_c33_files_and_folders_are_private_to_their_owner() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("made").join("for/us");
    let store = FileStore::open(&folder).unwrap();
    let id = session("s");
    store.create(&id, script()).await.unwrap();
    fs::OpenOptions::new()
        .append(true)
        .open(store.journal_path(&id))
        .and_then(|mut file| {
            use std::io::Write as _;
            file.write_all(b"torn")
        })
        .unwrap();
    let acquired = store.acquire(&id, Seq::ZERO).await.unwrap();
    let names = names(&folder);
    assert_eq!(
        names.len(),
        4,
        "journal, lock, turnstile and torn tail: {names:?}"
    );
    for name in names {
        assert_eq!(mode(&folder.join(&name)), 0o600, "{name}");
    }
    drop(acquired);
    for made in [
        folder.as_path(),
        &root.path().join("made/for"),
        &root.path().join("made"),
    ] {
        assert_eq!(mode(made), 0o700, "{}", made.display());
    }
}

#[tokio::test]
async fn s4_c32_no_id_leads_out_of_the_folder() {
    for id in ["..", ".", "../s", "a/b", "/s", "a\\b", "..\\s", "", "a\0b"] {
        assert!(SessionId::parse(id).is_err(), "{id:?}");
    }
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("store");
    let store = FileStore::open(&folder).unwrap();
    let ids = [
        "...",
        "~",
        "-rf",
        "%2e%2e%2f",
        "C:",
        "a:b",
        "con",
        "*",
        "$HOME",
    ];
    for id in ids {
        let id = session(id);
        store.create(&id, script()).await.unwrap();
        drop(store.acquire(&id, Seq::ZERO).await.unwrap());
        assert_eq!(store.journal_path(&id).parent(), Some(store.folder()));
    }
    assert_eq!(names(root.path()), ["store"]);
    assert_eq!(names(&folder).len(), 3 * ids.len(), "journals and locks");
}

#[tokio::test]
async fn s4_links_are_not_followed() {
    let root = tempfile::tempdir().unwrap();
    let (here, there) = (root.path().join("here"), root.path().join("there"));
    let (store, other) = (
        FileStore::open(&here).unwrap(),
        FileStore::open(&there).unwrap(),
    );
    let id = session("s");
    other.create(&id, script()).await.unwrap();
    let journal = fs::read(other.journal_path(&id)).unwrap();
    symlink(other.journal_path(&id), store.journal_path(&id)).unwrap();

    let foreign = |error: Option<StoreError>| {
        assert!(
            matches!(&error, Some(StoreError::Foreign { path, .. }) if path.starts_with(&here)),
            "{error:?}"
        );
    };
    foreign(read(&store, &id).await.error);
    foreign(store.acquire(&id, Seq::ZERO).await.err());
    foreign(store.salvage(&id).await.err());
    assert!(matches!(
        store.create(&id, script()).await,
        Err(StoreError::Taken { .. })
    ));
    let list = store.list(ListRequest::default()).await.unwrap().sessions;
    foreign(list[0].error.clone());
    assert_eq!(fs::read(other.journal_path(&id)).unwrap(), journal);

    // A lock file that is a link would lock, and create, something elsewhere.
    let locked = session("locked");
    store.create(&locked, script()).await.unwrap();
    fs::remove_file(here.join("locked.lock")).unwrap();
    symlink(there.join("elsewhere"), here.join("locked.lock")).unwrap();
    foreign(store.acquire(&locked, Seq::ZERO).await.err());
    assert!(!there.join("elsewhere").exists());

    // The folder itself.
    let link = root.path().join("link");
    symlink(&there, &link).unwrap();
    assert!(matches!(
        FileStore::open(&link),
        Err(StoreError::Foreign { .. })
    ));
}

#[tokio::test]
async fn s7_what_is_no_plain_file_or_no_folder_is_foreign() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("file");
    fs::write(&file, "text").unwrap();
    assert!(matches!(
        FileStore::open(&file),
        Err(StoreError::Foreign { .. })
    ));
    assert_eq!(fs::read(&file).unwrap(), b"text");

    let store = FileStore::open(root.path()).unwrap();
    let id = session("s");
    fs::create_dir(store.journal_path(&id)).unwrap();
    for error in [
        read(&store, &id).await.error,
        store.acquire(&id, Seq::ZERO).await.err(),
    ] {
        assert!(
            matches!(error, Some(StoreError::Foreign { .. })),
            "{error:?}"
        );
    }
    // A pipe that nobody writes to must not hang the store.
    let pipe = session("pipe");
    let made = std::process::Command::new("mkfifo")
        .arg(store.journal_path(&pipe))
        .status()
        .unwrap();
    assert!(made.success());
    for error in [
        read(&store, &pipe).await.error,
        store.acquire(&pipe, Seq::ZERO).await.err(),
    ] {
        assert!(
            matches!(error, Some(StoreError::Foreign { .. })),
            "{error:?}"
        );
    }
    assert_eq!(
        store
            .list(ListRequest::default())
            .await
            .unwrap()
            .sessions
            .len(),
        2
    );
}

#[tokio::test]
async fn s6_leftovers_and_strangers_are_not_listed() {
    let folder = tempfile::tempdir().unwrap();
    let store = FileStore::open(folder.path()).unwrap();
    store.create(&session("s"), script()).await.unwrap();
    for name in [
        "x.tmp-0123456789abcdef",
        "x.lock",
        "x.turn",
        "x.torn-10-00000000",
        "X.jsonl",
        "notes.txt",
        ".hidden.jsonl",
        "x.jsonl.bak",
    ] {
        fs::write(folder.path().join(name), script()[0].encode().as_bytes()).unwrap();
    }
    let list = store.list(ListRequest::default()).await.unwrap().sessions;
    assert_eq!(
        list.iter()
            .map(|summary| summary.id.as_str())
            .collect::<Vec<_>>(),
        ["s"]
    );
}

#[tokio::test]
async fn s7_create_leaves_no_temporary_behind_whether_or_not_it_succeeds() {
    let (folder, store, id) = one_session().await;
    let before = fs::read(store.journal_path(&id)).unwrap();
    assert!(matches!(
        store.create(&id, vec![created()]).await,
        Err(StoreError::Taken { .. })
    ));
    assert!(matches!(
        store.create(&session("t"), vec![]).await,
        Err(StoreError::Misuse { .. })
    ));
    assert_eq!(fs::read(store.journal_path(&id)).unwrap(), before);
    assert_eq!(names(folder.path()), ["s.jsonl", "s.lock"]);
}

#[tokio::test]
async fn s7_what_a_killed_create_left_is_cleaned_up_by_the_next_one_or_with_its_session() {
    let folder = tempfile::tempdir().unwrap();
    let leave = |name: &str| fs::write(folder.path().join(name), "what was said").unwrap();
    let not_ours = [
        "s.tmp-1",
        "X.tmp-0123456789abcdef",
        "s.tmp-0123456789abcdef.bak",
    ];
    for name in not_ours {
        leave(name);
    }
    leave("s.tmp-0123456789abcdef");
    leave("t.tmp-0123456789abcdef");
    let writing = fs::File::open(folder.path().join("t.tmp-0123456789abcdef")).unwrap();
    writing.lock().unwrap();
    let store = FileStore::open(folder.path()).unwrap();
    assert_eq!(names(folder.path()).len(), 5, "opening changes nothing");
    store.create(&session("u"), script()).await.unwrap();
    let mut left = vec!["t.tmp-0123456789abcdef", "u.jsonl", "u.lock"];
    left.extend(not_ours);
    left.sort_unstable();
    assert_eq!(names(folder.path()), left, "a living process writes t");
    drop(writing);

    leave("u.tmp-0123456789abcdef");
    store.delete(&session("u")).await.unwrap();
    left.retain(|name| !name.starts_with('u'));
    assert_eq!(names(folder.path()), left);
}

#[tokio::test]
async fn s7_of_many_that_create_one_id_at_once_one_succeeds() {
    let folder = tempfile::tempdir().unwrap();
    let id = session("s");
    let creates = (0..16).map(|n| {
        let store = FileStore::open(folder.path()).unwrap();
        store.create(&id, vec![created(), accepted(1, &format!("t{n}"))])
    });
    let answers = futures_util::future::join_all(creates).await;
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 1);
    assert!(
        answers
            .iter()
            .all(|answer| matches!(answer, Ok(()) | Err(StoreError::Taken { .. })))
    );
    assert_eq!(names(folder.path()), ["s.jsonl", "s.lock"]);
}

#[tokio::test]
async fn s7_delete_removes_every_file_of_the_session_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let store = FileStore::open(folder.path()).unwrap();
    for id in ["s", "s.torn-1-00000000", "s2"] {
        store.create(&session(id), script()).await.unwrap();
    }
    fs::write(folder.path().join("s.torn-10-0123abcd"), "what was said").unwrap();
    drop(store.acquire(&session("s"), Seq::ZERO).await.unwrap());
    store.delete(&session("s")).await.unwrap();
    assert_eq!(
        names(folder.path()),
        [
            "s.torn-1-00000000.jsonl",
            "s.torn-1-00000000.lock",
            "s2.jsonl",
            "s2.lock"
        ]
    );
}

/// Whatever someone gave a name that a session's own file could have.
#[tokio::test]
async fn s7_s4_delete_is_kept_by_nothing_that_no_store_made() {
    let elsewhere = tempfile::tempdir().unwrap();
    let kept = elsewhere.path().join("kept");
    fs::write(&kept, "kept").unwrap();
    for name in ["s.torn-1-00000000", "s.tmp-0123456789abcdef"] {
        for (kind, goes) in [
            ("folder", false),
            ("full folder", false),
            ("socket", false),
            ("link", true),
            ("link to a folder", true),
            ("link to nothing", true),
            ("file", true),
        ] {
            let (folder, store, id) = one_session().await;
            let path = folder.path().join(name);
            match kind {
                "folder" => fs::create_dir(&path).unwrap(),
                "full folder" => fs::create_dir_all(path.join("full")).unwrap(),
                "socket" => drop(UnixListener::bind(&path).unwrap()),
                "link" => symlink(&kept, &path).unwrap(),
                "link to a folder" => symlink(elsewhere.path(), &path).unwrap(),
                "link to nothing" => symlink("/nowhere", &path).unwrap(),
                _ => fs::write(&path, "what was said").unwrap(),
            }
            store.delete(&id).await.unwrap();
            let left = if goes { vec![] } else { vec![name.to_owned()] };
            assert_eq!(names(folder.path()), left, "{kind}");
            assert_eq!(fs::read_to_string(&kept).unwrap(), "kept", "{kind}");
        }
    }
}

#[tokio::test]
async fn s5_a_store_keeps_no_file_open_between_turns() {
    let (folder, store, _) = one_session().await;
    // Journal and lock.
    check_nothing_open(&store, folder.path(), 2).await;
}

#[tokio::test]
async fn s5_the_hold_of_a_replaced_lock_file_is_lost() {
    let (folder, store, _) = one_session().await;
    let lose = || fs::remove_file(folder.path().join("s.lock")).unwrap();
    check_lost(&store, lose).await;
}
