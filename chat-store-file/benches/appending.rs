//! What an append costs beside the bytes' own way to the disk: entries through the store, against a raw write, and a sync where
//! the store makes one, of lines as long in a file beside it.
//!
//! Both sides take turns in short blocks, so that whatever else the machine and its disk do hits both alike. Medians are compared;
//! where others keep the processors busy, waiting for one of them is most of a median, so the quietest tenth is, too.

#![allow(
    missing_docs,
    clippy::print_stdout,
    reason = "a benchmark prints its figures"
)]

mod common;

use std::{
    fs::{self, File},
    io::Write as _,
    path::Path,
    time::Instant,
};

use chat_core::{Appended, Durability, Entry, EntryBody, JournalWriter, Seq, Store as _};
use chat_store_file::FileStore;
use common::{Rounds, timed};

/// Appends of one block: few, so that both sides meet the same moods of the disk.
const BLOCK: u64 = 10;

fn main() {
    if !common::is_asked_for() {
        return;
    }
    println!("an append, against a raw write of a line as long (us)");
    println!(
        "  {:<12} {:>8} {:>8} {:>8} {:>10} {:>10}  aim",
        "durability", "entry", "store", "raw", "raw/store", "quietest"
    );
    let runtime = common::runtime();
    for bytes in [200, 2_000, 20_000] {
        // On a worker thread, where a session's own task runs.
        runtime.block_on(async {
            let measured = tokio::spawn(appends(Durability::Full, bytes, 121));
            measured.await.expect("it is measured");
        });
    }
    for bytes in [200, 2_000, 20_000] {
        runtime.block_on(async {
            let measured = tokio::spawn(appends(Durability::Os, bytes, 201));
            measured.await.expect("it is measured");
        });
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
    let path = folder.path().join("raw");
    let mut raw_file = File::options()
        .create(true)
        .append(true)
        .open(&path)
        .expect("a file");

    let (mut ours, mut raw) = (Rounds::default(), Rounds::default());
    for round in 0..=rounds {
        let entries = (0..BLOCK)
            .map(|at| entry(1 + round * BLOCK + at, bytes))
            .collect::<Vec<_>>();
        let lines = entries.iter().map(line).collect::<Vec<_>>();
        let mut write_raw = || {
            let started = Instant::now();
            for line in &lines {
                raw_file.write_all(line).expect("there is room");
                if durability == Durability::Full {
                    raw_file.sync_data().expect("the disk works");
                }
            }
            started.elapsed()
        };
        // Who is first finds the disk as the other left it: they take turns at that, too.
        let raw_first = (round % 2 == 0).then(&mut write_raw);
        let through_the_store = timed(async {
            for entry in entries {
                append(&mut *writer, entry).await;
            }
        })
        .await;
        let written_raw = raw_first.unwrap_or_else(write_raw);
        // The first round warms up.
        if round > 0 {
            ours.push(through_the_store);
            raw.push(written_raw);
        }
    }
    assert_eq!(
        length(&store.journal_path(&session)) - before,
        length(&path),
        "both wrote as much"
    );

    let [(ours, raw), (quiet_ours, quiet_raw)] = [0.5, 0.1].map(|share| {
        let micros = |rounds: &Rounds| rounds.quantile(share).as_secs_f64() * 1e6 / BLOCK as f64;
        (micros(&ours), micros(&raw))
    });
    let aim = match durability {
        Durability::Full => "0.80 or more",
        Durability::Os | Durability::Memory => "none",
    };
    println!(
        "  {:<12} {:>8} {ours:>8.1} {raw:>8.1} {:>10.2} {:>10.2}  {aim}",
        format!("{durability:?}"),
        format!("{bytes} B"),
        raw / ours,
        quiet_raw / quiet_ours
    );
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
