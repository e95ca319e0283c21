//! One node of the trace while it is open. Whatever way it ends, it is closed once: done, failed, or aborted where it is dropped.

use std::{ops::Range, sync::Arc};

use chat_core::{NodeIndex, RecordedError, ResponderError, TraceNode, TraceStatus};

use super::state::{State, now};

/// Where a node of the workflow stands among those that were placed: itself, and behind it all that stand in it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) first: usize,
    pub(crate) end: usize,
}

pub(crate) struct OpenNode {
    state: Arc<State>,
    index: NodeIndex,
    /// The workflow's nodes within it, which end with it.
    within: Range<usize>,
    open: bool,
}

impl OpenNode {
    /// A node that is in the trace already.
    pub(crate) fn new(state: &Arc<State>, index: NodeIndex) -> Self {
        Self {
            state: state.clone(),
            index,
            within: 0..0,
            open: true,
        }
    }

    /// A node of the workflow, which is about to begin.
    pub(crate) fn placed(state: &Arc<State>, place: Place) -> Self {
        let index = state.live().placed[place.first];
        let mut node = Self::new(state, index);
        node.within = place.first + 1..place.end;
        node
    }

    /// A node that begins now, within another. It gets the id, or one like it.
    pub(crate) fn push(
        state: &Arc<State>,
        parent: NodeIndex,
        id: String,
        node: impl FnOnce(Arc<str>) -> TraceNode,
    ) -> Self {
        let index = state.commit(|live| {
            let mut node = node(live.names.take(id));
            node.status = TraceStatus::Running;
            node.started_at = Some(now());
            live.tree.push(Some(parent), node)
        });
        Self::new(state, index)
    }

    pub(crate) fn index(&self) -> NodeIndex {
        self.index
    }

    pub(crate) fn begin(&self) {
        self.state.commit(|live| {
            live.tree.update(self.index, |node| {
                node.status = TraceStatus::Running;
                node.started_at = Some(now());
            });
        });
    }

    /// Nobody is asked about it any more: it is still to begin.
    pub(crate) fn pend(&self) {
        self.state.commit(|live| {
            live.tree
                .update(self.index, |node| node.status = TraceStatus::Pending);
        });
    }

    pub(crate) fn done(self, change: impl FnOnce(&mut TraceNode)) {
        self.end(TraceStatus::Done, change);
    }

    /// It failed for this reason.
    pub(crate) fn failed(self, error: &ResponderError, change: impl FnOnce(&mut TraceNode)) {
        self.end(TraceStatus::Failed, |node| {
            node.error = Some(RecordedError::from(error));
            change(node);
        });
    }

    /// It failed because a node in it did, which says why.
    pub(crate) fn failed_within(self) {
        self.end(TraceStatus::Failed, |_| ());
    }

    fn end(mut self, status: TraceStatus, change: impl FnOnce(&mut TraceNode)) {
        self.close(status, change);
    }

    fn close(&mut self, status: TraceStatus, change: impl FnOnce(&mut TraceNode)) {
        if !std::mem::replace(&mut self.open, false) {
            return;
        }
        self.state.commit(|live| {
            let now = now();
            let within = live.placed.get(self.within.clone()).unwrap_or_default();
            for index in within {
                let open = |node: &Arc<TraceNode>| node.status.is_open();
                if live.tree.get(*index).is_some_and(open) {
                    live.tree.update(*index, |node| {
                        node.status = TraceStatus::Aborted;
                        node.ended_at = Some(now);
                    });
                }
            }
            live.tree.update(self.index, |node| {
                node.status = status;
                node.ended_at = Some(now);
                change(node);
            });
        });
    }
}

impl Drop for OpenNode {
    fn drop(&mut self) {
        self.close(TraceStatus::Aborted, |_| ());
    }
}
