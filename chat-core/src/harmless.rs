//! Text that others wrote, made fit to be shown: what could move a cursor, hide or reorder text becomes a visible mark. Letters of
//! any script, combining marks and emoji stay as they are.

use std::borrow::Cow;

/// Whether a character is drawn where it stands and does nothing else. A control character (C0, DEL, C1: tabs and line breaks
/// among them), a line or paragraph separator, and what embeds, overrides or isolates a direction of writing
/// ([UAX #9](https://www.unicode.org/reports/tr9/)) are not harmless.
#[must_use]
pub fn is_harmless(c: char) -> bool {
    !c.is_control()
        && !matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text with a mark for each character that is not harmless; line breaks and tabs stay, every break a `\n`.
///
/// ```
/// use chat_core::harmless;
/// assert_eq!(harmless("done\u{1b}[2J\r\n\tnext"), "done␛[2J\n\tnext");
/// ```
#[must_use]
pub fn harmless(text: &str) -> Cow<'_, str> {
    replaced(text, |c| matches!(c, '\n' | '\t'), '\n')
}

/// The same on one line: a space for each line break and each tab.
///
/// ```
/// use chat_core::one_line;
/// assert_eq!(one_line("done\u{1b}[2J\r\n\tnext"), "done␛[2J  next");
/// ```
#[must_use]
pub fn one_line(text: &str) -> Cow<'_, str> {
    replaced(text, |_| false, ' ')
}

fn replaced(text: &str, stays: impl Fn(char) -> bool, line_break: char) -> Cow<'_, str> {
    let shown = |c| is_harmless(c) || stays(c);
    if text.chars().all(shown) {
        return text.into();
    }
    let mut clean = String::with_capacity(text.len() + 16);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            c if shown(c) => clean.push(c),
            // The break is the `\n` behind it. Alone it would write over its line.
            '\r' if chars.peek() == Some(&'\n') => {}
            '\n' | '\u{2028}' | '\u{2029}' => clean.push(line_break),
            '\t' => clean.push(' '),
            c => clean.push(mark(c)),
        }
    }
    clean.into()
}

fn mark(c: char) -> char {
    match c {
        // Unicode has a picture of each: ␛ for ESC.
        '\0'..='\u{1f}' => {
            char::from_u32(0x2400 + u32::from(c)).unwrap_or(char::REPLACEMENT_CHARACTER)
        }
        '\u{7f}' => '\u{2421}',
        _ => char::REPLACEMENT_CHARACTER,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn p3_what_commands_a_screen_is_shown_and_not_obeyed() {
        for (text, lines, line) in [
            ("a\u{1b}[2Jb", "a␛[2Jb", "a␛[2Jb"),
            ("a\rb", "a␍b", "a␍b"),
            ("a\r\n\tb\n", "a\n\tb\n", "a  b "),
            ("a\r\r\nb", "a␍\nb", "a␍ b"),
            ("\0\u{7}\u{8}\u{7f}", "␀␇␈␡", "␀␇␈␡"),
            (
                "a\u{9b}31m\u{85}b",
                "a\u{fffd}31m\u{fffd}b",
                "a\u{fffd}31m\u{fffd}b",
            ),
            (
                "a\u{202e}b\u{2066}c\u{2069}",
                "a\u{fffd}b\u{fffd}c\u{fffd}",
                "a\u{fffd}b\u{fffd}c\u{fffd}",
            ),
            ("a\u{2028}b\u{2029}c", "a\nb\nc", "a b c"),
        ] {
            assert_eq!(harmless(text), lines, "{text:?}");
            assert_eq!(one_line(text), line, "{text:?}");
        }
    }

    #[test]
    fn p3_what_people_write_stays_as_it_is() {
        for text in [
            "",
            "plain — ünïcode 🙂",
            "👩‍👩‍👧‍👦 🏳️‍🌈 🇩🇪 1️⃣",
            "e\u{301}\u{323} नमस्ते שלום مرحبا\u{200f}",
            "a\u{a0}b\u{3000}c",
        ] {
            assert!(matches!(harmless(text), Cow::Borrowed(_)), "{text}");
            assert!(matches!(one_line(text), Cow::Borrowed(_)), "{text}");
        }
        assert!(matches!(harmless("a\n\tb\n"), Cow::Borrowed(_)));
    }

    proptest! {
        #[test]
        fn p3_nothing_harmful_is_left_of_any_text(text in any::<String>()) {
            let lines = harmless(&text);
            prop_assert!(lines.chars().all(|c| is_harmless(c) || matches!(c, '\n' | '\t')));
            prop_assert_eq!(harmless(&lines), &*lines);
            let line = one_line(&text);
            prop_assert!(line.chars().all(is_harmless));
            prop_assert_eq!(one_line(&lines), line);
        }
    }
}
