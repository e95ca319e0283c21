//! Approval rows: there exactly while a request waits, under the call it is about.

use std::{collections::HashSet, sync::Arc};

use chat_core::{
    ApprovalRequest, NodeIndex, Timestamp, TraceKind, TraceNode, TraceStatus, TraceTree,
};
use chat_trace::{ProjectOptions, RowKind, RowStatus, TraceRow, TraceView, project};
use proptest::prelude::*;
use serde_json::json;

use crate::play::{any_acts, run};

fn push(tree: &mut TraceTree, parent: Option<NodeIndex>, kind: TraceKind, id: &str) -> NodeIndex {
    tree.push(parent, TraceNode::new(id, kind, id))
}

fn tool(tree: &mut TraceTree, parent: NodeIndex, id: &str, call: &str, status: TraceStatus) {
    let mut node = TraceNode::new(id, TraceKind::Tool, "deploy");
    node.call_id = Some(call.into());
    node.status = status;
    tree.push(Some(parent), node);
}

fn request(id: &str, call: &str, step: &str) -> Arc<ApprovalRequest> {
    Arc::new(ApprovalRequest {
        id: id.into(),
        call_id: call.into(),
        tool_name: "deploy".into(),
        input: Arc::new(json!({"to": "production"})),
        step: step.into(),
        requested_at: Timestamp::from_millis(5).expect("a time"),
    })
}

fn rows(tree: &TraceTree, requests: &[Arc<ApprovalRequest>]) -> Vec<TraceRow> {
    project(tree, &ProjectOptions::default().requests(requests.to_vec()))
}

/// The row that stands around each request's row.
fn around(tree: &TraceTree, requests: &[Arc<ApprovalRequest>]) -> Vec<(String, String)> {
    rows(tree, requests)
        .iter()
        .filter(|row| row.kind == RowKind::Approval)
        .map(|row| {
            let around = row.parent.as_deref().unwrap_or("top");
            (
                row.approval_id.as_ref().expect("it has one").to_string(),
                around.to_owned(),
            )
        })
        .collect()
}

/// Two steps, each with a call `c` that is over and one that waits; in the second also a call of a nested step.
fn two_steps() -> TraceTree {
    let mut tree = TraceTree::default();
    let run = push(&mut tree, None, TraceKind::Agent, "run");
    let steps =
        ["one", "two"].map(|step| (step, push(&mut tree, Some(run), TraceKind::Step, step)));
    // Calls come in another order than their rows stand in.
    for (step, index) in steps.into_iter().rev() {
        let mut call = |id: &str, call, status| {
            tool(&mut tree, index, &format!("{step}/{id}"), call, status);
        };
        call("over", "c", TraceStatus::Done);
        call("waits", "c", TraceStatus::Waiting);
        call("last", "c", TraceStatus::Done);
        call("own", step, TraceStatus::Done);
    }
    tree
}

#[test]
fn p2_a_request_stands_under_the_call_it_is_about() {
    let tree = two_steps();
    for (call, step, expected) in [
        ("c", "one", "one/waits"),
        ("c", "two", "two/waits"),
        ("c", "nowhere", "two/waits"),
        ("one", "two", "one/own"),
        ("unheard", "one", "one"),
        ("unheard", "nowhere", "top"),
        ("unheard", "run", "top"),
    ] {
        let found = around(&tree, &[request("r", call, step)]);
        assert_eq!(
            found,
            [("r".to_owned(), expected.to_owned())],
            "{call} of {step}"
        );
    }
}

#[test]
fn p2_where_no_call_is_open_the_last_is_meant() {
    let mut tree = TraceTree::default();
    let [one, two] = ["one", "two"].map(|id| push(&mut tree, None, TraceKind::Step, id));
    for (step, id) in [(two, "two/first"), (two, "two/last"), (one, "one/only")] {
        tool(&mut tree, step, id, "c", TraceStatus::Done);
    }
    for (step, expected) in [
        ("one", "one/only"),
        ("two", "two/last"),
        ("three", "two/last"),
    ] {
        let found = around(&tree, &[request("r", "c", step)]);
        assert_eq!(found, [("r".to_owned(), expected.to_owned())]);
    }
}

#[test]
fn p2_of_steps_of_one_name_the_last_that_is_open_is_meant() {
    let mut tree = TraceTree::default();
    let run = push(&mut tree, None, TraceKind::Agent, "run");
    let [first, last] = [(); 2].map(|()| push(&mut tree, Some(run), TraceKind::Step, "one"));
    tree.update(last, |node| node.status = TraceStatus::Done);
    let requests = [request("r", "unheard", "one")];
    let mut view = TraceView::new(ProjectOptions::default());
    for expected in ["one", "node:#2:one"] {
        assert_eq!(
            around(&tree, &requests),
            [("r".to_owned(), expected.to_owned())]
        );
        view.update(&tree, &requests);
        let shown: Vec<_> = view.rows().iter().map(|row| (**row).clone()).collect();
        assert_eq!(shown, rows(&tree, &requests));
        tree.update(first, |node| node.status = TraceStatus::Done);
    }
}

#[test]
fn p2_requests_stand_last_in_their_place_in_their_own_order() {
    let tree = two_steps();
    let requests = [
        request("top", "unheard", "nowhere"),
        request("step-2", "unheard", "two"),
        request("step-1", "unheard", "two"),
        request("tool", "two", "two"),
        request("tool", "c", "one"),
    ];
    let ids: Vec<_> = rows(&tree, &requests)
        .iter()
        .map(|row| row.id.to_string())
        .collect();
    assert_eq!(
        ids[5..],
        [
            "two",
            "two/over",
            "two/waits",
            "two/last",
            "two/own",
            "approval:tool",
            "approval:step-2",
            "approval:step-1",
            "approval:top"
        ]
    );
}

#[test]
fn p2_an_approval_row_carries_what_an_answer_needs() {
    let rows = rows(&two_steps(), &[request("one/1", "one", "one")]);
    let row = rows
        .iter()
        .find(|row| row.kind == RowKind::Approval)
        .unwrap();
    assert_eq!(&*row.id, "approval:one/1");
    assert_eq!(row.approval_id, Some("one/1".into()));
    assert_eq!((&*row.name, &*row.title), ("deploy", "Approve deploy?"));
    assert_eq!(row.status, Some(RowStatus::Pending));
    assert_eq!(row.started_at, Some(Timestamp::from_millis(5).unwrap()));
    assert!(row.input.as_ref().unwrap().contains("production"));
    assert_eq!((row.depth, row.parent.as_deref()), (2, Some("one/own")));
}

#[test]
fn p2_a_request_moves_with_the_call_that_opens_and_goes_when_it_is_answered() {
    let mut tree = two_steps();
    let mut view = TraceView::new(ProjectOptions::default());
    let requests = [request("r", "c", "one")];
    let place = |view: &TraceView| {
        let row = view.rows().iter().find(|row| row.kind == RowKind::Approval);
        row.and_then(|row| row.parent.clone())
    };
    view.update(&tree, &requests);
    assert_eq!(place(&view).as_deref(), Some("one/waits"));
    let waits = tree
        .iter()
        .find(|(_, node)| &*node.id == "one/waits")
        .unwrap()
        .0;
    tree.update(waits, |node| node.status = TraceStatus::Done);
    view.update(&tree, &requests);
    assert_eq!(place(&view).as_deref(), Some("one/last"));
    view.update(&tree, &[]);
    assert_eq!(place(&view), None);
}

proptest! {
    #[test]
    fn p2_there_is_one_approval_row_for_each_request_that_waits(acts in any_acts(60)) {
        let run = run(&acts);
        let rows = rows(&run.tree, &run.requests);
        let asked: HashSet<_> = run.requests.iter().map(|request| &request.id).collect();
        let shown: Vec<_> = rows.iter().filter_map(|row| row.approval_id.as_ref()).collect();
        prop_assert_eq!(shown.len(), asked.len());
        prop_assert_eq!(shown.into_iter().collect::<HashSet<_>>(), asked);
        for row in &rows {
            prop_assert_eq!(row.approval_id.is_some(), row.kind == RowKind::Approval);
        }
    }
}
