//! What the benchmarks share: journals to measure with, rounds that take turns, and the lines of the report.

#![allow(dead_code, reason = "no benchmark uses all of it")]

use std::{
    path::Path,
    time::{Duration, Instant},
};

use chat_core::{
    Entry, EntryBody, EntryId, FinishReason, JournalPart, Metadata, ModelRef, ResponderInfo, Seq,
    SessionId, Store as _, Timestamp, Transcript, TurnId, Usage,
};
use chat_store_file::FileStore;
use futures_util::StreamExt as _;
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// `cargo test` runs benchmarks too, unoptimized: figures of that would mislead.
pub(crate) fn is_asked_for() -> bool {
    std::env::args().any(|argument| argument == "--bench")
}

pub(crate) fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime starts")
}

/// A folder on the disk that the build is on: a folder for temporary files may be in memory.
pub(crate) fn folder() -> TempDir {
    TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("the target folder can be written")
}

pub(crate) fn session(name: &str) -> SessionId {
    SessionId::parse(name).expect("a good id")
}

/// Ids as long as those that are made for real.
fn id(kind: char, number: u64) -> String {
    format!("01JD3K8V{kind}{number:017}")
}

pub(crate) fn entry(seq: u64, body: EntryBody) -> Entry {
    let id = EntryId::parse(id('E', seq)).expect("a good id");
    let at = Timestamp::from_millis(1_769_851_800_000 + seq as i64 * 1_713).expect("a good time");
    Entry::new(Seq(seq), id, at, body)
}

pub(crate) fn accepted(seq: u64, turn: u64, input: &str) -> Entry {
    let body = EntryBody::TurnAccepted {
        turn_id: TurnId::parse(id('T', turn)).expect("a good id"),
        input: input.into(),
        retry_of: None,
        labels: None,
    };
    entry(seq, body)
}

fn completed(seq: u64, turn: u64, text: &str) -> Entry {
    let metadata = Metadata {
        model: Some(ModelRef::new("openai", "gpt-5-mini")),
        usage: Some(Usage {
            input_tokens: Some(1_000 + turn % 7_000),
            output_tokens: Some(40 + turn % 300),
            total_tokens: Some(1_040 + turn % 7_300),
            ..Usage::default()
        }),
        finish_reason: Some(FinishReason::Stop),
        responder: None,
    };
    let body = EntryBody::TurnCompleted {
        turn_id: TurnId::parse(id('T', turn)).expect("a good id"),
        text: text.into(),
        metadata,
        responder: ResponderInfo::of_kind("model"),
    };
    entry(seq, body)
}

/// About as many bytes of text as asked for, with what makes a parser work now and then: quotes, line breaks, accents.
pub(crate) fn text(bytes: usize, salt: u64) -> String {
    const WORDS: [&str; 12] = [
        "the ",
        "journal ",
        "of ",
        "a ",
        "session ",
        "keeps ",
        "what ",
        "was ",
        "said\n",
        "\"twice\" ",
        "naïve ",
        "turn ",
    ];
    let mut random = fastrand::Rng::with_seed(salt);
    let mut text = String::with_capacity(bytes + 16);
    while text.len() < bytes {
        text.push_str(WORDS[random.usize(..WORDS.len())]);
    }
    text
}

/// A session of completed turns whose inputs and replies have 100 to 300 bytes.
pub(crate) fn turns(turns: u64) -> Vec<Entry> {
    let mut entries = vec![entry(0, EntryBody::SessionCreated { labels: None })];
    for turn in 0..turns {
        let bytes = |salt: u64| 100 + (turn * 7_919 + salt) as usize % 200;
        let seq = 1 + 2 * turn;
        entries.push(accepted(seq, turn, &text(bytes(0), seq)));
        entries.push(completed(seq + 1, turn, &text(bytes(97), seq + 1)));
    }
    entries
}

/// Creates a session of so many turns; says where its last entry is.
pub(crate) async fn create(store: &FileStore, session: &SessionId, count: u64) -> Seq {
    let created = store.create(session, turns(count)).await;
    created.expect("the session is created");
    Seq(2 * count)
}

/// A session's transcript, as it is had when the session is opened: nothing is known of the journal.
pub(crate) async fn replay(folder: &Path, session: &SessionId) -> Transcript {
    let store = FileStore::open(folder).expect("the store opens");
    let mut transcript = Transcript::default();
    let mut parts = store.read(session, Seq::ZERO);
    while let Some(part) = parts.next().await {
        match part.expect("the journal is good") {
            JournalPart::Entries(entries) => {
                for entry in &entries {
                    transcript.apply(entry);
                }
            }
            JournalPart::Torn(torn) => panic!("nobody tore it: {torn:?}"),
        }
    }
    transcript
}

pub(crate) async fn timed(work: impl Future<Output = ()>) -> Duration {
    let started = Instant::now();
    work.await;
    started.elapsed()
}

/// Durations of one kind of work, round after round.
#[derive(Default)]
pub(crate) struct Rounds(Vec<Duration>);

impl Rounds {
    pub(crate) fn push(&mut self, duration: Duration) {
        self.0.push(duration);
    }

    pub(crate) fn median(&self) -> Duration {
        self.quantile(0.5)
    }

    /// The duration that this share of the rounds stayed below.
    pub(crate) fn quantile(&self, share: f64) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        sorted[(sorted.len() as f64 * share) as usize]
    }
}
