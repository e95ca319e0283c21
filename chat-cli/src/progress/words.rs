//! The small words of rows: how long something took, how many there are, and what fits into so many columns.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// A time that is over: `340 ms`, `1.2 s`, `48 s`, `3 min 5 s`, `1 h 2 min`.
pub(super) fn took(millis: u64) -> String {
    match millis {
        0..1_000 => format!("{millis} ms"),
        1_000..10_000 => format!("{}.{} s", millis / 1_000, millis / 100 % 10),
        10_000.. => so_far(millis),
    }
}

/// A time that goes on, in whole seconds, so that it does not flicker.
pub(super) fn so_far(millis: u64) -> String {
    let seconds = millis / 1_000;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3_600.. => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
    }
}

/// `1 step`, `2 steps`.
pub(super) fn count(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {what}{plural}", thousands(number))
}

fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// How many columns a text takes at most: terminals differ where several characters make one.
pub(super) fn width(text: &str) -> usize {
    text.graphemes(true).map(width_of_one).sum()
}

fn width_of_one(cluster: &str) -> usize {
    let apart: usize = cluster.chars().map(width_of_char).sum();
    apart.max(cluster.width())
}

fn width_of_char(c: char) -> usize {
    match c {
        // Unicode would have them not seen; most terminals draw a hyphen and blanks.
        '\u{ad}' | '\u{70f}' | '\u{a8fa}' | '\u{ffa0}' => 1,
        '\u{3164}' => 2,
        c => c.width().unwrap_or(0),
    }
}

/// The text where it fits into so many columns, else as much of its beginning as does, and `…`.
pub(super) fn fit(text: &str, columns: usize) -> Cow<'_, str> {
    let mut used = 0;
    let mut with_mark = 0;
    for (at, cluster) in text.grapheme_indices(true) {
        used += width_of_one(cluster);
        if used > columns {
            return match columns {
                0 => "".into(),
                _ => format!("{}…", &text[..with_mark]).into(),
            };
        }
        if used < columns {
            with_mark = at + cluster.len();
        }
    }
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c_times_and_counts_are_said_shortly() {
        for (millis, over, on) in [
            (0, "0 ms", "0 s"),
            (999, "999 ms", "0 s"),
            (1_000, "1.0 s", "1 s"),
            (9_999, "9.9 s", "9 s"),
            (59_999, "59 s", "59 s"),
            (185_000, "3 min 5 s", "3 min 5 s"),
            (3_720_000, "1 h 2 min", "1 h 2 min"),
        ] {
            assert_eq!((&*took(millis), &*so_far(millis)), (over, on));
        }
        for (number, said) in [
            (0, "0 tokens"),
            (1, "1 token"),
            (999, "999 tokens"),
            (1_431, "1,431 tokens"),
            (1_000_000, "1,000,000 tokens"),
        ] {
            assert_eq!(count(number, "token"), said);
        }
    }

    #[test]
    fn c_what_only_some_terminals_draw_has_room() {
        for (text, columns) in [
            ("Donau\u{ad}dampf\u{ad}schiff", 18),
            ("\u{3164}\u{ffa0}", 3),
            ("a\u{70f}\u{a8fa}", 3),
            ("a\u{200b}\u{2060}\u{feff}b", 2),
        ] {
            assert_eq!(width(text), columns, "{text:?}");
        }
        assert_eq!(fit(&"\u{ad}".repeat(100), 9).chars().count(), 9);
    }

    #[test]
    fn c_a_text_is_cut_by_columns_and_within_no_character() {
        for (text, columns, cut) in [
            ("draft", 5, "draft"),
            ("draft", 4, "dra…"),
            ("draft", 1, "…"),
            ("draft", 0, ""),
            ("", 0, ""),
            ("要約する", 8, "要約する"),
            ("要約する", 7, "要約す…"),
            ("要約する", 6, "要約…"),
            ("ae\u{301}u", 2, "a…"),
            ("ae\u{301}u", 3, "ae\u{301}u"),
            // Four people who are one where a terminal knows it, and eight columns where it does not.
            ("a👨‍👩‍👧‍👦bc", 8, "a…"),
            ("a👨‍👩‍👧‍👦bc", 10, "a👨‍👩‍👧‍👦…"),
        ] {
            assert_eq!(fit(text, columns), cut, "{text} {columns}");
            assert!(width(cut) <= columns, "{text} {columns}");
        }
    }
}
