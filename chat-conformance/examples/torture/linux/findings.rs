//! What is wrong with a store, as far as anyone can tell from outside. It judges nothing: a ledger fills it in.

use std::fmt;

/// What was found, and what of it should not be.
#[derive(Debug, Clone, Default)]
pub(crate) struct Findings {
    pub(crate) sessions: usize,
    pub(crate) entries: usize,
    /// How many acknowledged entries are missing.
    pub(crate) lost_entries: usize,
    /// Acknowledged entries and sessions which are missing.
    pub(crate) lost: Vec<String>,
    /// Entries with another text or place than they were written with.
    pub(crate) changed: Vec<String>,
    /// Entries and sessions which nobody intended, or which the store said are not there.
    pub(crate) invented: Vec<String>,
    /// A gap in the places, a turn within a turn.
    pub(crate) disordered: Vec<String>,
    /// Journals which can't be opened.
    pub(crate) unopened: Vec<String>,
    /// Where acquire, read and list tell different things.
    pub(crate) disagree: Vec<String>,
}

impl Findings {
    fn all(&self) -> [(&'static str, &[String]); 6] {
        [
            ("lost", &self.lost),
            ("changed", &self.changed),
            ("invented", &self.invented),
            ("disordered", &self.disordered),
            ("not to be opened", &self.unopened),
            ("told differently", &self.disagree),
        ]
    }

    pub(crate) fn is_sound(&self) -> bool {
        self.all().iter().all(|(_, found)| found.is_empty())
    }

    /// Nothing, or why not with the first few of each kind.
    pub(crate) fn sound(&self) -> Result<(), String> {
        if self.is_sound() {
            return Ok(());
        }
        let mut why = Vec::new();
        for (what, found) in self.all() {
            if !found.is_empty() {
                let first: Vec<&str> = found.iter().take(3).map(String::as_str).collect();
                why.push(format!("{} {what}: {}", found.len(), first.join("; ")));
            }
        }
        Err(why.join("\n    "))
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} entries in {} sessions", self.entries, self.sessions)?;
        for (what, found) in self.all() {
            if !found.is_empty() {
                write!(f, ", {} {what}", found.len())?;
            }
        }
        Ok(())
    }
}
