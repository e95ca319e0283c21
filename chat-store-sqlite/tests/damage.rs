//! What is wrong with the rows of a database behind the store's back: it is named, not skipped and not repaired (law S3), and salvage
//! gives the rest. The harm is done with SQLite itself.
#![allow(clippy::unwrap_used, reason = "a test panics where it is wrong")]

mod common;
#[path = "common/lab.rs"]
mod lab;

use chat_core::{ListRequest, Seq, Store, StoreError};
use chat_store_sqlite::SqliteStore;
use common::{accepted, created, read, session, write};
use lab::Lab;
use rusqlite::Connection;

#[tokio::test]
async fn s3_c21_a_flipped_bit_is_damage() {
    let text_len = created().encode().len() as u64;
    for (sql, seq, what) in [
        (
            "UPDATE entries SET text = replace(text, 'ask t2', 'ask t3') WHERE session = 1 AND seq = 3",
            3,
            "checksum differs",
        ),
        (
            "UPDATE entries SET crc = crc + 1 WHERE session = 1 AND seq = 6",
            6,
            "checksum differs",
        ),
        (
            "UPDATE entries SET text = zeroblob(length(text)) WHERE session = 1 AND seq = 0",
            0,
            "checksum differs",
        ),
        (
            "UPDATE entries SET id = 'another' WHERE session = 1 AND seq = 2",
            2,
            "another entry's text stands there",
        ),
    ] {
        let lab = Lab::new().await;
        let sql = sql.replace(
            "zeroblob(length(text))",
            "CAST(zeroblob(length(text)) AS TEXT)",
        );
        lab.harm(&sql);
        lab.check(seq, what).await;
        let (entries, gaps) = lab.salvage().await;
        assert_eq!(entries, (0..7).filter(|n| *n != seq).collect::<Vec<_>>());
        assert!(matches!(gaps[..], [(at, Some(_))] if at == seq), "{gaps:?}");
        if seq == 0 {
            assert_eq!(gaps, [(0, Some(text_len))]);
        }
    }
}

#[tokio::test]
async fn s3_every_bit_of_an_entry_counts() {
    let lab = Lab::new().await;
    let store = SqliteStore::open(&lab.path).unwrap();
    let connection = Connection::open(&lab.path).unwrap();
    let text = lab.entries[3].encode();
    let set = |text: &[u8]| {
        let sql = "UPDATE entries SET text = CAST(?1 AS TEXT) WHERE session = 1 AND seq = 3";
        connection.execute(sql, [text]).unwrap();
    };
    for byte in 0..text.len() {
        let mut bytes = text.as_bytes().to_vec();
        bytes[byte] ^= 1 << (byte % 8);
        set(&bytes);
        let seen = read(&store, &lab.id).await;
        assert_eq!(seen.entries, lab.entries[..3]);
        assert!(
            matches!(seen.error, Some(StoreError::Damaged(_))),
            "byte {byte}: {:?}",
            seen.error
        );
    }
    set(text.as_bytes());
    assert_eq!(read(&store, &lab.id).await.entries, lab.entries);
}

#[tokio::test]
async fn s3_c21_a_missing_entry_is_damage_wherever_it_was() {
    for (missing, at, what) in [
        ("seq = 0", 0, "entry 0 is missing"),
        ("seq = 3", 3, "entry 3 is missing"),
        ("seq = 6", 6, "entry 6 is missing"),
    ] {
        let lab = Lab::new().await;
        lab.harm(&format!(
            "DELETE FROM entries WHERE session = 1 AND {missing}"
        ));
        lab.check(at, what).await;
        let (entries, gaps) = lab.salvage().await;
        assert_eq!(entries, (0..7).filter(|n| *n != at).collect::<Vec<_>>());
        assert_eq!(gaps, [(at, None)]);
    }
    let lab = Lab::new().await;
    for seq in 3..7 {
        lab.harm(&format!(
            "DELETE FROM entries WHERE session = 1 AND seq = {seq}"
        ));
    }
    lab.check(3, "entries 3 to 6 are missing").await;
    assert_eq!(lab.salvage().await, (vec![0, 1, 2], vec![(3, None)]));
}

#[tokio::test]
async fn s3_what_stands_behind_the_end_is_damage() {
    let lab = Lab::new().await;
    lab.harm("INSERT INTO entries (session, seq, id, crc, text) VALUES (1, 7, '', 0, '')");
    lab.set_text(7, accepted(7, "t4").encode().as_bytes());
    lab.harm(&format!(
        "UPDATE entries SET id = '{}' WHERE session = 1 AND seq = 7",
        accepted(7, "t4").id()
    ));
    let store = SqliteStore::open(&lab.path).unwrap();
    for error in [
        read(&store, &lab.id).await.error.unwrap(),
        store.acquire(&lab.id, Seq(3)).await.unwrap_err(),
    ] {
        assert!(
            error
                .to_string()
                .contains("behind the end, which is entry 6"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn s3_another_sessions_entry_is_damage_also_where_it_is_whole() {
    let lab = Lab::new().await;
    let store = SqliteStore::open(&lab.path).unwrap();
    store
        .create(&session("twin"), lab.entries.clone())
        .await
        .unwrap();
    drop(store);
    // To the byte what stood there, but for where it belongs.
    lab.harm("DELETE FROM entries WHERE session = 1 AND seq = 6");
    lab.harm(
        "INSERT INTO entries (session, seq, id, crc, text)
         SELECT 1, seq, id, crc, text FROM entries WHERE session = 3 AND seq = 6",
    );
    let store = SqliteStore::open(&lab.path).unwrap();
    store.delete(&session("twin")).await.unwrap();
    drop(store);
    lab.check(6, "checksum differs").await;
    assert_eq!(lab.salvage().await.1.len(), 1);
}

#[tokio::test]
async fn s3_c22_what_is_no_entry_is_damage() {
    for (text, what) in [
        (
            &b"{\"v\":1,\"seq\":4,\"id\":\"\xff\"}"[..],
            "not valid UTF-8",
        ),
        (
            b"{\"v\":1}",
            "it is not a journal entry: missing field `seq` at line 1 column 7",
        ),
        (
            br#"{"v":1,"seq":5,"id":"e4-t2","at":"2026-01-31T09:30:00.000Z","type":"x"}"#,
            "another entry's text stands there",
        ),
    ] {
        let lab = Lab::new().await;
        lab.set_text(4, text);
        lab.check(4, what).await;
    }
    let lab = Lab::new().await;
    lab.set_text(
        0,
        br#"{"v":1,"seq":0,"id":"e0","at":"2026-01-31T09:30:00.000Z","type":"x"}"#,
    );
    lab.check(0, "the first entry is x, not session.created")
        .await;
}

#[tokio::test]
async fn j2_c30_an_entry_of_a_newer_format_is_refused_and_left() {
    for seq in [0, 4] {
        let lab = Lab::new().await;
        lab.set_text(seq, br#"{"v":2,"anything":[]}"#);
        let store = SqliteStore::open(&lab.path).unwrap();
        let newer = |error: Option<StoreError>| match error {
            Some(StoreError::NewerFormat { what, found, .. }) => {
                assert_eq!(found, 2);
                assert!(
                    what.contains("session s") && what.contains("chat.db"),
                    "{what}"
                );
            }
            other => panic!("{other:?}"),
        };
        newer(read(&store, &lab.id).await.error);
        newer(store.acquire(&lab.id, Seq::ZERO).await.err());
        let listed = store.list(ListRequest::default()).await.unwrap().sessions;
        newer(
            listed
                .into_iter()
                .find(|shown| shown.id == lab.id)
                .unwrap()
                .error,
        );
        if seq == 0 {
            newer(store.salvage(&lab.id).await.err());
        } else {
            assert_eq!(
                lab.salvage().await,
                (vec![0, 1, 2, 3, 5, 6], vec![(4, Some(21))])
            );
        }
    }
}

#[tokio::test]
async fn s3_damage_to_one_session_is_in_no_others_way() {
    let lab = Lab::new().await;
    lab.harm("DELETE FROM entries WHERE session = 1 AND seq = 6");
    let store = SqliteStore::open(&lab.path).unwrap();
    let other = session("t");
    let mut writer = store.acquire(&other, Seq(1)).await.unwrap().writer;
    write(&mut writer, accepted(1, "t")).await;
    drop(writer);
    // What can't be read can be deleted.
    store.delete(&lab.id).await.unwrap();
    store.create(&lab.id, lab.entries.clone()).await.unwrap();
    assert_eq!(read(&store, &lab.id).await.entries, lab.entries);
}

#[tokio::test]
async fn s6_a_session_whose_name_is_none_any_more_hides_no_other() {
    let lab = Lab::new().await;
    lab.harm("UPDATE sessions SET name = CAST(x'2f00ff' AS TEXT), title = CAST(x'ff41' AS TEXT) WHERE name = 's'");
    let store = SqliteStore::open(&lab.path).unwrap();
    let listed = store.list(ListRequest::default()).await.unwrap().sessions;
    let shown: Vec<_> = listed
        .iter()
        .map(|shown| (shown.id.as_str(), shown.error.is_some()))
        .collect();
    assert_eq!(shown, [("row-1", true), ("t", false)]);
}

/// What a flipped bit in the head of a row does: its values are of another type, whatever the column says.
#[tokio::test]
async fn s3_s6_a_value_of_another_type_is_damage_of_its_session_alone() {
    let values = ["'x'", "x'00'", "2.5", "NULL", "-1", "9223372036854775807"];
    let session_columns = [
        "next",
        "synced",
        "created_at",
        "last_activity",
        "title",
        "turns",
    ];
    let entry_columns = ["seq", "id", "crc", "text"];
    for value in values {
        let of_session =
            session_columns.map(|c| format!("UPDATE sessions SET {c} = {value} WHERE row = 1"));
        let of_entry = entry_columns
            .map(|c| format!("UPDATE entries SET {c} = {value} WHERE session = 1 AND seq = 3"));
        for sql in of_session.iter().chain(&of_entry) {
            let lab = Lab::new().await;
            let connection = Connection::open(&lab.path).unwrap();
            connection
                .execute_batch(
                    "PRAGMA writable_schema = ON;
                     UPDATE sqlite_schema SET sql = replace(replace(replace(replace(sql, ' STRICT, ', ' '), ' STRICT', ''),
                         'NOT NULL', ''), ' INTEGER', ' BLOB') WHERE name = 'entries';
                     UPDATE sqlite_schema SET sql = replace(replace(replace(sql, ' STRICT', ''),
                         'NOT NULL', ''), 'next INTEGER', 'next BLOB') WHERE name = 'sessions';
                     PRAGMA schema_version = 99;",
                )
                .unwrap();
            drop(connection);
            // A key can't be without a value.
            if sql.contains("seq = NULL") {
                continue;
            }
            lab.harm(sql);
            let store = SqliteStore::open(&lab.path).unwrap();
            let (mut shown, mut after) = (Vec::new(), None);
            loop {
                let page = ListRequest { limit: 1, after };
                let page = store.list(page).await.unwrap();
                shown.extend(page.sessions);
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
            shown.sort_by(|a, b| a.id.as_str().cmp(b.id.as_str()));
            let ids: Vec<_> = shown.iter().map(|shown| shown.id.as_str()).collect();
            assert_eq!(ids, ["s", "t"], "{sql}");
            assert!(shown[1].error.is_none(), "{sql}");
            let seen = read(&store, &lab.id).await;
            assert!(lab.entries.starts_with(&seen.entries), "{sql}: {seen:?}");
            let damaged = |error: &Option<StoreError>| match error {
                Some(StoreError::Damaged(damage)) => damage.session == lab.id,
                Some(other) => panic!("{sql}: {other:?}"),
                None => false,
            };
            let found = damaged(&seen.error);
            assert_eq!(damaged(&shown[0].error), found, "{sql}");
            assert_eq!(
                damaged(&store.acquire(&lab.id, Seq::ZERO).await.err()),
                found,
                "{sql}"
            );
            assert!(store.salvage(&lab.id).await.is_ok(), "{sql}");
            assert!(found, "{sql}: not found");
            store.delete(&lab.id).await.unwrap();
        }
    }
}

#[tokio::test]
async fn s6_what_a_list_shows_is_shown_as_good_only_where_it_is_what_was_written() {
    for change in [
        "next = next - 1",
        "synced = 0",
        "created_at = created_at + 1",
        "last_activity = last_activity - 1",
        "last_activity = 9000000000000000000",
        "title = 'ask t3'",
        "title = NULL",
        "turns = turns + 1",
        "turns = -1",
        "name = 'another'",
        "crc = crc + 1",
        "row = 77",
    ] {
        let lab = Lab::new().await;
        lab.harm(&format!("UPDATE sessions SET {change} WHERE name = 's'"));
        let store = SqliteStore::open(&lab.path).unwrap();
        let listed = store.list(ListRequest::default()).await.unwrap().sessions;
        assert_eq!(listed.len(), 2, "{change}");
        for shown in listed {
            let damaged = matches!(shown.error, Some(StoreError::Damaged(_)));
            assert_eq!(damaged, shown.id != session("t"), "{change}: {shown:?}");
        }
        let id = session(if change.starts_with("name") {
            "another"
        } else {
            "s"
        });
        let seen = read(&store, &id).await;
        assert!(
            matches!(seen.error, Some(StoreError::Damaged(_))),
            "{change}: {seen:?}"
        );
        if !change.starts_with("row") {
            assert_eq!(seen.entries, lab.entries, "{change}: they are sound");
            let salvaged = store.salvage(&id).await.unwrap();
            assert_eq!(
                salvaged.len(),
                8,
                "{change}: all entries, and what is wrong"
            );
        }
        assert!(store.acquire(&id, Seq::ZERO).await.is_err(), "{change}");
    }
}
