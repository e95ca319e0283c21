//! Random scripts of what one may ask of a store. A script names nothing that is in a store: places follow from what the store
//! itself says, so that a shorter script is a script.

use std::{fmt, ops::RangeInclusive};

use chat_core::{
    Entry, EntryBody, EntryId, Metadata, RecordedError, ResponderInfo, Seq, SessionId, Timestamp,
    TurnId,
};
use proptest::prelude::*;

/// What is asked, one thing after the other.
#[derive(Debug, Clone)]
pub(crate) enum Ask {
    /// Creates a session of some entries, with something wrong about them or not.
    Create(Session, Vec<Said>, Wrong),
    /// Takes the hold, does some things, and lets go.
    Hold(Session, From, Vec<Step>),
    Read(Session, From),
    Salvage(Session),
    Delete(Session),
    IsHeld(Session),
    /// Lists all sessions, so many a page.
    List(usize),
    Reopen,
}

/// What a holder does.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Append(Said),
    /// Appends, and lets go with it.
    AppendLast(Said),
    /// Appends, and drops the future after so many polls; then recovers, and sends the entry again.
    DropAppend(Said, usize),
    Recover(From),
    /// Sends the entry again that is so many before the end.
    Again(usize),
    /// Appends so many places too far.
    Ahead(Said, u64),
    /// Appends another entry in the place of the one that is so many before the end.
    Behind(Said, usize),
    Delete,
    IsHeld,
}

/// What is wrong with the entries of a new session.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Wrong {
    Nothing,
    Empty,
    NoFirst,
    Gap,
}

/// An entry without its place.
#[derive(Clone)]
pub(crate) struct Said {
    what: What,
    turn: u64,
    text: usize,
    at: i64,
}

#[derive(Debug, Clone, Copy)]
enum What {
    Accepted,
    Steered,
    Completed,
    Failed,
    Canceled,
    Retry,
    Unknown,
}

/// One of a few sessions, some of which are easily mixed up.
#[derive(Clone, Copy)]
pub(crate) struct Session(usize);

/// A place to read from, counted from the start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct From(pub(crate) u64);

const SESSIONS: &[&str] = &["a", "A", "e\u{301}", "\u{e9}", "x.jsonl", "con", "a b"];

const TEXTS: &[&str] = &[
    "Hi",
    "",
    " \n\t two\nlines",
    "\u{1f331} \u{e9} e\u{301} \u{202e}",
    "\0 \u{1b}[31m \u{7f} \u{2028}",
    "'\"\\ ; -- {\"v\":1}",
    "a title that is far longer than what a list has room for, and goes on for a while after it was cut",
];

pub(crate) fn script(lengths: RangeInclusive<usize>) -> impl Strategy<Value = Vec<Ask>> {
    prop::collection::vec(ask(), lengths)
}

fn ask() -> impl Strategy<Value = Ask> {
    let wrong = prop_oneof![
        6 => Just(Wrong::Nothing),
        1 => Just(Wrong::Empty),
        1 => Just(Wrong::NoFirst),
        1 => Just(Wrong::Gap)
    ];
    let said = || prop::collection::vec(said(), 0..4);
    let steps = prop::collection::vec(step(), 0..5);
    prop_oneof![
        5 => (session(), said(), wrong).prop_map(|(s, said, wrong)| Ask::Create(s, said, wrong)),
        8 => (session(), from(), steps).prop_map(|(s, from, steps)| Ask::Hold(s, from, steps)),
        2 => (session(), from()).prop_map(|(s, from)| Ask::Read(s, from)),
        1 => session().prop_map(Ask::Salvage),
        2 => session().prop_map(Ask::Delete),
        1 => session().prop_map(Ask::IsHeld),
        2 => (1_usize..5).prop_map(Ask::List),
        1 => Just(Ask::Reopen)
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => said().prop_map(Step::Append),
        2 => said().prop_map(Step::AppendLast),
        2 => (said(), 0_usize..4).prop_map(|(said, polls)| Step::DropAppend(said, polls)),
        1 => from().prop_map(Step::Recover),
        2 => (1_usize..4).prop_map(Step::Again),
        1 => (said(), 1_u64..3).prop_map(|(said, by)| Step::Ahead(said, by)),
        1 => (said(), 1_usize..4).prop_map(|(said, by)| Step::Behind(said, by)),
        1 => Just(Step::Delete),
        1 => Just(Step::IsHeld)
    ]
}

fn session() -> impl Strategy<Value = Session> {
    (0..SESSIONS.len()).prop_map(Session)
}

fn from() -> impl Strategy<Value = From> {
    prop_oneof![2 => Just(0), 3 => 0_u64..12].prop_map(From)
}

fn said() -> impl Strategy<Value = Said> {
    let what = prop_oneof![
        4 => Just(What::Accepted),
        1 => Just(What::Steered),
        3 => Just(What::Completed),
        1 => Just(What::Failed),
        1 => Just(What::Canceled),
        1 => Just(What::Retry),
        2 => Just(What::Unknown)
    ];
    // Few times and few turns: ties, outcomes twice, outcomes of nothing.
    let at = prop_oneof![Just(0), Just(5), Just(-3_000_000_000_000_i64), 0_i64..4];
    (what, 0_u64..3, 0..TEXTS.len(), at).prop_map(|(what, turn, text, at)| Said {
        what,
        turn,
        text,
        at,
    })
}

impl Session {
    pub(crate) fn id(self) -> SessionId {
        SessionId::parse(SESSIONS[self.0]).unwrap()
    }
}

impl Said {
    /// The entry, in its place. Its id says who sent it: no two of a session have the same.
    pub(crate) fn entry(&self, seq: u64, sender: &str) -> Entry {
        let (turn_id, text) = (turn(self.turn), TEXTS[self.text]);
        let responder = ResponderInfo::of_kind("scripted");
        let body = match self.what {
            What::Accepted | What::Retry => EntryBody::TurnAccepted {
                turn_id,
                input: text.into(),
                retry_of: matches!(self.what, What::Retry).then(|| turn(self.turn + 1)),
                labels: None,
            },
            What::Steered => EntryBody::TurnSteered {
                turn_id,
                input: text.into(),
            },
            What::Completed => EntryBody::TurnCompleted {
                turn_id,
                text: text.into(),
                metadata: Metadata::default(),
                responder,
            },
            What::Failed => EntryBody::TurnFailed {
                turn_id,
                error: RecordedError::of(text, "scripted", None),
                usage: None,
                responder,
            },
            What::Canceled => EntryBody::TurnCanceled {
                turn_id,
                reason: Some(text.into()),
                usage: None,
                responder: None,
            },
            What::Unknown => return self.unknown(seq, sender),
        };
        let at = Timestamp::from_millis(self.at).unwrap();
        let id = EntryId::parse(format!("{sender}-{seq}")).unwrap();
        Entry::new(Seq(seq), id, at, body)
    }

    /// What another program wrote, in its own way.
    fn unknown(&self, seq: u64, sender: &str) -> Entry {
        let at = Timestamp::from_millis(self.at).unwrap();
        let text = serde_json::to_string(TEXTS[self.text]).unwrap();
        let text = format!(
            r#"{{ "seq":{seq}, "v":1,"id":"{sender}-{seq}","at":"{at}","type":"turn.rated","stars":4.50,"why":{text},"n":1E400}}"#
        );
        Entry::decode(&text).unwrap()
    }
}

pub(crate) fn created(sender: &str) -> Entry {
    let id = EntryId::parse(format!("{sender}-0")).unwrap();
    let body = EntryBody::SessionCreated { labels: None };
    Entry::new(Seq::ZERO, id, Timestamp::UNIX_EPOCH, body)
}

fn turn(n: u64) -> TurnId {
    TurnId::parse(format!("t{n}")).unwrap()
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(SESSIONS[self.0], f)
    }
}

impl fmt::Debug for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            what,
            turn,
            text,
            at,
        } = self;
        write!(f, "{what:?}(t{turn}, {:?}, at {at})", TEXTS[*text])
    }
}
