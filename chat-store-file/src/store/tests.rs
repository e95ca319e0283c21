//! What an operation costs, in calls of the file system: counted, since time on a shared machine proves nothing.

use chat_core::{Appended, EntryBody, EntryId, JournalWriter, Timestamp};

use super::*;
use crate::system::watched::{Change, Done, Watched};

struct Bench {
    _folder: tempfile::TempDir,
    disk: Watched,
    store: FileStore,
    session: SessionId,
}

impl Bench {
    async fn new(entries: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let disk = Watched::new(Arc::new(Disk));
        let options = FileStore::options();
        let store = options
            .open_on(Arc::new(disk.clone()), folder.path())
            .unwrap();
        let session = SessionId::parse("s").unwrap();
        let entries = (0..entries).map(entry).collect();
        store.create(&session, entries).await.unwrap();
        Self {
            _folder: folder,
            disk,
            store,
            session,
        }
    }

    async fn acquire(&self, from: u64) -> (Box<dyn JournalWriter>, Done) {
        self.disk.take_done();
        let acquired = self.store.acquire(&self.session, Seq(from)).await.unwrap();
        assert!(acquired.entries.is_empty());
        (acquired.writer, self.disk.take_done())
    }
}

fn entry(seq: u64) -> Entry {
    let id = EntryId::parse(format!("e{seq}")).unwrap();
    let body = match seq {
        0 => EntryBody::SessionCreated { labels: None },
        _ => EntryBody::Unknown {
            kind: "note".into(),
        },
    };
    Entry::new(Seq(seq), id, Timestamp::UNIX_EPOCH, body)
}

#[tokio::test]
async fn s1_an_append_costs_one_write_and_one_sync_and_nothing_else_that_changes_a_file() {
    let bench = Bench::new(1).await;
    let (mut writer, _) = bench.acquire(1).await;
    for seq in 1..4 {
        let answer = match seq {
            3 => writer.append_last(entry(seq)).await,
            _ => writer.append(entry(seq)).await,
        };
        assert!(matches!(answer, Appended::Written), "{answer:?}");
        let done = bench.disk.take_done();
        assert!(
            matches!(done.changes[..], [Change::Write { .. }, Change::Sync]),
            "{done:?}"
        );
        assert_eq!(done.reads, 0);
    }
}

#[tokio::test]
async fn c27_who_comes_back_to_a_long_journal_pays_what_they_pay_for_a_short_one() {
    let mut costs = Vec::new();
    for len in [10, 1000] {
        let bench = Bench::new(len).await;
        let (mut writer, _) = bench.acquire(len).await;
        let answer = writer.append_last(entry(len)).await;
        assert!(matches!(answer, Appended::Written), "{answer:?}");
        let (_writer, done) = bench.acquire(len + 1).await;
        // The lock files are opened, and nothing is written or synced.
        assert_eq!(done.changes, [Change::Create, Change::Create]);
        assert!(done.bytes_read < 256, "the last line: {done:?}");
        costs.push(done.reads);
    }
    assert_eq!(costs[0], costs[1]);
}

#[tokio::test]
async fn s1_a_folder_that_is_made_is_durable_before_there_is_a_session_in_it() {
    let root = tempfile::tempdir().unwrap();
    let disk = Watched::new(Arc::new(Disk));
    let files = Arc::new(disk.clone());
    let path = root.path().join("made/for us");
    let store = FileStore::options().open_on(files.clone(), &path).unwrap();
    let made = [
        // The first look finds that the one above is not there.
        Change::CreateFolder,
        Change::CreateFolder,
        Change::SyncFolder,
        Change::CreateFolder,
        Change::SyncFolder,
    ];
    assert_eq!(disk.take_done().changes, made);
    drop(store);
    // Whoever made it may have been killed before that.
    let store = FileStore::options().open_on(files, &path).unwrap();
    assert_eq!(disk.take_done().changes, [], "opening changes nothing");
    let session = SessionId::parse("s").unwrap();
    store.create(&session, vec![entry(0)]).await.unwrap();
    assert_eq!(disk.take_done().changes[0], Change::SyncFolder);
}
