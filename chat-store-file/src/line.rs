//! One line of a journal: an entry's text with a checksum as its last field. Nothing else is ever written to a journal.

use std::{borrow::Cow, sync::Arc};

use chat_core::{DecodeError, Entry};

/// The longest line that is written or read, in bytes. A journal with a longer one is damaged: nothing reads it into memory.
pub(crate) const MAX_LINE: usize = 64 << 20;

const BEFORE: &str = r#","crc":""#;
const AFTER: &str = r#""}"#;
const SEAL: usize = BEFORE.len() + 8 + AFTER.len();

/// The entry as its line, newline included: its text, to the byte, with `,"crc":"xxxxxxxx"` before the last brace. The checksum
/// is the CRC-32C of the text as it was before.
pub(crate) fn seal(entry: &Entry) -> Vec<u8> {
    let text = entry.encode();
    let text = one_line(&text);
    let crc = crc32c::crc32c(text.as_bytes());
    let open = text.strip_suffix('}').expect("an entry is a JSON object");
    // Joined, since `format!` would move a long text several times as it grows.
    [open, BEFORE, &format!("{crc:08x}"), AFTER, "\n"]
        .concat()
        .into_bytes()
}

/// In JSON a raw line break can only stand between tokens, where a space means the same.
fn one_line(text: &str) -> Cow<'_, str> {
    if memchr::memchr2(b'\n', b'\r', text.as_bytes()).is_some() {
        text.replace(['\n', '\r'], " ").into()
    } else {
        text.into()
    }
}

/// Why a whole line is no entry.
#[derive(Debug, PartialEq)]
pub(crate) enum Bad {
    /// A newer program wrote it.
    Newer { found: u32 },
    /// It is wrong, first at this byte of the line where one can say.
    Damaged { what: Arc<str>, at: usize },
}

/// The entry of a line, given without its newline.
pub(crate) fn unseal(line: &[u8]) -> Result<Entry, Bad> {
    let damaged = |what: &str, at| Bad::Damaged {
        what: what.into(),
        at,
    };
    if let Some(at) = memchr::memchr(0, line) {
        return Err(damaged("a hole of NUL bytes", at));
    }
    let text = std::str::from_utf8(line)
        .map_err(|error| damaged("not valid UTF-8", error.valid_up_to()))?;
    let Some((open, crc)) = split_seal(text) else {
        // What a newer program writes may have no checksum, or another one.
        return Err(match Entry::decode(text) {
            Err(DecodeError::NewerFormat { found }) => Bad::Newer { found },
            Ok(_) => damaged("it has no checksum", 0),
            Err(DecodeError::Invalid(_)) => damaged("it is not a journal entry", 0),
        });
    };
    let entry = [open, "}"].concat();
    if parse_crc(crc) != Some(crc32c::crc32c(entry.as_bytes())) {
        return Err(damaged("checksum differs", 0));
    }
    Entry::decode(&entry).map_err(|error| match error {
        DecodeError::NewerFormat { found } => Bad::Newer { found },
        DecodeError::Invalid(what) => Bad::Damaged {
            what: format!("it is not a journal entry: {what}").into(),
            at: 0,
        },
    })
}

/// The text before the checksum (its brace left open), and the checksum.
fn split_seal(text: &str) -> Option<(&str, &str)> {
    let at = text.len().checked_sub(SEAL)?;
    let (open, seal) = (text.get(..at)?, text.get(at..)?);
    Some((open, seal.strip_prefix(BEFORE)?.strip_suffix(AFTER)?))
}

/// Takes small digits only: one way to write a checksum, so that no flipped bit passes.
fn parse_crc(text: &str) -> Option<u32> {
    text.bytes().try_fold(0, |crc, digit| {
        let value = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        Some(crc << 4 | u32::from(value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{"v":1,"seq":0,"id":"e0","at":"2026-01-31T09:30:00.000Z","type":"session.created","mood":1.50}"#;

    #[test]
    fn j2_a_line_gives_back_the_text_to_the_byte() {
        let entry = Entry::decode(TEXT).unwrap();
        let line = seal(&entry);
        assert_eq!(line.last(), Some(&b'\n'));
        let read = unseal(&line[..line.len() - 1]).unwrap();
        assert_eq!(&*read.encode(), TEXT);
        // A line of a journal, taken for an entry's text, keeps its own checksum as a field like any other.
        let copied = Entry::decode(std::str::from_utf8(&line).unwrap()).unwrap();
        let line = seal(&copied);
        assert_eq!(
            unseal(&line[..line.len() - 1]).unwrap().encode(),
            copied.encode()
        );
    }

    #[test]
    fn a_line_is_json_that_a_person_can_read() {
        let line = seal(&Entry::decode(TEXT).unwrap());
        let line = std::str::from_utf8(&line).unwrap();
        assert!(
            line.starts_with(r#"{"v":1,"seq":0,"#) && line.ends_with("\"}\n"),
            "{line}"
        );
        assert!(Entry::decode(line).is_ok(), "the line itself is JSON");
    }

    #[test]
    fn a_line_is_one_line_whatever_white_space_the_text_has() {
        let entry = Entry::decode(&TEXT.replace(r#","seq""#, ",\r\n \"seq\"")).unwrap();
        let line = seal(&entry);
        assert_eq!(line.iter().filter(|b| **b == b'\n').count(), 1);
        assert!(unseal(&line[..line.len() - 1]).unwrap().is_same(&entry));
    }

    #[test]
    fn s3_what_is_wrong_is_named() {
        let line = seal(&Entry::decode(TEXT).unwrap());
        let line = &line[..line.len() - 1];
        let what = |line: &[u8]| match unseal(line) {
            Err(Bad::Damaged { what, .. }) => what.to_string(),
            other => panic!("{other:?}"),
        };
        let with = |at: usize, byte: u8| [&line[..at], &[byte], &line[at + 1..]].concat();
        assert_eq!(what(b""), "it is not a journal entry");
        assert_eq!(what(TEXT.as_bytes()), "it has no checksum");
        assert_eq!(what(&with(9, b'9')), "checksum differs");
        assert_eq!(what(&with(9, 0)), "a hole of NUL bytes");
        assert_eq!(what(&with(9, 0xff)), "not valid UTF-8");
        let crc = line.len() - AFTER.len() - 8..line.len() - AFTER.len();
        for at in crc {
            assert_eq!(what(&with(at, line[at] ^ 0x20)), "checksum differs", "{at}");
            assert_eq!(what(&with(at, b'g')), "checksum differs", "{at}");
        }
        assert_eq!(
            what(&[&line[..40], line].concat()),
            "checksum differs",
            "C20: a glued record"
        );
    }

    #[test]
    fn j2_a_newer_format_is_told_from_damage() {
        for text in [r#"{"v":2,"anything":[]}"#, r#"{"v":7,"crc":"none"}"#] {
            assert!(
                matches!(unseal(text.as_bytes()), Err(Bad::Newer { .. })),
                "{text}"
            );
        }
    }
}
