//! What was at work when a clock ran out, for the error to name (law W1).

use chat_core::{NodeIndex, TraceKind, TraceNode, TraceStatus, TraceTree};

/// How many are named.
const NAMED: usize = 3;

/// What is at work in a step, or in the whole run, as the end of a sentence. Looks at the whole trace, once a time-out.
pub(crate) fn describe(tree: &TraceTree, step: Option<NodeIndex>) -> String {
    let names: Vec<_> = tree
        .iter()
        .map(|(_, node)| &**node)
        .filter(|node| step.is_none() || node.parent() == step)
        .filter(|node| matches!(node.status, TraceStatus::Running | TraceStatus::Waiting))
        .filter_map(|node| name(tree, node, step.is_none()))
        .take(NAMED)
        .collect();
    match names.as_slice() {
        [] => String::new(),
        [name] => format!(" while {name} was at work"),
        [_, ..] => format!(" while {} were at work", names.join(", ")),
    }
}

fn name(tree: &TraceTree, node: &TraceNode, with_step: bool) -> Option<String> {
    let of_step = || {
        let step = node.parent().and_then(|parent| tree.get(parent));
        step.filter(|_| with_step)
            .map_or_else(String::new, |step| format!(" of step {}", step.name))
    };
    match node.kind {
        TraceKind::Model => Some(format!("the model {}{}", node.name, of_step())),
        TraceKind::Tool => Some(format!("the tool {}{}", node.name, of_step())),
        TraceKind::Task if with_step => Some(format!("the task {}", node.name)),
        _ => None,
    }
}
