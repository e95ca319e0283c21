//! Any tree, however deep, wide, long or odd, gives rows of a bounded size.

use std::{collections::HashSet, sync::Arc};

use chat_core::{
    ApprovalRequest, ModelRef, RecordedError, Timestamp, TraceKind, TraceNode, TraceStatus,
    TraceTree, Usage,
};
use chat_trace::{ProjectOptions, RowKind, TraceRow, TraceView, project};
use proptest::prelude::*;
use serde_json::Value;

use crate::play::{any_acts, run};

/// What the documentation of the crate says.
const MAX_ROW_BYTES: usize = 8 * 1024;

fn check_size(row: &TraceRow) {
    let own = row.approval_id.as_ref().map_or(0, |id| id.as_str().len());
    let bytes = serde_json::to_string(row).expect("rows are JSON").len();
    let parent = row.parent.as_deref().unwrap_or_default();
    assert!(own > 0 || row.id.chars().count() <= 300, "{}", row.id);
    assert!(parent.chars().count() <= 300, "{parent}");
    assert!(
        row.name.chars().count() <= 64 && row.title.chars().count() <= 100,
        "{row:?}"
    );
    // A request's id is in its row twice, where JSON may escape each character of it.
    assert!(bytes <= MAX_ROW_BYTES + 12 * own, "{bytes} bytes: {row:?}");
}

fn chain(levels: usize, kind: TraceKind) -> TraceTree {
    let mut tree = TraceTree::default();
    let mut parent = None;
    for level in 0..levels {
        let node = TraceNode::new(format!("n{level}"), kind, "deep");
        parent = Some(tree.push(parent, node));
    }
    tree
}

#[test]
fn p3_a_tree_may_be_100_000_levels_deep() {
    for kind in [TraceKind::Catch, TraceKind::Sequence, TraceKind::Agent] {
        let mut tree = chain(100_000, kind);
        let rows = project(&tree, &ProjectOptions::default());
        let expected = match kind {
            TraceKind::Sequence => 0,
            // The first is the run's own.
            TraceKind::Agent => 99_999,
            _ => 100_000,
        };
        assert_eq!(rows.len(), expected);
        assert_eq!(rows.last().map_or(0, |last| last.depth + 1), expected);
        if kind == TraceKind::Agent {
            continue;
        }
        let mut view = TraceView::new(ProjectOptions::default());
        assert_eq!(view.update(&tree, &[]).len(), expected);
        let deepest = tree.iter().last().unwrap().0;
        tree.push(
            Some(deepest),
            TraceNode::new("leaf", TraceKind::Task, "leaf"),
        );
        assert_eq!(view.update(&tree, &[]).len(), 1);
        assert_eq!(view.rows().last().unwrap().depth, expected);
    }
}

#[test]
fn p3_a_tree_may_be_100_000_nodes_wide_and_all_of_one_name() {
    let mut tree = TraceTree::default();
    let step = tree.push(None, TraceNode::new("step", TraceKind::Step, "step"));
    for _ in 0..100_000 {
        let mut node = TraceNode::new("same", TraceKind::Tool, "same");
        node.call_id = Some("same".into());
        tree.push(Some(step), node);
    }
    let requests: Vec<_> = (0..1_000)
        .map(|id| {
            Arc::new(ApprovalRequest {
                id: id.to_string().into(),
                call_id: "same".into(),
                tool_name: "same".into(),
                input: Arc::new(Value::Null),
                step: format!("step-{id}").into(),
                requested_at: Timestamp::UNIX_EPOCH,
            })
        })
        .collect();
    let rows = project(&tree, &ProjectOptions::default().requests(requests));
    assert_eq!(rows.len(), 101_001);
    let ids: HashSet<_> = rows.iter().map(|row| &*row.id).collect();
    assert_eq!(ids.len(), rows.len());
    rows.iter().for_each(check_size);
    let last = rows.last().unwrap();
    assert_eq!((last.kind, last.depth), (RowKind::Approval, 2));
}

#[test]
fn p3_a_row_of_nothing_but_long_texts_is_bounded() {
    for piece in [
        "\u{1F600}",
        "\"",
        "\\",
        "\u{7}",
        "\u{202e}",
        "[",
        "e\u{301}",
        "a ",
    ] {
        let long: Arc<str> = piece.repeat(70_000).into();
        let mut tree = TraceTree::default();
        let parent = tree.push(None, TraceNode::new(long.clone(), TraceKind::Step, "step"));
        for status in [TraceStatus::Failed, TraceStatus::Running] {
            let mut node = TraceNode::new(long.clone(), TraceKind::Tool, long.clone());
            node.status = status;
            node.model = Some(ModelRef::new(long.clone(), long.clone()));
            node.input = Some(Arc::new(Value::from(&*long)));
            node.partial_text = long.clone().into();
            node.started_at = Some(Timestamp::UNIX_EPOCH);
            node.ended_at = Some(Timestamp::UNIX_EPOCH);
            let tokens = Some(u64::MAX);
            node.usage = Some(Usage {
                input_tokens: tokens,
                output_tokens: tokens,
                total_tokens: tokens,
                reasoning_tokens: tokens,
                cached_input_tokens: tokens,
            });
            node.error = Some(RecordedError {
                message: long.clone(),
                kind: long.clone(),
                retryable: None,
            });
            tree.push(Some(parent), node);
        }
        let rows = project(&tree, &ProjectOptions::default());
        assert_eq!(rows.len(), 3);
        rows.iter().for_each(check_size);
        let written = rows[1].output.as_deref().unwrap_or_default();
        assert!(written.contains("kB"), "its length is told: {written}");
        assert!(rows[2].output.as_ref().unwrap().ends_with("B so far"));
    }
}

#[test]
fn p3_summaries_are_as_long_as_they_may_be() {
    let mut tree = TraceTree::default();
    let mut node = TraceNode::new("a", TraceKind::Task, "a");
    node.input = Some(Arc::new("word ".repeat(100).into()));
    node.output = node.input.clone();
    tree.push(None, node);
    let mut node = TraceNode::new("b", TraceKind::Step, "b");
    node.status = TraceStatus::Running;
    node.partial_text = "word".into();
    tree.push(None, node);
    for chars in [0, 1, 2, 10, 80, 120, 500] {
        let rows = project(&tree, &ProjectOptions::default().summary_chars(chars));
        for text in rows
            .iter()
            .flat_map(|row| [&row.input, &row.output])
            .flatten()
        {
            let count = text.chars().count();
            assert!(count > 0 && count <= chars, "{text:?} of {chars}");
        }
    }
}

/// Not by the clock: what takes the square of this would not end.
#[test]
fn p3_the_first_update_of_many_rows_is_carried_out_one_by_one() {
    let mut tree = TraceTree::default();
    let step = tree.push(None, TraceNode::new("step", TraceKind::Step, "step"));
    for call in 0..200_000 {
        tree.push(
            Some(step),
            TraceNode::new(format!("call {call}"), TraceKind::Task, "task"),
        );
    }
    let (mut view, mut rows) = (
        TraceView::new(ProjectOptions::default().summary_chars(0)),
        Vec::new(),
    );
    for change in view.update(&tree, &[]) {
        change.apply(&mut rows);
    }
    assert_eq!(rows, view.rows());
}

#[test]
fn p3_nodes_that_come_one_by_one_cost_their_own_rows() {
    let mut tree = TraceTree::default();
    let (mut view, mut rows) = (TraceView::new(ProjectOptions::default()), Vec::new());
    let step = tree.push(None, TraceNode::new("step", TraceKind::Step, "step"));
    for call in 0..10_000 {
        let node = TraceNode::new(format!("call {call}"), TraceKind::Task, "task");
        tree.push(Some(step), node);
        for change in view.update(&tree, &[]) {
            change.apply(&mut rows);
        }
    }
    assert_eq!(rows, view.rows());
    assert_eq!(rows.len(), 10_001);
}

proptest! {
    #[test]
    fn p3_every_row_of_any_tree_is_bounded(acts in any_acts(60)) {
        let run = run(&acts);
        let options = ProjectOptions::default().requests(run.requests.iter().cloned());
        for row in project(&run.tree, &options) {
            check_size(&row);
            let mut texts = vec![row.name, row.title];
            texts.extend(row.model.into_iter().flat_map(|model| [model.provider, model.model_id]));
            texts.extend([row.input, row.output, row.error].into_iter().flatten());
            for text in texts {
                prop_assert!(text.chars().count() <= 128, "{text:?}");
                prop_assert!(!text.chars().any(char::is_control), "{text:?}");
                prop_assert!(!text.contains("hunter2") && !text.contains("abcdefghijkl"), "{text:?}");
            }
        }
    }
}
