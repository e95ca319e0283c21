//! How many checks passed, failed and were skipped; read from libtest's result lines, written as one line.

use std::fmt;
use std::ops::AddAssign;

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Tally {
    pub(super) passed: usize,
    pub(super) failed: usize,
    pub(super) skipped: usize,
}

impl Tally {
    pub(super) const PASSED: Self = Self {
        passed: 1,
        failed: 0,
        skipped: 0,
    };
    pub(super) const FAILED: Self = Self {
        passed: 0,
        failed: 1,
        skipped: 0,
    };
    pub(super) const SKIPPED: Self = Self {
        passed: 0,
        failed: 0,
        skipped: 1,
    };

    /// Reads a line that says all of it, as it is written here: `2 passed, 0 failed, 1 skipped`.
    pub(super) fn of_closing_line(line: &str) -> Option<Self> {
        let mut counts = line.split(", ").map(|count| count.split_once(' '));
        let mut count = |word: &str| match counts.next()?? {
            (number, said) if said == word => number.parse().ok(),
            _ => None,
        };
        let tally = Self {
            passed: count("passed")?,
            failed: count("failed")?,
            skipped: count("skipped")?,
        };
        Some(tally)
    }

    /// Reads `test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s`, whatever colors
    /// stand in it.
    pub(super) fn of_test_result(line: &str) -> Option<Self> {
        let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
        let mut tally = Self::default();
        for count in counts.split("; ") {
            match count.split_once(' ') {
                Some((number, "passed")) => tally.passed = number.parse().ok()?,
                Some((number, "failed")) => tally.failed = number.parse().ok()?,
                Some((number, "ignored")) => tally.skipped = number.parse().ok()?,
                _ => {}
            }
        }
        Some(tally)
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} passed, {} failed, {} skipped",
            self.passed, self.failed, self.skipped
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: Option<(usize, usize, usize)>) {
        let tally =
            Tally::of_test_result(line).map(|tally| (tally.passed, tally.failed, tally.skipped));
        assert_eq!(tally, expected, "{line}");
    }

    #[test]
    fn result_lines_are_counted() {
        check(
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s",
            Some((3, 0, 1)),
        );
        check(
            "test result: FAILED. 12 passed; 2 failed; 0 ignored; 0 measured; 4 filtered out; finished in 1.50s",
            Some((12, 2, 0)),
        );
        check(
            "test result: \u{1b}[32mok\u{1b}[m. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out",
            Some((1, 0, 0)),
        );
        check("test machine::t6_cancel ... ok", None);
        check("running 3 tests", None);
        check("", None);
    }

    #[test]
    fn the_closing_line_is_the_one_that_is_read() {
        let mut tally = Tally {
            passed: 2,
            failed: 0,
            skipped: 1,
        };
        tally += Tally::FAILED;
        assert_eq!(tally.to_string(), "2 passed, 1 failed, 1 skipped");
        assert_eq!(Tally::of_closing_line(&tally.to_string()), Some(tally));
        for line in ["2 passed, 1 failed", "2 failed, 1 passed, 0 skipped", ""] {
            assert_eq!(Tally::of_closing_line(line), None, "{line}");
        }
    }
}
