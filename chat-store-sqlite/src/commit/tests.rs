//! Group commit, and what it answers when a disk fails. The thread is stopped before a commit, so that what waits is one group.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, atomic::AtomicU32},
};

use chat_core::{Appended, Durability, Entry, JournalWriter, ListRequest, Seq, Store, StoreError};
use futures_util::future::{join_all, poll_immediate};
use rusqlite::{Connection, ffi};

use super::*;
use crate::{SqliteStore, failure::Failure};

mod bad_page;
#[path = "../../tests/common/mod.rs"]
mod common;
mod left_behind;
use common::{accepted, completed, created, read, script, session, write};

/// What happens to the next commits, and what a disk can't be asked for.
#[derive(Debug, Default)]
pub(super) struct Faults {
    commits: AtomicU32,
    checkpoints: AtomicU32,
    next: Mutex<VecDeque<Fault>>,
    stop_at_begin: Mutex<Option<Stop>>,
    failing_checkpoints: AtomicU32,
    /// 0 for no limit.
    most_pages: AtomicU32,
}

/// Says that it is there, waits until it may go on.
#[derive(Debug)]
struct Stop(mpsc::Sender<()>, mpsc::Receiver<()>);

impl Stop {
    fn wait(self) {
        self.0.send(()).unwrap();
        self.1.recv().unwrap();
    }
}

#[derive(Debug)]
enum Fault {
    Stop(Stop),
    /// The sync of the log fails.
    NotCommitted,
    /// The same, and the entries can be read all the same.
    Committed,
    /// There is no room for the log.
    NoRoom,
}

impl Faults {
    pub(super) fn on_begin(&self, connection: &Connection) {
        let most = match self.most_pages.load(Ordering::SeqCst) {
            0 => u32::MAX - 1,
            most => most,
        };
        connection
            .query_row(&format!("PRAGMA max_page_count = {most}"), [], |_| Ok(()))
            .unwrap();
        if let Some(stop) = self.stop_at_begin.lock().unwrap().take() {
            stop.wait();
        }
    }

    pub(super) fn on_commit(&self, connection: &Connection) -> Result<(), Failure> {
        self.commits.fetch_add(1, Ordering::SeqCst);
        let fault = self.lock().pop_front();
        match fault {
            None => Ok(()),
            Some(Fault::Stop(stop)) => {
                stop.wait();
                Ok(())
            }
            Some(Fault::NotCommitted) => Err(failed(ffi::SQLITE_IOERR_FSYNC)),
            Some(Fault::Committed) => {
                connection.execute_batch("COMMIT").unwrap();
                Err(failed(ffi::SQLITE_IOERR_FSYNC))
            }
            Some(Fault::NoRoom) => Err(failed(ffi::SQLITE_FULL)),
        }
    }

    pub(super) fn on_checkpoint(&self) -> Result<(), Failure> {
        self.checkpoints.fetch_add(1, Ordering::SeqCst);
        let take = |left: u32| left.checked_sub(1);
        match self
            .failing_checkpoints
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, take)
        {
            Ok(_) => Err(failed(ffi::SQLITE_IOERR_FSYNC)),
            Err(_) => Ok(()),
        }
    }

    fn plan(&self, fault: Fault) {
        self.lock().push_back(fault);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Fault>> {
        self.next.lock().unwrap()
    }
}

fn failed(code: i32) -> Failure {
    rusqlite::Error::SqliteFailure(ffi::Error::new(code), None).into()
}

/// A store with sessions `s0`, `s1`..., each with its first entry and held.
struct Lab {
    _folder: tempfile::TempDir,
    store: SqliteStore,
    writers: Vec<Box<dyn JournalWriter>>,
}

impl Lab {
    async fn new(sessions: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(folder.path().join("chat.db")).unwrap();
        let mut writers = Vec::new();
        for n in 0..sessions {
            let id = session(&format!("s{n}"));
            store.create(&id, vec![created()]).await.unwrap();
            writers.push(store.acquire(&id, Seq(1)).await.unwrap().writer);
        }
        Self {
            _folder: folder,
            store,
            writers,
        }
    }

    fn faults(&self) -> &Faults {
        &self.store.inner.committer.shared.faults
    }

    fn commits(&self) -> u32 {
        self.faults().commits.load(Ordering::SeqCst)
    }

    fn checkpoints(&self) -> u32 {
        self.faults().checkpoints.load(Ordering::SeqCst)
    }

    async fn entries(&self, n: usize) -> Vec<Entry> {
        let read = read(&self.store, &session(&format!("s{n}"))).await;
        assert!(read.error.is_none(), "{read:?}");
        read.entries
    }

    /// One append each, all in one group: the thread is stopped in a commit of its own while they are sent.
    async fn in_one_group(&mut self, entries: Vec<Entry>) -> Vec<Appended> {
        self.while_stopped(entries, |faults, stop| {
            faults.lock().push_front(Fault::Stop(stop));
        })
        .await
    }

    /// One append each, sent while the thread is stopped in a transaction that creates a session.
    async fn while_stopped(
        &mut self,
        entries: Vec<Entry>,
        plan: impl FnOnce(&Faults, Stop),
    ) -> Vec<Appended> {
        let (here, stopped_there) = mpsc::channel();
        let (go_on, may_go_on) = mpsc::channel();
        plan(self.faults(), Stop(here, may_go_on));
        let store = self.store.clone();
        let stopped = session("stopped");
        let mut create = store.create(&stopped, vec![created()]);
        while stopped_there.try_recv().is_err() {
            assert!(poll_immediate(&mut create).await.is_none(), "not stopped");
            tokio::task::yield_now().await;
        }
        let mut appends: Vec<_> = self
            .writers
            .iter_mut()
            .zip(entries)
            .map(|(writer, entry)| writer.append(entry))
            .collect();
        for append in &mut appends {
            assert!(
                poll_immediate(append).await.is_none(),
                "written while the thread is stopped"
            );
        }
        go_on.send(()).unwrap();
        let answers = join_all(appends).await;
        create.await.unwrap();
        answers
    }
}

#[test]
fn c29_the_sqlite_built_in_is_past_the_wal_reset_fault() {
    assert!(
        rusqlite::version_number() > 3_051_002,
        "SQLite {}",
        rusqlite::version()
    );
}

#[tokio::test]
async fn s1_all_that_waits_shares_one_commit() {
    let mut lab = Lab::new(32).await;
    let before = lab.commits();
    let answers = lab
        .in_one_group((0..32).map(|_| accepted(1, "t")).collect())
        .await;
    assert!(
        answers
            .iter()
            .all(|answer| matches!(answer, Appended::Written)),
        "{answers:?}"
    );
    assert_eq!(
        lab.commits() - before,
        2,
        "the one that was stopped, and one for all"
    );
    for n in 0..32 {
        assert_eq!(lab.entries(n).await, [created(), accepted(1, "t")]);
    }
}

#[tokio::test]
async fn s1_what_comes_while_a_transaction_is_made_shares_its_commit() {
    let mut lab = Lab::new(3).await;
    let before = lab.commits();
    let answers = lab
        .while_stopped(
            vec![accepted(1, "a"), accepted(7, "b"), accepted(1, "c")],
            |faults, stop| *faults.stop_at_begin.lock().unwrap() = Some(stop),
        )
        .await;
    assert!(
        matches!(
            &answers[..],
            [
                Appended::Written,
                Appended::NotWritten(StoreError::Misuse { .. }),
                Appended::Written
            ]
        ),
        "{answers:?}"
    );
    assert_eq!(lab.commits() - before, 1, "with the session's creation");
    assert_eq!(lab.entries(1).await, [created()]);
    assert_eq!(lab.entries(2).await, [created(), accepted(1, "c")]);
}

#[tokio::test]
async fn s7_one_that_comes_later_and_finds_no_room_takes_nobody_along() {
    let mut lab = Lab::new(3).await;
    let long = common::asked(1, "b", &"long ".repeat(100_000));
    let answers = lab
        .while_stopped(
            vec![accepted(1, "a"), long, accepted(1, "c")],
            |faults, stop| {
                faults.most_pages.store(40, Ordering::SeqCst);
                *faults.stop_at_begin.lock().unwrap() = Some(stop);
            },
        )
        .await;
    assert!(
        matches!(
            &answers[..],
            [
                Appended::Written,
                Appended::NotWritten(StoreError::Full { .. }),
                Appended::Written
            ]
        ),
        "{answers:?}"
    );
    assert_eq!(lab.entries(0).await, [created(), accepted(1, "a")]);
    assert_eq!(lab.entries(1).await, [created()]);
    assert_eq!(lab.entries(2).await, [created(), accepted(1, "c")]);
}

#[tokio::test]
async fn s1_a_refused_request_takes_nobody_along() {
    let mut lab = Lab::new(3).await;
    let before = lab.commits();
    let answers = lab
        .in_one_group(vec![accepted(1, "a"), accepted(7, "b"), accepted(1, "c")])
        .await;
    assert!(
        matches!(
            &answers[..],
            [
                Appended::Written,
                Appended::NotWritten(StoreError::Misuse { .. }),
                Appended::Written
            ]
        ),
        "{answers:?}"
    );
    assert_eq!(lab.commits() - before, 2);
    assert_eq!(lab.entries(1).await, [created()]);
    assert_eq!(lab.entries(2).await, [created(), accepted(1, "c")]);
}

#[tokio::test]
async fn s2_a_failed_commit_is_unknown_for_all_in_it() {
    for (fault, there) in [(Fault::NotCommitted, 1), (Fault::Committed, 2)] {
        let mut lab = Lab::new(3).await;
        lab.faults().plan(fault);
        let answers = lab
            .in_one_group((0..3).map(|_| accepted(1, "t")).collect())
            .await;
        assert!(
            answers
                .iter()
                .all(|answer| matches!(answer, Appended::Unknown(StoreError::Io { .. }))),
            "{answers:?}"
        );
        let answer = lab.writers[0].append(accepted(1, "t")).await;
        assert!(
            matches!(answer, Appended::NotWritten(StoreError::Misuse { .. })),
            "only recover may come next: {answer:?}"
        );
        let checkpoints = lab.checkpoints();
        for n in 0..3 {
            let recovered = lab.writers[n].recover(Seq::ZERO).await.unwrap();
            assert_eq!(recovered.entries.len(), there);
            assert_eq!(recovered.torn, None);
            assert_eq!(
                lab.checkpoints(),
                checkpoints + 1,
                "written into the database anew, once for all, before anyone is told"
            );
            // Sent again whichever it was: it is written once.
            write(&mut lab.writers[n], accepted(1, "t")).await;
            write(&mut lab.writers[n], completed(2, "t")).await;
            assert_eq!(lab.entries(n).await.len(), 3);
        }
    }
}

#[tokio::test]
async fn s2_nothing_is_written_or_confirmed_behind_a_failed_sync() {
    let mut lab = Lab::new(2).await;
    let other = session("other");
    lab.store.create(&other, script()).await.unwrap();
    lab.faults().plan(Fault::Committed);
    let answer = lab.writers[0].append(accepted(1, "t")).await;
    assert!(matches!(answer, Appended::Unknown(_)), "{answer:?}");

    lab.faults().failing_checkpoints.store(4, Ordering::SeqCst);
    let answer = lab.writers[1].append(accepted(1, "t")).await;
    assert!(
        matches!(answer, Appended::NotWritten(StoreError::Io { .. })),
        "another session's, too: {answer:?}"
    );
    let error = lab
        .store
        .create(&session("new"), script())
        .await
        .unwrap_err();
    assert!(matches!(error, StoreError::Io { .. }), "{error:?}");
    let error = lab.writers[0].recover(Seq::ZERO).await.unwrap_err();
    assert!(matches!(error, StoreError::Io { .. }), "{error:?}");
    let error = lab.store.acquire(&other, Seq::ZERO).await.unwrap_err();
    assert!(matches!(error, StoreError::Io { .. }), "{error:?}");
    // Reading waits for nobody.
    assert_eq!(read(&lab.store, &other).await.entries, script());

    // Then it can be done, and all goes on.
    let recovered = lab.writers[0].recover(Seq(1)).await.unwrap();
    assert_eq!(recovered.entries, [accepted(1, "t")]);
    write(&mut lab.writers[1], accepted(1, "t")).await;
    assert_eq!(
        lab.store.acquire(&other, Seq::ZERO).await.unwrap().entries,
        script()
    );
    let listed = lab.store.list(ListRequest::default()).await.unwrap();
    assert_eq!(
        listed.sessions.len(),
        3,
        "what was not created is not there"
    );
}

#[tokio::test]
async fn s2_a_reader_that_stays_long_keeps_nobody_from_writing_or_recovering() {
    let mut lab = Lab::new(2).await;
    write(&mut lab.writers[1], accepted(1, "before")).await;
    // A backup by another program, say.
    let reader = Connection::open(lab.store.path()).unwrap();
    let count = "SELECT count(*) FROM entries";
    let entries = || {
        reader
            .query_row(count, [], |row| row.get::<_, i64>(0))
            .unwrap()
    };
    reader.execute_batch("BEGIN").unwrap();
    assert_eq!(entries(), 3);
    lab.faults().plan(Fault::Committed);
    let answer = lab.writers[0].append(accepted(1, "t")).await;
    assert!(matches!(answer, Appended::Unknown(_)), "{answer:?}");
    let recovered = lab.writers[0].recover(Seq(1)).await.unwrap();
    assert_eq!(recovered.entries, [accepted(1, "t")]);
    write(&mut lab.writers[0], completed(2, "t")).await;
    let second = SqliteStore::open(lab.store.path()).unwrap();
    second.create(&session("new"), script()).await.unwrap();
    assert_eq!(entries(), 3, "it still sees what it began with");
    reader.execute_batch("COMMIT").unwrap();
    assert_eq!(entries(), 8);
    assert_eq!(lab.entries(0).await.len(), 3);
}

#[tokio::test]
async fn s2_a_store_makes_sure_once_of_what_others_left_behind() {
    let lab = Lab::new(1).await;
    assert_eq!(lab.checkpoints(), 1);
    let other = SqliteStore::open(lab.store.path()).unwrap();
    let id = session("t");
    other.create(&id, script()).await.unwrap();
    for _ in 0..3 {
        assert_eq!(
            other.acquire(&id, Seq::ZERO).await.unwrap().entries,
            script()
        );
        assert_eq!(
            lab.store.acquire(&id, Seq::ZERO).await.unwrap().entries,
            script()
        );
    }
    let made = &other.inner.committer.shared.faults.checkpoints;
    assert_eq!((made.load(Ordering::SeqCst), lab.checkpoints()), (1, 1));
}

#[tokio::test]
async fn s2_what_a_store_of_weaker_durability_wrote_is_made_sure_of() {
    let lab = Lab::new(0).await;
    let weaker = SqliteStore::options()
        .durability(Durability::Os)
        .open(lab.store.path())
        .unwrap();
    let id = session("s");
    lab.store.create(&id, vec![created()]).await.unwrap();
    drop(lab.store.acquire(&id, Seq::ZERO).await.unwrap());
    let before = lab.checkpoints();
    let mut writer = weaker.acquire(&id, Seq(1)).await.unwrap().writer;
    write(&mut writer, accepted(1, "t")).await;
    drop(writer);
    let mut acquired = lab.store.acquire(&id, Seq(1)).await.unwrap();
    assert_eq!(acquired.entries, [accepted(1, "t")]);
    assert_eq!(lab.checkpoints(), before + 1, "it was not synced");
    write(&mut acquired.writer, completed(2, "t")).await;
    drop(acquired);
    lab.store.acquire(&id, Seq(1)).await.unwrap();
    assert_eq!(lab.checkpoints(), before + 1, "it was");
}

#[tokio::test]
async fn s7_c25_a_full_disk_at_the_commit_is_known_by_recovery_without_more_room() {
    let mut lab = Lab::new(2).await;
    lab.faults().plan(Fault::NoRoom);
    let answer = lab.writers[0].append(accepted(1, "t")).await;
    assert!(
        matches!(answer, Appended::Unknown(StoreError::Full { .. })),
        "{answer:?}"
    );
    // Nothing that was read is in doubt, so nothing has to be written to know.
    lab.faults().failing_checkpoints.store(1, Ordering::SeqCst);
    let recovered = lab.writers[0].recover(Seq(1)).await.unwrap();
    assert_eq!(recovered.entries, []);
    write(&mut lab.writers[0], accepted(1, "t")).await;
    write(&mut lab.writers[1], accepted(1, "t")).await;
}

#[tokio::test]
async fn s7_c25_c34_a_request_that_fills_the_database_takes_nobody_along() {
    let mut lab = Lab::new(5).await;
    let pages: u32 = {
        let connection = lab.store.inner.database.writer(|| false).unwrap();
        connection
            .query_row("PRAGMA page_count", [], |row| row.get(0))
            .unwrap()
    };
    lab.faults().most_pages.store(pages + 20, Ordering::SeqCst);
    let large = Entry::decode(&format!(
        r#"{{"v":1,"seq":1,"id":"large","at":"2026-01-31T09:30:00.000Z","type":"note","text":"{}"}}"#,
        "x".repeat(1 << 20)
    ))
    .unwrap();
    let answers = lab
        .in_one_group(vec![
            accepted(1, "a"),
            large.clone(),
            accepted(1, "c"),
            large.clone(),
            accepted(1, "e"),
        ])
        .await;
    for (n, answer) in answers.iter().enumerate() {
        let (expected, there) = match n {
            1 | 3 => (
                matches!(answer, Appended::NotWritten(StoreError::Full { .. })),
                1,
            ),
            _ => (matches!(answer, Appended::Written), 2),
        };
        assert!(expected, "{n}: {answer:?}");
        assert_eq!(lab.entries(n).await.len(), there);
    }
    // Sound again when there is room.
    lab.faults().most_pages.store(0, Ordering::SeqCst);
    write(&mut lab.writers[1], large).await;
}

#[tokio::test]
async fn s7_a_store_that_is_dropped_does_not_wait_for_who_keeps_the_database_locked() {
    let lab = Lab::new(0).await;
    let path = lab.store.path().to_owned();
    drop(lab.store);
    let program = Connection::open(&path).unwrap();
    let store = SqliteStore::open(&path).unwrap();
    program
        .execute_batch(
            "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE",
        )
        .unwrap();
    let mut sure = Box::pin(store.inner.committer.make_sure());
    assert!(poll_immediate(&mut sure).await.is_none());
    drop(sure);
    let began = std::time::Instant::now();
    drop(store);
    assert!(began.elapsed() < std::time::Duration::from_secs(20));
}

#[tokio::test]
async fn the_thread_ends_with_the_last_clone_and_finishes_what_it_began() {
    let lab = Lab::new(1).await;
    let (store, id) = (lab.store.clone(), session("dropped"));
    let thread = Arc::downgrade(&lab.store.inner.committer.shared);
    // The writer and both clones are gone; what was asked for goes on.
    let mut create = store.create(&id, script());
    for _ in 0..8 {
        if poll_immediate(&mut create).await.is_some() {
            break;
        }
        tokio::task::yield_now().await;
    }
    let path = store.path().to_owned();
    let Lab {
        _folder,
        store: first,
        writers,
    } = lab;
    drop((create, store, first, writers));
    assert_eq!(thread.strong_count(), 0, "the thread has ended");
    // Whole, or not there.
    let again = SqliteStore::open(path).unwrap();
    let read = read(&again, &id).await;
    assert!(
        read.entries == script() || matches!(read.error, Some(StoreError::Missing { .. })),
        "{read:?}"
    );
}
