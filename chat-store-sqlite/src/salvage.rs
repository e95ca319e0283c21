//! What is readable of a damaged journal, with its gaps marked (law S3). Guesses nothing: an entry is given where its checksum and
//! its place are right.

use std::ops::ControlFlow;

use chat_core::{Salvaged, SessionId, StoreError};

use crate::{
    database::Database,
    failure::Failure,
    journal::{self, Bad, Journal, Line},
    reading,
};

/// How many places in a row are tried behind a page that can't be read: more than one page holds.
const TRIES: u64 = 4096;

/// How much is read in one transaction.
const BATCH: usize = 1024;

pub(crate) fn salvage(
    database: &Database,
    session: &SessionId,
) -> Result<Vec<Salvaged>, StoreError> {
    let (reader, journal) = reading::find(database, session)?;
    let mut found = Found {
        database,
        journal: &journal,
        pieces: Vec::new(),
        next: 0,
    };
    let mut tries = 0;
    loop {
        let from = found.next + tries;
        let mut lines = Vec::new();
        let walked = reader.snapshot(&database.path, |connection| {
            lines.clear();
            journal.walk(connection, from, |line| {
                lines.push(line);
                if lines.len() == BATCH {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            })
        });
        let (count, read) = (lines.len(), !lines.is_empty());
        for line in lines {
            found.line(line)?;
        }
        match walked {
            Ok(()) if count == BATCH => tries = 0,
            Ok(()) => break,
            // The page of the next entry makes no sense: those behind it may stand on another one.
            Err(failure) if failure.is_corrupt() && tries < TRIES => {
                tries = if read { 1 } else { tries + 1 };
            }
            Err(failure) if failure.is_corrupt() => {
                let error = database.error_of("read", session, failure);
                found.gap(found.next, None, &error.to_string());
                return Ok(found.pieces);
            }
            Err(failure) => return Err(database.error_of("read", session, failure)),
        }
    }
    let row = reader.snapshot(&database.path, |connection| journal.row(connection));
    match row.map_err(|failure: Failure| database.error_of("read", session, failure)) {
        Ok(Some(row)) => {
            if let Some(what) = row.wrong {
                found.gap(found.next, None, &what);
            } else if found.next < row.next {
                let what = journal::missing(found.next, row.next);
                found.gap(found.next, None, &what);
            }
            Ok(found.pieces)
        }
        Ok(None) => Err(journal.missing()),
        Err(error) if found.pieces.is_empty() => Err(error),
        Err(_) => Ok(found.pieces),
    }
}

struct Found<'a> {
    database: &'a Database,
    journal: &'a Journal,
    pieces: Vec<Salvaged>,
    /// The place behind what was found so far.
    next: u64,
}

impl Found<'_> {
    fn line(&mut self, line: Line) -> Result<(), StoreError> {
        let Some(seq) = line.seq else {
            self.gap(self.next, Some(line.bytes), "its place is none");
            return Ok(());
        };
        if seq > self.next {
            let what = journal::missing(self.next, seq);
            self.gap(self.next, None, &what);
        }
        match line.entry {
            Ok(entry) => self.pieces.push(Salvaged::Entry(entry)),
            // A newer program reads all of it: nothing is damaged.
            Err(Bad::Newer(found)) if seq == 0 => {
                return Err(self.journal.newer(self.database, found));
            }
            Err(Bad::Newer(found)) => {
                let what = format!("an entry of the newer format {found}");
                self.gap(seq, Some(line.bytes), &what);
            }
            Err(Bad::Damaged(what)) => self.gap(seq, Some(line.bytes), &what),
        }
        self.next = seq + 1;
        Ok(())
    }

    fn gap(&mut self, seq: u64, bytes: Option<usize>, what: &str) {
        self.pieces.push(Salvaged::Gap {
            place: journal::place(self.database, seq),
            bytes: bytes.map(|bytes| bytes as u64),
            what: what.into(),
        });
    }
}
