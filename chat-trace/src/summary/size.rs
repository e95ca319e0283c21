//! How large something is, as a person reads it.

use std::fmt;

/// The length of a text: in characters where all of it was looked at, else in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    Chars(usize),
    Bytes(usize),
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
        match *self {
            Self::Chars(chars) => f.write_str(&counted(chars, "char")),
            Self::Bytes(bytes @ 0..1000) => f.write_str(&counted(bytes, "byte")),
            Self::Bytes(bytes) => {
                // Rounded down: 999,999 bytes are no 1000.0 kB.
                let (mut tenths, mut unit) = (bytes / 100, 0);
                while tenths >= 10_000 && unit + 1 < UNITS.len() {
                    tenths /= 1000;
                    unit += 1;
                }
                write!(f, "{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
            }
        }
    }
}

/// `1 key`, `1,204 keys`.
pub(super) fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {what}{plural}", grouped(count))
}

/// A number with a comma behind each thousand.
pub(super) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p3_sizes_are_said_as_a_person_says_them() {
        for (size, said) in [
            (Size::Chars(0), "0 chars"),
            (Size::Chars(1), "1 char"),
            (Size::Chars(999), "999 chars"),
            (Size::Chars(1204), "1,204 chars"),
            (Size::Chars(1_234_567), "1,234,567 chars"),
            (Size::Bytes(1), "1 byte"),
            (Size::Bytes(999), "999 bytes"),
            (Size::Bytes(1000), "1.0 kB"),
            (Size::Bytes(999_999), "999.9 kB"),
            (Size::Bytes(10_345_678), "10.3 MB"),
            (Size::Bytes(2_500_000_000), "2.5 GB"),
        ] {
            assert_eq!(size.to_string(), said);
        }
    }
}
