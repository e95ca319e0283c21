//! Reads server-sent events out of bytes, however they are cut. Does no IO, and refuses an event above a stated size.
//!
//! Our own, and not `eventsource-stream`: that one keeps an event of any size, and says nothing about a body that is no
//! event stream at all, which is how many servers say that something is wrong.

use std::borrow::Cow;

use memchr::memchr2;

/// The most one event may hold, in bytes: far above any real one, far below what could hurt.
pub(crate) const MAX_EVENT_BYTES: usize = 8 * 1024 * 1024;

/// The most that is kept of a body that is no event stream, in bytes; of one that begins as a JSON object, and so may be an answer
/// in one piece, it is as much as of an event.
pub(crate) const MAX_STRAY_BYTES: usize = 64 * 1024;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SseEvent {
    /// Its name; empty where it has none.
    pub(crate) name: String,
    /// Its data, lines joined.
    pub(crate) data: String,
}

/// An event above the reader's limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooLarge;

/// The reader: fed with bytes, it gives events.
#[derive(Debug)]
pub(crate) struct SseReader {
    limit: usize,
    line: Vec<u8>,
    name: String,
    data: Option<String>,
    /// A `\r` ended the last line, so a `\n` that comes next belongs to it.
    after_cr: bool,
    /// No line was read yet, so one may begin with a byte order mark.
    at_start: bool,
    stray: String,
    /// The most that is kept of it; `None` as long as it is blank.
    stray_limit: Option<usize>,
}

impl SseReader {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            name: String::new(),
            data: None,
            after_cr: false,
            at_start: true,
            stray: String::new(),
            stray_limit: None,
        }
    }

    /// Reads on to the end of the next event, or of the bytes, and takes from them what it read. What comes after an event is not
    /// looked at before the event is.
    pub(crate) fn next(&mut self, bytes: &mut &[u8]) -> Result<Option<SseEvent>, TooLarge> {
        while let Some(&first) = bytes.first() {
            if std::mem::take(&mut self.after_cr) && first == b'\n' {
                *bytes = &bytes[1..];
                continue;
            }
            let end = memchr2(b'\n', b'\r', bytes);
            let piece = &bytes[..end.unwrap_or(bytes.len())];
            if self.event_bytes() + piece.len() > self.limit {
                return Err(TooLarge);
            }
            let Some(end) = end else {
                self.line.extend_from_slice(piece);
                *bytes = &[];
                break;
            };
            self.after_cr = bytes[end] == b'\r';
            *bytes = &bytes[end + 1..];
            let event = if self.line.is_empty() {
                // Most lines come whole, and need not be copied.
                self.end_line(piece)?
            } else {
                self.line.extend_from_slice(piece);
                let line = std::mem::take(&mut self.line);
                self.end_line(&line)?
            };
            if event.is_some() {
                return Ok(event);
            }
        }
        Ok(None)
    }

    /// All the events that are whole within these bytes.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn feed(
        &mut self,
        mut bytes: &[u8],
        events: &mut Vec<SseEvent>,
    ) -> Result<(), TooLarge> {
        while let Some(event) = self.next(&mut bytes)? {
            events.push(event);
        }
        Ok(())
    }

    /// The body ended. An event that lacks only its empty line is given: real servers end so.
    pub(crate) fn end(&mut self) -> Option<SseEvent> {
        // A last line can't dispatch: an empty one alone does.
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() && self.end_line(&line).is_err() {
            return None;
        }
        self.dispatch()
    }

    /// What came that is no part of an event stream, up to [`MAX_STRAY_BYTES`] or the size of an event.
    pub(crate) fn stray(&self) -> &str {
        &self.stray
    }

    /// How much it holds between two pieces, in bytes.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn held(&self) -> usize {
        self.event_bytes() + self.stray.len()
    }

    fn event_bytes(&self) -> usize {
        self.line.len() + self.name.len() + self.data.as_ref().map_or(0, String::len)
    }

    fn end_line(&mut self, bytes: &[u8]) -> Result<Option<SseEvent>, TooLarge> {
        // Text that is no UTF-8 is read with replacement characters, as the format asks. Only whole lines are decoded, so a
        // cut in the middle of a character does not matter.
        let line = decode(bytes);
        let line = if std::mem::take(&mut self.at_start) {
            line.trim_start_matches('\u{feff}')
        } else {
            &line
        };
        // A replacement character is longer than the byte it stands for.
        if self.event_bytes() + line.len() > self.limit {
            return Err(TooLarge);
        }
        if line.is_empty() {
            return Ok(self.dispatch());
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            "event" => value.clone_into(&mut self.name),
            // A comment, which servers send to keep the connection open; places to resume from, which a chat has not.
            "" | "id" | "retry" => {}
            _ => self.keep_stray(line),
        }
        Ok(None)
    }

    fn dispatch(&mut self) -> Option<SseEvent> {
        let name = std::mem::take(&mut self.name);
        self.data.take().map(|data| SseEvent { name, data })
    }

    fn keep_stray(&mut self, line: &str) {
        // Its first words decide, and are looked for once: the white space before them may be long.
        if self.stray_limit.is_none()
            && let Some(first) = line.trim_start().chars().next()
        {
            let is_object = first == '{';
            self.stray_limit = Some(if is_object {
                self.limit
            } else {
                MAX_STRAY_BYTES
            });
        }
        let limit = self.stray_limit.unwrap_or(MAX_STRAY_BYTES);
        let room = limit.saturating_sub(self.stray.len() + 1);
        self.stray.push_str(&line[..line.floor_char_boundary(room)]);
        if room > 0 {
            self.stray.push('\n');
        }
    }
}

/// Bytes as text, with replacement characters for what is no UTF-8.
fn decode(bytes: &[u8]) -> Cow<'_, str> {
    // Nearly every line is UTF-8, which this tells some ten times faster than the lossy reading, that goes byte by byte.
    str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(pieces: &[&[u8]]) -> Vec<SseEvent> {
        let mut reader = SseReader::new(MAX_EVENT_BYTES);
        let mut events = Vec::new();
        for piece in pieces {
            reader.feed(piece, &mut events).unwrap();
        }
        events.extend(reader.end());
        events
    }

    #[track_caller]
    fn check(text: &str, expected: &[(&str, &str)]) {
        let events = read(&[text.as_bytes()]);
        let found: Vec<_> = events
            .iter()
            .map(|event| (event.name.as_str(), event.data.as_str()))
            .collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn events_are_read_in_every_form_the_format_allows() {
        check("data: a\n\n", &[("", "a")]);
        check(
            "data:a\r\n\r\ndata: b\r\rdata:  c\n\n",
            &[("", "a"), ("", "b"), ("", " c")],
        );
        check("data: a\ndata: b\n\n", &[("", "a\nb")]);
        check("\u{feff}data: a\n\n", &[("", "a")]);
        check(
            ": ping\n\nid: 1\nretry: 5\nevent: error\ndata: a\n\n",
            &[("error", "a")],
        );
        check("event: nothing\n\ndata: a\n\n", &[("", "a")]);
        check("data\n\n", &[("", "")]);
        check("data: last", &[("", "last")]);
        check("data: last\n", &[("", "last")]);
    }

    #[test]
    fn what_is_no_event_stream_is_kept_to_be_shown() {
        let mut reader = SseReader::new(MAX_EVENT_BYTES);
        reader
            .feed(b"{\n  \"error\": \"no\"\n}", &mut Vec::new())
            .unwrap();
        assert_eq!(reader.end(), None);
        assert_eq!(reader.stray(), "{\n  \"error\": \"no\"\n}\n");
    }

    #[test]
    fn m5_nothing_grows_without_bound() {
        let mut reader = SseReader::new(100);
        let mut events = Vec::new();
        assert_eq!(reader.feed(&[b'x'; 101], &mut events), Err(TooLarge));

        let mut reader = SseReader::new(100);
        let lines: Result<(), TooLarge> =
            (0..100).try_for_each(|_| reader.feed(b"data: xxxx\n", &mut events));
        assert_eq!(lines, Err(TooLarge), "many lines of one event");

        let mut reader = SseReader::new(100);
        for _ in 0..MAX_STRAY_BYTES {
            reader.feed("é: stray\n".as_bytes(), &mut events).unwrap();
        }
        assert!(
            reader.stray().len() <= MAX_STRAY_BYTES,
            "{}",
            reader.stray().len()
        );
    }

    #[test]
    fn m5_what_is_kept_is_not_read_anew_for_each_line() {
        // Were the white space it begins with read for each line, this would take hours.
        let mut reader = SseReader::new(MAX_EVENT_BYTES);
        let mut events = Vec::new();
        let blank = " ".repeat(MAX_EVENT_BYTES - 1);
        reader.feed(blank.as_bytes(), &mut events).unwrap();
        reader.feed(b"{", &mut events).unwrap();
        let lines = "\nx".repeat(1024 * 1024);
        reader.feed(lines.as_bytes(), &mut events).unwrap();
        assert_eq!(reader.stray().len(), MAX_EVENT_BYTES);
    }

    proptest! {
        #[test]
        fn however_the_bytes_are_cut_the_events_are_the_same(
            lines in prop::collection::vec((r"(data: |data:|event: |: |)[a-zé\u{1f600} ]{0,6}", prop_oneof!["\n", "\r\n", "\r", "\n\n"]), 0..20),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        ) {
            let text: String = lines.iter().flat_map(|(line, end)| [line.as_str(), end.as_str()]).collect();
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]).collect();
            prop_assert_eq!(read(&pieces), read(&[bytes]));
        }
    }
}
