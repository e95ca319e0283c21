//! A plain async function as a step.

use std::{fmt, sync::Arc, time::Duration};

use chat_core::{ResponderError, SessionId, StepId, TurnId};
use futures_util::{FutureExt, future::BoxFuture};
use serde::Serialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::Progress;

/// What a task runs.
pub(crate) type TaskFn =
    Box<dyn FnOnce(TaskContext) -> BoxFuture<'static, Result<Value, ResponderError>> + Send>;

/// A plain async function as a step: it reads what earlier ones gave, and what it returns is its result.
pub struct Task {
    pub(crate) id: StepId,
    pub(crate) run: TaskFn,
    pub(crate) timeout: Option<Duration>,
}

impl Task {
    /// A task. Steps and tasks of one workflow share one space of ids.
    ///
    /// The function runs once, inside the run: it is dropped when the run ends before it does, and it must not block its thread.
    /// Any error becomes a [`ResponderError`] with `?`. A result that is no JSON (a map whose keys are no texts) fails it; a number
    /// that JSON does not have (infinite, or none) is `null` in it.
    ///
    /// ```
    /// use chat_responder_agent::Task;
    /// let count = Task::new("count", |run| async move {
    ///     let limit: usize = "3".parse()?;
    ///     Ok(run.progress.text("draft").lines().take(limit).count())
    /// });
    /// ```
    pub fn new<F, R, T>(id: impl Into<StepId>, run: F) -> Self
    where
        F: FnOnce(TaskContext) -> R + Send + 'static,
        R: Future<Output = Result<T, ResponderError>> + Send + 'static,
        T: Serialize,
    {
        let run = |context| {
            run(context)
                .map(|result| Ok(serde_json::to_value(result?)?))
                .boxed()
        };
        Self {
            id: id.into(),
            run: Box::new(run),
            timeout: None,
        }
    }

    /// How long it may take.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self {
            timeout: Some(timeout),
            ..self
        }
    }
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task")
            .field("id", &self.id)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// What a task knows of the run it is part of.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TaskContext {
    /// What earlier steps and tasks gave.
    pub progress: Progress,
    /// Fires when the task is no longer wanted (law W6).
    pub cancel: CancellationToken,
    /// The session.
    pub session_id: SessionId,
    /// The turn.
    pub turn_id: TurnId,
    /// The first turn of a chain of retries, this one where it is none (law T9).
    pub root_turn_id: TurnId,
    /// The task.
    pub step: StepId,
    /// The same over retries of the same turn, made of its first turn and the task's id: hand it to whatever must not happen
    /// twice.
    pub idempotency_key: Arc<str>,
}
