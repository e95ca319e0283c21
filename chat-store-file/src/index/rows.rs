//! The rows of an index in the list's order, newest activity first. Knows nothing of files.

use std::cmp::Reverse;

use super::row::{Key, Row, Standing};

/// What came of one row.
#[derive(Debug)]
pub(crate) enum Change {
    Replaced(Row),
    Gone,
}

/// Rows in order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Rows(Vec<Row>);

/// Up to so many rows are moved one by one: each costs its way through the list, which is short where sessions were just written.
const FEW: usize = 8;

impl Rows {
    pub(crate) fn new(mut rows: Vec<Row>) -> Self {
        rows.sort_by(Row::order);
        Self(rows)
    }

    pub(crate) fn as_slice(&self) -> &[Row] {
        &self.0
    }

    /// Where the rows behind a place begin, whether or not there is a row at it.
    pub(crate) fn after(&self, after: Option<&Key>) -> usize {
        after.map_or(0, |after| {
            self.0
                .partition_point(|row| (Reverse(row.at), &row.id) <= (after.at, &after.id))
        })
    }

    /// Marks each row by its index; the order does not change by it.
    pub(crate) fn mark(&mut self, marked: impl Fn(usize) -> bool) {
        for (at, row) in self.0.iter_mut().enumerate() {
            row.marked = marked(at);
        }
    }

    /// Takes the belief from rows whose files were written since a time, in nanoseconds since 1970. A file that was copied in with
    /// its old time was written when it was last changed.
    pub(crate) fn unsettle_since(&mut self, since: i64) {
        for row in &mut self.0 {
            if row.standing == Standing::Settled
                && row.stamp.modified.max(row.stamp.changed) >= since
            {
                row.standing = Standing::Unsettled;
            }
        }
    }

    pub(crate) fn unmark(&mut self, at: usize) {
        self.0[at].marked = false;
    }

    /// Replaces and takes out rows by their index, which rises from change to change, and adds new ones.
    pub(crate) fn update(&mut self, changes: Vec<(usize, Change)>, added: Vec<Row>) {
        debug_assert!(changes.is_sorted_by_key(|(at, _)| *at));
        if changes.len() + added.len() <= FEW {
            let mut moved = added;
            for (at, change) in changes.into_iter().rev() {
                self.0.remove(at);
                moved.extend(change.row());
            }
            for row in moved {
                let at = self.0.partition_point(|other| other.order(&row).is_lt());
                self.0.insert(at, row);
            }
        } else {
            let mut gone = Vec::new();
            for (at, change) in changes {
                match change.row() {
                    Some(row) => self.0[at] = row,
                    None => gone.push(at),
                }
            }
            let (mut at, mut gone) = (0, gone.into_iter().peekable());
            self.0.retain(|_| {
                let stays = gone.next_if_eq(&at).is_none();
                at += 1;
                stays
            });
            self.0.extend(added);
            // A stable sort takes what is in order already as it is.
            self.0.sort_by(Row::order);
        }
    }
}

impl Change {
    fn row(self) -> Option<Row> {
        match self {
            Self::Replaced(row) => Some(row),
            Self::Gone => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use chat_core::SessionId;
    use proptest::prelude::*;

    use super::*;
    use crate::index::tests::row;

    fn ids(rows: &[Row]) -> Vec<&str> {
        rows.iter().map(|row| row.id.as_str()).collect()
    }

    #[test]
    fn s6_the_newest_activity_is_first_and_ties_go_by_id() {
        let rows = Rows::new(vec![
            row("b", 1),
            row("c", 2),
            row("B", 1),
            row("ä", 1),
            row("a", 1),
        ]);
        assert_eq!(ids(rows.as_slice()), ["c", "B", "a", "b", "ä"]);
    }

    #[test]
    fn s6_a_place_stays_good_when_its_session_is_gone() {
        let mut rows = Rows::new((0..5).map(|at| row(&format!("s{at}"), at)).collect());
        let place = Key {
            at: Reverse(2),
            id: SessionId::parse("s2").unwrap(),
        };
        assert_eq!(
            ids(&rows.as_slice()[rows.after(Some(&place))..]),
            ["s1", "s0"]
        );
        rows.update(vec![(2, Change::Gone)], vec![row("new", 9)]);
        assert_eq!(
            ids(&rows.as_slice()[rows.after(Some(&place))..]),
            ["s1", "s0"]
        );
        assert_eq!(rows.after(None), 0);
    }

    #[test]
    fn s6_what_was_written_since_is_not_believed_whichever_time_tells() {
        for (modified, changed, settled) in [
            (5, 5, true),
            (10, 5, false),
            (5, 10, false),
            (10, 10, false),
            // Where the system tells no time of changes.
            (5, i64::MIN, true),
            (10, i64::MIN, false),
        ] {
            let mut one = row("a", 1);
            (one.stamp.modified, one.stamp.changed) = (modified, changed);
            let mut rows = Rows::new(vec![one]);
            rows.unsettle_since(10);
            let standing = rows.as_slice()[0].standing;
            assert_eq!(
                standing == Standing::Settled,
                settled,
                "{modified}, {changed}"
            );
        }
    }

    proptest! {
        /// Few changes and many are made in different ways, and come to the same.
        #[test]
        fn s6_rows_stay_in_order_whatever_changes(
            times in proptest::collection::vec(0_i64..20, 0..30),
            changes in proptest::collection::btree_map(0_usize..30, proptest::option::of(0_i64..20), 0..14),
            added in proptest::collection::vec(0_i64..20, 0..6),
        ) {
            let named = |prefix: &str, times: &[i64]| -> Vec<Row> {
                times.iter().enumerate().map(|(at, time)| row(&format!("{prefix}{at}"), *time)).collect()
            };
            let mut rows = Rows::new(named("s", &times));
            let added = named("n", &added);

            let changes: Vec<_> = changes.into_iter().filter(|(at, _)| *at < times.len()).collect();
            let mut expected: Vec<Row> = rows.as_slice().to_vec();
            for (at, time) in &changes {
                expected[*at].at = time.unwrap_or(i64::MAX);
            }
            expected.retain(|row| row.at != i64::MAX);
            expected.extend(added.iter().cloned());
            expected.sort_by_key(Row::key);

            let changes = changes
                .into_iter()
                .map(|(at, time)| {
                    let replaced = |time| Change::Replaced(Row { at: time, ..rows.as_slice()[at].clone() });
                    (at, time.map_or(Change::Gone, replaced))
                })
                .collect();
            rows.update(changes, added);
            prop_assert_eq!(rows.as_slice(), expected.as_slice());
        }
    }
}
