//! What is readable of a damaged journal, with its gaps marked (law S3). Guesses nothing: an entry is given where its checksum
//! is right.

use chat_core::{Entry, Place, Salvaged, Seq, SessionId, StoreError};

use crate::{
    line::{Bad, unseal},
    lines::{Line, Lines, Span},
    name::Paths,
    scan::{check_place, newer},
    system::Access,
};

/// How an entry's text begins.
const ENTRY: &[u8] = br#"{"v":"#;

/// How many beginnings are tried in one bad line.
const BEGINNINGS: usize = 64;

pub(crate) fn salvage(session: &SessionId, paths: &Paths) -> Result<Vec<Salvaged>, StoreError> {
    let path = paths.journal();
    let Some(file) = paths.folder.files.open_plain(&path, Access::Read)? else {
        return Err(StoreError::Missing {
            session: session.clone(),
        });
    };
    let mut lines = Lines::new(file, 0);
    let mut found = Found {
        path: paths,
        pieces: Vec::new(),
        end: None,
        line: 0,
        next: Seq::ZERO,
    };
    loop {
        found.line += 1;
        match lines
            .next()
            .map_err(|error| StoreError::from_io("read", &path, error))?
        {
            Line::End => return Ok(found.pieces),
            Line::Cut(span) => found.gap(span, "the last line is cut off"),
            Line::TooLong(span) => found.gap(span, "longer than any entry"),
            Line::Whole(span, bytes) => match unseal(bytes) {
                Ok(entry) => found.entry(entry, span),
                // A newer program reads all of it: nothing is damaged.
                Err(Bad::Newer { found: format }) if found.line == 1 => {
                    return Err(newer(session, &path, format));
                }
                Err(Bad::Newer { found: format }) => {
                    found.gap(span, &format!("an entry of the newer format {format}"))
                }
                Err(Bad::Damaged { what, .. }) => match behind(bytes) {
                    Some((at, entry)) => {
                        let middle = span.start + at as u64;
                        found.gap(
                            Span {
                                start: span.start,
                                end: middle,
                            },
                            &what,
                        );
                        found.entry(
                            entry,
                            Span {
                                start: middle,
                                end: span.end,
                            },
                        );
                    }
                    None => found.gap(span, &what),
                },
            },
        }
    }
}

/// The whole entry at the end of a bad line, where there is one: one that was glued onto a stub, or stands behind a hole.
fn behind(line: &[u8]) -> Option<(usize, Entry)> {
    let beginnings = line
        .windows(ENTRY.len())
        .enumerate()
        .skip(1)
        .filter(|(_, bytes)| *bytes == ENTRY);
    beginnings
        .take(BEGINNINGS)
        .find_map(|(at, _)| Some((at, unseal(&line[at..]).ok()?)))
}

struct Found<'a> {
    path: &'a Paths,
    pieces: Vec<Salvaged>,
    /// Where the last piece ends, where that is a gap of bytes.
    end: Option<u64>,
    line: u64,
    next: Seq,
}

impl Found<'_> {
    fn entry(&mut self, entry: Entry, span: Span) {
        // After a gap of bytes nobody can say which entries it held, unless the next one's place does.
        if let Err(what) = check_place(&entry, self.next) {
            let place = self.place(span);
            self.pieces.push(Salvaged::Gap {
                place,
                bytes: None,
                what,
            });
        }
        self.next = entry.seq().next();
        self.end = None;
        self.pieces.push(Salvaged::Entry(entry));
    }

    /// Neighbors with the same reason are one gap: a bad line may be a byte long, and there may be millions.
    fn gap(&mut self, span: Span, what: &str) {
        let behind = self.end.replace(span.end) == Some(span.start);
        if let Some(Salvaged::Gap {
            bytes: Some(bytes),
            what: before,
            ..
        }) = self.pieces.last_mut()
            && behind
            && **before == *what
        {
            *bytes += span.len();
            return;
        }
        let place = self.place(span);
        self.pieces.push(Salvaged::Gap {
            place,
            bytes: Some(span.len()),
            what: what.into(),
        });
    }

    fn place(&self, span: Span) -> Place {
        Place {
            line: Some(self.line),
            offset: Some(span.start),
            seq: Some(self.next),
            path: Some(self.path.journal()),
        }
    }
}
