//! Texts with something in them that hides credentials from a look at the text alone: JSON behind a few words, whose strings have
//! escapes of their own; quotes written another way; colors around names.

use std::borrow::Cow;

use serde_json::Value;

use super::{Redactor, json::MAX_DEPTH};

/// How many values of JSON are looked for in one text: each place that might begin one is read once to its end.
const MAX_VALUES: usize = 16;

/// How .NET and HTML write a quotation mark.
const QUOTES: [&str; 4] = ["\\u0022", "&quot;", "&#34;", "&#x22;"];

/// The JSON objects in a text.
pub(super) struct Objects {
    /// How many there are.
    pub(super) count: usize,
    /// The text with them redacted as such, where there was anything to redact. An object that was changed is written anew.
    pub(super) clean: Option<String>,
}

/// Reads the JSON objects in a text.
pub(super) fn objects(redactor: &Redactor, text: &str) -> Objects {
    let mut clean = String::new();
    let (mut copied, mut from, mut count) = (0, 0, 0);
    for _ in 0..MAX_VALUES {
        let Some(at) = text[from..].find("{\"").map(|at| from + at) else {
            break;
        };
        let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>();
        let Some(Ok(before)) = values.next() else {
            from = at + 1;
            continue;
        };
        from = at + values.byte_offset();
        count += 1;
        let after = redactor.value(&before, Some(MAX_DEPTH));
        if after != before {
            clean.push_str(&text[copied..at]);
            clean.push_str(&after.to_string());
            copied = from;
        }
    }
    Objects {
        count,
        clean: (copied > 0).then(|| clean + &text[copied..]),
    }
}

/// The text in plain writing: without colors, and with plain quotation marks. `None` where it is plain.
pub(super) fn plain(text: &str) -> Option<Cow<'_, str>> {
    let mut plain = Cow::Borrowed(text);
    if text.contains("\u{1b}[") {
        plain = without_colors(text).into();
    }
    for quote in QUOTES {
        if plain.contains(quote) {
            plain = plain.replace(quote, "\"").into();
        }
    }
    matches!(plain, Cow::Owned(_)).then_some(plain)
}

/// Without what sets a terminal's colors: ESC, `[`, numbers, `m` (ECMA-48, SGR).
fn without_colors(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for (place, piece) in text.split("\u{1b}[").enumerate() {
        let end = piece.find(|c: char| !(c.is_ascii_digit() || c == ';'));
        match end.filter(|end| place > 0 && piece[*end..].starts_with('m')) {
            Some(end) => plain.push_str(&piece[end + 1..]),
            None => {
                if place > 0 {
                    plain.push_str("\u{1b}[");
                }
                plain.push_str(piece);
            }
        }
    }
    plain
}
