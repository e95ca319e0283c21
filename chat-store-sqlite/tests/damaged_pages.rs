//! What is wrong with the pages of a database (law S3): cut, overwritten, in another's place, a byte of them changed. Unix, where a
//! file is written at a place.
#![allow(clippy::unwrap_used, reason = "a test panics where it is wrong")]
#![cfg(unix)]

mod common;
#[path = "common/lab.rs"]
#[allow(dead_code, reason = "not all of it is used here")]
mod lab;

use std::{
    fs::{self, OpenOptions},
    os::unix::fs::FileExt as _,
    path::Path,
};

use chat_core::{ListRequest, Salvaged, Seq, Store, StoreError};
use chat_store_sqlite::SqliteStore;
use common::{accepted, completed, created, read, session};
use lab::Lab;
use rusqlite::Connection;

const PAGE: usize = 4096;

fn contains(bytes: &[u8], text: &[u8]) -> bool {
    bytes.windows(text.len()).any(|window| window == text)
}

#[tokio::test]
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
async fn s6_a_damaged_index_hides_no_session() {
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
    let bytes = fs::read(path).unwrap();
    let file = OpenOptions::new().write(true).open(path).unwrap();
    let pages = bytes.chunks(PAGE).enumerate().skip(1);
    let hit = pages.filter(|(_, page)| contains(page, text));
    hit.map(|(n, _)| file.write_all_at(&[0xa5; PAGE], (n * PAGE) as u64).unwrap())
        .count()
}

#[tokio::test]
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
