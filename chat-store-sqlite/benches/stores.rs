//! What a SQLite store costs, as ratios within one run where that can be: the machines this runs on are noisy.
//!
//! Both sides of a ratio take turns, round after round; the median of each side is compared, and the spread is shown. Named after
//! `--`, only those are measured: `appends`, `list`, `opening`.

#![allow(
    missing_docs,
    clippy::print_stdout,
    reason = "a benchmark prints its figures"
)]

use std::time::{Duration, Instant};

use chat_core::{
    Appended, Durability, Entry, EntryBody, EntryId, FinishReason, JournalPart, JournalWriter,
    ListRequest, Metadata, ModelRef, ResponderInfo, Seq, SessionId, Store, Timestamp, Transcript,
    TurnId, Usage,
};
use chat_store_sqlite::SqliteStore;
use futures_util::{StreamExt as _, future::join_all, stream};

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
    let named: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'))
        .collect();
    let wanted = |name: &str| named.is_empty() || named.iter().any(|named| named == name);
    runtime.block_on(async {
        if wanted("appends") {
            many_sessions_at_once().await;
        }
        if wanted("list") {
            first_page_of_a_long_list().await;
        }
        if wanted("opening") {
            opening_a_long_session().await;
        }
    });
}

/// Durable appends of 32 sessions at once, against those of one session alone: all that wait share a sync.
async fn many_sessions_at_once() {
    const SESSIONS: usize = 32;
    const APPENDS: u64 = 40;
    let place = tempfile::tempdir().expect("a folder for the database");
    let store = SqliteStore::open(place.path().join("chat.db")).expect("a new database");
    let mut writers = Vec::new();
    for n in 0..=SESSIONS {
        let session = id(&format!("s{n}"));
        store
            .create(&session, vec![created()])
            .await
            .expect("a free id");
        writers.push(
            store
                .acquire(&session, Seq(1))
                .await
                .expect("a free session")
                .writer,
        );
    }
    let mut single = writers.pop().expect("one more than at once");
    let (mut at_once, mut alone) = (Vec::new(), Vec::new());
    for round in 0..9 {
        let from = 1 + round * APPENDS;
        let started = Instant::now();
        append(&mut single, from, APPENDS).await;
        alone.push(started.elapsed());
        let started = Instant::now();
        let tasks = std::mem::take(&mut writers).into_iter().map(|mut writer| {
            tokio::spawn(async move {
                append(&mut writer, from, APPENDS).await;
                writer
            })
        });
        for task in join_all(tasks).await {
            writers.push(task.expect("nobody panics"));
        }
        at_once.push(started.elapsed());
    }
    let rate = |times: &mut Vec<Duration>, appends: u64| {
        times.sort();
        let rate = |time: Duration| appends as f64 / time.as_secs_f64();
        let (slow, median, fast) = (times[times.len() - 1], times[times.len() / 2], times[0]);
        (rate(median), rate(slow), rate(fast))
    };
    let alone = rate(&mut alone, APPENDS);
    let at_once = rate(&mut at_once, APPENDS * SESSIONS as u64);
    println!(
        "durable appends of {SESSIONS} sessions at once, against one session alone: {:.1} times as many (aim: 4 or more)",
        at_once.0 / alone.0
    );
    for (what, (median, slow, fast)) in [("at once", at_once), ("alone", alone)] {
        println!("    {what}: {median:.0}/s ({slow:.0} to {fast:.0})");
    }
}

async fn append(writer: &mut Box<dyn JournalWriter>, from: u64, appends: u64) {
    for seq in from..from + appends {
        let answer = writer.append(accepted(seq)).await;
        assert!(matches!(answer, Appended::Written), "{answer:?}");
    }
}

/// The first page of a list of 100,000 sessions, each of a turn.
async fn first_page_of_a_long_list() {
    const SESSIONS: usize = 100_000;
    let place = tempfile::tempdir().expect("a folder for the database");
    // Only the list is measured, and it reads the same.
    let store = SqliteStore::options()
        .durability(Durability::Os)
        .open(place.path().join("chat.db"))
        .expect("a new database");
    let creates = stream::iter(0..SESSIONS).map(|n| {
        let session = id(&format!("01jd3k{n:020}"));
        store.create(&session, vec![created(), accepted(1), completed(2)])
    });
    let created: Vec<_> = creates.buffer_unordered(256).collect().await;
    assert!(created.iter().all(Result::is_ok));
    let mut times = Vec::new();
    let mut request = ListRequest::default();
    for _ in 0..101 {
        let started = Instant::now();
        let page = store.list(ListRequest::default()).await.expect("a list");
        times.push(started.elapsed());
        assert_eq!((page.sessions.len(), page.next.is_some()), (50, true));
        request.after = page.next;
    }
    say(
        "the first page of 100,000 sessions",
        &mut times,
        "aim: 5 ms or less",
    );
    let mut times = Vec::new();
    for _ in 0..101 {
        let started = Instant::now();
        let page = store.list(request.clone()).await.expect("a list");
        times.push(started.elapsed());
        request.after = page.next;
    }
    say("the pages behind it", &mut times, "");
}

/// Taking the hold on a session of 100,000 turns and replaying it, against parsing the same texts with serde_json.
async fn opening_a_long_session() {
    const TURNS: u64 = 100_000;
    let place = tempfile::tempdir().expect("a folder for the database");
    let store = SqliteStore::open(place.path().join("chat.db")).expect("a new database");
    let session = id("long");
    let mut entries = vec![created()];
    for turn in 0..TURNS {
        entries.push(accepted(2 * turn + 1));
        entries.push(completed(2 * turn + 2));
    }
    let file = place.path().join("lines");
    let lines: String = entries
        .iter()
        .map(|entry| format!("{}\n", entry.encode()))
        .collect();
    std::fs::write(&file, &lines).expect("room for the same texts");
    println!(
        "a session of {TURNS} turns has {} bytes of text",
        lines.len()
    );
    drop(lines);
    store.create(&session, entries).await.expect("a free id");
    let (mut opening, mut acquiring, mut parsing) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..5 {
        // As a chat opens a session: read in batches, replayed as they come.
        let started = Instant::now();
        let mut transcript = Transcript::default();
        let mut parts = store.read(&session, Seq::ZERO);
        while let Some(part) = parts.next().await {
            match part.expect("a sound journal") {
                JournalPart::Entries(entries) => {
                    entries.iter().for_each(|entry| transcript.apply(entry));
                }
                JournalPart::Torn(torn) => panic!("no entry is torn here: {torn:?}"),
            }
        }
        opening.push(started.elapsed());
        assert_eq!(transcript.turns().len() as u64, TURNS);
        drop(transcript);

        let started = Instant::now();
        let acquired = store
            .acquire(&session, Seq::ZERO)
            .await
            .expect("a free session");
        acquiring.push(started.elapsed());
        assert_eq!(acquired.entries.len() as u64, 2 * TURNS + 1);
        drop(acquired);

        let started = Instant::now();
        let text = std::fs::read_to_string(&file).expect("the same texts");
        let parsed: Vec<serde_json::Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        parsing.push(started.elapsed());
        assert_eq!(parsed.len() as u64, 2 * TURNS + 1);
    }
    let parse = median(&mut parsing).as_secs_f64();
    println!(
        "opening it, against reading and parsing the same bytes with serde_json: {:.2} (aim: 2 or less)",
        median(&mut opening).as_secs_f64() / parse
    );
    println!(
        "acquiring it from its start, all entries at once, against the same: {:.2}",
        median(&mut acquiring).as_secs_f64() / parse
    );
    say("    opening", &mut opening, "");
    say("    acquiring", &mut acquiring, "");
    say("    parsing", &mut parsing, "");
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn say(what: &str, times: &mut [Duration], aim: &str) {
    let ms = |time: Duration| time.as_secs_f64() * 1000.0;
    let middle = median(times);
    println!(
        "{what}: {:.2} ms ({:.2} to {:.2}) {aim}",
        ms(middle),
        ms(times[0]),
        ms(times[times.len() - 1])
    );
}

fn id(id: &str) -> SessionId {
    SessionId::parse(id).expect("an id")
}

fn entry(seq: u64, body: EntryBody) -> Entry {
    let at = Timestamp::from_millis(1_764_535_040_000 + seq.cast_signed()).expect("a time");
    let id = EntryId::parse(format!("01jd3kzzzzzzzzz{seq:011}")).expect("an id");
    Entry::new(Seq(seq), id, at, body)
}

fn created() -> Entry {
    entry(0, EntryBody::SessionCreated { labels: None })
}

fn turn(seq: u64) -> TurnId {
    TurnId::parse(format!("01jd3kyyyyyyyyy{seq:011}")).expect("an id")
}

fn accepted(seq: u64) -> Entry {
    entry(
        seq,
        EntryBody::TurnAccepted {
            turn_id: turn(seq),
            input: "What is the airspeed velocity of an unladen swallow? "
                .repeat(3)
                .into(),
            retry_of: None,
            labels: None,
        },
    )
}

fn completed(seq: u64) -> Entry {
    entry(
        seq,
        EntryBody::TurnCompleted {
            turn_id: turn(seq - 1),
            text: "That depends: an African or a European swallow? For a European one, about eleven metres a second. "
                .repeat(3)
                .into(),
            metadata: Metadata {
                model: Some(ModelRef::new("openai", "gpt-5-mini")),
                usage: Some(Usage {
                    input_tokens: Some(1_000 + seq % 7_000),
                    output_tokens: Some(40 + seq % 300),
                    total_tokens: Some(1_040 + seq % 7_300),
                    ..Usage::default()
                }),
                finish_reason: Some(FinishReason::Stop),
                responder: None,
            },
            responder: ResponderInfo::of_kind("model"),
        },
    )
}
