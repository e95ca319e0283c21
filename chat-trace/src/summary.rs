//! What a value says on one line: its shape first, then as much of what it holds as there is room for. Nothing here costs more
//! than the room and the window on its texts: a value of 10 MB is not walked.
//!
//! First a [`Draft`] takes from the value what could be shown at all, redacted piece by piece; then [`layout`] shares the room
//! out. What is cut was redacted before.

mod draft;
mod layout;
mod quote;
mod size;
#[cfg(test)]
mod tests;
mod text;

use chat_core::Redactor;
use serde_json::Value;

pub(crate) use self::{size::Size, text::WINDOW};

use self::{draft::Draft, text::Held};

/// A value on one line of at most `max_chars` characters (Unicode scalar values), without credentials and without anything that
/// commands a screen.
///
/// An object shows its keys before its values get room; what doesn't fit is counted. JSON in a text is shown as what it holds. A
/// text that is the whole value has no quotes; where it is cut, its length is told. What has no room is `…`, and with no characters
/// at all nothing. Nothing is cut within a grapheme cluster (UAX #29). However large the value is, at most 64 KiB of its texts are
/// looked at, and a few levels of it.
///
/// ```
/// use chat_core::Redactor;
/// use chat_trace::summarize;
/// use serde_json::json;
///
/// let redactor = Redactor::default();
/// let input = json!({"path": "src/lib.rs", "apiKey": "abc", "text": "fn main() {\n    run();\n}\n".repeat(9)});
/// assert_eq!(
///     summarize(&input, 70, &redactor),
///     r#"{apiKey: [redacted], path: "src/lib.rs", text: "fn main() { run();…"}"#,
/// );
/// assert_eq!(summarize(&input, 20, &redactor), "{3 keys}");
/// assert_eq!(summarize(&json!(["one", 2, ["three"]]), 20, &redactor), r#"["one", 2, … 1 more]"#);
/// assert_eq!(summarize(&json!("one\ntwo"), 20, &redactor), "one two");
/// ```
#[must_use]
pub fn summarize(value: &Value, max_chars: usize, redactor: &Redactor) -> String {
    match value {
        Value::String(text) => beginning(text, text.len(), max_chars, redactor),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            layout::line(&Draft::new(max_chars, redactor).value(value), max_chars)
        }
    }
}

/// The summary of a text of `bytes` bytes of which `head` is the beginning; all of it, where it is as long.
pub(crate) fn beginning(head: &str, bytes: usize, max_chars: usize, redactor: &Redactor) -> String {
    let mut draft = Draft::new(max_chars, redactor);
    match draft.reader.held(head, bytes) {
        Held::Json(value) => layout::line(&draft.value(&value), max_chars),
        Held::LongJson => layout::line(&draft::long_json(bytes), max_chars),
        Held::Words => match draft.reader.text(head, bytes, max_chars) {
            text if text.whole && text.shown.is_empty() => layout::line(&draft::empty(), max_chars),
            text => layout::words(&text, max_chars),
        },
    }
}

/// A text on one line of at most `max_chars` characters, without credentials: a name, an error. JSON in it stays as it is written.
pub(crate) fn line(text: &str, max_chars: usize, redactor: &Redactor) -> String {
    let mut draft = Draft::new(max_chars, redactor);
    match draft.reader.held(text, text.len()) {
        Held::Json(_) => {
            let clean = redactor.json(&text.into());
            let clean = clean.as_str().unwrap_or_default();
            layout::plain(&draft.reader.text(clean, clean.len(), max_chars), max_chars)
        }
        Held::LongJson => layout::line(&draft::long_json(text.len()), max_chars),
        Held::Words => layout::plain(&draft.reader.text(text, text.len(), max_chars), max_chars),
    }
}
