//! Redaction: the one module that takes credentials out of what is recorded or shown (laws J3 and P1).
//!
//! A credential is told by the name it stands under ([`name`]), by its own form ([`form`]), or because the host said what it
//! is. Where a text leaves it open, it is taken out: a hidden word costs less than a shown key. This module refuses to guess
//! at anything else, such as names of people or addresses.

mod form;
mod name;
mod scan;
#[cfg(test)]
mod tests;
mod value;

use std::{borrow::Cow, fmt, ops::Range};

use serde_json::{Map, Value};

/// What stands where a credential was.
const MARK: &str = "[redacted]";

/// The shortest secret that is taken out wherever it stands: a shorter one would take ordinary words with it.
const MIN_SECRET_BYTES: usize = 6;

/// How deep JSON is looked into; what lies deeper is taken out whole.
const MAX_DEPTH: usize = 128;

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

    /// The value without credentials: what stands under a credential's name at any depth, and what [`Redactor::text`] finds in
    /// its strings, JSON inside a string included.
    #[must_use]
    pub fn json(&self, value: &Value) -> Value {
        self.value(value, Some(MAX_DEPTH))
    }

    /// Looks into a value, and as many levels deeper as there are left.
    fn value(&self, value: &Value, levels: Option<usize>) -> Value {
        let Some(levels) = levels else {
            return MARK.into();
        };
        let deeper = levels.checked_sub(1);
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
            Value::String(text) => self.string(text, deeper).into(),
            Value::Array(items) => match items.as_slice() {
                // A header as many clients list it: `["x-api-key", "..."]`. Not a list of two names.
                [Value::String(name), Value::String(held)]
                    if name::names_credential(name) && !value::is_field_name(held) =>
                {
                    Value::Array(vec![name.as_str().into(), MARK.into()])
                }
                items => items.iter().map(|item| self.value(item, deeper)).collect(),
            },
            Value::Object(fields) => Value::Object(self.fields(fields, deeper)),
        }
    }

    fn fields(&self, fields: &Map<String, Value>, levels: Option<usize>) -> Map<String, Value> {
        // A header as others list it: `{"name": "x-api-key", "value": "..."}`.
        let named = ["name", "key", "header"]
            .iter()
            .filter_map(|label| fields.get(*label)?.as_str())
            .any(name::names_credential);
        fields
            .iter()
            .map(|(key, value)| {
                let hide = name::names_credential(key) || named && key == "value";
                let value = if hide {
                    hidden(value)
                } else {
                    self.value(value, levels)
                };
                (self.text(key).into_owned(), value)
            })
            .collect()
    }

    fn string(&self, text: &str, levels: Option<usize>) -> String {
        let json = text.trim_start().starts_with(['{', '[']);
        let inner = if json {
            serde_json::from_str::<Value>(text).ok()
        } else {
            None
        };
        // Written anew only where something was taken out: numbers may lose digits on the way.
        let clean = inner.and_then(|before| {
            let after = self.value(&before, levels);
            (after != before).then(|| after.to_string())
        });
        self.text(clean.as_deref().unwrap_or(text)).into_owned()
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

/// What is shown of a value under a credential's name. Nothing, a yes or a no and an empty text give nothing away.
fn hidden(value: &Value) -> Value {
    match value {
        Value::Null | Value::Bool(_) => value.clone(),
        Value::String(text) if text.is_empty() => value.clone(),
        Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => MARK.into(),
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
