//! The ids of rows: unique whatever the nodes are called, and the same from one snapshot to the next (law P2).

use std::{collections::HashSet, sync::Arc};

use chat_core::{ApprovalId, Redactor, TraceNode};

use crate::{layout::row_kind, summary::line};

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

    /// The row's id of the node at an index. One that has no row takes none from others.
    pub(crate) fn of(&mut self, index: usize, node: &TraceNode, redactor: &Redactor) -> Arc<str> {
        match row_kind(node) {
            Some(_) => self.give(index, &node.id, redactor),
            None => node.id.clone(),
        }
    }

    fn give(&mut self, index: usize, id: &Arc<str>, redactor: &Redactor) -> Arc<str> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn given(ids: &[&str]) -> Vec<String> {
        let redactor = Redactor::default().with_secret("hunter2!");
        let mut names = Ids::default();
        let give = |(index, id): (usize, &&str)| names.give(index, &(*id).into(), &redactor);
        let ids = ids.iter().enumerate().map(give);
        ids.map(|id| id.to_string()).collect()
    }

    #[test]
    fn p2_a_nodes_id_is_its_rows_wherever_it_can_be() {
        let ids = [
            "0/1",
            "draft",
            "draft/tool-1",
            "0/1+",
            "node",
            "#1",
            "ünï",
            "a…#9",
        ];
        assert_eq!(given(&ids), ids);
    }

    #[test]
    fn p2_an_id_that_is_taken_or_empty_gets_its_nodes_place() {
        assert_eq!(
            given(&["a", "a", "", "a+", "a", ""]),
            ["a", "node:#1:a", "node:#2:", "a+", "node:#4:a", "node:#5:"]
        );
    }

    #[test]
    fn p2_no_node_can_take_the_id_of_another_rule() {
        let ids = [
            "node:#1:a",
            "a",
            "a",
            "approval:draft/1",
            "node:approval:x",
            "approval:x",
        ];
        assert_eq!(
            given(&ids),
            [
                "node:node:#1:a",
                "a",
                "node:#2:a",
                "node:approval:draft/1",
                "node:node:approval:x",
                "node:approval:x"
            ]
        );
    }

    #[test]
    fn p1_ids_show_no_secret_and_stay_apart() {
        assert_eq!(
            given(&["draft hunter2!", "draft hunter2!", "draft [redacted]"]),
            [
                "draft [redacted]",
                "node:#1:draft [redacted]",
                "node:#2:draft [redacted]"
            ]
        );
    }

    #[test]
    fn p3_long_ids_are_cut_and_stay_apart() {
        let long = "a".repeat(10_000);
        let given = given(&[&long, "b", &long]);
        assert_eq!(given[0], format!("{}…#0", "a".repeat(HEAD - 1)));
        assert!(given[2].ends_with("a…#2"));
    }

    #[test]
    fn p2_a_requests_own_id_is_in_its_rows_as_it_is() {
        assert_eq!(&*of_approval(&"draft/1".into()), "approval:draft/1");
    }
}
