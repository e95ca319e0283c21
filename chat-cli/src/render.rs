//! Text that others wrote, made fit for a terminal: what could move the cursor, hide or reorder text is shown as a mark.

use std::borrow::Cow;

use chat_core::Timestamp;

/// The text with everything that commands a terminal replaced by a visible mark; line breaks and tabs stay.
pub(crate) fn safe(text: &str) -> Cow<'_, str> {
    replaced(text, |c| !matches!(c, '\n' | '\t') && commands(c))
}

/// The same on one line: line breaks and tabs become spaces.
pub(crate) fn one_line(text: &str) -> Cow<'_, str> {
    replaced(text, commands)
}

/// JSON text with such characters escaped, which is the same JSON: they can only stand in its strings.
pub(crate) fn safe_json(json: &str) -> Cow<'_, str> {
    if !json.contains(commands) {
        return json.into();
    }
    let mut escaped = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if commands(c) {
            escaped.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            escaped.push(c);
        }
    }
    escaped.into()
}

fn replaced(text: &str, is_bad: impl Fn(char) -> bool) -> Cow<'_, str> {
    if text.contains(&is_bad) {
        let marked = text.chars().map(|c| if is_bad(c) { mark(c) } else { c });
        marked.collect::<String>().into()
    } else {
        text.into()
    }
}

/// Control characters (C0, DEL, C1), and those that turn the direction of what follows.
fn commands(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn mark(c: char) -> char {
    match c {
        '\n' | '\t' => ' ',
        // Unicode has a picture of each: ␛ for ESC.
        '\0'..='\u{1f}' => {
            char::from_u32(0x2400 + u32::from(c)).unwrap_or(char::REPLACEMENT_CHARACTER)
        }
        '\u{7f}' => '\u{2421}',
        _ => char::REPLACEMENT_CHARACTER,
    }
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
    fn c_what_could_command_a_terminal_is_shown_and_not_obeyed() {
        assert_eq!(
            safe("a\u{1b}[2Jb\rc\n\td\u{7f}\u{9b}31m\u{202e}e"),
            "a␛[2Jb␍c\n\td␡\u{fffd}31m\u{fffd}e"
        );
        assert_eq!(one_line("a\n\tb\u{7}"), "a  b␇");
        assert!(matches!(safe("plain — ünïcode 🙂\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn c_json_stays_the_same_json() {
        let text = "a\u{9b}\u{7f}\u{202e}\"b\u{1b}";
        let json = serde_json::to_string(text).unwrap();
        let shown = safe_json(&json);
        assert!(!shown.contains(commands), "{shown}");
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
