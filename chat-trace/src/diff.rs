//! What changed between two projections, and how to carry it out.

use std::{
    borrow::Borrow,
    collections::{HashMap, HashSet},
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use crate::TraceRow;

/// A change of a list of rows. Changes carried out one after another, in the order they are given, turn the rows of one projection
/// into those of a later one.
///
/// In JSON: `{"type": "upsert", "row": {...}, "after": "draft"}`, `{"type": "remove", "id": "approval:draft/1"}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase"
)]
pub enum RowChange {
    /// A row that is new, or has changed.
    Upsert {
        /// The row as it now is. It takes the place of the row with its id, which stands right behind `after`; where there is none,
        /// it is new and stands there.
        row: Arc<TraceRow>,
        /// The id of the row right before it; `None`: it is the first.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<Arc<str>>,
    },
    /// A row that is gone.
    Remove {
        /// Its id.
        id: Arc<str>,
    },
}

impl RowChange {
    /// Carries out the change. Where there is no such row, nothing is removed, and nothing to stand behind means the end.
    ///
    /// Looks at the rows between the end of the list and its place, and at no others: rows that come at the end, all of a first
    /// update among them, cost the same however many there are. So a row is taken for new where its id stands before `after` only,
    /// as it never does in a list that took all changes.
    ///
    /// ```
    /// use chat_core::{TraceKind, TraceNode, TraceTree};
    /// use chat_trace::{ProjectOptions, TraceView};
    ///
    /// let (mut view, mut rows) = (TraceView::new(ProjectOptions::default()), Vec::new());
    /// let mut tree = TraceTree::default();
    /// for step in ["draft", "review"] {
    ///     tree.push(None, TraceNode::new(step, TraceKind::Step, step));
    ///     for change in view.update(&tree, &[]) {
    ///         change.apply(&mut rows);
    ///     }
    ///     assert_eq!(rows, view.rows());
    /// }
    /// ```
    pub fn apply(self, rows: &mut Vec<Arc<TraceRow>>) {
        let find = |rows: &[Arc<TraceRow>], id: &str| rows.iter().rposition(|row| *row.id == *id);
        match self {
            Self::Remove { id } => {
                if let Some(at) = find(rows, &id) {
                    rows.remove(at);
                }
            }
            Self::Upsert { row, after } => {
                let after = after.map(|after| find(rows, &after));
                let (at, from) = match after {
                    None => (0, 0),
                    Some(Some(after)) => (after + 1, after + 1),
                    Some(None) => (rows.len(), 0),
                };
                match rows[from..].iter().position(|old| old.id == row.id) {
                    Some(old) => rows[from + old] = row,
                    None => rows.insert(at, row),
                }
            }
        }
    }
}

/// What turns the old rows into the new: removals first, then what is new or has changed, from top to bottom. A row whose place
/// among the others is another is removed and comes again; as few as can be.
///
/// Takes what [`project`](crate::project) gives, or the rows of a [`TraceView`](crate::TraceView).
///
/// ```
/// use chat_core::{TraceKind, TraceNode, TraceTree};
/// use chat_trace::{ProjectOptions, RowChange, diff, project};
///
/// let options = ProjectOptions::default();
/// let mut tree = TraceTree::default();
/// tree.push(None, TraceNode::new("draft", TraceKind::Step, "draft"));
/// let before = project(&tree, &options);
/// tree.push(None, TraceNode::new("review", TraceKind::Step, "review"));
/// match diff(&before, &project(&tree, &options)).as_slice() {
///     [RowChange::Upsert { row, after }] => assert_eq!((&*row.id, after.as_deref()), ("review", Some("draft"))),
///     changes => panic!("{changes:?}"),
/// }
/// ```
#[must_use]
pub fn diff(old: &[impl Borrow<TraceRow>], new: &[impl Borrow<TraceRow>]) -> Vec<RowChange> {
    let places: HashMap<&str, usize> = old
        .iter()
        .enumerate()
        .map(|(place, row)| (&*row.borrow().id, place))
        .collect();
    let was_at: Vec<_> = new
        .iter()
        .map(|row| places.get(&*row.borrow().id).copied())
        .collect();
    let stay = in_order(&was_at);
    let stays: HashSet<_> = stay.iter().copied().collect();
    let kept: HashSet<_> = stay.iter().filter_map(|place| was_at[*place]).collect();
    let mut changes: Vec<_> = old
        .iter()
        .enumerate()
        .filter(|(place, _)| !kept.contains(place))
        .map(|(_, row)| RowChange::Remove {
            id: row.borrow().id.clone(),
        })
        .collect();
    let mut after = None;
    for (place, row) in new.iter().enumerate() {
        let row = row.borrow();
        let same = was_at[place].is_some_and(|at| old[at].borrow() == row);
        if !same || !stays.contains(&place) {
            changes.push(RowChange::Upsert {
                row: Arc::new(row.clone()),
                after: after.clone(),
            });
        }
        after = Some(row.id.clone());
    }
    changes
}

/// The most of these that are already in rising order, as places in the list, themselves in order: a longest increasing
/// subsequence. `None` is not there yet.
pub(crate) fn in_order(was_at: &[Option<usize>]) -> Vec<usize> {
    // For each length, the place that ends such a subsequence with the least value; for each place, the one before it.
    let mut ends: Vec<usize> = Vec::new();
    let mut before = vec![None; was_at.len()];
    for (place, at) in was_at.iter().enumerate() {
        if at.is_none() {
            continue;
        }
        let length = ends.partition_point(|end| was_at[*end] < *at);
        before[place] = length.checked_sub(1).map(|shorter| ends[shorter]);
        if let Some(end) = ends.get_mut(length) {
            *end = place;
        } else {
            ends.push(place);
        }
    }
    let mut places: Vec<_> =
        std::iter::successors(ends.last().copied(), |place| before[*place]).collect();
    places.reverse();
    places
}
