//! Quotes around texts within a value: such that what a text holds can't be taken for what stands beside it.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;

/// What a mark stands on that has nothing of its own to stand on, as in Unicode's charts.
const NOTHING: &str = "\u{25cc}";

/// The text as it stands within quotes, and the quotes: those that are not in it, where there are such.
pub(super) fn quoted(text: &str) -> (Cow<'_, str>, char) {
    let text = on_its_own(text);
    let quote = ['"', '\'', '`']
        .into_iter()
        .find(|quote| !text.contains(*quote));
    match quote {
        Some(quote) => (text, quote),
        None => (text.replace('"', "\\\"").into(), '"'),
    }
}

/// Such that no mark at its ends stands on, or covers, what is written around it.
fn on_its_own(text: &str) -> Cow<'_, str> {
    let front = if clings_in_front(text) { NOTHING } else { "" };
    let back = if clings_behind(text) { NOTHING } else { "" };
    match (front, back) {
        ("", "") => text.into(),
        _ => format!("{front}{text}{back}").into(),
    }
}

/// Whether a text begins within a grapheme cluster: with an accent, say.
pub(super) fn clings_in_front(text: &str) -> bool {
    text.chars().next().is_some_and(|c| is_cluster(['"', c]))
}

/// Whether a text ends in what forms a cluster with anything behind it: an Arabic number sign, say.
pub(super) fn clings_behind(text: &str) -> bool {
    text.chars()
        .next_back()
        .is_some_and(|c| is_cluster([c, '"']))
}

fn is_cluster(two: [char; 2]) -> bool {
    // Neither forms a cluster with anything.
    if two.iter().all(char::is_ascii) {
        return false;
    }
    String::from_iter(two).graphemes(true).nth(1).is_none()
}

/// Whether a key can stand without quotes.
pub(super) fn is_name(key: &str) -> bool {
    !key.is_empty()
        && !clings_in_front(key)
        && !clings_behind(key)
        && key
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '$' | '@' | '/'))
}
