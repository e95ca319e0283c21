//! Redaction: the one module that takes credentials out of what is recorded or shown (laws J3 and P1).
//!
//! A credential is told by the name it stands under ([`name`]), by its own form ([`form`]), or because the host said what it
//! is. Where a text leaves it open, it is taken out: a hidden word costs less than a shown key. This module refuses to guess
//! at anything else, such as names of people or addresses.

mod form;
mod json;
mod name;
mod scan;
#[cfg(test)]
mod tests;
mod value;

use std::{borrow::Cow, fmt, ops::Range};

use serde_json::Value;

/// What stands where a credential was.
const MARK: &str = "[redacted]";

/// The shortest secret that is taken out wherever it stands: a shorter one would take ordinary words with it.
const MIN_SECRET_BYTES: usize = 6;

/// Takes credentials out of texts and JSON, and leaves `[redacted]` in their place. Redacting twice gives what redacting once
/// gave; the time it takes grows with the text, whatever the text is.
#[derive(Clone, Default)]
pub struct Redactor {
    /// As they are, and as JSON writes them.
    secrets: Vec<String>,
}

impl Redactor {
    /// Also takes out this very value, wherever it stands. One shorter than 6 bytes is not looked for, since it could be part
    /// of any word.
    #[must_use]
    pub fn with_secret(mut self, secret: impl AsRef<str>) -> Self {
        let secret = secret.as_ref().trim();
        if secret.len() >= MIN_SECRET_BYTES {
            let quoted = Value::from(secret).to_string();
            let escaped = &quoted[1..quoted.len() - 1];
            if escaped != secret {
                self.secrets.push(escaped.to_owned());
            }
            self.secrets.push(secret.to_owned());
        }
        self
    }

    /// The text without credentials: an error message, headers, a query, JSON as text.
    ///
    /// ```
    /// use chat_core::Redactor;
    /// let redactor = Redactor::default().with_secret("hunter2!");
    /// assert_eq!(redactor.text("login hunter2!: x-api-key: abc"), "login [redacted]: x-api-key: [redacted]");
    /// assert_eq!(redactor.text("max_tokens: 100"), "max_tokens: 100");
    /// ```
    #[must_use]
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match without(text, &self.known(text)) {
            Cow::Borrowed(text) => without(text, &scan::credentials(text)),
            Cow::Owned(text) => match without(&text, &scan::credentials(&text)) {
                Cow::Borrowed(_) => Cow::Owned(text),
                Cow::Owned(text) => Cow::Owned(text),
            },
        }
    }

    /// The length in bytes of the longest text that is looked for because of [`Redactor::with_secret`]: 0 without secrets.
    ///
    /// Who shows a part of a text must redact more than that part: a secret that is cut is not known any more. What reaches
    /// this far in front of a cut can be the beginning of one.
    #[must_use]
    pub fn longest_secret(&self) -> usize {
        self.secrets.iter().map(String::len).max().unwrap_or(0)
    }

    /// Where known secrets stand; those that overlap as one.
    fn known(&self, text: &str) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        for secret in &self.secrets {
            let mut start = 0;
            // Marks are walls: a secret that is a word of the mark's own must not be found in it.
            for piece in text.split(MARK) {
                found.extend(
                    piece
                        .match_indices(&**secret)
                        .map(|(at, _)| start + at..start + at + secret.len()),
                );
                start += piece.len() + MARK.len();
            }
        }
        found.sort_unstable_by_key(|range| range.start);
        found.dedup_by(|next, one| {
            let overlap = next.start < one.end;
            if overlap {
                one.end = one.end.max(next.end);
            }
            overlap
        });
        found
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor")
            .field("secrets", &self.secrets.len())
            .finish()
    }
}

/// The text with a mark in the place of each range; they are in order and don't overlap.
fn without<'a>(text: &'a str, ranges: &[Range<usize>]) -> Cow<'a, str> {
    if ranges.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut from = 0;
    for range in ranges {
        clean.push_str(&text[from..range.start]);
        clean.push_str(MARK);
        from = range.end;
    }
    clean.push_str(&text[from..]);
    Cow::Owned(clean)
}
