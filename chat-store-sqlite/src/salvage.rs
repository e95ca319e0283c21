//! What is readable of a damaged journal, with its gaps marked (law S3). Guesses nothing: an entry is given where its checksum and
//! its place are right. Trusts no order: a page that is wrong may give rows twice, back to front, or at places that are none.

use std::{collections::BTreeMap, ops::ControlFlow};

use chat_core::{Entry, Salvaged, SessionId, StoreError};

use crate::{
    database::Database,
    failure::Failure,
    journal::{self, Bad, Journal, Line},
    reading,
    row::FoundRow,
};

/// How many places in a row are tried behind a page that can't be read: more than one page holds.
const TRIES: u64 = 4096;

/// How much is read in one transaction.
const BATCH: usize = 1024;

pub(crate) fn salvage(
    database: &Database,
    session: &SessionId,
) -> Result<Vec<Salvaged>, StoreError> {
    let error_of = |failure: Failure| database.error_of("read", session, failure);
    let (reader, journal) = reading::find(database, session)?;
    let row = || reader.snapshot(&database.path, |connection| journal.row(connection));
    let mut found = Found {
        end: match row() {
            Ok(Some(found)) if found.wrong.is_none() => found.row.end(),
            Ok(Some(_)) => u64::MAX,
            Ok(None) => return Err(journal.missing()),
            Err(failure) if failure.is_corrupt() => u64::MAX,
            Err(failure) => return Err(error_of(failure)),
        },
        ..Found::default()
    };
    let mut tries = 0;
    loop {
        let from = found.next.saturating_add(tries);
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
        let is_full = lines.len() == BATCH;
        for line in lines {
            found.line(&journal, database, line)?;
        }
        let went_on = found.next > from;
        match walked {
            Ok(()) if is_full && went_on => tries = 0,
            // The end, or rows that lead nowhere.
            Ok(()) => break,
            // The page of the next entry makes no sense: those behind it may stand on another one.
            Err(failure) if failure.is_corrupt() && tries < TRIES => {
                tries = if went_on { 1 } else { tries + 1 };
            }
            Err(failure) if failure.is_corrupt() => {
                found.unread = Some(error_of(failure));
                break;
            }
            Err(failure) => return Err(error_of(failure)),
        }
    }
    // Again: it may have grown in the meantime.
    let wrong = match row() {
        Ok(Some(FoundRow { row, wrong })) => {
            found.end = row.end();
            wrong
        }
        Ok(None) => return Err(journal.missing()),
        Err(failure) if found.rows.is_empty() => return Err(error_of(failure)),
        Err(failure) => Some(error_of(failure).to_string().into()),
    };
    Ok(found.pieces(database, wrong.as_deref()))
}

/// What was found, by its place.
#[derive(Default)]
struct Found {
    rows: BTreeMap<u64, Result<Entry, Gap>>,
    /// How many rows stand where none belongs, and how many bytes they have.
    astray: (u64, u64),
    /// The place behind what was found so far.
    next: u64,
    /// Where the journal ends, as far as that is known.
    end: u64,
    /// What was in the way of all that may be behind `next`.
    unread: Option<StoreError>,
}

struct Gap {
    bytes: u64,
    what: String,
}

impl Found {
    fn line(
        &mut self,
        journal: &Journal,
        database: &Database,
        line: Line,
    ) -> Result<(), StoreError> {
        let bytes = line.bytes as u64;
        // The place of a sound entry is right, its checksum says so; that of another row may be as wrong as the row.
        let seq = line.seq.filter(|seq| line.entry.is_ok() || *seq < self.end);
        let Some(seq) = seq else {
            self.astray.0 += 1;
            self.astray.1 += bytes;
            return Ok(());
        };
        self.next = self.next.max(seq.saturating_add(1));
        let gap = |what| Err(Gap { bytes, what });
        let row = match line.entry {
            Ok(entry) => Ok(entry),
            // A newer program reads all of it: nothing is damaged.
            Err(Bad::Newer(found)) if seq == 0 => return Err(journal.newer(database, found)),
            Err(Bad::Newer(found)) => gap(format!("an entry of the newer format {found}")),
            Err(Bad::Damaged(what)) => gap(what.to_string()),
        };
        if row.is_ok() || !self.rows.contains_key(&seq) {
            self.rows.insert(seq, row);
        }
        Ok(())
    }

    fn pieces(self, database: &Database, wrong: Option<&str>) -> Vec<Salvaged> {
        let gap = |seq: Option<u64>, bytes: Option<u64>, what: String| Salvaged::Gap {
            place: journal::place(database, seq),
            bytes,
            what: what.into(),
        };
        let (mut pieces, mut expected) = (Vec::new(), 0);
        for (seq, row) in self.rows {
            if seq > expected {
                let what = journal::missing(expected, seq);
                pieces.push(gap(Some(expected), None, what));
            }
            pieces.push(match row {
                Ok(entry) => Salvaged::Entry(entry),
                Err(Gap { bytes, what }) => gap(Some(seq), Some(bytes), what),
            });
            expected = seq.saturating_add(1);
        }
        if let Some(error) = self.unread {
            pieces.push(gap(Some(expected), None, error.to_string()));
        } else if wrong.is_none() && expected < self.end {
            let what = journal::missing(expected, self.end);
            pieces.push(gap(Some(expected), None, what));
        }
        if let Some(what) = wrong {
            pieces.push(gap(None, None, what.to_owned()));
        }
        if let (rows @ 1.., bytes) = self.astray {
            let what = format!("{rows} that stand where none belongs");
            pieces.push(gap(None, Some(bytes), what));
        }
        pieces
    }
}
