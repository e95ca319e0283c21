//! The lines of a journal's file as bytes, one at a time, from any offset. Says where lines end and nothing of what they mean;
//! never holds more than one line in memory.

use std::{
    borrow::Borrow,
    io::{self, BufRead as _, BufReader, Read, Write},
};

use crate::{line::MAX_LINE, system::File};

/// A file read or written from an offset on. Its cursor is its own: two of one open file don't move each other.
#[derive(Debug)]
pub(crate) struct At<F> {
    file: F,
    offset: u64,
}

impl<F> At<F> {
    pub(crate) fn new(file: F, offset: u64) -> Self {
        Self { file, offset }
    }
}

impl<F: Borrow<dyn File>> Read for At<F> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.file.borrow().read_at(bytes, self.offset)?;
        self.offset += read as u64;
        Ok(read)
    }
}

impl<F: Borrow<dyn File>> Write for At<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.borrow().write_at(bytes, self.offset)?;
        self.offset += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Lines, from an offset on.
#[derive(Debug)]
pub(crate) struct Lines<F> {
    reader: BufReader<At<F>>,
    offset: u64,
    bytes: Vec<u8>,
}

/// Where a line is, newline included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl Span {
    pub(crate) fn len(self) -> u64 {
        self.end - self.start
    }
}

/// What comes next in a file.
#[derive(Debug)]
pub(crate) enum Line<'a> {
    /// A line that ends in a newline, given without it.
    Whole(Span, &'a [u8]),
    /// A line that ends in a newline and is longer than any that was ever written.
    TooLong(Span),
    /// What stands behind the last newline.
    Cut(Span),
    /// The end, right behind a newline or in an empty file.
    End,
}

impl<F: Borrow<dyn File>> Lines<F> {
    pub(crate) fn new(file: F, offset: u64) -> Self {
        Self {
            reader: BufReader::with_capacity(64 << 10, At::new(file, offset)),
            offset,
            bytes: Vec::new(),
        }
    }

    pub(crate) fn next(&mut self) -> io::Result<Line<'_>> {
        self.bytes.clear();
        let mut span = Span {
            start: self.offset,
            end: self.offset,
        };
        loop {
            let chunk = match self.reader.fill_buf() {
                Ok(chunk) => chunk,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let newline = memchr::memchr(b'\n', chunk);
            let taken = newline.map_or(chunk.len(), |at| at + 1);
            let at_end = chunk.is_empty();
            // Bytes past the limit are counted and forgotten: a hole may be as long as the disk.
            let room = (MAX_LINE + 1).saturating_sub(self.bytes.len());
            self.bytes.extend_from_slice(&chunk[..taken.min(room)]);
            self.reader.consume(taken);
            span.end += taken as u64;
            self.offset = span.end;
            if newline.is_some() {
                return Ok(match self.bytes.strip_suffix(b"\n") {
                    Some(line) if span.len() <= MAX_LINE as u64 => Line::Whole(span, line),
                    Some(_) | None => Line::TooLong(span),
                });
            }
            // A line that is too long is only looked through for its end, and there is none in a hole.
            if span.len() > MAX_LINE as u64 && self.reader.buffer().is_empty() {
                let at = self.reader.get_mut();
                at.offset = at.file.borrow().behind_hole(at.offset)?.max(at.offset);
                (span.end, self.offset) = (at.offset, at.offset);
            }
            if at_end {
                return Ok(if span.len() == 0 {
                    Line::End
                } else {
                    Line::Cut(span)
                });
            }
        }
    }
}
