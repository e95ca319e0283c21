//! What a person means by a typed line, where yes or no is asked.

/// What was meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer<'a> {
    Yes,
    /// With a reason, where one was typed.
    No(Option<&'a str>),
    /// It begins like a yes and says more, such as a condition; or it is a loose one.
    Unclear,
}

const YES: [&str; 3] = ["y", "yes", "ok"];
/// What agrees too, and is too loose a word for what can't be undone.
const LIKE_YES: [&str; 4] = ["okay", "yeah", "yep", "sure"];
const NO: [&str; 3] = ["", "n", "no"];

impl<'a> Answer<'a> {
    /// Reads a line; in any case of its letters.
    pub(crate) fn of(line: &'a str) -> Self {
        let said = line.trim();
        let lower = said.to_lowercase();
        let first = lower.split(|c: char| !c.is_alphanumeric()).next();
        let agrees = |word| YES.contains(&word) || LIKE_YES.contains(&word);
        if YES.contains(&lower.as_str()) {
            Self::Yes
        } else if NO.contains(&lower.as_str()) {
            Self::No(None)
        } else if first.is_some_and(agrees) {
            Self::Unclear
        } else {
            Self::No(Some(said))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w3_only_a_plain_yes_agrees_in_any_case() {
        for (line, meant) in [
            ("y", Answer::Yes),
            ("Y", Answer::Yes),
            (" Yes ", Answer::Yes),
            ("YES", Answer::Yes),
            ("ok", Answer::Yes),
            ("", Answer::No(None)),
            ("N", Answer::No(None)),
            ("No", Answer::No(None)),
            ("no, to staging", Answer::No(Some("no, to staging"))),
            (" not on a Friday ", Answer::No(Some("not on a Friday"))),
            ("yess", Answer::No(Some("yess"))),
            ("yes please", Answer::Unclear),
            ("Ok, but to staging", Answer::Unclear),
            ("y?", Answer::Unclear),
            ("sure", Answer::Unclear),
        ] {
            assert_eq!(Answer::of(line), meant, "{line:?}");
        }
    }
}
