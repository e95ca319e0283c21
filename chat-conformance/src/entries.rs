//! Entries for the tests of a store, each known by its place and its turn, and the two steps that every such test takes: to read
//! a journal to its end, and to append. All of it panics where a test is wrong.

use chat_core::{
    Appended, Entry, EntryBody, EntryId, JournalPart, JournalWriter, Metadata, ResponderInfo, Seq,
    SessionId, Store, StoreError, Timestamp, TornTail, TurnId,
};
use futures_util::{StreamExt as _, future::poll_immediate};

/// The session of this id.
///
/// # Panics
/// Where it is no id.
#[must_use]
pub fn session(id: &str) -> SessionId {
    SessionId::parse(id).unwrap_or_else(|error| panic!("{id:?} is no session's id: {error}"))
}

/// An entry whose time follows from its place, a millisecond to each.
///
/// # Panics
/// Where the id is none.
#[must_use]
pub fn entry(seq: u64, id: &str, body: EntryBody) -> Entry {
    let id = EntryId::parse(id).unwrap_or_else(|error| panic!("{id:?} is no id: {error}"));
    let at = Timestamp::from_millis(1_764_535_040_000 + seq.cast_signed());
    Entry::new(Seq(seq), id, at.expect("a time of this century"), body)
}

/// The first entry of every journal: `session.created`, with the id `e0`.
#[must_use]
pub fn created() -> Entry {
    entry(0, "e0", EntryBody::SessionCreated { labels: None })
}

/// A `turn.accepted` of a turn, with the id `eSEQ-TURN`.
///
/// # Panics
/// Where the turn's id is none.
#[must_use]
pub fn accepted(seq: u64, turn: &str) -> Entry {
    asked(seq, turn, &format!("ask {turn}"))
}

/// As [`accepted`], with an input of one's own.
///
/// # Panics
/// Where the turn's id is none.
#[must_use]
pub fn asked(seq: u64, turn: &str, input: &str) -> Entry {
    let body = EntryBody::TurnAccepted {
        turn_id: turn_id(turn),
        input: input.into(),
        retry_of: None,
        labels: None,
    };
    entry(seq, &format!("e{seq}-{turn}"), body)
}

/// A `turn.completed` of a turn, with the id `eSEQ-TURN`.
///
/// # Panics
/// Where the turn's id is none.
#[must_use]
pub fn completed(seq: u64, turn: &str) -> Entry {
    let body = EntryBody::TurnCompleted {
        turn_id: turn_id(turn),
        text: "an answer".into(),
        metadata: Metadata::default(),
        responder: ResponderInfo::of_kind("test"),
    };
    entry(seq, &format!("e{seq}-{turn}"), body)
}

fn turn_id(turn: &str) -> TurnId {
    TurnId::parse(turn).unwrap_or_else(|error| panic!("{turn:?} is no turn's id: {error}"))
}

/// A whole journal of three entries: the first one, and one turn `t`.
#[must_use]
pub fn script() -> Vec<Entry> {
    vec![created(), accepted(1, "t"), completed(2, "t")]
}

/// What reading a journal gave: its entries, then a torn tail or an error.
#[derive(Debug, Default)]
pub struct Read {
    /// The entries, in order.
    pub entries: Vec<Entry>,
    /// The torn tail behind them.
    pub torn: Option<TornTail>,
    /// The error that the reading ended with.
    pub error: Option<StoreError>,
}

/// Reads a journal to its end.
///
/// # Panics
/// Where something comes behind a torn tail or an error: each ends the stream.
pub async fn read<S: Store + ?Sized>(store: &S, session: &SessionId) -> Read {
    read_from(store, session, Seq::ZERO).await
}

/// As [`read`], from a place on.
///
/// # Panics
/// As [`read`].
pub async fn read_from<S: Store + ?Sized>(store: &S, session: &SessionId, from: Seq) -> Read {
    let mut read = Read::default();
    let mut parts = store.read(session, from);
    while let Some(part) = parts.next().await {
        assert!(
            read.torn.is_none() && read.error.is_none(),
            "a torn tail and an error each end the stream: {part:?} came behind {read:?}"
        );
        match part {
            Ok(JournalPart::Entries(more)) => read.entries.extend(more),
            Ok(JournalPart::Torn(torn)) => read.torn = Some(torn),
            Err(error) => read.error = Some(error),
        }
    }
    read
}

/// Appends.
///
/// # Panics
/// Where the answer is not that it is written.
pub async fn write(writer: &mut Box<dyn JournalWriter>, entry: Entry) {
    let place = entry.seq();
    let answer = writer.append(entry).await;
    assert!(
        matches!(answer, Appended::Written),
        "entry {place} was not written: {answer:?}"
    );
}

/// Whether a future that must wait for something does: it is polled, and nothing that it waits for happens.
pub(crate) async fn waits<F: Future + Unpin>(future: &mut F) -> bool {
    for _ in 0..8 {
        if poll_immediate(&mut *future).await.is_some() {
            return false;
        }
        tokio::task::yield_now().await;
    }
    true
}
