//! Where the rows of approval requests stand: each under the tool call it is about.

use std::{
    cmp::Reverse,
    collections::{HashMap, HashSet},
    ops::Range,
    sync::Arc,
};

use chat_core::{ApprovalRequest, TraceKind, TraceNode};

use crate::layout::Layout;

/// A request and its place among the rows of nodes.
#[derive(Debug, Clone)]
pub(crate) struct Placed {
    pub(crate) request: Arc<ApprovalRequest>,
    /// The node it stands in, as the last row there; `None`: at the top.
    pub(crate) node: Option<usize>,
    /// How many rows of nodes stand before it.
    pub(crate) rows_before: usize,
}

/// The requests in the order of their rows, the first of each id.
pub(crate) fn place<'a>(
    requests: &[Arc<ApprovalRequest>],
    layout: &Layout,
    nodes: impl Iterator<Item = &'a TraceNode>,
) -> Vec<Placed> {
    if requests.is_empty() {
        return Vec::new();
    }
    let asked = Asked::find(requests, layout, nodes);
    let mut seen = HashSet::new();
    let mut placed: Vec<_> = requests
        .iter()
        .filter(|request| seen.insert(&request.id))
        .map(|request| {
            let node = asked.node(request, layout);
            let rows = node.map_or(0..layout.order().len(), |node| layout.rows(node));
            let placed = Placed {
                request: request.clone(),
                node,
                rows_before: rows.end,
            };
            (rows.start, placed)
        })
        .collect();
    // Of those that end at the same row, the innermost first; the top is around them all. The sort keeps the order of requests.
    placed.sort_by_key(|(start, placed)| {
        (placed.rows_before, placed.node.is_none(), Reverse(*start))
    });
    placed.into_iter().map(|(_, placed)| placed).collect()
}

/// Whether a change of a node may move a request's row.
pub(crate) fn moves(before: &TraceNode, after: &TraceNode) -> bool {
    let opened_or_closed = before.status.is_open() != after.status.is_open();
    match after.kind {
        TraceKind::Tool => opened_or_closed || before.call_id != after.call_id,
        TraceKind::Step => opened_or_closed,
        _ => false,
    }
}

/// The nodes that requests name.
struct Asked<'a> {
    tools: HashMap<&'a str, Tools>,
    steps: HashMap<&'a str, Option<Step>>,
}

/// The tool calls with one call id: where their rows stand, in order. Ids of calls need not be unique.
#[derive(Default)]
struct Tools {
    all: Vec<(usize, usize)>,
    open: Vec<(usize, usize)>,
}

struct Step {
    node: usize,
    is_open: bool,
}

impl<'a> Asked<'a> {
    fn find<'n>(
        requests: &'a [Arc<ApprovalRequest>],
        layout: &Layout,
        nodes: impl Iterator<Item = &'n TraceNode>,
    ) -> Self {
        let mut asked = Self {
            tools: HashMap::new(),
            steps: HashMap::new(),
        };
        for request in requests {
            asked.tools.entry(request.call_id.as_str()).or_default();
            asked.steps.entry(request.step.as_str()).or_default();
        }
        for (index, node) in nodes.enumerate() {
            asked.look_at(index, node, layout);
        }
        for tools in asked.tools.values_mut() {
            tools.all.sort_unstable();
            tools.open.sort_unstable();
        }
        asked
    }

    fn look_at(&mut self, index: usize, node: &TraceNode, layout: &Layout) {
        let is_open = node.status.is_open();
        match node.kind {
            TraceKind::Step => {
                if let Some(step) = self.steps.get_mut(&*node.id)
                    && step.as_ref().is_none_or(|step| is_open || !step.is_open)
                {
                    *step = Some(Step {
                        node: index,
                        is_open,
                    });
                }
            }
            TraceKind::Tool => {
                let Some(call) = &node.call_id else {
                    return;
                };
                if let Some(tools) = self.tools.get_mut(call.as_str())
                    && let Some(row) = layout.row(index)
                {
                    tools.all.push((row, index));
                    if is_open {
                        tools.open.push((row, index));
                    }
                }
            }
            _ => {}
        }
    }

    /// The tool call that a request is about, one of its step before any other; where there is none, the step.
    fn node(&self, request: &ApprovalRequest, layout: &Layout) -> Option<usize> {
        let step = self.steps.get(request.step.as_str())?.as_ref();
        let step = step.map(|step| step.node);
        let tools = self.tools.get(request.call_id.as_str())?;
        step.and_then(|step| tools.last_in(&layout.rows(step)))
            .or_else(|| tools.last_in(&(0..usize::MAX)))
            .or(step)
    }
}

impl Tools {
    /// Of those in these rows, the last that is open, else the last.
    fn last_in(&self, rows: &Range<usize>) -> Option<usize> {
        last_in(&self.open, rows).or_else(|| last_in(&self.all, rows))
    }
}

fn last_in(sorted: &[(usize, usize)], rows: &Range<usize>) -> Option<usize> {
    let end = sorted.partition_point(|(row, _)| *row < rows.end);
    let (row, node) = sorted[..end].last()?;
    rows.contains(row).then_some(*node)
}
