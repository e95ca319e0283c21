//! One journal, open for its holder: catching up with it, setting a torn tail aside, appending. All of it blocks, and none of
//! it asks who holds the journal: whoever calls does.

use std::{
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
};

use chat_core::{Appended, Durability, Entry, Place, Seq, SessionId, StoreError, TornTail};

use crate::{
    line::{MAX_LINE, seal, unseal},
    lines::{At, Line, Lines, Span},
    name::Paths,
    scan::{Position, Scan, Step},
    system::{Access, Existing, File, Folder},
    tail::{Past, Tail},
};

/// A journal's file, open for writing.
#[derive(Debug)]
pub(crate) struct Journal {
    session: SessionId,
    paths: Paths,
    path: PathBuf,
    durability: Durability,
    file: Box<dyn File>,
}

/// What a journal was found to hold.
pub(crate) struct Caught {
    pub(crate) tail: Tail,
    pub(crate) entries: Vec<Entry>,
    pub(crate) torn: Option<TornTail>,
}

impl Journal {
    /// Opens a journal; `None` where it is not there.
    pub(crate) fn open(
        session: &SessionId,
        paths: &Paths,
        durability: Durability,
    ) -> Result<Option<Self>, StoreError> {
        let path = paths.journal();
        let Some(file) = paths.folder.files.open_plain(&path, Access::Write)? else {
            return Ok(None);
        };
        Ok(Some(Self {
            session: session.clone(),
            paths: paths.clone(),
            path,
            durability,
            file,
        }))
    }

    /// Opens the same journal anew: what a failed write left on the old descriptor is not asked again.
    pub(crate) fn reopen(&self) -> Result<Self, StoreError> {
        Self::open(&self.session, &self.paths, self.durability)?.ok_or_else(|| self.lost())
    }

    /// Reads what there is from a place on, sets a torn tail aside, and makes sure of what nobody has made sure of yet.
    ///
    /// May be killed at any point and done again: a tail is copied before it is cut, and a last entry is rewritten as it is.
    pub(crate) fn catch_up(&self, past: &Past, from: Seq) -> Result<Caught, StoreError> {
        let found = self.file.metadata();
        let file = found.map_err(|error| self.io("look at", error))?.id;
        let known = past.tail.as_ref();
        let known = known.filter(|known| known.is_there(&*self.file));
        let start = known.map_or(Position::START, |known| known.position(from));
        let mut tail = known.cloned();
        let (mut entries, mut torn) = (Vec::new(), None);

        let mut scan = Scan::new(&*self.file, &self.session, self.path.clone(), start);
        loop {
            match scan.step()? {
                Step::Entry(entry, span) => {
                    match &mut tail {
                        None => tail = Some(Tail::new(file, &entry, span)),
                        Some(tail) if entry.seq() == tail.next => tail.push(&entry, span),
                        // Read again for the caller.
                        Some(_) => {}
                    }
                    if entry.seq() >= from {
                        entries.push(entry);
                    }
                }
                Step::Torn(span) => {
                    torn = Some(self.set_aside(span, scan.next())?);
                    break;
                }
                Step::End => break,
            }
        }
        let tail = tail.expect("a scan that ends well has seen an entry, or began behind one");
        if known.is_none_or(|known| known.last.end < tail.last.end) {
            // Whoever wrote an entry had made sure of the one before. Where that is not so, a first sync brings all of it to the
            // device; one that failed may have brought any part of it.
            let unsure = if past.is_doubted {
                known.map_or(Position::START, Tail::end)
            } else {
                tail.last_place()
            };
            self.make_sure(unsure, &tail)?;
        }
        if known.is_none() {
            self.make_sure_of_name()?;
        }
        Ok(Caught {
            tail,
            entries,
            torn,
        })
    }

    /// Puts a torn tail into a file of its own, durable there before it is cut off here.
    fn set_aside(&self, span: Span, seq: Seq) -> Result<TornTail, StoreError> {
        // NULs are left out, and with them what a hole has: it may be as long as the disk.
        let mut crc = 0;
        self.pieces(span, |_, piece| {
            for piece in piece.split(|byte| *byte == 0) {
                crc = crc32c::crc32c_append(crc, piece);
            }
            Ok(())
        })
        .map_err(|error| self.io("read", error))?;
        let aside = self.paths.torn(span.start, crc);
        self.copy_aside(span, &aside)?;
        self.file
            .set_len(span.start)
            .map_err(|error| self.io("cut the torn tail off", error))?;
        if self.durability == Durability::Full {
            self.file
                .sync_all()
                .map_err(|error| self.io("sync", error))?;
        }
        let place = Place {
            line: Some(seq.0 + 1),
            offset: Some(span.start),
            seq: Some(seq),
            path: Some(self.path.clone()),
        };
        Ok(TornTail {
            place,
            bytes: span.len(),
            set_aside: Some(aside),
        })
    }

    fn copy_aside(&self, span: Span, aside: &Path) -> Result<(), StoreError> {
        let io = |error| StoreError::from_io("set a torn tail aside in", aside, error);
        // A copy of the same name is of the same tail: one that was cut off in the middle is written anew.
        let files = &self.paths.folder.files;
        let file = files.create_plain(aside, Existing::Open)?;
        file.set_len(0).map_err(io)?;
        let mut end = 0;
        self.pieces(span, |offset, piece| {
            end = offset + piece.len() as u64;
            At::new(&*file, offset).write_all(piece)
        })
        .map_err(io)?;
        if end < span.len() {
            file.set_len(span.len()).map_err(io)?;
        }
        if self.durability == Durability::Full {
            file.sync_all().map_err(io)?;
            files.sync_folder(&self.paths.folder.path).map_err(io)?;
        }
        Ok(())
    }

    /// What there is in a span but NULs between and behind it, each piece with its place in the span.
    fn pieces(
        &self,
        span: Span,
        mut each: impl FnMut(u64, &[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut chunk = vec![0; 64 << 10];
        let mut offset = span.start;
        loop {
            offset = offset.max(self.file.behind_hole(offset)?);
            let mut rest = At::new(&*self.file, offset).take(span.end.saturating_sub(offset));
            let read = match rest.read(&mut chunk) {
                Ok(0) => return Ok(()),
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if let Some(last) = chunk[..read].iter().rposition(|byte| *byte != 0) {
                each(offset - span.start, &chunk[..=last])?;
            }
            offset += read as u64;
        }
    }

    /// Writes the entries from a place on again, in place and as they are. After a failed sync the page cache may show what the
    /// disk does not have, and a second sync would have nothing to write: only a new write counts.
    fn make_sure(&self, from: Position, tail: &Tail) -> Result<(), StoreError> {
        if self.durability != Durability::Full {
            return Ok(());
        }
        // Looked at again as they are read again: the cache may have let go of them in between, and the disk not have them.
        let mut lines = Lines::new(&*self.file, from.offset);
        let mut next = from.next;
        let mut again = || -> io::Result<()> {
            while next < tail.next {
                let (span, line) = match lines.next()? {
                    Line::Whole(span, line)
                        if unseal(line).is_ok_and(|entry| entry.seq() == next) =>
                    {
                        (span, [line, b"\n"].concat())
                    }
                    Line::Whole(..) | Line::TooLong(_) | Line::Cut(_) | Line::End => {
                        let what = format!("entry {next} was there a moment ago");
                        return Err(io::Error::other(what));
                    }
                };
                let written = self.write_line(&line, span.start);
                written.map_err(|(_, error)| error)?;
                next = next.next();
            }
            self.file.sync_data()
        };
        again().map_err(|error| self.io("make sure of the last entries of", error))
    }

    /// Whoever created the journal may have been killed before its name was durable.
    fn make_sure_of_name(&self) -> Result<(), StoreError> {
        match self.durability {
            Durability::Full => sync_folder(&self.paths.folder),
            Durability::Os | Durability::Memory => Ok(()),
        }
    }

    /// Writes an entry behind the last one. The tail moves only with `Written`.
    pub(crate) fn append(&self, tail: &mut Tail, entry: &Entry) -> Appended {
        if entry.seq() != tail.next {
            return self.append_elsewhere(tail, entry);
        }
        let line = seal(entry);
        if line.len() > MAX_LINE {
            return self.misuse(format!(
                "an entry of {} bytes is too long, the limit is {MAX_LINE}",
                line.len()
            ));
        }
        if let Err(error) = self.check_unchanged(tail) {
            return Appended::NotWritten(error);
        }
        if let Err((written, error)) = self.write_line(&line, tail.last.end) {
            let error = self.io("append to", error);
            // Nothing of it reached the file, and the file shows it: else only recovery may touch what did.
            return if written == 0 && self.check_unchanged(tail).is_ok() {
                Appended::NotWritten(error)
            } else {
                Appended::Unknown(error)
            };
        }
        if self.durability == Durability::Full
            && let Err(error) = self.file.sync_data()
        {
            return Appended::Unknown(self.io("sync", error));
        }
        let (start, len) = (tail.last.end, line.len() as u64);
        tail.push(
            entry,
            Span {
                start,
                end: start + len,
            },
        );
        Appended::Written
    }

    /// One write of the whole line; what a short write left over is tried once more, to be told why. Not before the beginning is
    /// durable: a line whose end alone survives would be taken for damage.
    fn write_line(&self, line: &[u8], offset: u64) -> Result<(), (usize, io::Error)> {
        let mut written = 0;
        while written < line.len() {
            match self
                .file
                .write_at(&line[written..], offset + written as u64)
            {
                Ok(0) => return Err((written, io::ErrorKind::WriteZero.into())),
                Ok(n) => {
                    written += n;
                    if written < line.len() && self.durability == Durability::Full {
                        self.file.sync_data().map_err(|error| (written, error))?;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err((written, error)),
            }
        }
        Ok(())
    }

    /// The same entry sent again is written once (law S1); any other has the wrong place.
    fn append_elsewhere(&self, tail: &Tail, entry: &Entry) -> Appended {
        let place = entry.seq();
        if place > tail.next {
            return self.misuse(format!(
                "entry {place} can't be written where entry {} belongs",
                tail.next
            ));
        }
        let mut scan = Scan::new(
            &*self.file,
            &self.session,
            self.path.clone(),
            Position::START,
        );
        loop {
            match scan.step() {
                Ok(Step::Entry(there, _)) if there.seq() < place => {}
                Ok(Step::Entry(there, _)) if there.is_same(entry) => return Appended::Written,
                Ok(Step::Entry(..)) => {
                    return self.misuse(format!("another entry has place {place} already"));
                }
                Ok(Step::Torn(_) | Step::End) => return Appended::NotWritten(self.lost()),
                Err(error) => return Appended::NotWritten(error),
            }
        }
    }

    /// Whether the journal is still the file at its path and ends where its holder left it.
    fn check_unchanged(&self, tail: &Tail) -> Result<(), StoreError> {
        let there = self.paths.folder.files.look(&self.path);
        let there = there.map_err(|error| self.io("look at", error))?;
        if there.is_some_and(|there| there.id == tail.file && there.len == tail.last.end) {
            Ok(())
        } else {
            Err(self.lost())
        }
    }

    fn lost(&self) -> StoreError {
        StoreError::Lost {
            session: self.session.clone(),
            path: self.path.clone(),
        }
    }

    fn misuse(&self, what: String) -> Appended {
        Appended::NotWritten(StoreError::Misuse {
            session: self.session.clone(),
            what: what.into(),
        })
    }

    fn io(&self, action: &'static str, error: io::Error) -> StoreError {
        StoreError::from_io(action, &self.path, error)
    }
}

/// Makes durable which names a folder has.
pub(crate) fn sync_folder(folder: &Folder) -> Result<(), StoreError> {
    let synced = folder.files.sync_folder(&folder.path);
    synced.map_err(|error| StoreError::from_io("sync", &folder.path, error))
}

#[cfg(test)]
mod tests;
