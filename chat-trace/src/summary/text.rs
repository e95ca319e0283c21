//! The texts of a value: how much of one is looked at, and what may be shown of it. Redacts before it cuts, and once more what
//! joining white space made of it.

use std::borrow::Cow;

use chat_core::{Redactor, one_line};
use serde::de::IgnoredAny;
use serde_json::Value;
use unicode_segmentation::UnicodeSegmentation;

use super::{
    quote::{clings_behind, clings_in_front},
    size::Size,
};

/// How many bytes of texts one summary looks at.
pub(crate) const WINDOW: usize = 64 * 1024;

/// How much of the window one text may use up for being JSON: others want to be seen as well.
const JSON_WINDOW: usize = WINDOW / 4 * 3;

/// How much of a longer text tells whether it is JSON.
const GLANCE: usize = 1024;

/// How many bytes a character is taken for when it is decided how much of a text is looked at: an emoji joined of several, or
/// white space of which one is left.
const BYTES_PER_CHAR: usize = 8;

/// How far a credential reaches, at most, before its form tells that it is one. The redactor looks ahead up to 512 bytes.
const UNKNOWN: usize = 1024;

/// What stands where the redactor took something out of a text.
pub(super) const MARK: &str = "[redacted]";

/// What a text holds.
pub(super) enum Held {
    Json(Value),
    /// More of it than is looked at: what lies under which key can't be told.
    LongJson,
    Words,
}

/// A text as it may be shown: redacted, on one line, harmless.
#[derive(Debug)]
pub(super) struct Text {
    /// As much as was asked for.
    pub(super) shown: String,
    /// Whether that is all.
    pub(super) whole: bool,
    /// How long the text is.
    pub(super) size: Size,
}

impl Text {
    /// Its length, for where it is cut.
    pub(super) fn suffix(&self) -> String {
        format!(" ({})", self.size)
    }
}

/// Reads texts as long as the window lasts.
pub(super) struct Reader<'a> {
    pub(super) redactor: &'a Redactor,
    /// How many bytes may still be looked at.
    pub(super) left: usize,
}

impl Reader<'_> {
    /// Looks into a text of `bytes` bytes that begins with `head`.
    pub(super) fn held(&mut self, head: &str, bytes: usize) -> Held {
        let begins_json = |seen: &str| seen.trim_start().starts_with(['{', '[']);
        // White space in front is looked through, but only as far as there is a window.
        if !begins_json(&head[..head.floor_char_boundary(self.left)]) {
            return Held::Words;
        }
        if head.len() == bytes && bytes <= self.left.min(JSON_WINDOW) {
            self.left -= bytes;
            return serde_json::from_str(head).map_or(Held::Words, Held::Json);
        }
        let glance = self.look(head.trim_start(), GLANCE);
        // Right as far as it goes. A log whose lines begin with `[12:30]` is not.
        match serde_json::from_str::<IgnoredAny>(glance) {
            Err(error) if error.is_eof() => Held::LongJson,
            Ok(_) | Err(_) => Held::Words,
        }
    }

    /// What may be shown of a text of `bytes` bytes that begins with `head`: at most `chars` characters.
    pub(super) fn text(&mut self, head: &str, bytes: usize, chars: usize) -> Text {
        // What stands this close in front of a cut can be the beginning of a credential that nobody knows for one any more.
        // Twice that, since a mark can be longer than what it stands for.
        let longest = self.redactor.longest_secret();
        let margin = longest.saturating_add(UNKNOWN).saturating_mul(2);
        // The same of the joined line: a known secret may be torn by more white space than that.
        let torn = longest.saturating_mul(2);
        let wanted = chars
            .saturating_mul(BYTES_PER_CHAR)
            .saturating_add(margin)
            .saturating_add(torn);
        let seen = self.look(head, wanted);
        let all = seen.len() == bytes;
        let plain = without_colors(seen);
        let clean = self.redactor.text(&plain);
        let but_last = |text: &str, bytes: usize| {
            if all {
                text.len()
            } else {
                text.floor_char_boundary(text.len().saturating_sub(bytes))
            }
        };
        let line = self.joined(&clean[..but_last(&clean, margin)]);
        let line = one_line(&line[..but_last(&line, torn)]);
        let (shown, whole) = first(trimmed(&line), chars, all);
        Text {
            shown: shown.to_owned(),
            whole,
            size: if all {
                Size::Chars(plain.chars().count())
            } else {
                Size::Bytes(bytes)
            },
        }
    }

    /// A redacted text with each run of white space as one space, redacted again: a known secret may be what it was only with
    /// other white space. Between the marks only, since a credential that reached to the end of its line would reach further now.
    fn joined<'t>(&self, clean: &'t str) -> Cow<'t, str> {
        let line = joined(clean);
        match line {
            Cow::Owned(line) if self.redactor.longest_secret() > 0 => {
                let pieces = line.split(MARK).map(|piece| self.redactor.text(piece));
                pieces.collect::<Vec<_>>().join(MARK).into()
            }
            line => line,
        }
    }

    /// The beginning of a text, as far as the window reaches, but not more than so many bytes.
    fn look<'t>(&mut self, text: &'t str, bytes: usize) -> &'t str {
        let seen = &text[..text.floor_char_boundary(bytes.min(self.left))];
        self.left -= seen.len();
        seen
    }
}

/// Takes whole clusters from the beginning of a text, and says whether they are all there is. A text that is not `complete` may
/// end within a cluster: its last is left out.
fn first(text: &str, chars: usize, complete: bool) -> (&str, bool) {
    if complete && text.len() <= chars {
        return (text, true);
    }
    let (mut end, mut room) = (0, chars);
    let mut clusters = text.graphemes(true).peekable();
    while let Some(cluster) = clusters.next() {
        let is_cut = !complete && clusters.peek().is_none();
        match room.checked_sub(cluster.chars().count()) {
            Some(left) if !is_cut => (room, end) = (left, end + cluster.len()),
            _ => return (&text[..end], false),
        }
    }
    (&text[..end], complete)
}

/// As many whole clusters as there is room for, counted in characters; white space before the cut is left out, and so is what
/// would form a cluster with what stands at the cut.
pub(super) fn head(text: &str, chars: usize) -> &str {
    let (mut head, _) = first(text, chars, true);
    while clings_behind(head) {
        let mut clusters = head.graphemes(true);
        clusters.next_back();
        head = clusters.as_str();
    }
    trimmed(head)
}

/// The same from the end of a text.
pub(super) fn tail(text: &str, chars: usize) -> &str {
    let (mut start, mut room) = (text.len(), chars);
    for cluster in text.graphemes(true).rev() {
        let Some(left) = room.checked_sub(cluster.chars().count()) else {
            break;
        };
        (room, start) = (left, start - cluster.len());
    }
    let mut tail = &text[start..];
    while clings_in_front(tail) {
        let mut clusters = tail.graphemes(true);
        clusters.next();
        tail = clusters.as_str();
    }
    trimmed(tail)
}

/// Whether a text is the path of a file.
pub(super) fn is_path(text: &str) -> bool {
    text.contains('/')
        && !text.contains(|c: char| c.is_whitespace() || matches!(c, ':' | '?' | '"'))
}

/// Without the space in front and behind. One that a mark stands on is none.
fn trimmed(text: &str) -> &str {
    let mut clusters = text.graphemes(true);
    if text.starts_with(' ') && clusters.clone().next() == Some(" ") {
        clusters.next();
    }
    let text = clusters.as_str();
    if text.ends_with(' ') && clusters.next_back() == Some(" ") {
        return clusters.as_str();
    }
    text
}

/// Each run of white space as one space.
fn joined(text: &str) -> Cow<'_, str> {
    let is_fine = |(at, space): (usize, &str)| {
        space == " " && !text[at + 1..].starts_with(char::is_whitespace)
    };
    if text.match_indices(char::is_whitespace).all(is_fine) {
        return text.into();
    }
    let mut line = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(char::is_whitespace) {
        line.push_str(&rest[..at]);
        line.push(' ');
        rest = rest[at..].trim_start();
    }
    line.push_str(rest);
    line.into()
}

/// Without what sets a terminal's colors and moves its cursor: `ESC [ ... m`. Other commands become visible later.
fn without_colors(text: &str) -> Cow<'_, str> {
    const BEGIN: &str = "\u{1b}[";
    if !text.contains(BEGIN) {
        return text.into();
    }
    let mut pieces = text.split(BEGIN);
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let end = piece.find(|c| !matches!(c, ' '..='?'));
        match end.map(|end| piece.split_at(end)) {
            Some((_, behind)) if behind.starts_with(|c| matches!(c, '@'..='~')) => {
                plain.push_str(&behind[1..]);
            }
            // Cut off, or none.
            _ => {
                plain.push_str(BEGIN);
                plain.push_str(piece);
            }
        }
    }
    plain.into()
}
