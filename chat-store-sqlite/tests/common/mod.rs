//! Entries and readers that several test files share.
#![allow(dead_code, reason = "each test file uses some of it")]

use chat_core::{
    Appended, Entry, EntryBody, EntryId, JournalPart, JournalWriter, Metadata, ResponderInfo, Seq,
    SessionId, Store, StoreError, Timestamp, TornTail, TurnId,
};
use futures_util::StreamExt as _;

pub(crate) fn session(id: &str) -> SessionId {
    SessionId::parse(id).unwrap()
}

pub(crate) fn entry(seq: u64, id: &str, body: EntryBody) -> Entry {
    let at = Timestamp::from_millis(1_764_535_040_000 + seq.cast_signed()).unwrap();
    Entry::new(Seq(seq), EntryId::parse(id).unwrap(), at, body)
}

pub(crate) fn created() -> Entry {
    entry(0, "e0", EntryBody::SessionCreated { labels: None })
}

pub(crate) fn accepted(seq: u64, turn: &str) -> Entry {
    let turn_id = TurnId::parse(turn).unwrap();
    let body = EntryBody::TurnAccepted {
        turn_id,
        input: format!("ask {turn}").into(),
        retry_of: None,
        labels: None,
    };
    entry(seq, &format!("e{seq}-{turn}"), body)
}

pub(crate) fn completed(seq: u64, turn: &str) -> Entry {
    let turn_id = TurnId::parse(turn).unwrap();
    let (metadata, responder) = (Metadata::default(), ResponderInfo::of_kind("test"));
    let body = EntryBody::TurnCompleted {
        turn_id,
        text: "an answer".into(),
        metadata,
        responder,
    };
    entry(seq, &format!("e{seq}-{turn}"), body)
}

/// A first entry and one turn.
pub(crate) fn script() -> Vec<Entry> {
    vec![created(), accepted(1, "t"), completed(2, "t")]
}

/// What a journal reads as: its entries, a torn tail, an error.
#[derive(Debug, Default)]
pub(crate) struct Read {
    pub(crate) entries: Vec<Entry>,
    pub(crate) torn: Option<TornTail>,
    pub(crate) error: Option<StoreError>,
}

pub(crate) async fn read(store: &impl Store, session: &SessionId) -> Read {
    let mut read = Read::default();
    let mut parts = store.read(session, Seq::ZERO);
    while let Some(part) = parts.next().await {
        assert!(
            read.torn.is_none() && read.error.is_none(),
            "both end the stream"
        );
        match part {
            Ok(JournalPart::Entries(entries)) => read.entries.extend(entries),
            Ok(JournalPart::Torn(torn)) => read.torn = Some(torn),
            Err(error) => read.error = Some(error),
        }
    }
    read
}

pub(crate) async fn write(writer: &mut Box<dyn JournalWriter>, entry: Entry) {
    let answer = writer.append(entry).await;
    assert!(matches!(answer, Appended::Written), "{answer:?}");
}

/// A folder of its own, and where a database in it is to be.
pub(crate) fn place() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chat.db");
    (folder, path)
}
