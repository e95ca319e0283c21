//! What an append costs beside the bytes' own way to the disk: entries through the store, against a raw write, and a sync where
//! the store makes one, of lines as long in a file beside it. The same write and sync on tokio's pool of blocking threads, with
//! nothing else done there, shows how much of that is the way to another thread and back, which no async append goes without.
//!
//! All take turns in short blocks, so that whatever else the machine and its disk do hits them alike. Medians are compared; where
//! others keep the processors busy, waiting for one of them is most of a median, so the quietest tenth is, too.

#![allow(
    missing_docs,
    clippy::print_stdout,
    reason = "a benchmark prints its figures"
)]

mod common;

use std::{
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use chat_core::{Appended, Durability, Entry, EntryBody, JournalWriter, Seq, Store as _};
use chat_store_file::FileStore;
use common::{Rounds, timed};
use tokio::task::spawn_blocking;

/// Appends of one block: few, so that all sides meet the same moods of the disk.
const BLOCK: u64 = 10;

fn main() {
    if !common::is_asked_for() {
        return;
    }
    println!("an append, against a raw write of a line as long: here, and on tokio's pool (us)");
    println!(
        "  {:<10} {:>7} {:>8} {:>8} {:>8}  {:>9} {:>8}  {:>10} {:>8}  aim of raw/store",
        "durability",
        "entry",
        "store",
        "pool",
        "raw",
        "raw/store",
        "quietest",
        "pool/store",
        "raw/pool"
    );
    let runtime = common::runtime();
    for (durability, rounds) in [(Durability::Full, 300), (Durability::Os, 600)] {
        for bytes in [200, 2_000, 20_000] {
            // On a worker thread, where a session's own task runs.
            runtime.block_on(async {
                let measured = tokio::spawn(appends(durability, bytes, rounds));
                measured.await.expect("it is measured");
            });
        }
    }
}

async fn appends(durability: Durability, bytes: usize, rounds: u64) {
    let folder = common::folder();
    let store = FileStore::options()
        .durability(durability)
        .open(folder.path())
        .expect("the store opens");
    let session = common::session("appends");
    let first = common::entry(0, EntryBody::SessionCreated { labels: None });
    let created = store.create(&session, vec![first]).await;
    created.expect("the session is created");
    let before = length(&store.journal_path(&session));
    let acquired = store.acquire(&session, Seq(1)).await;
    let mut writer = acquired.expect("nobody has the hold").writer;
    let raw_file = RawFile::create(folder.path().join("raw"), durability);
    let pool_file = RawFile::create(folder.path().join("pool"), durability);

    let mut took = [Rounds::default(), Rounds::default(), Rounds::default()];
    for round in 0..=rounds {
        let entries = (0..BLOCK)
            .map(|at| entry(1 + round * BLOCK + at, bytes))
            .collect::<Vec<_>>();
        let lines = entries
            .iter()
            .map(|entry| Arc::<[u8]>::from(line(entry)))
            .collect::<Vec<_>>();
        // Whoever is next finds the disk as the one before left it: they take turns at that, too.
        for turn in 0..took.len() {
            let side = (turn + round as usize) % took.len();
            let block = timed(async {
                match side {
                    0 => {
                        for entry in &entries {
                            append(&mut *writer, entry.clone()).await;
                        }
                    }
                    1 => {
                        for line in &lines {
                            let (file, line) = (pool_file.clone(), line.clone());
                            let written = spawn_blocking(move || file.write(&line));
                            written.await.expect("the write ends");
                        }
                    }
                    _ => lines.iter().for_each(|line| raw_file.write(line)),
                }
            })
            .await;
            // The first round warms up.
            if round > 0 {
                took[side].push(block);
            }
        }
    }
    let grew = length(&store.journal_path(&session)) - before;
    for file in [&pool_file, &raw_file] {
        assert_eq!(grew, length(&file.path), "all wrote as much");
    }

    let [median, quiet] = [0.5, 0.1].map(|share| {
        took.each_ref()
            .map(|rounds| rounds.quantile(share).as_secs_f64() * 1e6 / BLOCK as f64)
    });
    let [store, pool, raw] = median;
    let aim = match durability {
        Durability::Full => "0.80 or more",
        Durability::Os | Durability::Memory => "none",
    };
    println!(
        "  {:<10} {:>7} {store:>8.1} {pool:>8.1} {raw:>8.1}  {:>9.2} {:>8.2}  {:>10.2} {:>8.2}  {aim}",
        format!("{durability:?}"),
        format!("{bytes} B"),
        raw / store,
        quiet[2] / quiet[0],
        pool / store,
        raw / pool
    );
}

/// A file that lines are appended to with nothing around it.
#[derive(Clone)]
struct RawFile {
    file: Arc<File>,
    path: PathBuf,
    durability: Durability,
}

impl RawFile {
    fn create(path: PathBuf, durability: Durability) -> Self {
        let file = File::options().create(true).append(true).open(&path);
        Self {
            file: Arc::new(file.expect("a file")),
            path,
            durability,
        }
    }

    fn write(&self, line: &[u8]) {
        (&*self.file).write_all(line).expect("there is room");
        if self.durability == Durability::Full {
            self.file.sync_data().expect("the disk works");
        }
    }
}

async fn append(writer: &mut dyn JournalWriter, entry: Entry) {
    match writer.append(entry).await {
        Appended::Written => {}
        Appended::NotWritten(error) | Appended::Unknown(error) => panic!("not written: {error}"),
        Appended::Fenced => panic!("the hold was lost"),
    }
}

fn entry(seq: u64, bytes: usize) -> Entry {
    common::accepted(seq, seq, &common::text(bytes, seq))
}

/// A line as long as the store's; the checksum's digits don't matter to a disk.
fn line(entry: &Entry) -> Vec<u8> {
    let text = entry.encode();
    let open = text.strip_suffix('}').expect("an entry is a JSON object");
    format!("{open},\"crc\":\"00000000\"}}\n").into_bytes()
}

fn length(path: &Path) -> u64 {
    fs::metadata(path).expect("it is there").len()
}
