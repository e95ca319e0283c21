//! Laws J1, J2 and S3 for journals on their way from one store to another.

use std::{future::ready, sync::Mutex};

use futures_core::{future::BoxFuture, stream::BoxStream};
use futures_util::{FutureExt, stream};
use proptest::prelude::*;

use super::*;
use crate::{
    Acquired, Capabilities, Damage, EntryBody, EntryId, FORMAT, ListRequest, MemoryStore, Salvaged,
    SessionPage, SessionSummary, Timestamp, Transcript, arbitrary,
};

const CREATED: &str =
    r#"{"v":1,"seq":0,"id":"e0","at":"2026-01-31T09:30:00.000Z","type":"session.created"}"#;

/// An entry of a type that nobody knows, written as no program here writes.
fn unknown(seq: u64, id: &str) -> String {
    format!(
        r#"{{"later":{{"seq":7}}, "v":1,"at":"2026-01-31T09:30:00.000Z","s\u0065q" : {seq},"id":"{id}","type":"turn.praised","n":1e400,"text":"\u0041"}}"#
    )
}

fn entries(lines: &[&str]) -> Vec<Entry> {
    let decode = |line: &&str| Entry::decode(line).unwrap();
    lines.iter().map(decode).collect()
}

fn session(id: &str) -> SessionId {
    SessionId::parse(id).unwrap()
}

/// What a future that needs nobody gives.
fn now<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("nothing to wait for")
}

fn store_with(id: &str, entries: Vec<Entry>) -> MemoryStore {
    let store = MemoryStore::new();
    now(store.create(&session(id), entries)).unwrap();
    store
}

fn lines(store: &dyn Store, id: &str) -> Vec<Arc<str>> {
    let journal = now(Journal::read(store, &session(id))).unwrap();
    journal.lines().collect()
}

/// A store of one session that can't be read in full.
struct Harmed {
    error: StoreError,
    pieces: Mutex<Vec<Salvaged>>,
}

impl Store for Harmed {
    fn read(&self, _: &SessionId, _: Seq) -> BoxStream<'static, Result<JournalPart, StoreError>> {
        let first = JournalPart::Entries(entries(&[CREATED]));
        stream::iter([Ok(first), Err(self.error.clone())]).boxed()
    }
    fn salvage(&self, _: &SessionId) -> BoxFuture<'static, Result<Vec<Salvaged>, StoreError>> {
        ready(Ok(std::mem::take(&mut *self.pieces.lock().unwrap()))).boxed()
    }
    fn list(&self, _: ListRequest) -> BoxFuture<'static, Result<SessionPage, StoreError>> {
        let summary = SessionSummary {
            id: session("s"),
            title: None,
            created_at: None,
            last_activity: None,
            turns: 0,
            error: Some(self.error.clone()),
        };
        let sessions = vec![summary];
        ready(Ok(SessionPage {
            sessions,
            next: None,
        }))
        .boxed()
    }
    fn create(&self, _: &SessionId, _: Vec<Entry>) -> BoxFuture<'static, Result<(), StoreError>> {
        unreachable!()
    }
    fn acquire(&self, _: &SessionId, _: Seq) -> BoxFuture<'static, Result<Acquired, StoreError>> {
        unreachable!()
    }
    fn delete(&self, _: &SessionId) -> BoxFuture<'static, Result<(), StoreError>> {
        unreachable!()
    }
    fn is_held(&self, _: &SessionId) -> BoxFuture<'static, Result<bool, StoreError>> {
        unreachable!()
    }
    fn capabilities(&self) -> Capabilities {
        Capabilities::in_memory()
    }
}

fn damaged() -> StoreError {
    StoreError::from(Damage {
        session: session("s"),
        place: Place {
            seq: Some(Seq(1)),
            ..Place::default()
        },
        what: "checksum differs".into(),
    })
}

fn gap() -> Salvaged {
    Salvaged::Gap {
        place: Place::default(),
        bytes: Some(20),
        what: "checksum differs".into(),
    }
}

fn harmed(error: StoreError, pieces: Vec<Salvaged>) -> Harmed {
    Harmed {
        error,
        pieces: Mutex::new(pieces),
    }
}

#[test]
fn j2_a_copy_is_the_same_to_the_byte() {
    let odd = [CREATED.to_owned(), unknown(1, "e1"), unknown(2, "e2")];
    let from = store_with("s", entries(&odd.each_ref().map(|line| &**line)));
    let to = MemoryStore::new();
    let copied = now(copy_session(&from, &to, &session("s"))).unwrap();
    assert_eq!(
        (copied.entries, copied.torn, copied.gaps.len()),
        (3, None, 0)
    );
    assert_eq!(lines(&to, "s"), odd.map(Into::into));
    assert_eq!(lines(&from, "s").len(), 3, "the first one keeps it");
}

#[test]
fn s7_a_taken_id_and_a_missing_session_change_nothing() {
    let (from, to) = (
        store_with("s", entries(&[CREATED, &unknown(1, "e1")])),
        store_with("s", entries(&[CREATED])),
    );
    let taken = now(copy_session(&from, &to, &session("s")));
    assert!(matches!(
        taken,
        Err(CopyError::Write(StoreError::Taken { .. }))
    ));
    assert_eq!(lines(&to, "s").len(), 1);
    let missing = now(copy_session(&from, &to, &session("none")));
    assert!(matches!(
        missing,
        Err(CopyError::Read(StoreError::Missing { .. }))
    ));
}

#[test]
fn s3_j2_what_is_damaged_or_newer_is_not_copied_and_leaves_nothing_behind() {
    let newer = StoreError::NewerFormat {
        what: "session s".into(),
        found: FORMAT + 1,
        supported: FORMAT,
    };
    for error in [damaged(), newer] {
        let (from, to) = (harmed(error.clone(), vec![]), MemoryStore::new());
        match now(copy_session(&from, &to, &session("s"))) {
            Err(CopyError::Read(read)) => assert_eq!(read.kind(), error.kind()),
            other => panic!("{other:?}"),
        }
        let listed = now(to.list(ListRequest::default())).unwrap();
        assert!(listed.sessions.is_empty());
        let nothing = now(copy_salvaged(&from, &to, &session("s")));
        assert!(matches!(nothing, Err(CopyError::NothingReadable { .. })));
    }
}

#[test]
fn s3_a_salvaged_copy_closes_its_gaps_and_says_so() {
    let pieces = entries(&[
        CREATED,
        &unknown(2, "e2"),
        &unknown(3, "e3"),
        &unknown(2, "e2"),
    ]);
    let [created, second, third, again] =
        <[Entry; 4]>::try_from(pieces).unwrap().map(Salvaged::Entry);
    let from = harmed(damaged(), vec![created, gap(), second, third, again]);
    let to = MemoryStore::new();
    let copied = now(copy_salvaged(&from, &to, &session("s"))).unwrap();
    assert_eq!(copied.entries, 3);
    let gaps: Vec<_> = copied
        .gaps
        .iter()
        .map(|gap| (gap.after, gap.bytes, &*gap.what))
        .collect();
    assert_eq!(
        gaps,
        [
            (1, Some(20), "checksum differs"),
            (3, None, "the entry e2 stands there again")
        ]
    );
    let moved = [CREATED, &unknown(1, "e2"), &unknown(2, "e3")];
    assert_eq!(
        lines(&to, "s"),
        moved.map(Arc::from),
        "J2: only the places changed"
    );
}

#[test]
fn s3_where_the_first_entry_is_lost_another_stands_in_for_it() {
    let lost = Entry::decode(&unknown(4, "e4")).unwrap();
    let at = lost.at();
    let from = harmed(damaged(), vec![gap(), Salvaged::Entry(lost)]);
    let salvaged = now(Journal::salvage(&from, &session("s"))).unwrap();
    let [created, entry] = &salvaged.entries[..] else {
        panic!("{salvaged:?}")
    };
    assert!(matches!(
        created.body(),
        EntryBody::SessionCreated { labels: None }
    ));
    assert_eq!(
        (created.at(), created.seq(), entry.seq()),
        (at, Seq(0), Seq(1))
    );
    now(MemoryStore::new().create(&session("s"), salvaged.entries)).unwrap();
}

#[test]
fn s6_all_sessions_are_copied_and_one_that_can_not_be_hides_no_other() {
    let (from, to) = (MemoryStore::new(), MemoryStore::new());
    // More than a page.
    for n in 0..copy::PAGE + 2 {
        now(from.create(&session(&format!("s{n}")), entries(&[CREATED]))).unwrap();
    }
    now(to.create(&session("s7"), entries(&[CREATED]))).unwrap();
    let copied = now(copy_all(&from, &to)).unwrap();
    assert_eq!(copied.len(), copy::PAGE + 2);
    let failed: Vec<_> = copied
        .iter()
        .filter(|(_, result)| result.is_err())
        .collect();
    assert!(
        matches!(&failed[..], [(id, Err(CopyError::Write(StoreError::Taken { .. })))] if id.as_str() == "s7")
    );
    let harmed = harmed(damaged(), vec![]);
    let copied = now(copy_all(&harmed, &to)).unwrap();
    assert!(matches!(
        &copied[..],
        [(_, Err(CopyError::Read(StoreError::Damaged(_))))]
    ));
    // Into itself: everything is there already, and nothing changes.
    let copied = now(copy_all(&to, &to)).unwrap();
    assert!(copied.iter().all(|(_, result)| result.is_err()));
}

/// Reads lines that are fed in pieces of this size.
fn parse(text: &[u8], piece: usize) -> Result<Vec<Entry>, LineError> {
    let mut lines = JournalLines::default();
    for piece in text.chunks(piece) {
        lines.feed(piece)?;
    }
    lines.finish()
}

#[test]
fn j2_lines_that_are_no_journal_are_refused_by_line() {
    let second = unknown(1, "e1");
    let newer = CREATED.replace(r#""v":1"#, r#""v":2"#);
    for (text, said) in [
        (String::new(), "there is no journal entry in it"),
        ("\n \n".into(), "there is no journal entry in it"),
        (
            "hello\n".into(),
            "line 1 is no journal entry: an entry is a JSON object, and this is none",
        ),
        (
            second.clone(),
            "line 1 is no beginning of a journal: its first entry is session.created",
        ),
        (
            newer,
            "line 1 has format 2, this program reads up to 1; use the newer program that wrote it",
        ),
        (
            format!("{CREATED}\n\n{}\n", unknown(2, "e2")),
            "line 3 has entry 2 where entry 1 belongs",
        ),
        (
            format!("{CREATED}\n{CREATED}\n"),
            "line 2 has entry 0 where entry 1 belongs",
        ),
        (
            format!("{CREATED}\n{}\n", unknown(1, "e0")),
            "line 2 has the id e0 of an earlier entry",
        ),
        (
            format!("{CREATED}\n{}", &second[..second.len() - 9]),
            "line 2 is cut off",
        ),
        (
            format!("{CREATED}\n{{\"v\":1,\n"),
            "line 2 is no journal entry: EOF while parsing a value at column 7",
        ),
    ] {
        for piece in [1, 7, 10_000] {
            let error = parse(text.as_bytes(), piece).unwrap_err();
            assert_eq!(error.to_string(), said, "{text:?}");
        }
    }
    let not_text = parse(b"{\"v\":1,\"\xff", 100).unwrap_err();
    assert_eq!(
        not_text.to_string(),
        "line 1 is no journal entry: not UTF-8 at byte 8"
    );
}

#[test]
fn j2_a_line_longer_than_any_entry_is_refused_before_it_is_collected() {
    let mut lines = JournalLines::default();
    let piece = vec![b' '; MAX_LINE_BYTES / 4];
    for _ in 0..4 {
        lines.feed(&piece).unwrap();
    }
    // Its end is no part of it: what a store writes of that length comes back.
    lines.feed(b"\n").unwrap();
    for _ in 0..4 {
        lines.feed(&piece).unwrap();
    }
    assert_eq!(lines.feed(b" "), Err(LineError::TooLong { line: 2 }));
}

#[test]
fn j2_line_ends_of_any_kind_and_a_missing_last_one_are_the_same_journal() {
    let second = unknown(1, "e1");
    for text in [
        format!("{CREATED}\n{second}"),
        format!("{CREATED}\r\n{second}\r\n"),
        format!("\n{CREATED}\n\n{second}\n\n"),
        format!("\u{feff}{CREATED}\r\n{second}"),
    ] {
        let read = parse(text.as_bytes(), 11).unwrap();
        let written: Vec<_> = read.iter().map(Entry::encode).collect();
        assert_eq!(written, [CREATED, &second].map(Arc::from));
    }
}

proptest! {
    /// Bytes of a journal with some of them changed, dropped or repeated.
    #[test]
    fn j2_whatever_bytes_they_are_read_or_refused_however_they_are_cut(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0_usize..3), 0..6),
        piece in 1_usize..50,
    ) {
        let mut text = format!("{CREATED}\n{}\n{}\n", unknown(1, "e1"), unknown(2, "e2")).into_bytes();
        for (at, byte, times) in changes {
            let at = at.index(text.len());
            text.splice(at..=at, std::iter::repeat_n(byte, times));
        }
        let whole = parse(&text, text.len()).map(|entries| entries.len());
        prop_assert_eq!(parse(&text, piece).map(|entries| entries.len()), whole);
    }

    #[test]
    fn j1_j2_any_journal_is_the_same_after_export_import_and_copy(
        rest in arbitrary::journal(), piece in 1_usize..200,
    ) {
        let first = Entry::new(Seq(0), EntryId::parse("first").unwrap(), Timestamp::UNIX_EPOCH, EntryBody::SessionCreated { labels: None });
        let rest = rest.into_iter().map(|entry| {
            let next = entry.seq().next();
            entry.moved_to(next)
        });
        let journal: Vec<Entry> = std::iter::once(first).chain(rest).collect();
        let from = store_with("s", journal.clone());
        let text: Vec<Arc<str>> = lines(&from, "s");
        let read = parse(text.join("\n").as_bytes(), piece).unwrap();
        prop_assert_eq!(&read, &journal);
        let (there, back) = (store_with("s", read), MemoryStore::new());
        now(copy_session(&there, &back, &session("s"))).unwrap();
        prop_assert_eq!(lines(&back, "s"), text);
        let turns = |entries: &[Entry]| {
            let mut transcript = Transcript::default();
            entries.iter().for_each(|entry| transcript.apply(entry));
            transcript.turns()
        };
        let copied = now(Journal::read(&back, &session("s"))).unwrap();
        prop_assert!(turns(&copied.entries).iter().eq(turns(&journal).iter()), "S8");
    }

    #[test]
    fn s3_whatever_pieces_are_left_make_a_journal_that_any_store_takes(
        journal in arbitrary::journal(), lost in any::<[bool; 24]>(),
    ) {
        let pieces = journal.into_iter().zip(lost).map(|(entry, lost)| {
            // As it was read, so that its place stands in its text.
            let read = Entry::decode(&entry.encode()).unwrap();
            if lost { gap() } else { Salvaged::Entry(read) }
        });
        let closed = salvage::closed_up(pieces.collect());
        let left = closed.entries.len();
        if left > 0 {
            let store = store_with("s", closed.entries);
            prop_assert_eq!(lines(&store, "s").len(), left);
        }
    }
}
