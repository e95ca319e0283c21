//! A whole tree as rows.

use std::sync::Arc;

use chat_core::{TraceNode, TraceStatus, TraceTree};

use crate::{
    ProjectOptions, TraceRow,
    approvals::{self, Placed},
    ids::Ids,
    layout::{Layout, row_kind},
    write::{Site, Source, Writer},
};

/// The rows of a trace from top to bottom, each behind the row it stands in (law P3: whatever the tree).
///
/// - Steps, tasks, parallels, catches, model calls, tool calls and nested agents have a row each; sequences and the run's own
///   agent have none, and what stands in them stands in their place.
/// - Each request of [`ProjectOptions::requests`] has a row under the tool call it is about: the one with its call id, in its step
///   if there are several, and of those the last that is open. Where there is no such call, it is the last row of its step; where
///   there is no such step, the last of all.
/// - Costs the same for each row, however many there are and whatever they hold. Whoever projects snapshot after snapshot takes a
///   [`TraceView`](crate::TraceView).
///
/// ```
/// use chat_core::{TraceKind, TraceNode, TraceStatus, TraceTree};
/// use chat_trace::{ProjectOptions, project};
///
/// let mut tree = TraceTree::default();
/// let run = tree.push(None, TraceNode::new("0", TraceKind::Agent, "engineer"));
/// let step = tree.push(Some(run), TraceNode::new("draft", TraceKind::Step, "draft"));
/// let tool = tree.push(Some(step), TraceNode::new("draft/tool-1", TraceKind::Tool, "read_file"));
/// for open in [step, tool] {
///     tree.update(open, |node| node.status = TraceStatus::Running);
/// }
/// let rows = project(&tree, &ProjectOptions::default());
/// let drawn: Vec<_> = rows.iter().map(|row| format!("{}{}", "  ".repeat(row.depth), row.title)).collect();
/// assert_eq!(drawn, ["Running draft", "  Running read_file"]);
/// ```
#[must_use]
pub fn project(tree: &TraceTree, options: &ProjectOptions) -> Vec<TraceRow> {
    let nodes: Vec<&Arc<TraceNode>> = tree.iter().map(|(_, node)| node).collect();
    let layout = Layout::of(nodes.iter().map(|node| &***node));
    let mut names = Ids::with_capacity(nodes.len());
    let ids: Vec<_> = nodes
        .iter()
        .enumerate()
        .map(|(index, node)| names.of(index, node, &options.redactor))
        .collect();
    drop(names);
    let failed = failed_children(&nodes, &layout);
    let placed = approvals::place(
        &options.requests,
        &layout,
        nodes.iter().map(|node| &***node),
    );
    let writer = Writer::new(options);
    let mut rows = Vec::with_capacity(layout.order().len() + placed.len());
    let mut asked = placed.iter().peekable();
    for (row, index) in layout.order().enumerate() {
        while let Some(placed) = asked.next_if(|placed| placed.rows_before <= row) {
            rows.push(writer.approval(&placed.request, site_of(placed, &layout, &ids)));
        }
        let node = nodes[index];
        let Some(kind) = row_kind(node) else {
            continue;
        };
        let source = Source {
            node,
            kind,
            failed: failed[index],
        };
        let site = Site {
            parent: layout.owner(index).map(|owner| ids[owner].clone()),
            depth: layout.depth(index),
        };
        rows.push(writer.node(&source, ids[index].clone(), site));
    }
    rows.extend(
        asked.map(|placed| writer.approval(&placed.request, site_of(placed, &layout, &ids))),
    );
    rows
}

/// Where a request's row stands.
pub(crate) fn site_of(placed: &Placed, layout: &Layout, ids: &[Arc<str>]) -> Site {
    Site {
        parent: placed.node.map(|node| ids[node].clone()),
        depth: placed.node.map_or(0, |node| layout.depth(node) + 1),
    }
}

/// How many direct children of each node failed.
fn failed_children(nodes: &[&Arc<TraceNode>], layout: &Layout) -> Vec<u32> {
    let mut failed = vec![0; nodes.len()];
    for (index, node) in nodes.iter().enumerate() {
        if node.status == TraceStatus::Failed
            && let Some(parent) = layout.parent(index)
        {
            failed[parent] += 1;
        }
    }
    failed
}
