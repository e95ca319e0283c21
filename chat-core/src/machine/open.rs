//! What a running turn's events have left open, so that it can be closed before `turn-end` on every path.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    AnswerError, ApprovalId, ApprovalRequest, ResponderEvent, StepId, Timestamp, ToolCallRef,
    ToolOutcome, TraceTree,
};

/// Things that begin and end, kept in the order they began; finding one costs no more than a few comparisons.
#[derive(Debug)]
struct Begun<K, V> {
    places: BTreeMap<K, u64>,
    values: BTreeMap<u64, V>,
    next: u64,
}

impl<K: Ord, V> Begun<K, V> {
    const fn new() -> Self {
        Self {
            places: BTreeMap::new(),
            values: BTreeMap::new(),
            next: 0,
        }
    }

    fn begin(&mut self, key: K, value: V) {
        if let Some(place) = self.places.insert(key, self.next) {
            self.values.remove(&place);
        }
        self.values.insert(self.next, value);
        self.next += 1;
    }

    fn end(&mut self, key: &K) -> Option<V> {
        self.places
            .remove(key)
            .and_then(|place| self.values.remove(&place))
    }

    fn drain(&mut self) -> impl Iterator<Item = V> {
        self.places.clear();
        std::mem::take(&mut self.values).into_values()
    }
}

/// What became of an approval request that is no longer pending.
#[derive(Debug, Clone, Copy)]
enum Resolved {
    Answered,
    Withdrawn,
}

/// What is open in a running turn.
#[derive(Debug)]
pub(super) struct Open {
    approvals: Begun<ApprovalId, Arc<ApprovalRequest>>,
    resolved: BTreeMap<ApprovalId, Resolved>,
    /// By the number of the model call and the call's place in it: servers give one call id to several calls.
    tools: Begun<(u32, u32), (Arc<ToolCallRef>, Option<Timestamp>)>,
    steps: Begun<(StepId, u32), (StepId, u32)>,
    tree: Option<TraceTree>,
}

impl Open {
    pub(super) const fn new() -> Self {
        Self {
            approvals: Begun::new(),
            resolved: BTreeMap::new(),
            tools: Begun::new(),
            steps: Begun::new(),
            tree: None,
        }
    }

    /// The requests that wait for an answer, in the order they were made (law R2).
    pub(super) fn requests(&self) -> impl Iterator<Item = &Arc<ApprovalRequest>> {
        self.approvals.values.values()
    }

    /// Takes a request in. `false` where its id was used before in this turn (law R2).
    pub(super) fn request(&mut self, request: &Arc<ApprovalRequest>) -> bool {
        if self.approvals.places.contains_key(&request.id)
            || self.resolved.contains_key(&request.id)
        {
            return false;
        }
        self.approvals.begin(request.id.clone(), request.clone());
        true
    }

    /// Marks a pending request answered (law R2).
    pub(super) fn answer(&mut self, id: &ApprovalId) -> Result<(), AnswerError> {
        if self.approvals.end(id).is_some() {
            self.resolved.insert(id.clone(), Resolved::Answered);
            return Ok(());
        }
        Err(match self.resolved.get(id) {
            Some(Resolved::Answered) => AnswerError::Answered(id.clone()),
            Some(Resolved::Withdrawn) => AnswerError::Withdrawn(id.clone()),
            None => AnswerError::Unknown(id.clone()),
        })
    }

    /// Marks a pending request withdrawn. `false` where it was not pending.
    pub(super) fn withdraw(&mut self, id: &ApprovalId) -> bool {
        let pending = self.approvals.end(id).is_some();
        if pending {
            self.resolved.insert(id.clone(), Resolved::Withdrawn);
        }
        pending
    }

    /// A call that was made has an end, whether it is run or not.
    pub(super) fn tool_called(&mut self, call: &Arc<ToolCallRef>) {
        self.tools
            .begin((call.number, call.index), (call.clone(), None));
    }

    pub(super) fn tool_started(&mut self, call: &Arc<ToolCallRef>, now: Timestamp) {
        self.tools
            .begin((call.number, call.index), (call.clone(), Some(now)));
    }

    pub(super) fn tool_ended(&mut self, call: &ToolCallRef) {
        self.tools.end(&(call.number, call.index));
    }

    pub(super) fn step_started(&mut self, step: &StepId, number: u32) {
        self.steps
            .begin((step.clone(), number), (step.clone(), number));
    }

    pub(super) fn step_ended(&mut self, step: &StepId, number: u32) {
        self.steps.end(&(step.clone(), number));
    }

    pub(super) fn updated(&mut self, tree: &TraceTree) {
        self.tree = Some(tree.clone());
    }

    /// Closes all that is open, in the order the contract names.
    pub(super) fn close(&mut self, now: Timestamp) -> Vec<ResponderEvent> {
        let mut events = Vec::new();
        for request in self.approvals.drain() {
            let id = request.id.clone();
            self.resolved.insert(id.clone(), Resolved::Withdrawn);
            events.push(ResponderEvent::ApprovalWithdrawn { id, reason: None });
        }
        events.extend(self.tools.drain().map(|(call, started)| {
            ResponderEvent::ToolExecutionEnd {
                call,
                outcome: ToolOutcome::Aborted,
                duration_ms: started
                    .and_then(|at| u64::try_from(now.as_millis() - at.as_millis()).ok())
                    .unwrap_or(0),
            }
        }));
        events.extend(
            self.steps
                .drain()
                .map(|(step, number)| ResponderEvent::StepEnd {
                    step,
                    number,
                    usage: None,
                    finish_reason: None,
                }),
        );
        events.extend(
            self.tree
                .take()
                .and_then(|tree| tree.aborted(now))
                .map(ResponderEvent::RunUpdate),
        );
        events
    }
}
