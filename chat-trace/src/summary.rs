//! What a value says on one line: its shape first, then as much of what it holds as there is room for. Everything shown is
//! redacted before it is cut.

use chat_core::Redactor;
use serde_json::Value;
use unicode_segmentation::UnicodeSegmentation;

/// A value on one line of at most `max_chars` characters (Unicode scalar values), without credentials.
#[must_use]
pub fn summarize(value: &Value, max_chars: usize, redactor: &Redactor) -> String {
    match value {
        Value::String(text) => line(text, max_chars, redactor),
        value => line(&redactor.json(value).to_string(), max_chars, redactor),
    }
}

/// A text on one line of at most `max_chars` characters, without credentials.
pub(crate) fn line(text: &str, max_chars: usize, redactor: &Redactor) -> String {
    let clean = redactor.text(text);
    let flat: String = clean
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if flat.chars().count() <= max_chars {
        return flat;
    }
    let (mut cut, mut room) = (String::new(), max_chars.saturating_sub(1));
    for cluster in flat.graphemes(true) {
        let Some(left) = room.checked_sub(cluster.chars().count()) else {
            break;
        };
        (room, cut) = (left, cut + cluster);
    }
    if max_chars > 0 {
        cut.push('…');
    }
    cut
}
