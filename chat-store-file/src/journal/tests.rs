//! What no real disk can be asked for: failed syncs, short writes, and being killed in the middle of a recovery.

use std::{io::Write as _, sync::Arc};

use chat_core::{EntryBody, EntryId, Timestamp};

use super::*;
use crate::{
    create::create,
    system::{
        Disk,
        watched::{Change, Watched},
    },
};

/// What a store knows of a journal that it left at an end.
fn ends_at(tail: &Tail) -> Past {
    Past {
        tail: Some(tail.clone()),
        is_doubted: false,
    }
}

struct Bench {
    folder: tempfile::TempDir,
    disk: Watched,
    session: SessionId,
    paths: Paths,
    journal: Journal,
    tail: Tail,
}

impl Bench {
    /// A journal of a first entry, held; nothing done to it yet that counts.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let session = SessionId::parse("s").unwrap();
        let disk = Watched::new(Arc::new(Disk));
        let paths = Paths::new(
            &Folder {
                files: Arc::new(disk.clone()),
                path: folder.path().to_owned(),
            },
            &session,
        );
        create(&session, &paths, Durability::Full, &[entry(0)]).unwrap();
        let journal = Journal::open(&session, &paths, Durability::Full)
            .unwrap()
            .unwrap();
        let tail = journal.catch_up(&Past::default(), Seq::ZERO).unwrap().tail;
        disk.take_done();
        Self {
            folder,
            disk,
            session,
            paths,
            journal,
            tail,
        }
    }

    fn append(&mut self, seq: u64) -> Appended {
        self.journal.append(&mut self.tail, &entry(seq))
    }

    fn recover(&mut self) -> Result<Caught, StoreError> {
        let journal = self.journal.reopen()?;
        let caught = journal.catch_up(&ends_at(&self.tail), Seq::ZERO)?;
        (self.journal, self.tail) = (journal, caught.tail.clone());
        Ok(caught)
    }

    fn places(&self) -> Vec<u64> {
        let journal = Journal::open(&self.session, &self.paths, Durability::Full)
            .unwrap()
            .unwrap();
        let caught = journal.catch_up(&Past::default(), Seq::ZERO).unwrap();
        assert_eq!(caught.torn, None);
        caught.entries.iter().map(|entry| entry.seq().0).collect()
    }

    fn torn_files(&self) -> Vec<PathBuf> {
        let files = std::fs::read_dir(self.folder.path())
            .unwrap()
            .map(|file| file.unwrap().path());
        files
            .filter(|path| {
                self.paths
                    .is_torn(path.file_name().unwrap().to_str().unwrap())
            })
            .collect()
    }
}

fn entry(seq: u64) -> Entry {
    let body = match seq {
        0 => EntryBody::SessionCreated { labels: None },
        _ => EntryBody::Unknown {
            kind: "note".into(),
        },
    };
    Entry::new(
        Seq(seq),
        EntryId::parse(format!("e{seq}")).unwrap(),
        Timestamp::UNIX_EPOCH,
        body,
    )
}

fn write_and_sync(offset: u64, entry: &Entry) -> [Change; 2] {
    let bytes = seal(entry).len();
    [Change::Write { offset, bytes }, Change::Sync]
}

#[test]
fn s1_an_append_is_one_write_and_one_sync() {
    let mut bench = Bench::new();
    let end = bench.tail.last.end;
    assert!(matches!(bench.append(1), Appended::Written));
    assert_eq!(
        bench.disk.take_done().changes,
        write_and_sync(end, &entry(1)),
        "and nothing else that changes a file or waits for the device"
    );
}

#[test]
fn s2_after_a_failed_sync_the_line_is_written_again_before_it_counts() {
    let mut bench = Bench::new();
    assert!(matches!(bench.append(1), Appended::Written));
    let end = bench.tail.last.end;
    bench.disk.fail_next_sync();
    assert!(matches!(bench.append(2), Appended::Unknown(_)));
    assert_eq!(bench.tail.next, Seq(2), "what is unknown does not count");
    bench.disk.take_done();

    // The line is there to read, and that alone proves nothing.
    bench.disk.fail_next_sync();
    let error = bench.recover().err().expect("it can't be made sure of");
    assert!(error.to_string().contains("the disk failed"), "{error}");
    bench.disk.take_done();
    let caught = bench.recover().unwrap();
    assert_eq!((caught.entries.len(), caught.torn), (3, None));
    assert_eq!(
        bench.disk.take_done().changes,
        write_and_sync(end, &entry(2)),
        "written again, then synced"
    );
    assert!(matches!(bench.append(3), Appended::Written));
    assert_eq!(bench.places(), [0, 1, 2, 3]);
}

#[test]
fn s2_a_short_write_is_unknown_and_recovery_sets_it_aside() {
    let whole = seal(&entry(1));
    for room in 1..whole.len() {
        let mut bench = Bench::new();
        bench.disk.set_room(Some(room));
        assert!(
            matches!(bench.append(1), Appended::Unknown(StoreError::Full { .. })),
            "{room} bytes"
        );
        bench.disk.set_room(None);
        let torn = bench.recover().unwrap().torn.expect("a torn tail");
        assert_eq!((torn.bytes, torn.place.seq), (room as u64, Some(Seq(1))));
        assert_eq!(
            std::fs::read(torn.set_aside.unwrap()).unwrap(),
            whole[..room]
        );
        assert!(matches!(bench.append(1), Appended::Written));
        assert_eq!(bench.places(), [0, 1]);
    }
}

#[test]
fn c25_a_full_disk_is_a_typed_error_and_the_writer_goes_on_when_there_is_room() {
    let mut bench = Bench::new();
    bench.disk.set_room(Some(0));
    for _ in 0..3 {
        assert!(matches!(
            bench.append(1),
            Appended::NotWritten(StoreError::Full { .. })
        ));
    }
    bench.disk.set_room(None);
    assert!(matches!(bench.append(1), Appended::Written));
    assert_eq!(bench.places(), [0, 1]);
}

#[test]
fn s2_an_acquire_makes_sure_of_what_another_holder_wrote_and_only_of_that() {
    let mut bench = Bench::new();
    let mut known = bench.tail.clone();
    let end = known.last.end;
    assert!(matches!(bench.append(1), Appended::Written));
    bench.disk.take_done();
    let other = Journal::open(&bench.session, &bench.paths, Durability::Full)
        .unwrap()
        .unwrap();
    known = other.catch_up(&ends_at(&known), Seq(1)).unwrap().tail;
    assert_eq!(
        bench.disk.take_done().changes,
        write_and_sync(end, &entry(1)),
        "it can't know whether the other's sync went well"
    );
    other.catch_up(&ends_at(&known), Seq(2)).unwrap();
    assert_eq!(
        bench.disk.take_done().changes,
        [],
        "what it made sure of itself is sure"
    );
}

#[test]
fn c27_a_turn_in_a_long_journal_reads_what_one_in_a_short_one_does() {
    let mut bench = Bench::new();
    for seq in 1..=2000 {
        // Not through the journal: only the reading is measured.
        let mut file = std::fs::OpenOptions::new()
            .append(true)
            .open(bench.paths.journal())
            .unwrap();
        file.write_all(&seal(&entry(seq))).unwrap();
    }
    bench.recover().unwrap();
    bench.disk.take_done();
    bench
        .journal
        .catch_up(&ends_at(&bench.tail), Seq(2001))
        .unwrap();
    assert!(bench.disk.take_done().bytes_read < 1024);
    let behind = bench
        .journal
        .catch_up(&ends_at(&bench.tail), Seq(1995))
        .unwrap();
    assert_eq!(behind.entries.first().map(Entry::seq), Some(Seq(1995)));
    assert_eq!(behind.entries.len(), 6);
    assert!(
        bench.disk.take_done().bytes_read < 2048,
        "a few turns behind"
    );
    for from in [0, 1, 1900, 1936, 1937, 1938] {
        let caught = bench
            .journal
            .catch_up(&ends_at(&bench.tail), Seq(from))
            .unwrap();
        assert_eq!(caught.entries.len() as u64, 2001 - from, "from {from}");
    }
    bench.disk.take_done();
    assert!(matches!(bench.append(2001), Appended::Written));
    assert!(bench.disk.take_done().bytes_read < 1024);
}

#[test]
fn a_remembered_tail_that_is_no_longer_true_is_not_believed() {
    let mut bench = Bench::new();
    assert!(matches!(bench.append(1), Appended::Written));
    let path = bench.paths.journal();
    // Changed in place, to something as long.
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("\"e1\"", "\"e9\"")).unwrap();
    let error = bench.recover().err().expect("damage");
    assert!(
        error.to_string().contains("line 2") && error.to_string().contains("checksum differs"),
        "{error}"
    );
    // Replaced by another file.
    std::fs::remove_file(&path).unwrap();
    create(&bench.session, &bench.paths, Durability::Full, &[entry(0)]).unwrap();
    assert_eq!(bench.recover().unwrap().tail.next, Seq(1));
}

#[test]
fn s7_a_journal_that_vanished_or_was_replaced_is_not_written() {
    let mut bench = Bench::new();
    let path = bench.paths.journal();
    let kept = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(
        bench.append(1),
        Appended::NotWritten(StoreError::Lost { .. })
    ));
    assert!(matches!(bench.recover(), Err(StoreError::Lost { .. })));
    std::fs::write(&path, &kept).unwrap();
    assert!(matches!(
        bench.append(1),
        Appended::NotWritten(StoreError::Lost { .. })
    ));
    assert_eq!(
        std::fs::read(&path).unwrap(),
        kept,
        "the new file is untouched"
    );
}

#[test]
fn s2_recovery_killed_in_the_middle_ends_the_same_when_done_again() {
    let mut bench = Bench::new();
    let path = bench.paths.journal();
    let sound = std::fs::read(&path).unwrap();
    let tail = b"{\"v\":1,\"se";
    let torn = [sound.as_slice(), tail].concat();
    let aside = bench.paths.torn(sound.len() as u64, crc32c::crc32c(tail));
    // Killed before the copy, in the middle of it, and before the tail was cut off.
    for copied in [None, Some(0), Some(4), Some(tail.len())] {
        std::fs::write(&path, &torn).unwrap();
        let _ = std::fs::remove_file(&aside);
        if let Some(copied) = copied {
            std::fs::write(&aside, &tail[..copied]).unwrap();
        }
        let caught = bench.recover().unwrap();
        assert_eq!(caught.torn.unwrap().set_aside.as_ref(), Some(&aside));
        assert_eq!(std::fs::read(&aside).unwrap(), tail);
        assert_eq!(
            bench.torn_files(),
            std::slice::from_ref(&aside),
            "one tail, one file"
        );
        assert_eq!(std::fs::read(&path).unwrap(), sound);
        assert_eq!(bench.recover().unwrap().torn, None);
    }
}

#[test]
fn s2_os_durability_syncs_nothing() {
    let mut bench = Bench::new();
    bench.journal = Journal::open(&bench.session, &bench.paths, Durability::Os)
        .unwrap()
        .unwrap();
    assert!(matches!(bench.append(1), Appended::Written));
    bench.journal.catch_up(&Past::default(), Seq::ZERO).unwrap();
    assert!(!bench.disk.take_done().changes.contains(&Change::Sync));
    assert_eq!(bench.places(), [0, 1]);
}
