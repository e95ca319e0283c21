//! How far a value reaches that stands behind a credential's name in a text. Rather too far than not far enough: half a
//! password is one.

use std::ops::Range;

use super::{
    MARK,
    form::{pem_end, run_end},
};

/// What a value stands behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    /// `name=value`: in a query, `&` ends it.
    Equals,
    /// `name: value`.
    Colon,
    /// `<name>value</name>`.
    Tag,
    /// `--name value`.
    Flag,
    /// `("name", "value")`: unless it is a list of names.
    Comma,
}

/// The value that begins at `at`: nothing where there is none, a mark where it was taken out before.
///
/// `line` says that it reaches to the end of its line, or to `quote`, in which it stands together with its name.
pub(super) fn value_at(
    text: &str,
    at: usize,
    sign: Sign,
    line: bool,
    quote: Option<u8>,
) -> Range<usize> {
    let bytes = text.as_bytes();
    if let Some(inner) = quoted(bytes, at) {
        return inner;
    }
    match (sign, line) {
        (Sign::Tag, _) => at..run_end(bytes, at, |b| b != b'<'),
        (_, true) => at..line_end(text, at, quote),
        (_, false) => at..word_end(text, at, sign),
    }
}

/// Values that give nothing away.
pub(super) fn is_nothing(value: &str) -> bool {
    [
        "null",
        "none",
        "nil",
        "undefined",
        "true",
        "false",
        "{}",
        "[]",
    ]
    .iter()
    .any(|word| value.eq_ignore_ascii_case(word))
}

/// Whether a text is as likely a name as a value, where both stand in a list.
pub(super) fn is_field_name(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
}

/// What stands in the quotes that open at `at`, where they do. The quotes may be escaped, as in JSON inside JSON; where they
/// don't close, it is all the rest.
fn quoted(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let open = run_end(bytes, at, |b| b == b'\\');
    let quote = *bytes.get(open).filter(|b| is_quote(**b))?;
    Some(open + 1..closing(bytes, open + 1, quote, open - at).start)
}

/// The closing quote, with its backslashes, of one that was opened behind `level` backslashes.
fn closing(bytes: &[u8], from: usize, quote: u8, level: usize) -> Range<usize> {
    let mut at = from;
    while at < bytes.len() {
        let end = run_end(bytes, at, |b| b == b'\\');
        let slashes = end - at;
        // Each level of quoting doubles the backslashes: what is left over tells a closing quote from one inside. Fewer than
        // at the opening close a quote further out.
        if bytes.get(end) == Some(&quote)
            && (slashes < level || slashes % (2 * (level + 1)) == level)
        {
            // The value may itself end in (escaped) backslashes.
            return end - slashes.min(level)..end + 1;
        }
        at = end + 1;
    }
    bytes.len()..bytes.len()
}

fn line_end(text: &str, at: usize, quote: Option<u8>) -> usize {
    let bytes = text.as_bytes();
    let mut end = at;
    while let Some(b) = bytes.get(end) {
        let escaped = *b == b'\\' && matches!(bytes.get(end + 1), Some(b'n' | b'r'));
        match pem_end(text, end) {
            Some(behind) => end = behind,
            None if escaped || matches!(b, b'\n' | b'\r') || Some(*b) == quote => break,
            None => end += 1,
        }
    }
    // The backslashes of an escaped quote belong to it.
    if bytes.get(end).is_some_and(|b| Some(*b) == quote) {
        at + trim_slashes(&bytes[at..end])
    } else {
        end
    }
}

fn trim_slashes(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .rposition(|b| *b != b'\\')
        .map_or(0, |last| last + 1)
}

/// The end of a value without quotes: white space or punctuation ends it, unless in brackets or in the middle of a word.
fn word_end(text: &str, start: usize, sign: Sign) -> usize {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (start, 0_usize);
    while let Some(&b) = bytes.get(at) {
        if bytes[at..].starts_with(MARK.as_bytes()) {
            at += MARK.len();
            continue;
        }
        if let Some(behind) = pem_end(text, at) {
            at = behind;
            continue;
        }
        match b {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' if depth > 0 => depth -= 1,
            _ if depth > 0 && is_quote(b) => {
                let slashes = bytes[start..at]
                    .iter()
                    .rev()
                    .take_while(|b| **b == b'\\')
                    .count();
                at = closing(bytes, at + 1, b, slashes).end;
                continue;
            }
            _ if depth > 0 => {}
            b'<' | b'>' | b';' => return at,
            b'&' if sign == Sign::Equals => return at,
            _ if b.is_ascii_whitespace() => {
                // `Password { inner: ..` as Rust prints a struct.
                let open = bytes
                    .get(at + 1)
                    .is_some_and(|next| matches!(next, b'{' | b'('));
                if !(b == b' ' && open && is_type_name(&bytes[start..at])) {
                    return at;
                }
            }
            // `b"..."`, `r"..."`: the letters before the quote are part of it.
            _ if is_quote(b) && is_string_prefix(&bytes[start..at]) => {
                at = closing(bytes, at + 1, b, 0).end;
                continue;
            }
            _ if is_closer(b) => {
                let behind = run_end(bytes, at, is_closer);
                match bytes.get(behind) {
                    None | Some(b';' | b'<' | b'>' | b'&') => return at,
                    Some(next) if next.is_ascii_whitespace() => return at,
                    Some(_) => at = behind - 1,
                }
            }
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// What closes a quote, a bracket or a clause, unless the word goes on behind it.
fn is_closer(b: u8) -> bool {
    is_quote(b) || matches!(b, b')' | b']' | b'}' | b',' | b'\\')
}

pub(super) fn is_quote(b: u8) -> bool {
    matches!(b, b'"' | b'\'' | b'`')
}

fn is_string_prefix(before: &[u8]) -> bool {
    (1..=2).contains(&before.len())
        && before
            .iter()
            .all(|b| b.is_ascii_alphabetic() || *b == b'&' || *b == b'#')
}

fn is_type_name(word: &[u8]) -> bool {
    word.first().is_some_and(u8::is_ascii_uppercase)
        && word
            .iter()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b':'))
}
