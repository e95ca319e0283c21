//! The live tree of a workflow's run, as a list of nodes that name their parents: however deep it is, nothing recurses.
//! Snapshots share structure: a change copies one node and the short way to it, nothing else (law W8).
//!
//! Final with the workflow responder, which fills it, and the projection, which reads it.

use std::sync::Arc;

use rpds::VectorSync;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::Value;

use crate::{CallId, ModelRef, RecordedError, Timestamp, Usage};

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

/// What a node of a trace stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum TraceKind {
    /// An agent: the run itself, or one nested in it.
    Agent,
    /// A step: model calls and the tools they ask for.
    Step,
    /// A plain function.
    Task,
    /// Nodes one after another.
    Sequence,
    /// Nodes side by side.
    Parallel,
    /// A node with a fallback.
    Catch,
    /// One model call.
    Model,
    /// One tool call.
    Tool,
}

/// Where a node stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TraceStatus {
    /// It has not begun.
    Pending,
    /// It is at work.
    Running,
    /// It waits for a person.
    Waiting,
    /// It is done.
    Done,
    /// It failed.
    Failed,
    /// It was stopped.
    Aborted,
}

impl TraceStatus {
    /// Whether work on the node goes on or is to come.
    #[must_use]
    pub fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::Running | Self::Waiting)
    }
}

/// One node of a trace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TraceNode {
    /// Unique in the run, and the same from one snapshot to the next (law P2).
    pub id: Arc<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Option<NodeIndex>,
    /// What it stands for.
    pub kind: TraceKind,
    /// The name its author gave it; a tool's or model's own name.
    pub name: Arc<str>,
    /// Where it stands.
    pub status: TraceStatus,
    /// When it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// The model it used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelRef>,
    /// Tokens it used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The tool call it stands for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<CallId>,
    /// What went in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Arc<Value>>,
    /// What came out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Arc<Value>>,
    /// The text written so far.
    #[serde(default, skip_serializing_if = "PartialText::is_empty")]
    pub partial_text: PartialText,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<RecordedError>,
}

impl TraceNode {
    /// A node that has not begun.
    #[must_use]
    pub fn new(id: impl Into<Arc<str>>, kind: TraceKind, name: impl Into<Arc<str>>) -> Self {
        Self {
            id: id.into(),
            parent: None,
            kind,
            name: name.into(),
            status: TraceStatus::Pending,
            started_at: None,
            ended_at: None,
            model: None,
            usage: None,
            call_id: None,
            input: None,
            output: None,
            partial_text: PartialText::default(),
            error: None,
        }
    }

    /// The node it stands in; `None` for a root.
    #[must_use]
    pub fn parent(&self) -> Option<NodeIndex> {
        self.parent
    }
}

impl Default for TraceTree {
    fn default() -> Self {
        Self {
            nodes: VectorSync::new_sync(),
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

/// Text as it grows: pieces that are joined only when someone asks for the string. A push copies nothing, and snapshots share
/// what was there before (law W8). In JSON a string.
#[derive(Debug, Clone)]
pub struct PartialText {
    pieces: VectorSync<Arc<str>>,
    bytes: usize,
}

impl Default for PartialText {
    fn default() -> Self {
        Self {
            pieces: VectorSync::new_sync(),
            bytes: 0,
        }
    }
}

impl PartialText {
    /// Adds a piece.
    pub fn push(&mut self, piece: Arc<str>) {
        self.bytes += piece.len();
        self.pieces.push_back_mut(piece);
    }

    /// How many bytes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether there is no text.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// The pieces, in order.
    pub fn pieces(&self) -> impl Iterator<Item = &Arc<str>> {
        self.pieces.iter()
    }
}

impl std::fmt::Display for PartialText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.pieces.iter().try_for_each(|piece| f.write_str(piece))
    }
}

impl PartialEq for PartialText {
    /// Equal is equal text, however it was cut into pieces.
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
            && self
                .pieces()
                .flat_map(|piece| piece.bytes())
                .eq(other.pieces().flat_map(|piece| piece.bytes()))
    }
}

impl<T: Into<Arc<str>>> From<T> for PartialText {
    fn from(text: T) -> Self {
        let mut partial = Self::default();
        partial.push(text.into());
        partial
    }
}

impl Serialize for PartialText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PartialText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

/// What a workflow's run came to. In memory only: never stored (law W7).
///
/// Final with the workflow responder.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RunResult {
    /// Each step's result, by step id.
    pub steps: std::collections::BTreeMap<crate::StepId, Arc<Value>>,
    /// The trace as it ended.
    pub trace: TraceTree,
    /// All tokens used, as far as known.
    pub usage: Option<Usage>,
}

impl RunResult {
    /// A run's result.
    #[must_use]
    pub fn new(
        steps: std::collections::BTreeMap<crate::StepId, Arc<Value>>,
        trace: TraceTree,
        usage: Option<Usage>,
    ) -> Self {
        Self {
            steps,
            trace,
            usage,
        }
    }

    /// A step's result as text: a string as it is, anything else as JSON; nothing where there is no such step.
    #[must_use]
    pub fn text(&self, step: &str) -> Option<String> {
        self.steps.get(step).map(|value| match &**value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(shared, 99);
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
