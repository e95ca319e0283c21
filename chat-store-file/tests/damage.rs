//! S3: what a crash leaves is set aside, and anything else that is wrong is an error that names its place.
#![allow(clippy::unwrap_used, reason = "a test panics where it is wrong")]

mod common;

use std::{fs, path::Path};

use chat_core::{Appended, Durability, ListRequest, Salvaged, Seq, SessionId, Store, StoreError};
use chat_store_file::FileStore;
use common::{Read, accepted, completed, created, read, script, session, write};

struct Bench {
    folder: tempfile::TempDir,
    store: FileStore,
    session: SessionId,
    /// The journal of `script()` as it is when nothing is wrong.
    sound: Vec<u8>,
}

impl Bench {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        // Nothing here is about power loss; thousands of syncs would only take time.
        let store = FileStore::options()
            .durability(Durability::Os)
            .open(folder.path())
            .unwrap();
        let session = session("s");
        store.create(&session, script()).await.unwrap();
        let sound = fs::read(store.journal_path(&session)).unwrap();
        Self {
            folder,
            store,
            session,
            sound,
        }
    }

    fn path(&self) -> std::path::PathBuf {
        self.store.journal_path(&self.session)
    }

    /// Puts other bytes into the journal, as another program would, and opens the store anew.
    fn put(&mut self, bytes: &[u8]) {
        fs::write(self.path(), bytes).unwrap();
        self.store = FileStore::options()
            .durability(Durability::Os)
            .open(self.folder.path())
            .unwrap();
    }

    async fn read(&self) -> Read {
        read(&self.store, &self.session).await
    }

    /// Where each line begins, and where the last one ends.
    fn lines(&self) -> Vec<usize> {
        let ends = self
            .sound
            .iter()
            .enumerate()
            .filter(|(_, byte)| **byte == b'\n')
            .map(|(at, _)| at + 1);
        std::iter::once(0).chain(ends).collect()
    }
}

fn kind(error: Option<&StoreError>) -> &str {
    error.map_or("none", StoreError::kind)
}

#[tokio::test]
async fn s3_c20_cut_at_every_byte_the_whole_entries_are_kept_and_the_next_append_is_sound() {
    let mut bench = Bench::new().await;
    let sound = bench.sound.clone();
    let lines = bench.lines();
    for cut in lines[1]..=sound.len() {
        bench.put(&sound[..cut]);
        let whole = lines
            .iter()
            .filter(|start| **start > 0 && **start <= cut)
            .count();
        let torn = &sound[lines[whole]..cut];

        let seen = bench.read().await;
        assert_eq!(
            (seen.entries.as_slice(), kind(seen.error.as_ref())),
            (&script()[..whole], "none"),
            "cut at {cut}"
        );
        assert_eq!(
            seen.torn.as_ref().map_or(0, |torn| torn.bytes),
            torn.len() as u64,
            "cut at {cut}"
        );
        assert_eq!(
            fs::read(bench.path()).unwrap(),
            sound[..cut],
            "reading changes nothing"
        );

        let mut acquired = bench
            .store
            .acquire(&bench.session, Seq::ZERO)
            .await
            .unwrap();
        assert_eq!(acquired.entries, script()[..whole], "cut at {cut}");
        if let Some(tail) = &acquired.torn {
            let aside = tail.set_aside.as_ref().expect("it was set aside");
            assert_eq!(fs::read(aside).unwrap(), torn, "cut at {cut}");
            assert_eq!(tail.place.offset, Some(lines[whole] as u64));
            fs::remove_file(aside).unwrap();
        } else {
            assert!(torn.is_empty(), "cut at {cut}: the torn tail is reported");
        }
        write(&mut acquired.writer, accepted(whole as u64, "next")).await;
        drop(acquired);
        let seen = bench.read().await;
        assert_eq!(seen.entries.len(), whole + 1, "cut at {cut}");
        assert_eq!(
            (seen.torn, kind(seen.error.as_ref())),
            (None, "none"),
            "cut at {cut}"
        );
    }
}

#[tokio::test]
async fn s3_cut_within_the_first_entry_is_damage_since_create_is_atomic() {
    let mut bench = Bench::new().await;
    let sound = bench.sound.clone();
    for cut in 0..bench.lines()[1] {
        bench.put(&sound[..cut]);
        assert_eq!(
            kind(bench.read().await.error.as_ref()),
            "journal-damaged",
            "cut at {cut}"
        );
        let error = bench
            .store
            .acquire(&bench.session, Seq::ZERO)
            .await
            .unwrap_err();
        assert_eq!(error.kind(), "journal-damaged");
        assert_eq!(
            fs::read(bench.path()).unwrap(),
            sound[..cut],
            "nothing is repaired"
        );
    }
}

#[tokio::test]
async fn s3_a_flipped_bit_is_never_shown_as_good() {
    let mut bench = Bench::new().await;
    let sound = bench.sound.clone();
    for bit in 0..sound.len() * 8 {
        let mut bytes = sound.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        bench.put(&bytes);
        let seen = bench.read().await;
        assert_eq!(
            seen.entries,
            script()[..seen.entries.len()],
            "bit {bit}: a wrong entry"
        );
        assert!(seen.entries.len() < script().len(), "bit {bit} went unseen");
        // Without its newline the last line is torn by definition; every other bit is damage.
        let expected = if bit / 8 == sound.len() - 1 {
            "none"
        } else {
            "journal-damaged"
        };
        assert_eq!(kind(seen.error.as_ref()), expected, "bit {bit}");
        assert_eq!(seen.torn.is_some(), seen.error.is_none(), "bit {bit}");

        for piece in bench.store.salvage(&bench.session).await.unwrap() {
            if let Salvaged::Entry(entry) = piece {
                assert!(
                    script().contains(&entry),
                    "bit {bit}: a wrong entry was salvaged"
                );
            }
        }
        let list = bench.store.list(ListRequest::default()).await.unwrap();
        assert_eq!(list.sessions.len(), 1, "bit {bit}");
        if seen.error.is_some() {
            assert!(list.sessions[0].error.is_some(), "bit {bit}");
            let acquired = bench.store.acquire(&bench.session, Seq::ZERO).await;
            assert_eq!(
                kind(acquired.err().as_ref()),
                "journal-damaged",
                "bit {bit}"
            );
            assert_eq!(
                fs::read(bench.path()).unwrap(),
                bytes,
                "nothing is repaired"
            );
        }
    }
}

#[tokio::test]
async fn s3_a_tail_of_nuls_is_torn() {
    let mut bench = Bench::new().await;
    let sound = bench.sound.clone();
    for nuls in [1, 100, 5000, 200_000] {
        bench.put(&[sound.as_slice(), &vec![0; nuls]].concat());
        let acquired = bench
            .store
            .acquire(&bench.session, Seq::ZERO)
            .await
            .unwrap();
        assert_eq!(acquired.entries, script());
        assert_eq!(acquired.torn.map(|torn| torn.bytes), Some(nuls as u64));
        assert_eq!(fs::read(bench.path()).unwrap(), sound);
    }
}

#[tokio::test]
async fn s3_c20_c21_c22_damage_is_named_with_line_byte_and_cause() {
    let mut bench = Bench::new().await;
    let sound = bench.sound.clone();
    let lines = bench.lines();
    let line = |n: usize| &sound[lines[n]..lines[n + 1]];
    let with = |at: usize, byte: u8| {
        let mut bytes = sound.clone();
        bytes[at] = byte;
        bytes
    };
    let middle = lines[1] + 20;
    let hole = [&sound[..middle], &[0; 7][..], &sound[middle + 7..]].concat();
    let cases: [(&str, Vec<u8>, usize, u64, usize); 12] = [
        ("an empty file", vec![], 0, 1, 0),
        ("no newline at all", line(0)[..20].to_vec(), 0, 1, 0),
        (
            "C20: a record glued onto a stub",
            [line(0), &line(1)[..30], line(2)].concat(),
            1,
            2,
            lines[1],
        ),
        ("C21: a hole of NUL bytes", hole, 1, 2, middle),
        ("C21: one bad line", with(middle, b'#'), 1, 2, lines[1]),
        (
            "C22: a byte that is not UTF-8",
            with(middle, 0xff),
            1,
            2,
            middle,
        ),
        (
            "a missing entry",
            [line(0), line(2)].concat(),
            1,
            2,
            lines[1],
        ),
        (
            "an entry twice",
            [line(0), line(1), line(1), line(2)].concat(),
            2,
            3,
            lines[2],
        ),
        (
            "a missing first entry",
            [line(1), line(2)].concat(),
            0,
            1,
            0,
        ),
        (
            "an empty line",
            [line(0), b"\n", line(1)].concat(),
            1,
            2,
            lines[1],
        ),
        (
            "an entry without checksum",
            [line(0), accepted(1, "t").encode().as_bytes(), b"\n"].concat(),
            1,
            2,
            lines[1],
        ),
        (
            "notes of a person",
            [line(0), b"remember the milk\n"].concat(),
            1,
            2,
            lines[1],
        ),
    ];
    let mut messages = String::new();
    for (case, bytes, whole, line, offset) in cases {
        bench.put(&bytes);
        let seen = bench.read().await;
        assert_eq!(
            seen.entries,
            script()[..whole],
            "{case}: the entries before it are given"
        );
        let Some(StoreError::Damaged(damage)) = seen.error else {
            panic!("{case}: {seen:?}")
        };
        assert_eq!(
            (damage.place.line, damage.place.offset),
            (Some(line), Some(offset as u64)),
            "{case}"
        );
        assert_eq!(damage.place.seq, Some(Seq(whole as u64)), "{case}");
        assert_eq!(
            damage.place.path.as_deref(),
            Some(bench.path().as_path()),
            "{case}"
        );
        assert_eq!(damage.session, bench.session);
        messages += &format!("{case}: {}\n", damage.what);
        let acquired = bench.store.acquire(&bench.session, Seq::ZERO).await;
        assert_eq!(kind(acquired.err().as_ref()), "journal-damaged", "{case}");
        assert_eq!(
            fs::read(bench.path()).unwrap(),
            bytes,
            "{case}: nothing is repaired"
        );
    }
    assert_eq!(
        messages,
        "an empty file: the file is empty
no newline at all: the first entry is cut off
C20: a record glued onto a stub: checksum differs
C21: a hole of NUL bytes: a hole of NUL bytes
C21: one bad line: checksum differs
C22: a byte that is not UTF-8: not valid UTF-8
a missing entry: entry 1 is missing
an entry twice: entry 1 again, where entry 2 belongs
a missing first entry: entry 0 is missing
an empty line: it is not a journal entry
an entry without checksum: it has no checksum
notes of a person: it is not a journal entry
"
    );
}

#[tokio::test]
async fn j2_c30_a_newer_format_is_refused_and_left_untouched() {
    let mut bench = Bench::new().await;
    let first = bench.sound[..bench.lines()[1]].to_vec();
    let newer = b"{\"v\":2,\"type\":\"turn.begun\",\"sum\":\"of another kind\"}\n";
    for bytes in [newer.to_vec(), [first.as_slice(), newer].concat()] {
        bench.put(&bytes);
        assert_eq!(kind(bench.read().await.error.as_ref()), "newer-format");
        let acquired = bench.store.acquire(&bench.session, Seq::ZERO).await;
        assert_eq!(kind(acquired.err().as_ref()), "newer-format");
        let list = bench.store.list(ListRequest::default()).await.unwrap();
        assert_eq!(kind(list.sessions[0].error.as_ref()), "newer-format");
        assert_eq!(fs::read(bench.path()).unwrap(), bytes);
    }
}

#[tokio::test]
async fn s3_salvage_gives_what_is_readable_with_its_gaps_marked() {
    let mut bench = Bench::new().await;
    let sound = bench.sound.clone();
    let lines = bench.lines();
    let line = |n: usize| &sound[lines[n]..lines[n + 1]];
    let show = |pieces: Vec<Salvaged>| {
        let pieces = pieces.into_iter().map(|piece| match piece {
            Salvaged::Entry(entry) => format!("entry {}", entry.seq()),
            Salvaged::Gap { place, bytes, what } => {
                format!(
                    "line {}, {} bytes: {what}",
                    place.line.unwrap(),
                    bytes.map_or("?".into(), |n| n.to_string())
                )
            }
        });
        pieces.collect::<Vec<_>>().join(" | ")
    };
    let nuls = [0; 9].as_slice();
    for (bytes, expected) in [
        (sound.clone(), "entry 0 | entry 1 | entry 2"),
        (vec![], ""),
        (
            [line(0), b"x\n", line(2)].concat(),
            "entry 0 | line 2, 2 bytes: it is not a journal entry | line 3, ? bytes: entry 1 is missing | entry 2",
        ),
        (
            [line(0), nuls, line(1), line(2)].concat(),
            "entry 0 | line 2, 9 bytes: a hole of NUL bytes | entry 1 | entry 2",
        ),
        (
            [line(0), &line(1)[..30], line(2)].concat(),
            "entry 0 | line 2, 30 bytes: checksum differs | line 2, ? bytes: entry 1 is missing | entry 2",
        ),
        (
            [line(0), line(1), &line(2)[..7]].concat(),
            "entry 0 | entry 1 | line 3, 7 bytes: the last line is cut off",
        ),
        (
            [
                line(0),
                b"x\n\nyy\n",
                line(1),
                b"z\n\0\n\0\n",
                line(2),
                b"\n\nx",
            ]
            .concat(),
            "entry 0 | line 2, 6 bytes: it is not a journal entry | entry 1 | \
             line 6, 2 bytes: it is not a journal entry | line 7, 4 bytes: a hole of NUL bytes | entry 2 | \
             line 10, 2 bytes: it is not a journal entry | line 12, 1 bytes: the last line is cut off",
        ),
        (
            [line(0), &b"\n".repeat(100_000)].concat(),
            "entry 0 | line 2, 100000 bytes: it is not a journal entry",
        ),
    ] {
        bench.put(&bytes);
        assert_eq!(
            show(bench.store.salvage(&bench.session).await.unwrap()),
            expected
        );
        assert_eq!(
            fs::read(bench.path()).unwrap(),
            bytes,
            "salvage changes nothing"
        );
    }
}

/// A tail of NULs takes no room, however long it says it is: neither does what is set aside of it.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn s3_a_hole_as_long_as_a_disk_is_a_torn_tail_like_any_other() {
    use std::os::unix::fs::{FileExt as _, MetadataExt as _};

    const LONG: u64 = 1 << 40;
    for end in ["", "then a word"] {
        let mut bench = Bench::new().await;
        let sound = bench.sound.clone();
        bench.put(&[&sound[..], b"half a line"].concat());
        let file = fs::File::options().write(true).open(bench.path()).unwrap();
        file.set_len(LONG).unwrap();
        file.write_all_at(end.as_bytes(), LONG - end.len() as u64)
            .unwrap();
        let torn = read(&bench.store, &bench.session).await.torn.unwrap();
        assert_eq!(torn.bytes, LONG - sound.len() as u64);
        let page = bench.store.list(ListRequest::default()).await.unwrap();
        assert!(page.sessions[0].error.is_none());
        let acquired = bench.store.acquire(&bench.session, Seq::ZERO).await;
        let torn = acquired.unwrap().torn.unwrap();
        assert_eq!(fs::read(bench.path()).unwrap(), sound);
        let aside = fs::File::open(torn.set_aside.unwrap()).unwrap();
        let found = aside.metadata().unwrap();
        assert_eq!(
            (found.len(), torn.bytes),
            (torn.bytes, LONG - sound.len() as u64)
        );
        assert!(found.blocks() < 1000, "{} blocks", found.blocks());
        let mut text = [0; 11];
        aside.read_exact_at(&mut text, 0).unwrap();
        assert_eq!(&text, b"half a line");
        let mut text = vec![0; end.len()];
        aside
            .read_exact_at(&mut text, found.len() - end.len() as u64)
            .unwrap();
        assert_eq!(text, end.as_bytes());
    }
}

#[tokio::test]
async fn s3_a_torn_tail_is_reported_only_where_nobody_holds_the_journal() {
    let mut bench = Bench::new().await;
    let sound = bench.sound.clone();
    bench.put(&sound);
    let acquired = bench
        .store
        .acquire(&bench.session, Seq::ZERO)
        .await
        .unwrap();
    append_raw(&bench.path(), b"{\"v\":1,");
    let seen = bench.read().await;
    assert_eq!(
        (seen.entries.len(), seen.torn),
        (3, None),
        "a holder may be writing it"
    );
    drop(acquired);
    assert_eq!(bench.read().await.torn.map(|torn| torn.bytes), Some(7));
}

#[tokio::test]
async fn s2_nothing_is_written_behind_what_someone_else_left() {
    let bench = Bench::new().await;
    let mut acquired = bench
        .store
        .acquire(&bench.session, Seq::ZERO)
        .await
        .unwrap();
    append_raw(&bench.path(), b"{\"v\":1,");
    let answer = acquired.writer.append(accepted(3, "next")).await;
    assert!(
        matches!(answer, Appended::NotWritten(StoreError::Lost { .. })),
        "{answer:?}"
    );
    assert_eq!(
        fs::read(bench.path()).unwrap(),
        [bench.sound.as_slice(), b"{\"v\":1,"].concat()
    );
}

#[tokio::test]
async fn s6_a_damaged_session_is_listed_with_its_error_and_hides_no_other() {
    let mut bench = Bench::new().await;
    let sound = bench.sound.clone();
    let line = bench.lines()[2];
    for id in ["a", "z"] {
        bench
            .store
            .create(
                &session(id),
                vec![created(), accepted(1, id), completed(2, id)],
            )
            .await
            .unwrap();
    }
    bench.put(&[&sound[..line], b"rubbish\n", &sound[line..]].concat());
    fs::write(bench.store.journal_path(&session("empty")), b"").unwrap();
    let list = bench
        .store
        .list(ListRequest::default())
        .await
        .unwrap()
        .sessions;
    assert_eq!(list.len(), 4);
    for summary in list {
        let damaged = matches!(summary.id.as_str(), "s" | "empty");
        assert_eq!(summary.error.is_some(), damaged, "{summary:?}");
        assert!(summary.last_activity.is_some());
        assert_eq!(
            summary.title.is_some(),
            summary.id.as_str() != "empty",
            "what can be read is shown: {summary:?}"
        );
    }
}

fn append_raw(path: &Path, bytes: &[u8]) {
    use std::io::Write as _;
    fs::OpenOptions::new()
        .append(true)
        .open(path)
        .unwrap()
        .write_all(bytes)
        .unwrap();
}
