//! What all parts of one run share: the trace, the events, what was used. Caller's code never runs under its lock.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::SystemTime,
};

use chat_core::{
    FinishReason, Metadata, ModelRef, NodeIndex, ResponderError, ResponderEvent, RunResult, StepId,
    Timestamp, ToolCallRef, ToolOutcome, TraceTree, Usage,
};
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::workflow::{Ids, Results};

use super::{
    RunIds,
    approvals::Approvals,
    caught::{caught, quietly},
    clock::Clock,
    events::EventQueue,
    names::Names,
    options::{Observer, ResultHook},
    spend::Spend,
    steering::Steering,
};

pub(crate) struct State {
    pub(crate) ids: RunIds,
    /// Fires when nothing of the run is wanted any more; steps and tools have children of it (law W6).
    pub(crate) cancel: CancellationToken,
    pub(crate) clock: Option<Arc<Clock>>,
    pub(crate) permits: Option<Arc<Semaphore>>,
    /// The step whose text is the reply as it is written.
    pub(crate) reply: Option<StepId>,
    pub(crate) results: Results,
    pub(crate) approvals: Approvals,
    pub(crate) steering: Arc<Steering>,
    pub(crate) hooks: Vec<Arc<ResultHook>>,
    pub(crate) observers: Vec<Arc<Observer>>,
    /// Whoever reads the events.
    pub(crate) readers: Mutex<Arc<[Arc<EventQueue>]>>,
    /// The run has ended or was dropped: what is closed from now on says nothing.
    pub(crate) over: AtomicBool,
    pub(crate) live: Mutex<Live>,
}

/// What changes as the run goes on.
#[derive(Default)]
pub(crate) struct Live {
    pub(crate) tree: TraceTree,
    /// The nodes of the workflow, in the order they were placed: those of one node stand together.
    pub(crate) placed: Vec<NodeIndex>,
    pub(crate) names: Names,
    pub(crate) ids: Ids,
    pub(crate) spend: Spend,
    /// What an observer broke.
    pub(super) failure: Option<ResponderError>,
}

impl State {
    /// Changes the trace, and tells everyone: one commit. Costs the same however large the trace is (law W8).
    pub(crate) fn commit<T>(&self, change: impl FnOnce(&mut Live) -> T) -> T {
        let (changed, tree) = {
            let mut live = self.live();
            (change(&mut live), live.tree.clone())
        };
        if self.is_over() {
            return changed;
        }
        self.emit(ResponderEvent::RunUpdate(tree.clone()));
        for observer in &self.observers {
            if let Err(panicked) =
                caught(|| "an observer of the run".to_owned(), || observer(&tree))
            {
                self.live().failure.get_or_insert(panicked);
            }
        }
        changed
    }

    /// Tells whoever reads the events.
    pub(crate) fn emit(&self, event: ResponderEvent) {
        if self.is_over() {
            return;
        }
        let readers = self.readers().clone();
        if let Some((last, others)) = readers.split_last() {
            for reader in others {
                reader.push(event.clone());
            }
            last.push(event);
        }
    }

    /// The run is over: with its trace as it stands, or with every open node of it aborted, which is one last change.
    pub(crate) fn end(&self, aborted: bool) {
        self.over.store(true, Ordering::Release);
        let tree = self.live().tree.clone();
        let aborted = if aborted { tree.aborted(now()) } else { None };
        if let Some(tree) = &aborted {
            for observer in &self.observers {
                quietly(|| observer(tree));
            }
        }
        let readers = self.readers().clone();
        readers
            .iter()
            .for_each(|reader| reader.end(aborted.as_ref()));
    }

    /// Adds a reader, in the place of those that have left.
    pub(crate) fn add_reader(&self, reader: Arc<EventQueue>) {
        let mut readers = self.readers();
        let present = readers.iter().filter(|reader| !reader.has_ended());
        *readers = present.cloned().chain([reader]).collect();
    }

    pub(crate) fn tells(&self, queue: &Arc<EventQueue>) -> bool {
        self.readers()
            .iter()
            .any(|reader| Arc::ptr_eq(reader, queue))
    }

    fn readers(&self) -> MutexGuard<'_, Arc<[Arc<EventQueue>]>> {
        // Nothing that can panic runs under this lock.
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// What broke the run beside its steps.
    pub(crate) fn failure(&self) -> Option<ResponderError> {
        self.live().failure.clone()
    }

    /// Waits until a step or task may begin.
    pub(crate) async fn permit(&self) -> Option<OwnedSemaphorePermit> {
        match &self.permits {
            // Nobody closes it.
            Some(permits) => permits.clone().acquire_owned().await.ok(),
            None => None,
        }
    }

    /// The number of a model call that is about to begin, in the turn.
    pub(crate) fn begin_call(&self, model: &ModelRef) -> u32 {
        self.live().spend.begin(model)
    }

    /// What a model call has used so far.
    pub(crate) fn used(&self, number: u32, usage: Usage) {
        let total = self.live().spend.used(number, usage);
        self.emit(ResponderEvent::Usage(Box::new(total)));
    }

    pub(crate) fn end_call(&self, number: u32, step: &StepId, reason: Option<&FinishReason>) {
        let reply = self.reply.as_ref() == Some(step);
        self.live().spend.end(number, reason, reply);
    }

    /// What the model gets in the place of a tool's result, after all hooks (law W2).
    pub(crate) fn hooked(
        &self,
        call: &ToolCallRef,
        outcome: ToolOutcome,
        mut result: Value,
    ) -> Result<Value, ResponderError> {
        for hook in &self.hooks {
            result = caught(
                || format!("the hook on the result of tool {}", call.tool),
                || hook(call, outcome, result),
            )?;
        }
        Ok(result)
    }

    pub(crate) fn metadata(&self) -> Metadata {
        self.live().spend.metadata()
    }

    pub(crate) fn result(&self) -> RunResult {
        let steps = self.results.snapshot();
        let live = self.live();
        RunResult::new(steps, live.tree.clone(), live.spend.total())
    }

    /// What is at work now, in one step or in all, for an error that says what ran out of time.
    pub(crate) fn at_work(&self, step: Option<NodeIndex>) -> String {
        super::at_work::describe(&self.live().tree, step)
    }

    pub(crate) fn live(&self) -> MutexGuard<'_, Live> {
        // Nothing that can panic runs under this lock.
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The time, for traces and requests.
pub(crate) fn now() -> Timestamp {
    // A clock before 1970 or behind the year 9999 is wrong; a trace must be readable all the same.
    let since = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_millis())
        .ok()
        .and_then(|millis| Timestamp::from_millis(millis).ok())
        .unwrap_or(Timestamp::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use crate::{Node, RunIds, RunOptions, Task};

    #[test]
    fn readers_that_left_are_told_nothing_and_not_kept() {
        let ids = RunIds {
            session_id: "session".parse().unwrap(),
            turn_id: "turn".parse().unwrap(),
            root_turn_id: "turn".parse().unwrap(),
        };
        let workflow = Node::from(Task::new("wait", |_| {
            std::future::pending::<Result<(), _>>()
        }));
        let run = workflow.start(RunOptions::default(), ids).unwrap();
        let stays = run.events();
        for _ in 0..100 {
            drop(run.events());
        }
        assert_eq!(run.state.readers().len(), 2);
        drop((stays, run.events()));
        drop(run.events());
        assert_eq!(run.state.readers().len(), 1);
    }
}
