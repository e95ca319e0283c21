//! A view is always what a projection from scratch gives, and says what changed and no more.

use std::{collections::HashSet, sync::Arc};

use chat_core::{NodeIndex, TraceKind, TraceNode, TraceStatus, TraceTree};
use chat_trace::{ProjectOptions, RowChange, RowKind, TraceRow, TraceView, diff, project};
use proptest::prelude::*;

use crate::play::{Act, Run, acts, any_acts, change, run};

fn scratch(run: &Run) -> Vec<TraceRow> {
    let options = ProjectOptions::default().requests(run.requests.iter().cloned());
    project(&run.tree, &options)
}

fn plain(rows: &[Arc<TraceRow>]) -> Vec<&TraceRow> {
    rows.iter().map(|row| &**row).collect()
}

/// Removals, then upserts; each row once, and none that is as it was.
fn check_changes(changes: &[RowChange], before: &[Arc<TraceRow>]) {
    let mut removed = HashSet::new();
    let mut upserted = HashSet::new();
    for change in changes {
        match change {
            RowChange::Remove { id } => {
                assert!(upserted.is_empty(), "a removal behind an upsert");
                assert!(before.iter().any(|row| row.id == *id), "it was not there");
                assert!(removed.insert(id.clone()));
            }
            RowChange::Upsert { row, .. } => {
                assert!(upserted.insert(row.id.clone()));
                let as_it_was = before.iter().any(|before| before == row);
                assert!(!as_it_was || removed.contains(&row.id), "nothing changed");
            }
        }
    }
}

/// Upserts go from top to bottom.
fn check_order(changes: &[RowChange], after: &[Arc<TraceRow>]) {
    let mut below = after.iter();
    for change in changes {
        if let RowChange::Upsert { row, .. } = change {
            assert!(below.any(|below| below == row), "out of order: {changes:?}");
        }
    }
}

fn apply(changes: Vec<RowChange>, rows: &mut Vec<Arc<TraceRow>>) {
    for change in changes {
        change.apply(rows);
    }
}

proptest! {
    #[test]
    fn p2_a_view_and_its_changes_give_what_a_projection_gives(acts in any_acts(80)) {
        let mut view = TraceView::new(ProjectOptions::default());
        let (mut run, mut listed) = (Run::default(), Vec::new());
        for act in acts.iter().chain([&Act::Look]) {
            run.play(act);
            if !matches!(act, Act::Look) {
                continue;
            }
            let changes = view.update(&run.tree, &run.requests);
            check_changes(&changes, &listed);
            check_order(&changes, view.rows());
            apply(changes, &mut listed);
            let rows = scratch(&run);
            prop_assert_eq!(plain(view.rows()), rows.iter().collect::<Vec<_>>());
            prop_assert_eq!(view.rows(), &listed);
            prop_assert!(view.update(&run.tree, &run.requests).is_empty());
        }
    }

    #[test]
    fn p2_a_difference_turns_any_rows_into_any_others(one in acts(40), two in acts(40), more in any_acts(20)) {
        let (one, two) = (run(&one), run(&two));
        let mut later = one.clone();
        for act in &more {
            later.play(act);
        }
        for (old, new) in [(&one, &later), (&one, &two), (&later, &one)] {
            let (old, new) = (scratch(old), scratch(new));
            let mut rows: Vec<_> = old.into_iter().map(Arc::new).collect();
            let changes = diff(&rows, &new);
            check_changes(&changes, &rows);
            apply(changes, &mut rows);
            prop_assert_eq!(plain(&rows), new.iter().collect::<Vec<_>>());
            prop_assert!(diff(&rows, &new).is_empty());
        }
    }

    #[test]
    fn p2_one_node_that_changes_is_one_row_that_changes_and_its_catch(
        acts in acts(60), at in any::<usize>(), change in change(),
    ) {
        let mut run = run(&acts);
        run.requests.clear();
        let mut view = TraceView::new(ProjectOptions::default());
        view.update(&run.tree, &[]);
        let before = view.rows().to_vec();
        run.change(at, &change);
        let changes = view.update(&run.tree, &[]);
        let parents: Vec<_> = changes
            .iter()
            .map(|change| match change {
                RowChange::Upsert { row, .. } => (row.kind, row.id.clone(), row.parent.clone()),
                RowChange::Remove { .. } => panic!("{change:?}"),
            })
            .collect();
        match parents.as_slice() {
            [] | [_] => {}
            [(RowKind::Catch, catch, _), (_, _, Some(parent))] => prop_assert_eq!(catch, parent),
            more => panic!("{more:?}"),
        }
        check_changes(&changes, &before);
    }

    #[test]
    fn p2_rows_keep_their_ids_and_their_order_over_all_snapshots_of_a_run(acts in acts(80)) {
        let mut run = Run::default();
        let mut before: Vec<TraceRow> = Vec::new();
        for act in &acts {
            prop_assert!(run.play(act));
            if !matches!(act, Act::Look) {
                continue;
            }
            let rows: Vec<_> = scratch(&run)
                .into_iter()
                .filter(|row| row.kind != RowKind::Approval)
                .collect();
            let mut later = rows.iter();
            for row in &before {
                let again = later.find(|later| later.id == row.id);
                let again = again.expect("every row is still there, in the same order");
                prop_assert_eq!(
                    (&again.parent, again.depth, again.kind),
                    (&row.parent, row.depth, row.kind)
                );
            }
            before = rows;
        }
    }
}

fn step(tree: &mut TraceTree, parent: Option<NodeIndex>, id: &str) -> NodeIndex {
    tree.push(parent, TraceNode::new(id, TraceKind::Step, id))
}

#[test]
fn p2_a_catch_tells_of_its_childs_failure_with_the_child() {
    let mut tree = TraceTree::default();
    let catch = tree.push(None, TraceNode::new("0", TraceKind::Catch, "catch"));
    let child = step(&mut tree, Some(catch), "draft");
    tree.update(catch, |node| node.status = TraceStatus::Running);
    let mut view = TraceView::new(ProjectOptions::default());
    view.update(&tree, &[]);
    let mut titles = |tree: &TraceTree| -> Vec<_> {
        let changes = view.update(tree, &[]);
        changes
            .into_iter()
            .map(|change| match change {
                RowChange::Upsert { row, .. } => row.title.to_string(),
                RowChange::Remove { id } => format!("-{id}"),
            })
            .collect()
    };
    tree.update(child, |node| node.status = TraceStatus::Failed);
    assert_eq!(titles(&tree), ["Running the fallback", "draft failed"]);
    let fallback = step(&mut tree, Some(catch), "plain");
    tree.update(fallback, |node| node.status = TraceStatus::Done);
    tree.update(catch, |node| node.status = TraceStatus::Done);
    assert_eq!(titles(&tree), ["Recovered from a failure", "plain done"]);
}

#[test]
fn p2_a_nodes_end_reads_its_input_no_more_but_says_its_output() {
    let mut tree = TraceTree::default();
    let mut node = TraceNode::new("t", TraceKind::Tool, "read_file");
    node.input = Some(Arc::new(serde_json::json!({"path": "a.rs"})));
    let tool = tree.push(None, node);
    let mut view = TraceView::new(ProjectOptions::default());
    view.update(&tree, &[]);
    let before = view.rows()[0].clone();
    tree.update(tool, |node| {
        node.status = TraceStatus::Done;
        node.output = Some(Arc::new("fn main".into()));
    });
    view.update(&tree, &[]);
    let after = &view.rows()[0];
    let inputs = [&before, after].map(|row| row.input.clone().unwrap());
    assert!(Arc::ptr_eq(&inputs[0], &inputs[1]));
    assert_eq!(after.output.as_deref(), Some("fn main"));
}

#[test]
fn p2_of_rows_that_changed_places_as_few_as_can_be_move() {
    let rows = |ids: &[&str]| {
        let mut tree = TraceTree::default();
        for id in ids {
            step(&mut tree, None, id);
        }
        project(&tree, &ProjectOptions::default())
    };
    let (old, new) = (rows(&["a", "b", "c", "d"]), rows(&["d", "a", "b", "c"]));
    match diff(&old, &new).as_slice() {
        [
            RowChange::Remove { id },
            RowChange::Upsert { row, after: None },
        ] => {
            assert_eq!((&**id, &*row.id), ("d", "d"));
        }
        changes => panic!("{changes:?}"),
    }
}

#[test]
fn p2_a_change_that_fits_no_row_breaks_nothing() {
    let mut tree = TraceTree::default();
    step(&mut tree, None, "a");
    let row = Arc::new(project(&tree, &ProjectOptions::default()).remove(0));
    let mut rows = Vec::new();
    RowChange::Remove { id: "b".into() }.apply(&mut rows);
    let after = Some("b".into());
    RowChange::Upsert { row, after }.apply(&mut rows);
    assert_eq!(rows.len(), 1);
}

#[test]
fn p2_a_change_carried_out_twice_or_on_rows_that_were_kept_too_long_doubles_none() {
    let rows = |ids: &[&str]| -> Vec<_> {
        let mut tree = TraceTree::default();
        for id in ids {
            step(&mut tree, None, id);
        }
        let rows = project(&tree, &ProjectOptions::default());
        rows.into_iter().map(Arc::new).collect()
    };
    let new = rows(&["a", "b", "c", "d"]);
    let all = diff(&rows(&[]), &new);
    // `x` is gone by now, of which nobody told.
    for (mut listed, expected) in [
        (rows(&["a", "b", "c", "d"]), rows(&["a", "b", "c", "d"])),
        (
            rows(&["a", "x", "b", "d"]),
            rows(&["a", "x", "b", "c", "d"]),
        ),
        (rows(&["x", "a"]), rows(&["x", "a", "b", "c", "d"])),
    ] {
        apply(all.clone(), &mut listed);
        assert_eq!(listed, expected);
    }
}
