//! Quotes around texts within a value: such that what a text holds can't be taken for what stands beside it.

use std::borrow::Cow;

/// The text as it stands within quotes, and the quotes: those that are not in it, where there are such.
pub(super) fn quoted(text: &str) -> (Cow<'_, str>, char) {
    match ['"', '\'', '`']
        .into_iter()
        .find(|quote| !text.contains(*quote))
    {
        Some(quote) => (text.into(), quote),
        None => (text.replace('"', "\\\"").into(), '"'),
    }
}

/// Whether a key can stand without quotes.
pub(super) fn is_name(key: &str) -> bool {
    !key.is_empty()
        && key
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '$' | '@' | '/'))
}
