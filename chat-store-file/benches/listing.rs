//! What a page of a list costs among 100,000 sessions, against reading the folder's names alone: in the same run, since the
//! machines this runs on are noisy. The median of several rounds; what can be had only once is measured once.

#![allow(
    missing_docs,
    clippy::print_stdout,
    reason = "a benchmark prints its figures"
)]

use std::{
    path::Path,
    time::{Duration, Instant},
};

use chat_core::{
    Cursor, Durability, Entry, EntryBody, EntryId, ListRequest, Metadata, ResponderInfo, Seq,
    SessionId, SessionPage, Store as _, Timestamp, TurnId,
};
use chat_store_file::FileStore;
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

const SESSIONS: usize = 100_000;
const ROUNDS: usize = 9;
const PAGE: usize = 50;

/// One session in so many was written since the last list.
const WRITTEN: usize = 20;

fn main() {
    // `cargo test` runs benchmarks too, unoptimized: figures of that would mislead.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime starts");
    runtime.block_on(listing());
}

async fn listing() {
    let folder = tempfile::tempdir().expect("a folder");
    let started = Instant::now();
    create(&store(folder.path())).await;
    println!(
        "{SESSIONS} sessions of 5 entries created: {}",
        ms(started.elapsed())
    );
    let names = median(|| names(folder.path()));
    println!("reading the names alone: {}", ms(names));
    let report = |what: &str, took: Duration| {
        let ratio = took.as_secs_f64() / names.as_secs_f64();
        println!("{what}: {} ({ratio:.2} times the names)", ms(took));
    };

    let before = ALLOCATOR.current_usage();
    let first = store(folder.path());
    report(
        "the first list ever, which reads every journal",
        timed(&first, None).await.0,
    );
    let held = ALLOCATOR.current_usage().saturating_sub(before);
    println!("memory kept for it: {} bytes a session", held / SESSIONS);
    report(
        "the same store, right after that",
        timed(&first, None).await.0,
    );

    let mut took = rounds(async || timed(&store(folder.path()), None).await.0).await;
    report(
        "a store that was just opened, the folder as it was left",
        took,
    );
    took = rounds(async || timed(&first, None).await.0).await;
    report("a store that has listed before", took);
    let (_, page) = timed(&first, None).await;
    took = rounds(async || timed(&first, page.next.clone()).await.0).await;
    report("its second page", took);

    let id = session(SESSIONS / 2);
    let mut seq = 5;
    took = rounds(async || {
        turn(&first, &id, seq).await;
        seq += 2;
        timed(&first, None).await.0
    })
    .await;
    report("after a turn in one session", took);
    took = rounds(async || {
        turn(&first, &id, seq).await;
        seq += 2;
        timed(&store(folder.path()), None).await.0
    })
    .await;
    report(
        "after a turn in one session, a store that was just opened",
        took,
    );
    let mut number = SESSIONS;
    took = rounds(async || {
        first
            .create(&session(number), entries(number))
            .await
            .expect("created");
        number += 1;
        timed(&first, None).await.0
    })
    .await;
    report("after a session was created", took);
}

fn store(folder: &Path) -> FileStore {
    let options = FileStore::options().durability(Durability::Os);
    options.open(folder).expect("a store")
}

/// Copies of a few journals, which have nothing of their session in them: creating each by itself would take minutes.
async fn create(store: &FileStore) {
    const MODELS: usize = 100;
    let mut models = Vec::new();
    for number in 0..SESSIONS {
        let path = store.journal_path(&session(number));
        if number < MODELS {
            let created = store.create(&session(number), entries(number)).await;
            created.expect("created");
            models.push(std::fs::read(path).expect("a journal"));
        } else {
            std::fs::write(&path, &models[number * 31 % MODELS]).expect("a journal");
            if number.is_multiple_of(WRITTEN) {
                std::fs::write(path.with_extension("lock"), "").expect("a lock file");
            }
        }
    }
}

fn session(number: usize) -> SessionId {
    SessionId::parse(format!("01jd3k7w5v8q2m4x6z{number:08}")).expect("an id")
}

/// Two turns.
fn entries(number: usize) -> Vec<Entry> {
    let mut entries = vec![entry(number, 0, EntryBody::SessionCreated { labels: None })];
    for _ in 0..2 {
        let [accepted, completed] = bodies();
        entries.push(entry(number, entries.len(), accepted));
        entries.push(entry(number, entries.len(), completed));
    }
    entries
}

fn bodies() -> [EntryBody; 2] {
    let turn_id = TurnId::parse("01jd3k7w5v8q2m4x6z7y9a1b3c").expect("an id");
    [
        EntryBody::TurnAccepted {
            turn_id: turn_id.clone(),
            input: "How do I keep a list of very many things short?".into(),
            retry_of: None,
            labels: None,
        },
        EntryBody::TurnCompleted {
            turn_id,
            text: "By showing one page of it at a time. ".repeat(20).into(),
            metadata: Metadata::default(),
            responder: ResponderInfo::of_kind("bench"),
        },
    ]
}

fn entry(number: usize, seq: usize, body: EntryBody) -> Entry {
    // Not in the order in which they are created.
    let at = 1_764_535_040_000 + (number * 7_919 % SESSIONS) as i64 * 1_000 + seq as i64;
    let at = Timestamp::from_millis(at).expect("a time");
    let id = EntryId::parse(format!("{number}-{seq}")).expect("an id");
    Entry::new(Seq(seq as u64), id, at, body)
}

async fn turn(store: &FileStore, id: &SessionId, seq: usize) {
    let acquired = store.acquire(id, Seq(seq as u64)).await.expect("acquired");
    let mut writer = acquired.writer;
    for (place, body) in bodies().into_iter().enumerate() {
        writer.append(entry(seq, seq + place, body)).await;
    }
}

async fn timed(store: &FileStore, after: Option<Cursor>) -> (Duration, SessionPage) {
    let request = ListRequest { after, limit: PAGE };
    let started = Instant::now();
    let page = store.list(request).await.expect("a page");
    let took = started.elapsed();
    assert_eq!(page.sessions.len(), PAGE);
    (took, page)
}

fn names(folder: &Path) -> Duration {
    let started = Instant::now();
    let names = std::fs::read_dir(folder).expect("a folder");
    let journals = names.filter(|name| {
        let name = name.as_ref().expect("a name").file_name();
        name.to_string_lossy().ends_with(".jsonl")
    });
    assert!(journals.count() >= SESSIONS);
    started.elapsed()
}

fn median(mut once: impl FnMut() -> Duration) -> Duration {
    let mut rounds: Vec<_> = (0..ROUNDS).map(|_| once()).collect();
    rounds.sort_unstable();
    rounds[ROUNDS / 2]
}

async fn rounds(once: impl AsyncFnMut() -> Duration) -> Duration {
    let mut once = once;
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        rounds.push(once().await);
    }
    rounds.sort_unstable();
    rounds[ROUNDS / 2]
}

fn ms(took: Duration) -> String {
    format!("{:.1} ms", took.as_secs_f64() * 1e3)
}
