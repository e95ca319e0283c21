//! A damaged journal closed up: its readable entries, each at the next place.

use std::collections::BTreeSet;

use super::{Gap, Journal};
use crate::{Entry, EntryBody, EntryId, Place, Salvaged, Seq};

/// The id of the entry that stands in for a first one which can't be read.
const STAND_IN: &str = "salvaged";

/// A sound journal of the pieces of a damaged one; of no entries where none is readable.
pub(super) fn closed_up(pieces: Vec<Salvaged>) -> Journal {
    let mut journal = Journal::default();
    let mut ids = BTreeSet::new();
    for piece in pieces {
        let after = journal.entries.len();
        match piece {
            Salvaged::Entry(entry) if !ids.insert(entry.id().clone()) => journal.gaps.push(Gap {
                place: Place {
                    seq: Some(entry.seq()),
                    ..Place::default()
                },
                bytes: None,
                what: format!("the entry {} stands there again", entry.id()).into(),
                after,
            }),
            Salvaged::Entry(entry) => {
                if journal.entries.is_empty()
                    && let Some(stand_in) = stand_in_before(&entry)
                {
                    ids.insert(stand_in.id().clone());
                    journal.entries.push(stand_in);
                }
                let seq = Seq(journal.entries.len() as u64);
                journal.entries.push(entry.moved_to(seq));
            }
            Salvaged::Gap { place, bytes, what } => journal.gaps.push(Gap {
                place,
                bytes,
                what,
                after,
            }),
        }
    }
    journal
}

/// The first entry that a journal needs, where its first readable one is another.
fn stand_in_before(first: &Entry) -> Option<Entry> {
    let is_first = matches!(first.body(), EntryBody::SessionCreated { .. });
    (!is_first).then(|| {
        let id = EntryId::parse(STAND_IN).expect("letters are an id");
        Entry::new(
            Seq::ZERO,
            id,
            first.at(),
            EntryBody::SessionCreated { labels: None },
        )
    })
}
