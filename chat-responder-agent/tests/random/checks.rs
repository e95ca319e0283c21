//! What holds of the events of any turn.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use chat_core::{
    ApprovalRequest, ChatEvent, NodeIndex, ToolCallRef, ToolOutcome, TraceKind, TraceStatus,
    TraceTree,
};
use serde_json::Value;

/// The requests for approval among events.
pub(crate) fn requests(events: &[ChatEvent]) -> impl Iterator<Item = &Arc<ApprovalRequest>> {
    events.iter().filter_map(|event| match event {
        ChatEvent::ApprovalRequest { request, .. } => Some(request),
        _ => None,
    })
}

/// How each tool call ended, and with what result. Those that were aborted have none.
pub(crate) fn results(events: &[ChatEvent]) -> BTreeMap<String, (ToolOutcome, Value)> {
    let mut outcomes = BTreeMap::new();
    let mut results = BTreeMap::new();
    for event in events {
        match event {
            ChatEvent::ToolExecutionEnd { call, outcome, .. } => {
                outcomes.insert(&call.call_id, *outcome);
            }
            ChatEvent::ToolResult {
                call_id, result, ..
            } => {
                let ended = outcomes.get(call_id).copied().expect("it ended before");
                let ended = (ended, (**result).clone());
                let before = results.insert(call_id.to_string(), ended);
                assert!(before.is_none(), "{call_id} has two results");
            }
            _ => {}
        }
    }
    results
}

/// The steps and tasks that have something open. All that is open in a step is open in the trace too, and the reverse.
pub(crate) fn at_work(events: &[ChatEvent]) -> BTreeSet<&str> {
    let mut open = BTreeSet::new();
    let mut last: Option<&TraceTree> = None;
    for event in events {
        match event {
            ChatEvent::StepStart { step, number, .. } => {
                open.insert((step.as_str(), *number, None));
            }
            ChatEvent::StepEnd { step, number, .. } => {
                open.remove(&(step.as_str(), *number, None));
            }
            ChatEvent::ToolCallReady { call, .. } => {
                open.insert((call.step.as_str(), call.number, Some(call.index)));
            }
            ChatEvent::ToolExecutionEnd { call, .. } => {
                open.remove(&(call.step.as_str(), call.number, Some(call.index)));
            }
            ChatEvent::RunUpdate { tree, .. } => last = Some(tree),
            _ => {}
        }
    }
    let open: BTreeSet<_> = open.into_iter().map(|(step, ..)| step).collect();
    let running = |kind| {
        let nodes = last.into_iter().flat_map(|tree| tree.iter());
        nodes
            .filter(move |(_, node)| node.kind == kind && node.status == TraceStatus::Running)
            .map(|(_, node)| &*node.id)
    };
    let steps: BTreeSet<_> = running(TraceKind::Step).collect();
    assert_eq!(open, steps, "open in the events, and in the trace");
    steps.into_iter().chain(running(TraceKind::Task)).collect()
}

/// What has begun and not ended; each begins and ends once.
struct Open<K> {
    what: &'static str,
    open: BTreeSet<K>,
    begun: BTreeSet<K>,
}

impl<K: Ord + Clone + std::fmt::Debug> Open<K> {
    fn new(what: &'static str) -> Self {
        let (open, begun) = (BTreeSet::new(), BTreeSet::new());
        Self { what, open, begun }
    }

    fn begin(&mut self, key: K) {
        let fresh = self.begun.insert(key.clone());
        assert!(fresh, "{} {key:?} began twice", self.what);
        self.open.insert(key);
    }

    fn end(&mut self, key: &K) {
        let open = self.open.remove(key);
        assert!(open, "{} {key:?} ended and was not open", self.what);
    }

    fn none_is_open(&self) {
        assert!(self.open.is_empty(), "{}s left: {:?}", self.what, self.open);
    }
}

/// Each thing begins once and ends once, whatever way the turn took.
pub(crate) fn check(events: &[ChatEvent], ended: &BTreeMap<String, (ToolOutcome, Value)>) {
    assert!(events[0].kind() == "turn-start" || events.len() == 1);
    let place = |call: &Arc<ToolCallRef>| (call.number, call.index);
    let mut steps = Open::new("step");
    let mut ready = Open::new("call");
    let mut running = Open::new("tool");
    let mut approvals = Open::new("approval");
    let mut last = TraceTree::default();
    for (at, event) in events.iter().enumerate() {
        match event {
            ChatEvent::StepStart { step, number, .. } => steps.begin((*number, step)),
            ChatEvent::StepEnd { step, number, .. } => steps.end(&(*number, step)),
            ChatEvent::ToolCallReady { call, .. } => ready.begin(place(call)),
            ChatEvent::ToolExecutionStart { call, .. } => running.begin(place(call)),
            ChatEvent::ToolExecutionEnd { call, outcome, .. } => {
                ready.end(&place(call));
                let ran = running.open.remove(&place(call));
                assert!(ran || *outcome != ToolOutcome::Ok);
                let expected = ended.get(call.call_id.as_str());
                let expected = expected.map_or(ToolOutcome::Aborted, |(outcome, _)| *outcome);
                assert_eq!(*outcome, expected, "{call:?}");
            }
            ChatEvent::ApprovalRequest { request, .. } => approvals.begin(&request.id),
            ChatEvent::ApprovalResolved { id, .. } => approvals.end(&id),
            ChatEvent::RunUpdate { tree, .. } => {
                follows(&last, tree);
                last = tree.clone();
            }
            ChatEvent::TurnEnd { .. } => assert_eq!(at + 1, events.len()),
            _ => {}
        }
    }
    assert_eq!(events.last().unwrap().kind(), "turn-end");
    steps.none_is_open();
    running.none_is_open();
    ready.none_is_open();
    approvals.none_is_open();
    let open: Vec<_> = nodes(&last)
        .filter(|(.., status)| status.is_open())
        .collect();
    assert!(open.is_empty(), "left open in the trace: {open:?}");
}

fn nodes(tree: &TraceTree) -> impl Iterator<Item = (&str, Option<NodeIndex>, TraceStatus)> {
    tree.iter()
        .map(|(_, node)| (&*node.id, node.parent(), node.status))
}

/// A trace only grows, a node that has ended stays as it is, and nothing is at work in one that is not.
fn follows(before: &TraceTree, tree: &TraceTree) {
    let ids: BTreeSet<_> = nodes(tree).map(|(id, ..)| id).collect();
    assert_eq!(ids.len(), tree.len(), "two nodes have one id");
    assert!(tree.len() >= before.len());
    for ((_, then), (_, now)) in before.iter().zip(tree.iter()) {
        let same = (&then.id, then.parent(), then.kind) == (&now.id, now.parent(), now.kind);
        assert!(
            same && (then.status.is_open() || then == now),
            "{then:?} became {now:?}"
        );
        let was_not_at_work = matches!(then.status, TraceStatus::Pending | TraceStatus::Waiting);
        assert!(now.status != TraceStatus::Pending || was_not_at_work);
    }
    for (_, node) in tree.iter() {
        let parent = node.parent().and_then(|parent| tree.get(parent));
        let at_work = node.status.is_open() && node.status != TraceStatus::Pending;
        assert!(
            parent.is_none_or(|parent| parent.status == TraceStatus::Running
                || !node.status.is_open()
                || (parent.status == TraceStatus::Pending && !at_work)),
            "{node:?} is open in {parent:?}"
        );
        assert_eq!(node.ended_at.is_some(), !node.status.is_open(), "{node:?}");
    }
}
