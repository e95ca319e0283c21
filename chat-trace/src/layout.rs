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

    /// Adds a node behind those there are. Its place is known after the next [`Layout::settle`].
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
