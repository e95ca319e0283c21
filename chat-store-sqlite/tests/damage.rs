//! What is wrong with a database behind the store's back: it is named, not skipped and not repaired (law S3), and salvage gives the
//! rest. The harm is done with SQLite itself, or to the file's bytes.
#![allow(clippy::unwrap_used, reason = "a test panics where it is wrong")]

mod common;

use std::{
    fs::{self, OpenOptions},
    path::{Path, PathBuf},
};

use chat_core::{Damage, Entry, ListRequest, Salvaged, Seq, SessionId, Store, StoreError};
use chat_store_sqlite::SqliteStore;
use common::{accepted, completed, created, read, session, write};
use rusqlite::Connection;
use tempfile::TempDir;

/// A database with a session `s` of seven entries and a session `t` beside it, and no store that has it open.
struct Lab {
    _folder: TempDir,
    path: PathBuf,
    id: SessionId,
    entries: Vec<Entry>,
}

impl Lab {
    async fn new() -> Self {
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

    fn harm(&self, sql: &str) {
        let connection = Connection::open(&self.path).unwrap();
        assert_eq!(connection.execute(sql, []).unwrap(), 1, "{sql}");
    }

    fn set_text(&self, seq: u64, text: &[u8]) {
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
    async fn check(&self, seq: u64, what: &str) {
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
    async fn salvage(&self) -> (Vec<u64>, Vec<(u64, Option<u64>)>) {
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
#[cfg(unix)]
async fn s3_a_page_written_in_anothers_place_is_never_read_as_what_belongs_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chat.db");
    let store = SqliteStore::open(&path).unwrap();
    // All alike, so that pages of some begin with the same place.
    let mut sessions = Vec::new();
    for n in 10..40 {
        let mut entries = vec![created()];
        for turn in 1..90 {
            entries.push(accepted(turn, &format!("s{n}-{turn:02}")));
        }
        store
            .create(&session(&format!("s{n}")), entries.clone())
            .await
            .unwrap();
        sessions.push(entries);
    }
    drop(store);
    let sound = fs::read(&path).unwrap();
    // Those with entries of one session alone: the page, the session, the first place.
    let leaves = (1..sound.len() / PAGE).filter_map(|n| {
        let page = &sound[n * PAGE..(n + 1) * PAGE];
        let text = String::from_utf8_lossy(page);
        let mut on_it: Vec<_> = text
            .split("ask s")
            .skip(1)
            .filter_map(|text| Some((text.get(..2)?.parse().ok()?, text.get(3..5)?.parse().ok()?)))
            .collect();
        on_it.sort_unstable();
        let (&(whose, first), last): (&(usize, u64), _) = (on_it.first()?, on_it.last()?);
        (page[0] == 0x0a && whose == last.0).then_some((n, whose - 10, first))
    });
    let leaves: Vec<(usize, usize, u64)> = leaves.collect();
    let mut tried = 0;
    for (from, whose, first) in &leaves {
        let like = leaves.iter().filter(|leaf| leaf.2 == *first);
        for (to, other, _) in like.filter(|leaf| leaf.1 != *whose).take(2) {
            let mut bytes = sound.clone();
            bytes.copy_within(from * PAGE..(from + 1) * PAGE, to * PAGE);
            fs::write(&path, bytes).unwrap();
            let store = SqliteStore::open(&path).unwrap();
            let (entries, id) = (&sessions[*other], session(&format!("s{}", other + 10)));
            let seen = read(&store, &id).await;
            assert!(entries.starts_with(&seen.entries), "another's: {seen:?}");
            assert!(
                matches!(seen.error, Some(StoreError::Damaged(_))),
                "{seen:?}"
            );
            let salvaged = store.salvage(&id).await.unwrap();
            assert!(salvaged.iter().all(|piece| match piece {
                Salvaged::Entry(entry) => entries.contains(entry),
                Salvaged::Gap { .. } => true,
            }));
            tried += 1;
        }
    }
    assert!(tried > 0, "none begins as another: {leaves:?}");
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

const PAGE: usize = 4096;

fn contains(bytes: &[u8], text: &[u8]) -> bool {
    bytes.windows(text.len()).any(|window| window == text)
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

#[tokio::test]
#[cfg(unix)]
async fn s6_a_damaged_index_hides_no_session() {
    use std::os::unix::fs::FileExt as _;
    for index in ["sessions_by_activity", "sqlite_autoindex_sessions_1"] {
        let lab = Lab::new().await;
        let connection = Connection::open(&lab.path).unwrap();
        let sql = "SELECT rootpage FROM sqlite_schema WHERE name = ?1";
        let page: u32 = connection
            .query_row(sql, [index], |row| row.get(0))
            .unwrap();
        drop(connection);
        let file = OpenOptions::new().write(true).open(&lab.path).unwrap();
        file.write_all_at(&[0xa5; PAGE], u64::from(page - 1) * PAGE as u64)
            .unwrap();
        let store = SqliteStore::open(&lab.path).unwrap();
        let (mut shown, mut after) = (Vec::new(), None);
        loop {
            let page = store.list(ListRequest { limit: 1, after }).await.unwrap();
            shown.extend(
                page.sessions
                    .into_iter()
                    .map(|shown| (shown.id, shown.error.is_some())),
            );
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(
            shown,
            [(session("s"), false), (session("t"), false)],
            "{index}"
        );
        let seen = read(&store, &lab.id).await;
        assert!(
            seen.entries == lab.entries && seen.error.is_none(),
            "{index}: {seen:?}"
        );
        let error = read(&store, &session("none")).await.error;
        assert!(
            matches!(error, Some(StoreError::Missing { .. })),
            "{index}: {error:?}"
        );
    }
}

/// A place is a number of few bytes on a page: what stands there may be any other, and the order of the rows is then none.
#[tokio::test]
async fn s3_salvage_trusts_no_place_and_no_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chat.db");
    let store = SqliteStore::open(&path).unwrap();
    let mut entries = vec![created()];
    for n in 1..1200 {
        entries.push(accepted(n, &format!("turn-{n:04}")));
    }
    let id = session("s");
    store.create(&id, entries.clone()).await.unwrap();
    drop(store);
    let sound = fs::read(&path).unwrap();
    // 1023 is the last of a first batch.
    for (seq, byte) in [(100_u64, 0), (1022, 1), (1023, 1), (1023, 0), (1190, 1)] {
        let name = format!("e{seq}-turn-{seq:04}");
        let mut at = sound.windows(name.len()).enumerate().filter(|(at, text)| {
            // The id's own column, and not the text.
            *text == name.as_bytes() && sound[at - 1] != b'"'
        });
        let (at, _) = at.next().unwrap();
        let place = seq.to_be_bytes();
        let place = &place[if seq < 128 { 7 } else { 6 }..];
        let at = (at - 8..at).find(|at| sound[*at..].starts_with(place));
        let at = at.unwrap() + byte * (place.len() - 1);
        for value in [0x00, 0x01, 0x7f, 0x80, 0xff] {
            let mut bytes = sound.clone();
            bytes[at] = value;
            if bytes == sound {
                continue;
            }
            fs::write(&path, bytes).unwrap();
            let store = SqliteStore::open(&path).unwrap();
            let seen = read(&store, &id).await;
            assert!(entries.starts_with(&seen.entries), "{seq} {value:#x}");
            assert!(
                matches!(seen.error, Some(StoreError::Damaged(_))),
                "{seq} {value:#x}"
            );
            let salvaged = store.salvage(&id).await.unwrap();
            let given: Vec<_> = salvaged
                .iter()
                .filter_map(|piece| match piece {
                    Salvaged::Entry(entry) => Some(entry.clone()),
                    Salvaged::Gap { .. } => None,
                })
                .collect();
            let mut rest = entries.clone();
            rest.remove(usize::try_from(seq).unwrap());
            assert!(given == rest, "{seq} {value:#x}: {} entries", given.len());
            assert!(salvaged.len() > given.len(), "the gap is marked");
            assert_eq!(
                store
                    .list(ListRequest::default())
                    .await
                    .unwrap()
                    .sessions
                    .len(),
                1
            );
        }
    }
}

/// Overwrites every page of entries with a text in it.
fn break_pages(path: &Path, text: &[u8]) -> usize {
    use std::os::unix::fs::FileExt as _;
    let bytes = fs::read(path).unwrap();
    let file = OpenOptions::new().write(true).open(path).unwrap();
    let pages = bytes.chunks(PAGE).enumerate().skip(1);
    let hit = pages.filter(|(_, page)| contains(page, text));
    hit.map(|(n, _)| file.write_all_at(&[0xa5; PAGE], (n * PAGE) as u64).unwrap())
        .count()
}

#[tokio::test]
#[cfg(unix)]
async fn s3_a_page_that_makes_no_sense_is_damage_of_the_sessions_on_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chat.db");
    let store = SqliteStore::open(&path).unwrap();
    let id = session("s");
    let mut entries = vec![created()];
    for n in 0..200 {
        entries.push(accepted(2 * n + 1, &format!("turn-{n:03}")));
        entries.push(completed(2 * n + 2, &format!("turn-{n:03}")));
    }
    store.create(&id, entries.clone()).await.unwrap();
    store.create(&session("t"), vec![created()]).await.unwrap();
    drop(store);
    assert!(break_pages(&path, b"ask turn-100") > 0);
    let store = SqliteStore::open(&path).unwrap();
    let seen = read(&store, &id).await;
    assert!(
        matches!(&seen.error, Some(StoreError::Damaged(damage)) if damage.session == id),
        "{:?}",
        seen.error
    );
    assert_eq!(seen.entries, entries[..seen.entries.len()]);
    let error = store.acquire(&id, Seq::ZERO).await.unwrap_err();
    assert!(matches!(error, StoreError::Damaged(_)), "{error:?}");
    let listed = store.list(ListRequest::default()).await.unwrap().sessions;
    assert_eq!(listed.len(), 2, "it is listed, and hides no other");
    // The entries before the page and those behind it, and the gap between.
    let salvaged = store.salvage(&id).await.unwrap();
    let places: Vec<u64> = salvaged
        .iter()
        .filter_map(|piece| match piece {
            Salvaged::Entry(entry) => Some(entry.seq().0),
            Salvaged::Gap { .. } => None,
        })
        .collect();
    assert!(places.contains(&0) && places.contains(&400), "{places:?}");
    assert!(places.is_sorted() && places.len() < entries.len() && places.len() > 300);
    assert_eq!(salvaged.len() - places.len(), 1, "one gap");
}

#[tokio::test]
async fn s3_c21_a_hole_in_the_file_is_an_error_and_never_a_panic() {
    let lab = Lab::new().await;
    let sound = fs::read(&lab.path).unwrap();
    for page in 0..sound.len() / 4096 {
        let mut bytes = sound.clone();
        bytes[page * 4096..(page + 1) * 4096].fill(0);
        fs::write(&lab.path, &bytes).unwrap();
        let Ok(store) = SqliteStore::open(&lab.path) else {
            continue;
        };
        let seen = read(&store, &lab.id).await;
        assert!(
            seen.error.is_some() || seen.entries == lab.entries,
            "page {page}: {seen:?}"
        );
        let _ = store.list(ListRequest::default()).await;
        let _ = store.salvage(&lab.id).await;
        if let Ok(mut acquired) = store.acquire(&lab.id, Seq(7)).await {
            let _ = acquired.writer.append(accepted(7, "t4")).await;
        }
    }
}
