//! What a store remembers of a journal between turns: where it ended. Believed only while the journal's last entry is still
//! where it was.

use std::{collections::VecDeque, io, io::Read as _};

use chat_core::{Entry, EntryId, Seq, hold::Remembered};

use crate::{
    line::unseal,
    lines::{At, Span},
    scan::Position,
    system::{File, FileId},
};

/// How many of the last entries can be read without reading those before them: for a reader that is a few turns behind.
const STARTS: usize = 64;

/// What a store knows of one journal between turns.
#[derive(Debug, Default)]
pub(crate) struct Past {
    /// Where it was last known to end, all before it durable.
    pub(crate) tail: Option<Tail>,
    /// Whether an attempt to make more of it durable has failed: then nothing behind the tail is known to have reached the
    /// device, though the system may say so.
    pub(crate) is_doubted: bool,
}

impl Remembered for Past {
    fn is_forgettable(&self) -> bool {
        !self.is_doubted
    }
}

/// The end of a journal that this store made durable or found so. While it is still there, nothing before it has to be read
/// again: a turn in a long session costs what one in a short session does.
#[derive(Debug, Clone)]
pub(crate) struct Tail {
    pub(crate) file: FileId,
    pub(crate) last: Span,
    last_id: EntryId,
    pub(crate) next: Seq,
    /// Where the last lines begin, `last` the last of them.
    starts: VecDeque<u64>,
}

impl Tail {
    /// The tail of a journal up to an entry.
    pub(crate) fn new(file: FileId, entry: &Entry, last: Span) -> Self {
        let (last_id, next) = (entry.id().clone(), entry.seq().next());
        Self {
            file,
            last,
            last_id,
            next,
            starts: VecDeque::from([last.start]),
        }
    }

    /// Moves the end behind the next entry.
    pub(crate) fn push(&mut self, entry: &Entry, last: Span) {
        (self.last, self.last_id, self.next) = (last, entry.id().clone(), entry.seq().next());
        if self.starts.len() == STARTS {
            self.starts.pop_front();
        }
        self.starts.push_back(last.start);
    }

    /// Whether a file is still the journal's and its last entry still there.
    pub(crate) fn is_there(&self, file: &(dyn File + 'static)) -> bool {
        // What can't be read here is read from the start, where the error is told properly.
        self.find_last(file).unwrap_or(false)
    }

    fn find_last(&self, file: &(dyn File + 'static)) -> io::Result<bool> {
        let found = file.metadata()?;
        if found.id != self.file || found.len < self.last.end {
            return Ok(false);
        }
        let len = usize::try_from(self.last.len()).map_err(io::Error::other)?;
        let mut bytes = vec![0; len];
        At::new(file, self.last.start).read_exact(&mut bytes)?;
        Ok(bytes.strip_suffix(b"\n").is_some_and(|line| {
            unseal(line)
                .is_ok_and(|entry| entry.seq().next() == self.next && *entry.id() == self.last_id)
        }))
    }

    /// The place behind the last entry.
    pub(crate) fn end(&self) -> Position {
        Position {
            offset: self.last.end,
            next: self.next,
        }
    }

    /// The place of the last entry.
    pub(crate) fn last_place(&self) -> Position {
        Position {
            offset: self.last.start,
            next: Seq(self.next.0 - 1),
        }
    }

    /// Where to begin reading the entries from a place on; nothing behind this end is left out.
    pub(crate) fn position(&self, from: Seq) -> Position {
        let Some(behind) = self.next.0.checked_sub(from.0).filter(|behind| *behind > 0) else {
            return self.end();
        };
        let start = usize::try_from(behind)
            .ok()
            .and_then(|behind| self.starts.len().checked_sub(behind));
        match start.and_then(|at| self.starts.get(at)) {
            Some(offset) => Position {
                offset: *offset,
                next: from,
            },
            None => Position::START,
        }
    }
}
