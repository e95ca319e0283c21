//! What a worker tells the one who may kill it: a line before and a line after everything it asks of a store. A line that was
//! not finished is none.

use std::fmt;

use chat_core::{Entry, EntryId, Seq, SessionId};

use super::entries::crc;

/// One entry in one journal, without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) session: SessionId,
    /// The id of the journal's first entry, which tells it from an earlier one of the same session id.
    pub(crate) journal: EntryId,
    pub(crate) seq: Seq,
    pub(crate) id: EntryId,
    pub(crate) crc: u32,
}

impl Note {
    pub(crate) fn of(session: &SessionId, journal: &EntryId, entry: &Entry) -> Self {
        Self {
            session: session.clone(),
            journal: journal.clone(),
            seq: entry.seq(),
            id: entry.id().clone(),
            crc: crc(entry),
        }
    }
}

/// A line of a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Line {
    /// It will ask for an entry to be written.
    Intended(Note),
    /// The store answered: written.
    Written(Note),
    /// The store answered: not written.
    NotWritten(Note),
    /// The store answered: unknown.
    Unknown(Note),
    /// It will ask for a session to be created; the entries intended next are its first ones.
    Creating(SessionId, EntryId),
    /// The store answered: created.
    Created(SessionId, EntryId),
    /// It will ask for a session to be deleted.
    Deleting(SessionId),
    /// The store answered: deleted, or not there.
    Deleted(SessionId),
    /// A torn tail of a session was set aside.
    Torn(SessionId),
    /// It will now be killed by its own hand while it does this to a session.
    Dying(Doing, SessionId),
    /// It took a turn to its end.
    Turn,
    /// Something failed: what kind of error, and its words.
    Failed(String, String),
    /// Whatever its part has to say.
    Said(String),
}

/// What a worker does while it is killed by its own hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Doing {
    Appending,
    Acquiring,
    Creating,
    Deleting,
}

impl Doing {
    const ALL: &[Self] = &[
        Self::Appending,
        Self::Acquiring,
        Self::Creating,
        Self::Deleting,
    ];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Appending => "append",
            Self::Acquiring => "acquire",
            Self::Creating => "create",
            Self::Deleting => "delete",
        }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let one_line = |text: &str| text.replace(['\n', '\r'], " ");
        match self {
            Self::Intended(note) => write!(f, "intend {note}"),
            Self::Written(note) => write!(f, "written {note}"),
            Self::NotWritten(note) => write!(f, "not-written {note}"),
            Self::Unknown(note) => write!(f, "unknown {note}"),
            Self::Creating(session, journal) => write!(f, "creating {session} {journal}"),
            Self::Created(session, journal) => write!(f, "created {session} {journal}"),
            Self::Deleting(session) => write!(f, "deleting {session}"),
            Self::Deleted(session) => write!(f, "deleted {session}"),
            Self::Torn(session) => write!(f, "torn {session}"),
            Self::Dying(doing, session) => write!(f, "dying {} {session}", doing.word()),
            Self::Turn => write!(f, "turn"),
            Self::Failed(kind, words) => write!(f, "failed {kind} {}", one_line(words)),
            Self::Said(words) => write!(f, "said {}", one_line(words)),
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            session,
            journal,
            seq,
            id,
            crc,
        } = self;
        write!(f, "{session} {journal} {seq} {id} {crc:08x}")
    }
}

impl Line {
    /// Reads a line; `None` where a worker would not have said it.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let session = |text: &str| SessionId::parse(text).ok();
        let session_and_journal = || {
            let (one, other) = rest.split_once(' ')?;
            Some((session(one)?, EntryId::parse(other).ok()?))
        };
        Some(match word {
            "intend" => Self::Intended(Note::parse(rest)?),
            "written" => Self::Written(Note::parse(rest)?),
            "not-written" => Self::NotWritten(Note::parse(rest)?),
            "unknown" => Self::Unknown(Note::parse(rest)?),
            "creating" => {
                let (session, journal) = session_and_journal()?;
                Self::Creating(session, journal)
            }
            "created" => {
                let (session, journal) = session_and_journal()?;
                Self::Created(session, journal)
            }
            "deleting" => Self::Deleting(session(rest)?),
            "deleted" => Self::Deleted(session(rest)?),
            "torn" => Self::Torn(session(rest)?),
            "dying" => {
                let (word, of) = rest.split_once(' ')?;
                let doing = Doing::ALL.iter().find(|doing| doing.word() == word)?;
                Self::Dying(*doing, session(of)?)
            }
            "turn" => Self::Turn,
            "failed" => {
                let (kind, words) = rest.split_once(' ')?;
                Self::Failed(kind.to_owned(), words.to_owned())
            }
            "said" => Self::Said(rest.to_owned()),
            _ => return None,
        })
    }
}

impl Note {
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let mut word = || words.next();
        Some(Self {
            session: SessionId::parse(word()?).ok()?,
            journal: EntryId::parse(word()?).ok()?,
            seq: Seq(word()?.parse().ok()?),
            id: EntryId::parse(word()?).ok()?,
            crc: u32::from_str_radix(word()?, 16).ok()?,
        })
    }
}
