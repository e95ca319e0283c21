//! The ids of rows: unique whatever the nodes are called, and the same from one snapshot to the next (law P2).

use std::{collections::HashSet, sync::Arc};

use chat_core::{ApprovalId, Redactor};

use crate::summary::line;

/// How many bytes of a node's id a row takes as they are.
const MAX_BYTES: usize = 256;
/// What is kept of a longer one, in characters: its place in the tree follows.
const HEAD: usize = 240;

/// What ids of approvals begin with. Those of nodes never do.
const APPROVAL: &str = "approval:";
/// What the ids of nodes begin with that would be mistaken for others. With `#` behind it: an id made of a node's place in the tree.
const NODE: &str = "node:";

/// Gives each node of a tree its row's id. Nodes come in index order: since a tree only grows, each gets the same id in every
/// snapshot.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    // Nodes may be called anything: hashed so that no choice of ids can make this slow.
    taken: HashSet<Arc<str>>,
}

impl Ids {
    pub(crate) fn with_capacity(nodes: usize) -> Self {
        Self {
            taken: HashSet::with_capacity(nodes),
        }
    }

    /// The row's id of the node at an index.
    pub(crate) fn give(&mut self, index: usize, id: &Arc<str>, redactor: &Redactor) -> Arc<str> {
        let mut text = if id.len() > MAX_BYTES {
            let head = line(id, HEAD, redactor);
            format!("{}…#{index}", head.trim_end_matches('…'))
        } else {
            line(id, MAX_BYTES, redactor)
        };
        if text.starts_with(APPROVAL) || text.starts_with(NODE) {
            text.insert_str(0, NODE);
        }
        let given: Arc<str> = if text == **id {
            id.clone()
        } else {
            text.into()
        };
        if !given.is_empty() && self.taken.insert(given.clone()) {
            return given;
        }
        // No other rule makes an id that begins like this, and the index is this node's alone.
        format!("{NODE}#{index}:{given}").into()
    }
}

/// The row's id of a request: the request's own id, to which answers go, as it is.
pub(crate) fn of_approval(id: &ApprovalId) -> Arc<str> {
    format!("{APPROVAL}{id}").into()
}
