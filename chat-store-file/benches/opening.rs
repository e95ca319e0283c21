//! What opening a session costs: all of a journal of 100,000 turns read, checked and replayed, against reading the file whole and
//! letting serde_json parse the same lines. And what taking the hold again costs one who had it before.
//!
//! The sides take turns, round after round; medians are compared.

#![allow(
    missing_docs,
    clippy::print_stdout,
    reason = "a benchmark prints its figures"
)]

mod common;

use std::{
    fs,
    hint::black_box,
    path::Path,
    time::{Duration, Instant},
};

use chat_core::{Metadata, ResponderInfo, Seq, SessionId, Store as _};
use chat_store_file::FileStore;
use common::{Rounds, timed};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

const TURNS: u64 = 100_000;
const ROUNDS: usize = 15;

fn main() {
    if !common::is_asked_for() {
        return;
    }
    let folder = common::folder();
    common::runtime().block_on(async {
        open(folder.path()).await;
        acquire_again(folder.path()).await;
    });
}

async fn open(folder: &Path) {
    let session = common::session("long");
    let store = FileStore::open(folder).expect("the store opens");
    common::create(&store, &session, TURNS).await;
    let path = store.journal_path(&session);
    let mebibytes = fs::metadata(&path).expect("it is there").len() as f64 / 1024.0 / 1024.0;

    let [mut ours, mut values, mut structs] = [(); 3].map(|()| Rounds::default());
    for round in 0..=ROUNDS {
        let took = [
            open_once(folder, &session).await,
            timed(async { parse::<Value>(&path) }).await,
            timed(async { parse::<Line>(&path) }).await,
        ];
        // The first round warms up.
        if round > 0 {
            for (rounds, took) in [&mut ours, &mut values, &mut structs].into_iter().zip(took) {
                rounds.push(took);
            }
        }
    }
    let millis = |rounds: &Rounds| rounds.median().as_secs_f64() * 1e3;
    let (ours, values, structs) = (millis(&ours), millis(&values), millis(&structs));
    println!("opening a session of {TURNS} turns, a journal of {mebibytes:.1} MiB (ms)");
    println!("  {:<44} {ours:>8.1}", "read, checked and replayed");
    println!(
        "  {:<44} {values:>8.1}   ours/this {:.2}  aim: 2.00 or less",
        "the lines parsed as serde_json::Value",
        ours / values
    );
    println!(
        "  {:<44} {structs:>8.1}   ours/this {:.2}  aim: none",
        "the lines parsed as a struct of their fields",
        ours / structs
    );
}

/// Until the transcript is there; letting go of it is not part of opening.
async fn open_once(folder: &Path, session: &SessionId) -> Duration {
    let started = Instant::now();
    let transcript = common::replay(folder, session).await;
    let took = started.elapsed();
    assert_eq!(transcript.turns().len() as u64, TURNS);
    took
}

fn parse<T: DeserializeOwned>(path: &Path) {
    let text = fs::read_to_string(path).expect("the file is read");
    let mut count = 0;
    for line in text.lines() {
        black_box(serde_json::from_str::<T>(line).expect("a line is JSON"));
        count += 1;
    }
    assert_eq!(count, 1 + 2 * TURNS);
}

/// What a program without a store would read its lines into.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "it is parsed and dropped")]
struct Line {
    v: u32,
    seq: u64,
    id: String,
    at: String,
    r#type: String,
    turn_id: Option<String>,
    input: Option<String>,
    text: Option<String>,
    metadata: Option<Metadata>,
    responder: Option<ResponderInfo>,
    crc: String,
}

/// Taking the hold again, with the entries from the last one on: what a turn begins with.
async fn acquire_again(folder: &Path) {
    const TIMES: u32 = 100;
    let store = FileStore::open(folder.join("again")).expect("the store opens");
    let (short, long) = (common::session("short"), common::session("long"));
    let (short_end, long_end) = (
        common::create(&store, &short, 10).await,
        common::create(&store, &long, TURNS).await,
    );
    let again = async |session: &SessionId, end: Seq| {
        for _ in 0..TIMES {
            let acquired = store.acquire(session, end).await;
            assert_eq!(acquired.expect("nobody has the hold").entries.len(), 1);
        }
    };
    let [mut shorts, mut longs] = [(); 2].map(|()| Rounds::default());
    for round in 0..=41 {
        let took = [
            timed(again(&short, short_end)).await,
            timed(again(&long, long_end)).await,
        ];
        // In the first round all of the journal is read.
        if round > 0 {
            shorts.push(took[0]);
            longs.push(took[1]);
        }
    }
    let micros = |rounds: &Rounds| (rounds.median() / TIMES).as_secs_f64() * 1e6;
    let (short, long) = (micros(&shorts), micros(&longs));
    println!("taking the hold again, by one who had it before (us)");
    println!("  {:<44} {short:>8.1}", "a session of 10 turns");
    println!(
        "  {:<44} {long:>8.1}   long/short {:.2}  aim: 1.20 or less",
        format!("a session of {TURNS} turns"),
        long / short
    );
}
