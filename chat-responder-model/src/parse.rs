//! Reads an event's JSON, once it is clear that it takes no more memory than it should.

use serde_json::Value;

use crate::mend;

/// The most values that an event may be made of. In memory each takes some dozen times the two bytes that it can be written in, and
/// more again once it is read for what it means (law M5). Real events have some dozens, or some thousands with log probabilities.
pub(crate) const MAX_VALUES: usize = 100_000;

/// Why a text is not read as JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unread {
    NoJson,
    /// It has more than [`MAX_VALUES`].
    TooMany,
}

/// JSON text, with what servers are known to get wrong in it made right.
pub(crate) fn parse(data: &str) -> Result<Value, Unread> {
    // Shorter ones can't have as many.
    if data.len() > MAX_VALUES && values(data) > MAX_VALUES {
        return Err(Unread::TooMany);
    }
    serde_json::from_str(data).or_else(|_| {
        let mended = mend::mended(data).ok_or(Unread::NoJson)?;
        serde_json::from_str(&mended).map_err(|_| Unread::NoJson)
    })
}

/// How many values JSON text is made of, or a few more: what separates or opens them, outside of its strings.
fn values(data: &str) -> usize {
    let (mut count, mut in_string, mut escaped) = (1, false, false);
    for byte in data.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b',' | b'[' | b'{' if !in_string => count += 1,
            _ => {}
        }
    }
    count
}
