//! Reads a journal's entries in order and decides what is torn and what is damage (law S3). Changes nothing.

use std::{borrow::Borrow, path::PathBuf, sync::Arc};

use chat_core::{Damage, Entry, EntryBody, FORMAT, Place, Seq, SessionId, StoreError};

use crate::{
    line::{Bad, unseal},
    lines::{Line, Lines, Span},
    system::File,
};

/// Where a scan is: every entry before `offset` has a smaller place than `next`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) offset: u64,
    pub(crate) next: Seq,
}

impl Position {
    pub(crate) const START: Self = Self {
        offset: 0,
        next: Seq::ZERO,
    };
}

/// The entries of a journal, from a position on.
#[derive(Debug)]
pub(crate) struct Scan<F> {
    lines: Lines<F>,
    session: SessionId,
    path: PathBuf,
    next: Seq,
}

/// What comes next in a journal.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly every step is an entry")]
pub(crate) enum Step {
    Entry(Entry, Span),
    /// A last line without newline, or a tail of NULs: what a crash leaves.
    Torn(Span),
    End,
}

impl<F: Borrow<dyn File>> Scan<F> {
    pub(crate) fn new(file: F, session: &SessionId, path: PathBuf, from: Position) -> Self {
        Self {
            lines: Lines::new(file, from.offset),
            session: session.clone(),
            path,
            next: from.next,
        }
    }

    /// The place of the next entry.
    pub(crate) fn next(&self) -> Seq {
        self.next
    }

    /// The next entry. The scan is over after `Torn`, `End` or an error.
    pub(crate) fn step(&mut self) -> Result<Step, StoreError> {
        let expected = self.next;
        let place = |offset: u64| Place {
            line: Some(expected.0 + 1),
            offset: Some(offset),
            seq: Some(expected),
            path: Some(self.path.clone()),
        };
        let damage = |what: Arc<str>, offset: u64| -> StoreError {
            Damage {
                session: self.session.clone(),
                place: place(offset),
                what,
            }
            .into()
        };
        let line = self
            .lines
            .next()
            .map_err(|error| StoreError::from_io("read", &self.path, error))?;
        let first = expected == Seq::ZERO;
        match line {
            // A journal is created whole: a crash can't have cut its first entry.
            Line::End if first => Err(damage("the file is empty".into(), 0)),
            Line::Cut(span) if first => {
                Err(damage("the first entry is cut off".into(), span.start))
            }
            Line::End => Ok(Step::End),
            Line::Cut(span) => Ok(Step::Torn(span)),
            Line::TooLong(span) => Err(damage("longer than any entry".into(), span.start)),
            Line::Whole(span, bytes) => match unseal(bytes) {
                Ok(entry) => {
                    check_place(&entry, expected).map_err(|what| damage(what, span.start))?;
                    self.next = expected.next();
                    Ok(Step::Entry(entry, span))
                }
                Err(Bad::Newer { found }) => Err(newer(&self.session, &self.path, found)),
                Err(Bad::Damaged { what, at }) => Err(damage(what, span.start + at as u64)),
            },
        }
    }
}

pub(crate) fn newer(session: &SessionId, path: &std::path::Path, found: u32) -> StoreError {
    let what = format!("the journal of session {session} ({})", path.display()).into();
    StoreError::NewerFormat {
        what,
        found,
        supported: FORMAT,
    }
}

/// What is wrong with an entry at this place of a journal, where something is.
pub(crate) fn check_place(entry: &Entry, expected: Seq) -> Result<(), Arc<str>> {
    if entry.seq() > expected {
        return Err(missing(expected, entry.seq()).into());
    }
    if entry.seq() < expected {
        return Err(format!(
            "entry {} again, where entry {expected} belongs",
            entry.seq()
        )
        .into());
    }
    if expected == Seq::ZERO && !matches!(entry.body(), EntryBody::SessionCreated { .. }) {
        return Err(format!(
            "the first entry is {}, not session.created",
            entry.body().kind()
        )
        .into());
    }
    Ok(())
}

fn missing(expected: Seq, found: Seq) -> String {
    let last = Seq(found.0 - 1);
    if last == expected {
        format!("entry {expected} is missing")
    } else {
        format!("entries {expected} to {last} are missing")
    }
}
