//! What a run is started with: its limits, who watches it, and the ids it works under (law W7).

use std::{fmt, sync::Arc, time::Duration};

use chat_core::{SessionId, StepId, ToolCallRef, ToolOutcome, TraceTree, TurnId};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::events::EventQueue;

pub(crate) type Observer = dyn Fn(&TraceTree) + Send + Sync;
pub(crate) type ResultHook = dyn Fn(&ToolCallRef, ToolOutcome, Value) -> Value + Send + Sync;

/// How a workflow is run. What was set stays set: a host that gets options adds to them and can take nothing away, but for the
/// two limits, of which the last one given stands.
///
/// ```
/// use std::time::Duration;
/// use chat_responder_agent::RunOptions;
/// let options = RunOptions::default()
///     .concurrency(4)
///     .timeout(Duration::from_secs(120))
///     .on_update(|tree| println!("{} nodes", tree.len()));
/// ```
#[derive(Clone, Default)]
pub struct RunOptions {
    pub(crate) concurrency: Option<usize>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) cancel: Vec<CancellationToken>,
    pub(crate) observers: Vec<Arc<Observer>>,
    pub(crate) hooks: Vec<Arc<ResultHook>>,
    pub(crate) readers: Vec<Arc<EventQueue>>,
    pub(crate) reply: Option<StepId>,
}

impl RunOptions {
    /// At most so many steps and tasks at once, 1 where 0 is given; those that wait begin in order. One that waits for a person
    /// keeps its place. No bound unless set.
    #[must_use]
    pub fn concurrency(self, steps: usize) -> Self {
        Self {
            concurrency: Some(steps.max(1)),
            ..self
        }
    }

    /// How long the run may take. Waiting for a person does not count (law W1). The run then needs tokio's time to be on.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self {
            timeout: Some(timeout),
            ..self
        }
    }

    /// Adds a signal that cancels the run; any of them does (law W6).
    #[must_use]
    pub fn cancel(mut self, signal: CancellationToken) -> Self {
        self.cancel.push(signal);
        self
    }

    /// Adds an observer, which sees the trace after every change, in order, also as it ended. It is called where the run is
    /// polled and must not block; a panic in it fails the run.
    #[must_use]
    pub fn on_update(mut self, observe: impl Fn(&TraceTree) + Send + Sync + 'static) -> Self {
        self.observers.push(Arc::new(observe));
        self
    }

    /// Adds a hook that may rewrite a tool's result before anyone sees it: the model, events, trace (law W2). Errors and denials
    /// that became a result, `{"error": ".."}`, go through it too: the outcome says which it is. Hooks run in the order they were
    /// added; a panic in one makes the result an error.
    ///
    /// ```
    /// use chat_core::ToolOutcome;
    /// use chat_responder_agent::RunOptions;
    /// use serde_json::json;
    /// let options = RunOptions::default().on_tool_result(|call, outcome, result| match outcome {
    ///     ToolOutcome::Error => json!({"error": format!("{} does not work just now", call.tool)}),
    ///     _ => result,
    /// });
    /// ```
    #[must_use]
    pub fn on_tool_result(
        mut self,
        rewrite: impl Fn(&ToolCallRef, ToolOutcome, Value) -> Value + Send + Sync + 'static,
    ) -> Self {
        self.hooks.push(Arc::new(rewrite));
        self
    }
}

impl fmt::Debug for RunOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunOptions")
            .field("concurrency", &self.concurrency)
            .field("timeout", &self.timeout)
            .field("signals", &self.cancel.len())
            .field("observers", &self.observers.len())
            .field("hooks", &self.hooks.len())
            .finish_non_exhaustive()
    }
}

/// What a run works under: tools and tasks are told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunIds {
    /// The session.
    pub session_id: SessionId,
    /// The turn.
    pub turn_id: TurnId,
    /// The first turn of a chain of retries, this one where it is none: what idempotency keys are made of (law T9).
    pub root_turn_id: TurnId,
}
