//! How a person is told of times, and a terminal of JSON.

use std::borrow::Cow;

use chat_core::{Timestamp, is_harmless};

/// JSON text with all that commands a terminal escaped, which is the same JSON: they can only stand in its strings.
pub(crate) fn safe_json(json: &str) -> Cow<'_, str> {
    if json.chars().all(is_harmless) {
        return json.into();
    }
    let mut escaped = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if is_harmless(c) {
            escaped.push(c);
        } else {
            escaped.push_str(&format!("\\u{:04x}", u32::from(c)));
        }
    }
    escaped.into()
}

/// How long ago something happened, as a person says it; its day where that is more than a month, or not yet.
pub(crate) fn ago(at: Timestamp, now: Timestamp) -> String {
    let seconds = (now.as_millis() - at.as_millis()) / 1000;
    let (count, unit) = match seconds {
        0..60 => (seconds, "second"),
        60..3600 => (seconds / 60, "minute"),
        3600..86_400 => (seconds / 3600, "hour"),
        86_400..2_592_000 => (seconds / 86_400, "day"),
        // Also what another machine's clock puts into the future.
        _ => return day(at),
    };
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {unit}{plural} ago")
}

fn day(at: Timestamp) -> String {
    let text = at.to_string();
    text.split_once('T')
        .map_or(text.clone(), |(day, _)| day.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c_json_stays_the_same_json() {
        let text = "a\u{9b}\u{7f}\u{202e}\"b\u{1b}";
        let json = serde_json::to_string(text).unwrap();
        let shown = safe_json(&json);
        assert!(shown.chars().all(is_harmless), "{shown}");
        assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), text);
    }

    #[test]
    fn c_times_are_said_as_a_person_says_them() {
        let now: Timestamp = "2026-03-31T12:00:00.000Z".parse().unwrap();
        for (at, said) in [
            ("2026-03-31T12:00:00.000Z", "0 seconds ago"),
            ("2026-03-31T11:58:59.000Z", "1 minute ago"),
            ("2026-03-31T11:58:00.000Z", "2 minutes ago"),
            ("2026-03-31T09:00:00.000Z", "3 hours ago"),
            ("2026-03-29T12:00:00.000Z", "2 days ago"),
            ("2026-01-31T12:00:00.000Z", "2026-01-31"),
            ("2026-03-31T12:00:05.000Z", "2026-03-31"),
        ] {
            assert_eq!(ago(at.parse().unwrap(), now), said, "{at}");
        }
    }
}
