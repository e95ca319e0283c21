//! The tree, as a list of nodes that name their parents: however deep it is, nothing recurses.

use std::sync::Arc;

use rpds::VectorSync;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::{TraceNode, TraceStatus};
use crate::Timestamp;

/// A snapshot of a run's trace. A clone costs one reference count; in JSON it is the list of its nodes, each behind its parent.
///
/// ```
/// use chat_core::{TraceKind, TraceNode, TraceStatus, TraceTree};
///
/// let mut tree = TraceTree::default();
/// let run = tree.push(None, TraceNode::new("run", TraceKind::Agent, "engineer"));
/// let step = tree.push(Some(run), TraceNode::new("run/draft", TraceKind::Step, "draft"));
/// let before = tree.clone();
/// tree.update(step, |node| node.status = TraceStatus::Running);
/// assert_eq!(before.get(step).unwrap().status, TraceStatus::Pending);
/// assert_eq!(tree.get(step).unwrap().parent(), Some(run));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct TraceTree {
    nodes: VectorSync<Arc<TraceNode>>,
}

/// A node's place in its tree; it never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeIndex(u32);

impl NodeIndex {
    /// How many nodes were added before it: its position in [`TraceTree::iter`].
    #[must_use]
    pub fn position(self) -> usize {
        self.0 as usize
    }
}

/// A change copies the way to its node, each level of it 2 to the power of this wide, and counts references for all that width:
/// narrower than the vector's own 32, since a trace is changed far more often than it is read by index.
const BITS: u8 = 4;

impl Default for TraceTree {
    fn default() -> Self {
        Self {
            nodes: VectorSync::new_with_bits(BITS),
        }
    }
}

impl TraceTree {
    /// Adds a node behind all others of its parent. A parent that is not in this tree makes it a root.
    pub fn push(&mut self, parent: Option<NodeIndex>, mut node: TraceNode) -> NodeIndex {
        let index = NodeIndex(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        node.parent = parent.filter(|parent| *parent < index);
        self.nodes.push_back_mut(Arc::new(node));
        index
    }

    /// Changes a node; snapshots taken before keep it as it was. Nothing happens where there is no such node.
    pub fn update(&mut self, index: NodeIndex, change: impl FnOnce(&mut TraceNode)) {
        let Some(node) = self.nodes.get_mut(index.0 as usize) else {
            return;
        };
        let node = Arc::make_mut(node);
        let parent = node.parent;
        change(node);
        node.parent = parent;
    }

    /// A node.
    #[must_use]
    pub fn get(&self, index: NodeIndex) -> Option<&Arc<TraceNode>> {
        self.nodes.get(index.0 as usize)
    }

    /// All nodes in the order they were added: every node behind its parent, siblings in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (NodeIndex, &Arc<TraceNode>)> {
        // Indices were checked when the nodes were pushed.
        self.nodes
            .iter()
            .enumerate()
            .map(|(index, node)| (NodeIndex(index as u32), node))
    }

    /// How many nodes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The tree with every open node marked aborted, as a stopped run leaves it. `None` where none is open.
    #[must_use]
    pub fn aborted(&self, now: Timestamp) -> Option<Self> {
        let open: Vec<_> = self
            .iter()
            .filter(|(_, node)| node.status.is_open())
            .map(|(index, _)| index)
            .collect();
        if open.is_empty() {
            return None;
        }
        let mut tree = self.clone();
        for index in open {
            tree.update(index, |node| {
                node.status = TraceStatus::Aborted;
                node.ended_at = Some(now);
            });
        }
        Some(tree)
    }
}

impl Serialize for TraceTree {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.nodes.iter())
    }
}

impl<'de> Deserialize<'de> for TraceTree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut tree = Self::default();
        for node in Vec::<TraceNode>::deserialize(deserializer)? {
            let parent = node.parent;
            let index = tree.push(parent, node);
            if parent.is_some_and(|parent| parent >= index) {
                return Err(D::Error::custom("a trace node stands before its parent"));
            }
        }
        Ok(tree)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TraceKind;

    fn deep(depth: usize) -> TraceTree {
        let mut tree = TraceTree::default();
        let mut parent = None;
        for level in 0..depth {
            parent = Some(tree.push(
                parent,
                TraceNode::new(format!("n{level}"), TraceKind::Sequence, "s"),
            ));
        }
        tree
    }

    #[test]
    fn p3_a_tree_may_be_deeper_than_any_stack() {
        let tree = deep(30_000);
        let text = serde_json::to_string(&tree).unwrap();
        let again: TraceTree = serde_json::from_str(&text).unwrap();
        assert_eq!(again.len(), tree.len());
        assert!(tree.aborted(Timestamp::UNIX_EPOCH).is_some());
    }

    #[test]
    fn w8_a_change_shares_all_other_nodes_with_the_snapshot_before() {
        let mut tree = deep(100);
        let before = tree.clone();
        let (index, _) = tree.iter().nth(50).unwrap();
        tree.update(index, |node| node.status = TraceStatus::Running);
        let shared = tree
            .iter()
            .zip(before.iter())
            .filter(|((_, one), (_, two))| Arc::ptr_eq(one, two))
            .count();
        assert_eq!((shared, index.position()), (99, 50));
    }

    #[test]
    fn a_parent_always_stands_before_its_child() {
        let later = r#"[{"id":"a","parent":1,"kind":"step","name":"a","status":"done"}]"#;
        assert!(serde_json::from_str::<TraceTree>(later).is_err());
    }

    #[test]
    fn aborting_marks_what_is_open_and_nothing_else() {
        let mut tree = deep(3);
        let (first, _) = tree.iter().next().unwrap();
        tree.update(first, |node| node.status = TraceStatus::Done);
        let aborted = tree.aborted(Timestamp::UNIX_EPOCH).unwrap();
        let status: Vec<_> = aborted.iter().map(|(_, node)| node.status).collect();
        assert_eq!(
            status,
            [
                TraceStatus::Done,
                TraceStatus::Aborted,
                TraceStatus::Aborted
            ]
        );
        assert!(aborted.aborted(Timestamp::UNIX_EPOCH).is_none());
    }
}
