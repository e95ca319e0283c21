//! Entries to write: random texts of random sizes, each entry with an id that no other entry ever has. They mean nothing; what
//! counts is whether they come back to the byte.

use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use chat_core::{
    Entry, EntryBody, EntryId, Metadata, RecordedError, ResponderInfo, Seq, Timestamp, TurnId,
};
use fastrand::Rng;

/// What is hard to write down: quotes, line ends, a NUL, characters of two to four bytes.
const HARD: &[&str] = &[
    "a", "turn", " ", "\"", "\\", "\n", "\r\n", "\0", "\u{1b}[m", "ä", "→", "🌱", "{}", "</",
];

/// Makes entries for one writer. Two makers of different names never make the same id.
pub(crate) struct Maker {
    pub(crate) rng: Rng,
    name: String,
    made: u64,
}

impl Maker {
    pub(crate) fn new(name: impl Into<String>, rng: Rng) -> Self {
        Self {
            rng,
            name: name.into(),
            made: 0,
        }
    }

    pub(crate) fn created(&mut self) -> Entry {
        self.entry(Seq::ZERO, EntryBody::SessionCreated { labels: None })
    }

    /// A turn that no one else has.
    pub(crate) fn turn(&mut self) -> TurnId {
        TurnId::parse(format!("t-{}", self.word())).expect("a short plain word is an id")
    }

    pub(crate) fn accepted(&mut self, seq: Seq, turn: &TurnId) -> Entry {
        let input = self.text();
        self.entry(
            seq,
            EntryBody::TurnAccepted {
                turn_id: turn.clone(),
                input,
                retry_of: None,
                labels: None,
            },
        )
    }

    pub(crate) fn steered(&mut self, seq: Seq, turn: &TurnId) -> Entry {
        let input = self.text();
        self.entry(
            seq,
            EntryBody::TurnSteered {
                turn_id: turn.clone(),
                input,
            },
        )
    }

    /// Mostly a reply, now and then a failure or a cancel.
    pub(crate) fn outcome(&mut self, seq: Seq, turn: &TurnId) -> Entry {
        let (turn_id, responder) = (turn.clone(), ResponderInfo::default());
        let body = match self.rng.u8(..10) {
            0 => EntryBody::TurnFailed {
                turn_id,
                error: RecordedError::of("it was to fail", "responder", None),
                usage: None,
                responder,
            },
            1 => EntryBody::TurnCanceled {
                turn_id,
                reason: Some("changed my mind".into()),
                usage: None,
                responder: None,
            },
            _ => EntryBody::TurnCompleted {
                turn_id,
                text: self.text(),
                metadata: Metadata::default(),
                responder,
            },
        };
        self.entry(seq, body)
    }

    /// An accepted turn of about so many bytes.
    pub(crate) fn sized(&mut self, seq: Seq, bytes: usize) -> Entry {
        let turn_id = self.turn();
        let input = "x".repeat(bytes).into();
        self.entry(
            seq,
            EntryBody::TurnAccepted {
                turn_id,
                input,
                retry_of: None,
                labels: None,
            },
        )
    }

    fn entry(&mut self, seq: Seq, body: EntryBody) -> Entry {
        let id = EntryId::parse(self.word()).expect("a short plain word is an id");
        Entry::new(seq, id, now(), body)
    }

    fn word(&mut self) -> String {
        self.made += 1;
        format!("{}n{}", self.name, self.made)
    }

    /// Mostly short, now and then up to 64 KiB.
    fn text(&mut self) -> Arc<str> {
        let bytes = match self.rng.u8(..100) {
            0..80 => self.rng.usize(0..600),
            80..95 => self.rng.usize(0..8 << 10),
            _ => self.rng.usize(0..40 << 10),
        };
        let mut piece = self.word();
        for _ in 0..12 {
            piece.push_str(HARD[self.rng.usize(..HARD.len())]);
        }
        piece.repeat(bytes / piece.len()).into()
    }
}

/// What tells one text from another.
pub(crate) fn crc(entry: &Entry) -> u32 {
    crc32c::crc32c(entry.encode().as_bytes())
}

fn now() -> Timestamp {
    let millis = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|since| i64::try_from(since.as_millis()).ok());
    millis
        .and_then(|millis| Timestamp::from_millis(millis).ok())
        .expect("the clock stands between 1970 and 9999")
}
