//! Where rows stand, against a plain recursive reading of the tree.

use std::collections::HashSet;

use chat_core::{NodeIndex, TraceKind, TraceNode, TraceTree};
use chat_trace::{ProjectOptions, RowKind, TraceRow, project};
use proptest::prelude::*;

use crate::play::{Run, any_acts, run};

/// Each node's index as its name, so that rows tell which node they stand for.
fn named(tree: &TraceTree) -> TraceTree {
    let mut named = TraceTree::default();
    for (index, node) in tree.iter() {
        let mut node = (**node).clone();
        node.name = format!("n{}", index.position()).into();
        named.push(node.parent(), node);
    }
    named
}

/// The rows of nodes as they stand in each other: name and depth.
fn reference(
    tree: &TraceTree,
    parent: Option<NodeIndex>,
    depth: usize,
    rows: &mut Vec<(String, usize)>,
) {
    for (index, node) in tree.iter().filter(|(_, node)| node.parent() == parent) {
        let is_row = match node.kind {
            TraceKind::Sequence => false,
            TraceKind::Agent => parent.is_some(),
            _ => true,
        };
        if is_row {
            rows.push((node.name.to_string(), depth));
        }
        reference(tree, Some(index), depth + usize::from(is_row), rows);
    }
}

fn rows(run: &Run) -> Vec<TraceRow> {
    let options = ProjectOptions::default().requests(run.requests.iter().cloned());
    project(&run.tree, &options)
}

proptest! {
    #[test]
    fn p3_rows_stand_as_nodes_stand_in_each_other(acts in any_acts(60)) {
        let run = run(&acts);
        let tree = named(&run.tree);
        let mut expected = Vec::new();
        reference(&tree, None, 0, &mut expected);
        let named: Vec<_> = project(&tree, &ProjectOptions::default())
            .iter()
            .map(|row| (row.name.to_string(), row.depth))
            .collect();
        prop_assert_eq!(named, expected);
    }

    #[test]
    fn p2_ids_are_unique_and_every_parent_stands_before_its_rows(acts in any_acts(80)) {
        let rows = rows(&run(&acts));
        let ids: HashSet<_> = rows.iter().map(|row| &*row.id).collect();
        prop_assert_eq!(ids.len(), rows.len());
        for (place, row) in rows.iter().enumerate() {
            // The nearest row above that is one step out.
            let around = rows[..place].iter().rev().find(|above| above.depth < row.depth);
            prop_assert_eq!(around.map(|around| &around.id), row.parent.as_ref());
            prop_assert_eq!(around.map_or(0, |around| around.depth + 1), row.depth);
            prop_assert_eq!(row.id.starts_with("approval:"), row.kind == RowKind::Approval);
        }
    }
}

fn node(kind: TraceKind, id: &str) -> TraceNode {
    TraceNode::new(id, kind, id)
}

#[test]
fn p3_sequences_and_the_runs_own_agent_have_no_row_and_a_nested_agent_has() {
    let mut tree = TraceTree::default();
    let run = tree.push(None, node(TraceKind::Agent, "run"));
    let sequence = tree.push(Some(run), node(TraceKind::Sequence, "seq"));
    let nested = tree.push(Some(sequence), node(TraceKind::Agent, "nested"));
    let inner = tree.push(Some(nested), node(TraceKind::Sequence, "inner"));
    let step = tree.push(Some(inner), node(TraceKind::Step, "draft"));
    tree.push(Some(run), node(TraceKind::Task, "count"));
    tree.push(Some(step), node(TraceKind::Model, "model"));
    let rows = project(&tree, &ProjectOptions::default());
    let drawn: Vec<_> = rows
        .iter()
        .map(|row| (row.depth, &*row.id, row.parent.as_deref(), row.kind))
        .collect();
    assert_eq!(
        drawn,
        [
            (0, "nested", None, RowKind::Agent),
            (1, "draft", Some("nested"), RowKind::Step),
            (2, "model", Some("draft"), RowKind::Model),
            (0, "count", None, RowKind::Task),
        ]
    );
}
