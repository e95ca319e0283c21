//! Where the rows of nodes stand: preorder, from a list of nodes that name their parents. Integers only, two passes, nothing recurses.

use std::ops::Range;

use chat_core::{TraceKind, TraceNode};

use crate::RowKind;

/// No node.
const NONE: u32 = u32::MAX;

/// What kind of row a node has; `None` for one that has none: a sequence, whose children stand in its place, and the run's own
/// agent, which is the turn.
pub(crate) fn row_kind(node: &TraceNode) -> Option<RowKind> {
    match node.kind {
        TraceKind::Sequence => None,
        TraceKind::Agent => node.parent().map(|_| RowKind::Agent),
        TraceKind::Step => Some(RowKind::Step),
        TraceKind::Task => Some(RowKind::Task),
        TraceKind::Parallel => Some(RowKind::Parallel),
        TraceKind::Catch => Some(RowKind::Catch),
        TraceKind::Model => Some(RowKind::Model),
        TraceKind::Tool => Some(RowKind::Tool),
        // A kind that is newer than this.
        _ => Some(RowKind::Task),
    }
}

/// Where the row of each node stands among those of all nodes.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    places: Vec<Place>,
    /// The nodes that have rows, in the order of their rows.
    order: Vec<u32>,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    parent: u32,
    /// The nearest node around it that has a row.
    owner: u32,
    /// How many rows it stands in.
    depth: u32,
    has_row: bool,
    /// The rows of it and of all that stands in it.
    start: u32,
    end: u32,
}

impl Layout {
    /// The layout of these nodes, which come in index order.
    pub(crate) fn of<'a>(nodes: impl ExactSizeIterator<Item = &'a TraceNode>) -> Self {
        let mut layout = Self {
            places: Vec::with_capacity(nodes.len()),
            order: Vec::new(),
        };
        nodes.for_each(|node| layout.push(node));
        layout.settle();
        layout
    }

    /// Adds a node behind those there are. Its place is known after the next [`Layout::append`] or
    /// [`Layout::settle`].
    pub(crate) fn push(&mut self, node: &TraceNode) {
        // A tree's indices are 32 bits wide.
        let parent = node
            .parent()
            .map_or(NONE, |parent| parent.position() as u32);
        let (owner, depth) = match self.places.get(parent as usize) {
            None => (NONE, 0),
            Some(above) if above.has_row => (parent, above.depth + 1),
            Some(above) => (above.owner, above.depth),
        };
        self.places.push(Place {
            parent,
            owner,
            depth,
            has_row: row_kind(node).is_some(),
            start: 0,
            end: 0,
        });
    }

    /// Finds the places of the nodes from an index on, which have none yet, where their rows come behind all others and move none of
    /// them. Gives up, and leaves it to [`Layout::settle`], where they don't or that would take longer.
    pub(crate) fn append(&mut self, from: usize) -> bool {
        let mut steps = self.places.len();
        (from..self.places.len()).all(|node| self.append_one(node, &mut steps))
    }

    fn append_one(&mut self, node: usize, steps: &mut usize) -> bool {
        let Place {
            parent, has_row, ..
        } = self.places[node];
        let start = self.order.len() as u32;
        // What stands in the last row stands in all rows that one stands in.
        let is_last = |around: &Place| around.end == start;
        if parent != NONE && !self.places.get(parent as usize).is_some_and(is_last) {
            return false;
        }
        let end = start + u32::from(has_row);
        (self.places[node].start, self.places[node].end) = (start, end);
        if !has_row {
            return true;
        }
        self.order.push(node as u32);
        let mut around = parent;
        while let Some(place) = self.places.get_mut(around as usize) {
            let Some(left) = steps.checked_sub(1) else {
                return false;
            };
            *steps = left;
            place.end = end;
            around = place.parent;
        }
        true
    }

    /// Finds every node's place anew.
    pub(crate) fn settle(&mut self) {
        // How many rows each node holds, its own among them; in `end` for now. Children stand behind their parents.
        for place in &mut self.places {
            place.end = u32::from(place.has_row);
        }
        for index in (0..self.places.len()).rev() {
            let Place { parent, end, .. } = self.places[index];
            if let Some(parent) = self.places.get_mut(parent as usize) {
                parent.end += end;
            }
        }
        // Where the next child of each node starts; the last is for those at the top.
        let top = self.places.len();
        let mut next = vec![0; top + 1];
        for (index, place) in self.places.iter_mut().enumerate() {
            let around = top.min(place.parent as usize);
            place.start = next[around];
            place.end += place.start;
            next[around] = place.end;
            next[index] = place.start + u32::from(place.has_row);
        }
        self.order.clear();
        self.order.resize(next[top] as usize, NONE);
        for (index, place) in self.places.iter().enumerate() {
            if place.has_row {
                self.order[place.start as usize] = index as u32;
            }
        }
    }

    /// The nodes that have rows, in the order of their rows.
    pub(crate) fn order(&self) -> impl ExactSizeIterator<Item = usize> {
        self.order.iter().map(|index| *index as usize)
    }

    /// Where a node's row stands; `None` where it has none.
    pub(crate) fn row(&self, node: usize) -> Option<usize> {
        let place = self.places.get(node)?;
        place.has_row.then_some(place.start as usize)
    }

    /// The rows of a node and of all that stands in it.
    pub(crate) fn rows(&self, node: usize) -> Range<usize> {
        let place = &self.places[node];
        place.start as usize..place.end as usize
    }

    /// The node it stands in.
    pub(crate) fn parent(&self, node: usize) -> Option<usize> {
        some(self.places[node].parent)
    }

    /// The nearest node around it that has a row.
    pub(crate) fn owner(&self, node: usize) -> Option<usize> {
        some(self.places[node].owner)
    }

    /// How many rows it stands in.
    pub(crate) fn depth(&self, node: usize) -> usize {
        self.places[node].depth as usize
    }
}

fn some(index: u32) -> Option<usize> {
    (index != NONE).then_some(index as usize)
}

#[cfg(test)]
mod tests {
    use chat_core::TraceTree;
    use proptest::prelude::*;

    use super::*;

    fn tree(nodes: &[(TraceKind, prop::sample::Index)]) -> TraceTree {
        let mut tree = TraceTree::default();
        for (kind, parent) in nodes {
            // One more than there are: none.
            let parent = tree.iter().nth(parent.index(tree.len() + 1));
            let parent = parent.map(|(index, _)| index);
            tree.push(parent, TraceNode::new("id", *kind, "name"));
        }
        tree
    }

    proptest! {
        #[test]
        fn p3_a_node_at_the_end_has_the_place_it_would_have_if_all_were_found_anew(
            nodes in prop::collection::vec(
                (prop::sample::select(vec![TraceKind::Step, TraceKind::Sequence]), any::<prop::sample::Index>()),
                0..40,
            ),
        ) {
            let tree = tree(&nodes);
            let nodes: Vec<_> = tree.iter().map(|(_, node)| &**node).collect();
            let mut layout = Layout::default();
            for (index, node) in nodes.iter().enumerate() {
                layout.push(node);
                let is_last = layout.append(index);
                if !is_last {
                    layout.settle();
                }
                let whole = Layout::of(nodes[..=index].iter().copied());
                prop_assert_eq!(&layout.order, &whole.order);
                for node in (0..=index).filter(|node| whole.places[*node].has_row) {
                    prop_assert_eq!(layout.rows(node), whole.rows(node));
                }
                // Of a sequence without rows it is not known whether it is the last.
                let has_row = |node: usize| whole.places[node].has_row;
                let at_end = whole.order.last() == Some(&(index as u32));
                prop_assert!(is_last || !at_end || !whole.parent(index).is_none_or(has_row));
            }
        }
    }

    #[test]
    fn p3_nodes_deep_in_a_tree_are_placed_anew_where_that_is_less() {
        let mut tree = TraceTree::default();
        let mut parent = None;
        for _ in 0..200_000 {
            parent = Some(tree.push(parent, TraceNode::new("id", TraceKind::Step, "name")));
        }
        let mut layout = Layout::default();
        tree.iter().for_each(|(_, node)| layout.push(node));
        assert!(!layout.append(0));
        layout.settle();
        layout.push(&TraceNode::new("id", TraceKind::Step, "name"));
        assert!(layout.append(200_000));
        assert_eq!(layout.row(200_000), Some(200_000));
    }
}
