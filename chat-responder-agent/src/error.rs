//! What can be wrong: with a workflow before it runs, with a step as it runs, with what is asked of one that ran.

use std::sync::Arc;

use chat_core::{ResponderError, StepId};
use thiserror::Error;

/// Why a step or task failed.
///
/// ```
/// use chat_core::ResponderError;
/// use chat_responder_agent::StepError;
/// let error = StepError::new("draft", ResponderError::new("no route to host").with_kind("connect"));
/// assert_eq!(error.to_string(), "step draft failed: no route to host");
/// assert_eq!(error.kind(), "connect");
/// ```
#[derive(Debug, Clone, Error)]
#[error("step {step} failed: {error}")]
pub struct StepError {
    step: StepId,
    error: ResponderError,
}

impl StepError {
    /// An error of a step or task.
    #[must_use]
    pub fn new(step: impl Into<StepId>, error: ResponderError) -> Self {
        Self {
            step: step.into(),
            error,
        }
    }

    /// The step or task that failed.
    #[must_use]
    pub fn step(&self) -> &StepId {
        &self.step
    }

    /// One word that programs can match: the kind of the error of the model, tool or task, or of this crate.
    #[must_use]
    pub fn kind(&self) -> &str {
        self.error.kind()
    }

    /// What went wrong, without the step's name.
    #[must_use]
    pub fn error(&self) -> &ResponderError {
        &self.error
    }

    /// The error of the whole run: it names the step (law W1), and keeps the kind.
    pub(crate) fn into_responder_error(self) -> ResponderError {
        let error = ResponderError::new(self.to_string()).with_kind(self.kind());
        match self.error.retryable() {
            Some(retryable) => error.with_retryable(retryable),
            None => error,
        }
        .with_source(self)
    }
}

/// What is wrong with a workflow.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CheckError {
    /// Nodes stand in each other too deep.
    #[error("too deep")]
    TooDeep,
}

impl CheckError {
    /// The error of the turn whose workflow it is.
    pub(crate) fn into_responder_error(self) -> ResponderError {
        ResponderError::new(format!("the workflow is not valid: {self}"))
            .with_kind("workflow-invalid")
            .with_retryable(false)
            .with_source(self)
    }
}

/// Why there is no result of a step to read.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum ProgressError {
    /// The step or task has given nothing.
    #[error("step {step} has given no result")]
    Missing {
        /// The step or task that was asked for.
        step: StepId,
    },
    /// What it gave is of another type.
    #[error("the result of step {step} is of another type: {error}")]
    Misfit {
        /// The step or task that was asked for.
        step: StepId,
        /// What does not fit.
        error: Arc<serde_json::Error>,
    },
}

impl ProgressError {
    pub(crate) fn into_responder_error(self) -> ResponderError {
        ResponderError::from(self).with_kind("result-missing")
    }
}
