//! How far a value reaches that stands behind a credential's name in a text. Rather too far than not far enough: half a
//! password is one.

use std::ops::Range;

use super::{
    MARK,
    form::{pem_end, run, run_end},
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
    /// `name%3Dvalue`: a query, or JSON, that is part of another.
    Encoded,
    /// No sign but words, a table or a call: `password is value`, `| password | value |`, `Password("value")`.
    Said,
}

/// A quote that opened before a name.
#[derive(Clone, Copy)]
pub(super) struct Quote {
    pub(super) sign: u8,
    /// How many backslashes stand before it.
    pub(super) level: usize,
}

impl Quote {
    /// The one that a text ends with.
    pub(super) fn at_end(bytes: &[u8]) -> Option<Self> {
        let (sign, before) = bytes.split_last()?;
        is_quote(*sign).then(|| Self {
            sign: *sign,
            level: trailing_slashes(before),
        })
    }
}

/// How many backslashes each quote of three has at most.
const MAX_LEVEL: usize = 63;

/// The value that begins at `at`: nothing where there is none, a mark where it was taken out before.
///
/// `line` says that it reaches to the end of its line, or to `quote`, in which it stands together with its name.
pub(super) fn value_at(
    text: &str,
    at: usize,
    sign: Sign,
    line: bool,
    quote: Option<Quote>,
) -> Range<usize> {
    let bytes = text.as_bytes();
    let at = behind_type(bytes, at);
    // It stands with its name in a quote that ends here: `"Password: "`. Three open a text of their own.
    let closes = |quote: u8| match bytes[at..] {
        [one, two, three, ..] if [one, two, three] == [quote; 3] => false,
        [one, behind, ..] => one == quote && ends_quote(behind),
        [one] => one == quote,
        [] => false,
    };
    if quote.is_some_and(|quote| closes(quote.sign)) {
        return at..at;
    }
    // The quote that ends `"Enter password:"` stands right behind the sign, and something ends behind it.
    if sign == Sign::Colon
        && matches!(bytes[..at], [.., before, b':'] if !is_quote(before))
        && matches!(bytes[at..], [b, b',' | b'}' | b']' | b')' | b';', ..] if is_quote(b))
    {
        return at..at;
    }
    if let Some(inner) = quoted(bytes, at) {
        return inner;
    }
    if let Some(end) = block_end(text, at).filter(|_| sign == Sign::Colon) {
        return at..end;
    }
    // Behind a mark the escape of a line break is one, and what closes closes; in a value both may be part of it.
    if let Some(behind) = text[at..].strip_prefix(MARK) {
        let escape = behind.trim_start_matches('\\');
        let line_break = escape.len() < behind.len() && escape.starts_with(['n', 'r']);
        if line_break || line && behind.bytes().next().is_some_and(is_closer) {
            return at..at + MARK.len();
        }
    }
    match (sign, line) {
        (Sign::Tag, _) => at..run_end(bytes, at, |b| b != b'<'),
        (Sign::Encoded, _) => {
            at..run_end(bytes, at, |b| {
                b.is_ascii_graphic() && !is_quote(b) && !matches!(b, b'&' | b'%')
            })
        }
        (_, true) if text[at..].starts_with(MARK) || !text[at..].starts_with(['[', '{']) => {
            at..line_end(text, at, quote)
        }
        // Brackets stay, for a line to go on behind them when it is read again.
        (_, true) => within_brackets(text, at..word_end(text, at, sign)),
        (_, false) => at..word_end(text, at, sign),
    }
}

/// What stands in the brackets that a value is in, where they close.
fn within_brackets(text: &str, value: Range<usize>) -> Range<usize> {
    match text.as_bytes()[value.clone()] {
        [b'[', .., b']'] | [b'{', .., b'}'] => value.start + 1..value.end - 1,
        _ => value,
    }
}

/// Where the value begins behind the type that PHP shows before it: `string(7) "..."`.
fn behind_type(bytes: &[u8], at: usize) -> usize {
    let length = |b: u8| b.is_ascii_digit() || matches!(b, b'(' | b')' | b' ');
    match bytes[at..].strip_prefix(b"string") {
        Some(rest) if run(rest, length) < 32 => {
            let quote = at + "string".len() + run(rest, length);
            if bytes.get(quote).is_some_and(|b| is_quote(*b)) {
                quote
            } else {
                at
            }
        }
        Some(_) | None => at,
    }
}

/// The end of a block of YAML (`|`, `>-`) that begins at `at`: all lines that are indented more than the one it stands in.
fn block_end(text: &str, at: usize) -> Option<usize> {
    let sign = text[at..].strip_prefix(['|', '>'])?;
    let kind = run(sign.as_bytes(), |b| matches!(b, b'+' | b'-' | b'1'..=b'9'));
    let mut end = at + 1 + kind;
    let rest = &text[end..];
    // A line break, or the escape of one.
    let level = run(rest.as_bytes(), |b| b == b'\\');
    let line_break = match rest.as_bytes()[level..] {
        [b'n', ..] if level > 0 => &rest[..=level],
        [b'\n', ..] if level == 0 => "\n",
        [b'\r', b'\n', ..] if level == 0 => "\r\n",
        _ => return None,
    };
    let indent = |line: &str| run(line.as_bytes(), |b| b == b' ');
    let own = indent(text[..at].rsplit(line_break).next().unwrap_or_default());
    let mut block = None;
    for line in rest.split(line_break).skip(1) {
        let blank = line.trim().is_empty();
        if !blank && indent(line) <= own {
            break;
        }
        end += line_break.len() + line.len();
        if !blank {
            block = Some(end);
        }
    }
    block
}

/// Values that give nothing away.
pub(super) fn is_nothing(value: &str) -> bool {
    // What closes around them may stand in the middle of a word: `f(password=None):`, `{"token": null}.`
    let closes = |rest: &str| {
        rest.bytes()
            .all(|b| matches!(b, b')' | b']' | b'}' | b':' | b'.' | b','))
    };
    value.bytes().all(|b| b == b'*')
        || [
            "null",
            "none",
            "nil",
            "undefined",
            "true",
            "false",
            "yes",
            "no",
            "on",
            "off",
            "enabled",
            "disabled",
            "required",
            "optional",
            "missing",
            "unset",
            // Which of them a browser sends along, and what a job may do with one.
            "include",
            "omit",
            "same-origin",
            "read",
            "write",
            "{}",
            "[]",
        ]
        .iter()
        .any(|word| {
            let parts = value.split_at_checked(word.len());
            parts.is_some_and(|(start, rest)| start.eq_ignore_ascii_case(word) && closes(rest))
        })
}

/// Whether a text is as likely a name as a value, where both stand in a list: `user_name`, `userName`, `USER_NAME`.
pub(super) fn is_field_name(text: &str) -> bool {
    let is_variable = |b: u8| b.is_ascii_uppercase() || b == b'_';
    if text.contains('_') && text.bytes().all(is_variable) {
        return true;
    }
    let mut capitals = text.bytes().filter(u8::is_ascii_uppercase);
    let camel = text.starts_with(|c: char| c.is_ascii_lowercase())
        && capitals.by_ref().take(3).count() < 3
        && text
            .split(|c: char| c.is_ascii_uppercase())
            .all(|word| !word.is_empty());
    let is_letter = |b: u8| b.is_ascii_lowercase() || b == b'_' || camel && b.is_ascii_uppercase();
    text.bytes().all(is_letter)
}

/// What stands in the quotes that open at `at`, where they do. The quotes may be escaped, as in JSON inside JSON; where they
/// don't close, it is all the rest.
fn quoted(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let open = run_end(bytes, at, |b| b == b'\\');
    let quote = *bytes.get(open).filter(|b| is_quote(**b))?;
    // Three open a text of several lines, and three close it; two are an empty one.
    let three = bytes[at..=open].repeat(3);
    if open - at <= MAX_LEVEL && bytes[at..].starts_with(&three) {
        let start = at + three.len();
        let length = bytes[start..]
            .windows(three.len())
            .position(|seen| seen == three);
        return Some(start..length.map_or(bytes.len(), |length| start + length));
    }
    Some(open + 1..closing(bytes, open + 1, quote, open - at).start)
}

/// The closing quote, with its backslashes, of one that was opened behind `level` backslashes.
pub(super) fn closing(bytes: &[u8], from: usize, quote: u8, level: usize) -> Range<usize> {
    (from..bytes.len())
        .filter(|at| bytes[*at] == quote)
        .find_map(|at| {
            let slashes = trailing_slashes(&bytes[from..at]);
            // Each level of quoting doubles the backslashes: what is left over tells a closing quote from one inside. Fewer
            // than at the opening close a quote further out.
            let closes = slashes <= level || slashes % (2 * (level + 1)) == level;
            // The value may itself end in (escaped) backslashes.
            closes.then(|| at - slashes.min(level)..at + 1)
        })
        .unwrap_or(bytes.len()..bytes.len())
}

fn trailing_slashes(before: &[u8]) -> usize {
    before.iter().rev().take_while(|b| **b == b'\\').count()
}

/// The end of a value without quotes: the first place from which `behind` does not say where it goes on. Marks and PEM blocks
/// are passed over whole.
fn bare_end(text: &str, start: usize, mut behind: impl FnMut(usize) -> Option<usize>) -> usize {
    let mut next = start;
    for at in start..text.len() {
        if at >= next {
            let mark = text.as_bytes()[at..].starts_with(MARK.as_bytes());
            let whole = if mark {
                Some(at + MARK.len())
            } else {
                pem_end(text, at)
            };
            let Some(behind) = whole.or_else(|| behind(at)) else {
                return at;
            };
            next = behind;
        }
    }
    text.len()
}

fn line_end(text: &str, start: usize, quote: Option<Quote>) -> usize {
    bare_end(text, start, |at| {
        let rest = &text.as_bytes()[at..];
        // The backslashes of an escaped line break or quote belong to it.
        let (slashes, rest) = rest.split_at(run(rest, |b| b == b'\\'));
        match (slashes, rest) {
            (_, [b'\n' | b'\r', ..]) | ([_, ..], [b'n' | b'r', ..]) => None,
            // One behind more backslashes than it was opened with stands within.
            (slashes, [b, behind @ ..])
                if quote.is_some_and(|quote| quote.sign == *b && slashes.len() <= quote.level)
                    && behind.first().is_none_or(|b| ends_quote(*b)) =>
            {
                None
            }
            _ => Some(text.len() - rest.len()),
        }
    })
}

/// White space or punctuation ends a word, unless in brackets or in the middle of it.
fn word_end(text: &str, start: usize, sign: Sign) -> usize {
    let bytes = text.as_bytes();
    let mut depth = 0_usize;
    bare_end(text, start, |at| {
        let before = &bytes[start..at];
        match bytes[at] {
            b'(' | b'[' | b'{' => depth += 1,
            b if depth > 0 => match b {
                b')' | b']' | b'}' => depth -= 1,
                b if is_quote(b) => {
                    return Some(closing(bytes, at + 1, b, trailing_slashes(before)).end);
                }
                _ => {}
            },
            b'<' | b'>' | b';' => return None,
            b'&' if sign == Sign::Equals => return None,
            // `Password { inner: ..` as Rust prints a struct.
            b' ' if is_type_name(before) && matches!(bytes[at..], [_, b'{' | b'(', ..]) => {}
            b if b.is_ascii_whitespace() => return None,
            // `b"..."`, `r"..."`: the letters before the quote are part of it.
            b if is_quote(b) && is_string_prefix(before) => {
                return Some(closing(bytes, at + 1, b, 0).end);
            }
            b if is_closer(b) => {
                let behind = run_end(bytes, at, is_closer);
                return match bytes[behind..] {
                    [] | [b';' | b'<' | b'>' | b'&', ..] => None,
                    [next, ..] => (!next.is_ascii_whitespace()).then_some(behind),
                };
            }
            _ => {}
        }
        Some(at)
    })
}

/// What closes a quote, a bracket or a clause, unless the word goes on behind it.
fn is_closer(b: u8) -> bool {
    is_quote(b) || matches!(b, b')' | b']' | b'}' | b',' | b'\\')
}

/// What stands behind a quote that closes, rather than opens within another.
fn ends_quote(behind: u8) -> bool {
    behind.is_ascii_whitespace()
        || is_closer(behind)
        || matches!(behind, b';' | b'.' | b':' | b'<' | b'>' | b'/')
}

pub(super) fn is_quote(b: u8) -> bool {
    matches!(b, b'"' | b'\'' | b'`')
}

fn is_string_prefix(before: &[u8]) -> bool {
    (1..=2).contains(&before.len())
        && before
            .iter()
            .all(|b| b.is_ascii_alphabetic() || matches!(b, b'&' | b'#'))
}

fn is_type_name(word: &[u8]) -> bool {
    word.first().is_some_and(u8::is_ascii_uppercase)
        && word
            .iter()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b':'))
}
