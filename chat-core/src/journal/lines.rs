//! A journal from JSON lines, as an export writes them. Takes bytes as they come, does no IO, and lets nothing pass that a store
//! would refuse.

use std::collections::BTreeSet;

use crate::{DecodeError, Entry, EntryBody, EntryId, FORMAT, Seq};

/// The longest line that is read, in bytes without its end: nothing longer is collected in memory.
pub const MAX_LINE_BYTES: usize = 64 << 20;

/// What some editors and shells put before a text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Why lines are no journal. Lines are counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LineError {
    /// A newer program wrote it (law J2).
    #[error(
        "line {line} has format {found}, this program reads up to {FORMAT}; use the newer program that wrote it"
    )]
    NewerFormat {
        /// The line.
        line: u64,
        /// The format found.
        found: u32,
    },
    /// It is no entry.
    #[error("line {line} is no journal entry: {what}")]
    Invalid {
        /// The line.
        line: u64,
        /// What is wrong with it.
        what: std::sync::Arc<str>,
    },
    /// The last line ends in the middle of an entry.
    #[error("line {line} is cut off")]
    CutOff {
        /// The line.
        line: u64,
    },
    /// An entry is missing before it, or it stands at the wrong place.
    #[error("line {line} has entry {found} where entry {expected} belongs")]
    Misplaced {
        /// The line.
        line: u64,
        /// The place it names.
        found: Seq,
        /// The place that follows the line before.
        expected: Seq,
    },
    /// The first entry is another than `session.created`.
    #[error("line {line} is no beginning of a journal: its first entry is session.created")]
    NoBeginning {
        /// The line.
        line: u64,
    },
    /// An id stands in two entries.
    #[error("line {line} has the id {id} of an earlier entry")]
    Twice {
        /// The line.
        line: u64,
        /// The id.
        id: EntryId,
    },
    /// It is longer than any entry.
    #[error("line {line} is longer than {MAX_LINE_BYTES} bytes")]
    TooLong {
        /// The line.
        line: u64,
    },
    /// There is no entry at all.
    #[error("there is no journal entry in it")]
    Empty,
}

/// Reads a journal from JSON lines, fed in pieces of any size. Blank lines are no entries, and a byte order mark before the first
/// is no part of it.
///
/// ```
/// use chat_core::{Journal, JournalLines};
/// let text = r#"{"v":1,"seq":0,"id":"e0","at":"2026-01-31T09:30:00.000Z","type":"session.created"}"#;
/// let mut lines = JournalLines::default();
/// lines.feed(text[..20].as_bytes())?;
/// lines.feed(text[20..].as_bytes())?;
/// let journal = Journal { entries: lines.finish()?, ..Journal::default() };
/// assert_eq!(&*journal.lines().next().unwrap(), text);
/// # Ok::<_, chat_core::LineError>(())
/// ```
#[derive(Debug, Default)]
pub struct JournalLines {
    entries: Vec<Entry>,
    ids: BTreeSet<EntryId>,
    /// How many lines ended.
    lines: u64,
    /// The line that has not ended.
    rest: Vec<u8>,
}

impl JournalLines {
    /// Takes the next bytes.
    ///
    /// # Errors
    /// [`LineError`] where a line is no next entry: there is no use in feeding more.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), LineError> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let text = piece.strip_suffix(b"\n").unwrap_or(piece);
            if self.rest.len() + text.len() > MAX_LINE_BYTES {
                return Err(LineError::TooLong {
                    line: self.lines + 1,
                });
            }
            self.rest.extend_from_slice(text);
            if text.len() < piece.len() {
                let line = std::mem::take(&mut self.rest);
                self.line(&line)?;
            }
        }
        Ok(())
    }

    /// The entries, once all bytes were fed.
    ///
    /// # Errors
    /// [`LineError`] where the last line is no entry, or none was there.
    pub fn finish(mut self) -> Result<Vec<Entry>, LineError> {
        let last = std::mem::take(&mut self.rest);
        let is_journal = !self.entries.is_empty();
        self.line(&last).map_err(|error| match error {
            LineError::Invalid { line, what: _ } if is_journal => LineError::CutOff { line },
            other => other,
        })?;
        if self.entries.is_empty() {
            return Err(LineError::Empty);
        }
        Ok(self.entries)
    }

    fn line(&mut self, bytes: &[u8]) -> Result<(), LineError> {
        self.lines += 1;
        let line = self.lines;
        let bytes = match bytes.strip_prefix(BYTE_ORDER_MARK) {
            Some(rest) if line == 1 => rest,
            Some(_) | None => bytes,
        };
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        let text = std::str::from_utf8(bytes).map_err(|error| LineError::Invalid {
            line,
            what: format!("not UTF-8 at byte {}", error.valid_up_to()).into(),
        })?;
        let entry = Entry::decode(text).map_err(|error| match error {
            DecodeError::NewerFormat { found } => LineError::NewerFormat { line, found },
            DecodeError::Invalid(what) => LineError::Invalid {
                line,
                // An entry is one line: its own count of lines would only be mistaken for ours.
                what: what.replace(" at line 1 column ", " at column ").into(),
            },
        })?;
        let expected = Seq(self.entries.len() as u64);
        let begins = matches!(entry.body(), EntryBody::SessionCreated { .. });
        if self.entries.is_empty() && !begins {
            return Err(LineError::NoBeginning { line });
        }
        if entry.seq() != expected {
            return Err(LineError::Misplaced {
                line,
                found: entry.seq(),
                expected,
            });
        }
        if !self.ids.insert(entry.id().clone()) {
            return Err(LineError::Twice {
                line,
                id: entry.id().clone(),
            });
        }
        self.entries.push(entry);
        Ok(())
    }
}
