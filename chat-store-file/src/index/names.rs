//! The names in a folder, for a list: which sessions there are, and which of them have a lock file. Packed, since there may be
//! hundreds of thousands; compared with the rows of an index and forgotten.

use std::collections::HashMap;

use super::row::Row;
use crate::name::{self, JOURNAL, LOCK};

/// The sessions that a folder's names tell of.
#[derive(Debug, Default)]
pub(crate) struct Names {
    journals: Packed,
    locks: Packed,
}

/// Rows beside names.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Compared<'a> {
    /// Of each row, in their order.
    pub(crate) rows: Vec<Presence>,
    /// The sessions that have no row, and whether they have a lock file.
    pub(crate) new: Vec<(&'a str, bool)>,
}

/// What the names say of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    Gone,
    There,
    /// There, and with a lock file.
    Marked,
}

impl Names {
    /// Takes note of a file name; most others than a journal's and a lock's mean nothing here.
    pub(crate) fn push(&mut self, file_name: &str) {
        for (ending, found) in [(JOURNAL, &mut self.journals), (LOCK, &mut self.locks)] {
            if let Some(id) = name::session_of(file_name, ending) {
                found.push(&id);
            }
        }
    }

    pub(crate) fn compare(&self, rows: &[Row]) -> Compared<'_> {
        // The names are looked up by the rows and not the other way round, since they lie together in memory.
        let mut places = HashMap::with_capacity(self.journals.len());
        let mut known = vec![false; self.journals.len()];
        for (id, at) in self.journals.iter().zip(0..) {
            // A folder that changes while it is read may give a name twice.
            if let Some(twin) = places.insert(id, at) {
                known[twin] = true;
            }
        }
        let mut marked = vec![false; self.journals.len()];
        for id in self.locks.iter() {
            if let Some(at) = places.get(id) {
                marked[*at] = true;
            }
        }
        let presence = |row: &Row| match places.get(row.id.as_str()) {
            Some(at) => {
                known[*at] = true;
                if marked[*at] {
                    Presence::Marked
                } else {
                    Presence::There
                }
            }
            None => Presence::Gone,
        };
        let rows = rows.iter().map(presence).collect();
        let new = self.journals.iter().zip(marked).zip(known);
        let new = new
            .filter(|(_, known)| !known)
            .map(|(found, _)| found)
            .collect();
        Compared { rows, new }
    }
}

/// Texts, one behind the other.
#[derive(Debug, Default)]
struct Packed {
    text: String,
    ends: Vec<usize>,
}

impl Packed {
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.ends.push(self.text.len());
    }

    fn len(&self) -> usize {
        self.ends.len()
    }

    fn iter(&self) -> impl Iterator<Item = &str> {
        let mut start = 0;
        self.ends
            .iter()
            .map(move |end| &self.text[std::mem::replace(&mut start, *end)..*end])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::tests::row;

    #[test]
    fn s6_names_tell_what_is_there_new_gone_and_marked() {
        let mut names = Names::default();
        for name in [
            "b.lock",
            "a.jsonl",
            "b.jsonl",
            "b.turn",
            "gone.lock",
            "nobody.lock",
            "new.jsonl",
            "marked.lock",
            "marked.jsonl",
            "a.tmp-0123456789abcdef",
            "a.torn-1-00000000",
            "notes.txt",
            "=84.jsonl",
            "list",
        ] {
            names.push(name);
        }
        let rows = [row("gone", 3), row("b", 2), row("a", 1)];
        assert_eq!(
            names.compare(&rows),
            Compared {
                rows: vec![Presence::Gone, Presence::Marked, Presence::There],
                new: vec![("new", false), ("marked", true), ("A", false)],
            }
        );
        assert_eq!(
            Names::default().compare(&rows).rows,
            vec![Presence::Gone; 3]
        );
    }

    #[test]
    fn s6_a_name_that_a_folder_gives_twice_is_one_session() {
        let given = [
            "a.jsonl", "b.jsonl", "b.lock", "b.jsonl", "c.jsonl", "b.lock", "a.jsonl", "c.lock",
            "c.jsonl", "c.jsonl",
        ];
        let mut names = Names::default();
        given.iter().for_each(|name| names.push(name));
        let compared = names.compare(&[row("b", 2)]);
        assert_eq!(compared.rows, [Presence::Marked]);
        assert_eq!(compared.new, [("a", false), ("c", true)]);
    }
}
