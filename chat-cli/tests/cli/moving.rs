//! Sessions on their way: exported, imported, copied from one kind of store into the other, deleted.

use chat_core::TurnStatus;

use crate::kit::{Ended, Home, STORES};

/// A home in whose store session `s` has two turns.
async fn two_turns(store: Option<&'static str>) -> Home {
    let home = Home::with_store(store);
    let said = home
        .pipe("one\ntwo\n", ["--responder", "echo", "--session", "s"])
        .await;
    assert_eq!(said.code, 0, "{}", said.err);
    home
}

#[track_caller]
fn completed(ended: Ended) -> String {
    assert_eq!((ended.code, ended.err.as_str()), (0, ""), "{}", ended.out);
    ended.out
}

async fn sessions(home: &Home, store: &str) -> Vec<String> {
    let listed = completed(home.run(["sessions", "--json", "--store", store]).await);
    let id = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        line["id"].as_str().unwrap().to_owned()
    };
    listed.lines().map(id).collect()
}

#[tokio::test]
async fn j2_what_is_exported_is_imported_to_the_byte_into_either_store() {
    for store in STORES {
        let home = two_turns(store).await;
        let exported = completed(home.run(["export", "s"]).await);
        assert_eq!(exported.lines().count(), 5);
        std::fs::write(home.path().join("talk.jsonl"), &exported).unwrap();
        for other in ["other.db", "other"] {
            let args = ["import", "talk.jsonl", "--store", other];
            assert_eq!(completed(home.run(args).await), "talk\n");
            let args = ["import", "--session", "named", "--store", other];
            assert_eq!(completed(home.pipe(&exported, args).await), "named\n");
            let made = completed(
                home.pipe(&exported, ["import", "-", "--store", other])
                    .await,
            );
            assert_eq!(made.trim_end().len(), 26, "a new id: {made}");
            for id in ["talk", "named", made.trim_end()] {
                let again = home.run(["export", id, "--store", other]).await;
                assert_eq!(completed(again), exported);
            }
            assert_eq!(sessions(&home, other).await.len(), 3);
        }
        // It goes on where it ended.
        let args = ["ask", "three", "--session", "talk", "--responder", "echo"];
        let asked = home.run(args.iter().chain(&["--store", "other.db"])).await;
        assert_eq!(completed(asked), "three\n");
    }
}

#[tokio::test]
async fn j2_a_journal_copied_there_and_back_is_the_same_file() {
    let home = two_turns(None).await;
    let args = ["ask", "hi", "--session", "t", "--responder", "echo"];
    completed(home.run(args).await);
    let copied = completed(home.run(["copy", "--all", "--to", "chat.db"]).await);
    assert_eq!(copied, "t  3 entries\ns  5 entries\n");
    let back = [
        "copy", "s", "t", "--store", "chat.db", "--to", "back", "--json",
    ];
    assert_eq!(
        completed(home.run(back).await),
        "{\"id\":\"s\",\"entries\":5}\n{\"id\":\"t\",\"entries\":3}\n"
    );
    for session in ["s", "t"] {
        let back = home.path().join(format!("back/{session}.jsonl"));
        let before = std::fs::read(home.journal(session)).unwrap();
        assert_eq!(std::fs::read(back).unwrap(), before);
    }
}

#[tokio::test]
async fn s7_a_session_that_is_there_already_stays_and_hides_no_other() {
    let home = two_turns(None).await;
    completed(home.run(["copy", "s", "--to", "chat.db"]).await);
    for (args, code) in [("more", 0), ("again", 0)] {
        let asked = ["ask", args, "--session", args, "--responder", "echo"];
        assert_eq!(home.run(asked).await.code, code);
    }
    let copied = home.run(["copy", "--all", "--to", "chat.db"]).await;
    assert_eq!(copied.code, 1);
    assert_eq!(copied.out, "again  3 entries\nmore  3 entries\n");
    assert_eq!(
        copied.err,
        "chat: session s exists already in chat.db\n      it was left as it is there\n"
    );
    let missing = home.run(["copy", "s", "nope", "--to", "new.db"]).await;
    assert_eq!((missing.code, missing.out.as_str()), (1, ""));
    assert!(!home.path().join("new.db").exists(), "nothing was begun");
}

#[tokio::test]
async fn s3_a_damaged_session_is_exported_and_copied_only_where_salvage_is_asked_for() {
    for store in STORES {
        let home = two_turns(store).await;
        let asked = ["ask", "hi", "--session", "t", "--responder", "echo"];
        completed(home.run(asked).await);
        harm(&home, store, "\"input\":\"one\"", "\"input\":\"0ne\"");

        let refused = home.run(["export", "s"]).await;
        assert_eq!(
            (refused.code, refused.out.as_str()),
            (1, ""),
            "all or nothing"
        );
        let said: Vec<&str> = refused.err.lines().collect();
        assert!(
            said[0].starts_with("chat: session s can't be read: "),
            "{}",
            said[0]
        );
        assert_eq!(
            said[1..],
            ["      the turns before it are intact: chat export s --salvage"]
        );
        let shown = home.run(["show", "s"]).await;
        assert_eq!((shown.code, shown.err), (1, refused.err.clone()));
        let listed = home.run(["sessions"]).await;
        assert_eq!((listed.code, listed.out.lines().count()), (0, 3));
        assert!(listed.out.contains("can't be read: "), "{}", listed.out);

        let salvaged = home.run(["export", "s", "--salvage"]).await;
        assert_eq!((salvaged.code, salvaged.out.lines().count()), (0, 4));
        assert!(
            salvaged.err.contains("can't be read and is left out"),
            "{}",
            salvaged.err
        );
        let imported = home.pipe(&salvaged.out, ["import", "--session", "u"]).await;
        assert_eq!(completed(imported), "u\n");
        let turns = home.turns("u").await;
        assert_eq!((turns.len(), &*turns[0].input), (1, "two"));
        assert_eq!(turns[0].status, TurnStatus::Completed);

        let copied = home.run(["copy", "--all", "--to", "copy"]).await;
        assert_eq!((copied.code, copied.out.lines().count()), (1, 2));
        assert!(
            copied.err.contains("it was not copied; with --salvage"),
            "{}",
            copied.err
        );
        let copied = home.run(["copy", "s", "--salvage", "--to", "copy"]).await;
        assert_eq!((copied.code, copied.out.as_str()), (0, "s  4 entries\n"));
        let shown = home.run(["show", "s", "--store", "copy"]).await;
        assert_eq!(shown.code, 0, "{}", shown.err);
        // Deleted for good, though it can't be read.
        completed(home.run(["delete", "s", "--yes"]).await);
    }
}

/// Changes a text where it first stands in the store's files, behind the store's back.
fn harm(home: &Home, store: Option<&str>, text: &str, harmed: &str) {
    let file = store.map_or_else(|| home.journal("s"), |store| home.path().join(store));
    let mut bytes = std::fs::read(&file).unwrap();
    let at = bytes
        .windows(text.len())
        .position(|window| window == text.as_bytes());
    let at = at.expect("the text is in the file");
    bytes[at..at + harmed.len()].copy_from_slice(harmed.as_bytes());
    std::fs::write(file, bytes).unwrap();
}

#[tokio::test]
async fn s3_a_torn_tail_is_left_out_and_reported() {
    let home = two_turns(None).await;
    let bytes = std::fs::read(home.journal("s")).unwrap();
    std::fs::write(home.journal("s"), &bytes[..bytes.len() - 20]).unwrap();
    let exported = home.run(["export", "s"]).await;
    assert_eq!((exported.code, exported.out.lines().count()), (0, 4));
    assert!(
        exported
            .err
            .starts_with("chat: session s ends in a torn entry, which no one has seen; its "),
        "{}",
        exported.err
    );
    let copied = home.run(["copy", "s", "--to", "chat.db"]).await;
    assert_eq!((copied.code, copied.out.as_str()), (0, "s  4 entries\n"));
    assert_eq!(copied.err, exported.err);
}

#[tokio::test]
async fn j2_what_is_no_export_is_refused_by_line_and_leaves_nothing_behind() {
    let home = two_turns(None).await;
    let exported = completed(home.run(["export", "s"]).await);
    let lines: Vec<&str> = exported.lines().collect();
    let without_second = [lines[0], lines[2]].join("\n");
    for (text, what) in [
        ("", "there is no journal entry in it"),
        ("hello\n", "line 1 is no journal entry"),
        (
            &lines[1..].join("\n"),
            "line 1 is no beginning of a journal",
        ),
        (&without_second, "line 2 has entry 2 where entry 1 belongs"),
        (&exported[..exported.len() - 9], "line 5 is cut off"),
        (
            &exported.replace("\"v\":1", "\"v\":2"),
            "line 1 has format 2, this program reads up to 1; use the newer program that wrote it",
        ),
    ] {
        let refused = home.pipe(text, ["import", "--session", "new"]).await;
        assert_eq!((refused.code, refused.out.as_str()), (1, ""), "{text}");
        let said = format!("chat: standard input can't be imported: {what}");
        assert!(refused.err.starts_with(&said), "{}", refused.err);
        assert!(
            refused.err.contains("\n      nothing was imported"),
            "{}",
            refused.err
        );
    }
    let missing = home.run(["import", "nope.jsonl"]).await;
    assert_eq!(missing.code, 1);
    assert!(
        missing.err.starts_with("chat: can't read nope.jsonl: "),
        "{}",
        missing.err
    );
    let taken = home.pipe(&exported, ["import", "--session", "s"]).await;
    assert_eq!(
        taken.err,
        "chat: session s exists already\n      it was left as it is; give the new one another id: --session ID\n"
    );
    assert_eq!(sessions(&home, "chat").await, ["s"]);
}

#[tokio::test]
async fn c_what_is_deleted_is_gone_and_without_a_terminal_only_a_yes_deletes() {
    for store in STORES {
        let home = two_turns(store).await;
        let asked = home.run(["delete", "s"]).await;
        assert_eq!((asked.code, asked.out.as_str()), (2, ""));
        assert_eq!(
            asked.err,
            "chat: session s was not deleted: nobody can be asked\n      if you are sure: chat delete s --yes\n"
        );
        assert_eq!(home.turns("s").await.len(), 2);
        assert_eq!(completed(home.run(["delete", "s", "--yes"]).await), "");
        let asked = ["ask", "hi", "--session", "s1", "--responder", "echo"];
        completed(home.run(asked).await);
        let another = home.run(["delete", "s", "--yes"]).await;
        assert_eq!(another.code, 2);
        assert_eq!(
            another.err,
            "chat: session s1 was not deleted: s is only the beginning of its id\n      if you are sure: chat delete s1 --yes\n"
        );
        completed(home.run(["delete", "s1", "--yes"]).await);
        let again = home.run(["delete", "s", "--yes"]).await;
        assert_eq!(again.code, 1);
        assert!(
            again.err.starts_with("chat: there is no session s\n"),
            "{}",
            again.err
        );
    }
}

#[tokio::test]
async fn c_a_path_says_which_store_it_is() {
    let home = Home::new();
    let ask =
        |store: &'static str| home.run(["ask", "hi", "--responder", "echo", "--store", store]);
    for store in ["talks.db", "sqlite:plain", "plain"] {
        assert_eq!(completed(ask(store).await), "hi\n", "{store}");
    }
    let head = |name: &str| std::fs::read(home.path().join(name)).unwrap()[..15].to_owned();
    assert_eq!(head("talks.db"), b"SQLite format 3");
    assert_eq!(head("plain"), b"SQLite format 3");
    assert_eq!(
        sessions(&home, "plain").await.len(),
        2,
        "what is there decides"
    );
    completed(ask("folder").await);
    assert!(home.path().join("folder").is_dir());

    std::fs::write(home.path().join("notes.db"), "my own").unwrap();
    let foreign = ask("notes.db").await;
    assert_eq!(foreign.code, 1);
    assert!(
        foreign.err.contains("notes.db is not a chat store"),
        "{}",
        foreign.err
    );
    assert_eq!(
        std::fs::read(home.path().join("notes.db")).unwrap(),
        b"my own"
    );
}

/// SQLite's locks on a file end where the same process closes it, whoever opened it.
#[tokio::test]
async fn c_a_store_is_neither_copied_into_itself_nor_imported() {
    for store in STORES {
        let home = two_turns(store).await;
        let own = store.unwrap_or("chat");
        let other_way = format!("./{own}");
        for to in [own, &other_way] {
            for args in [&["copy", "--all", "--to", to][..], &["import", to]] {
                let refused = home.run(args).await;
                assert_eq!((refused.code, refused.out.as_str()), (2, ""), "{args:?}");
                let said = format!("chat: {to} is the store ");
                assert!(refused.err.starts_with(&said), "{}", refused.err);
            }
        }
        let inside = home.run(["copy", "s", "--to", "chat/inside"]).await;
        assert_eq!(completed(inside), "s  5 entries\n");
        assert_eq!(sessions(&home, own).await, ["s"]);
    }
}

#[tokio::test]
async fn c_the_place_that_can_not_be_copied_to_is_the_one_to_name_anew() {
    let home = two_turns(None).await;
    std::fs::write(home.path().join("notes"), "my own").unwrap();
    let foreign = home.run(["copy", "s", "--to", "notes"]).await;
    assert_eq!(foreign.code, 1);
    assert!(
        foreign.err.ends_with("name another place: --to PATH\n"),
        "{}",
        foreign.err
    );
}

#[tokio::test]
async fn c_what_makes_no_sense_of_a_copy_is_a_usage_error() {
    let home = two_turns(None).await;
    for args in [
        &["copy", "s"][..],
        &["copy", "--to", "chat.db"],
        &["copy", "s", "--all", "--to", "chat.db"],
        &["copy", "s", "--to", "memory:"],
        &["export"],
        &["delete"],
        &["--session", "s", "export", "s"],
    ] {
        let ended = home.run(args).await;
        assert_eq!(ended.code, 2, "{args:?}: {}", ended.err);
    }
    assert!(!home.path().join("chat.db").exists());
}
