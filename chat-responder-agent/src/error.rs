//! What can be wrong: with a workflow before it runs, with a step as it runs.

use std::sync::Arc;

use chat_core::{ResponderError, StepId, ToolName};
use thiserror::Error;

use crate::{MAX_DEPTH, MAX_NAME_BYTES};

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

/// What is wrong with a workflow: what, where, and what to do about it. `at` is the way to the node, as in
/// `agent engineer > node 2 > parallel`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CheckError {
    /// Two steps or tasks have the same id.
    #[error("{id} is the id of two steps or tasks, the second in {}: give each one of its own", place(.at))]
    DuplicateId {
        /// The id.
        id: StepId,
        /// Where the second one stands.
        at: String,
    },
    /// An id is empty or too long, or has a `/`, which stands between the parts of the names that are made of it.
    #[error(
        "{:?} can't be the id of a step or task, in {}: give it one of 1 to {MAX_NAME_BYTES} bytes that has no /",
        shown(.id.as_str()), place(.at)
    )]
    BadId {
        /// The id.
        id: StepId,
        /// Where it stands.
        at: String,
    },
    /// An agent, a sequence or a parallel has nothing to do.
    #[error("{at} has no nodes: give it one, or leave it out")]
    Empty {
        /// Where it stands.
        at: String,
    },
    /// A step stands in no agent.
    #[error("step {step} stands in no agent, and has no model to ask: put it into an `Agent`")]
    NoAgent {
        /// The step.
        step: StepId,
    },
    /// A step has no prompt, or one without messages.
    #[error("step {step} has nothing to ask: give it a `prompt` with a message")]
    NoPrompt {
        /// The step.
        step: StepId,
    },
    /// A step may make no model call.
    #[error("step {step} may make no model call: its `max_calls` has to be 1 or more")]
    NoCalls {
        /// The step.
        step: StepId,
    },
    /// A `Catch` has no fallback.
    #[error("{at} has no fallback: say with `or` what runs where its node fails")]
    NoFallback {
        /// Where it stands.
        at: String,
    },
    /// Two tools of an agent have the same name.
    #[error("{at} has two tools of the name {tool}: give each a name of its own")]
    DuplicateTool {
        /// The name.
        tool: ToolName,
        /// The agent.
        at: String,
    },
    /// A tool has a name that is too long.
    #[error(
        "{at} has a tool of the name {:?}, which is too long: give it one of at most {MAX_NAME_BYTES} bytes",
        shown(.tool.as_str())
    )]
    LongToolName {
        /// The name.
        tool: ToolName,
        /// The agent.
        at: String,
    },
    /// A tool has an empty name.
    #[error("{at} has a tool without a name: give it one")]
    UnnamedTool {
        /// The agent.
        at: String,
    },
    /// The schema of a tool's arguments is no JSON schema.
    #[error("the input schema of tool {tool} of {at} is no JSON schema: {reason}")]
    ToolSchema {
        /// The tool.
        tool: ToolName,
        /// The agent.
        at: String,
        /// What is wrong with it.
        reason: Arc<str>,
    },
    /// The schema of a step's output is no JSON schema.
    #[error("the output schema of step {step} is no JSON schema: {reason}")]
    OutputSchema {
        /// The step.
        step: StepId,
        /// What is wrong with it.
        reason: Arc<str>,
    },
    /// A step both streams and has a structured output, which is no text that a person reads.
    #[error(
        "step {step} streams a structured output: stream the text of another step, or leave the output out"
    )]
    StreamedOutput {
        /// The step.
        step: StepId,
    },
    /// What is to stream the reply is a task.
    #[error("{task} is to stream the reply but is a task, which writes no text: name a step")]
    StreamedTask {
        /// The task.
        task: StepId,
    },
    /// What is to stream the reply is not in the workflow.
    #[error("no step {stream} is there to stream the reply: {}", there_are(.steps))]
    UnknownStream {
        /// The step that was named.
        stream: StepId,
        /// The steps that there are.
        steps: Vec<StepId>,
    },
    /// Nodes stand in each other too deep.
    #[error(
        "its nodes stand in each other more than {MAX_DEPTH} deep: put those that follow each other into one sequence"
    )]
    TooDeep,
}

/// Where a node stands.
fn place(at: &str) -> &str {
    if at.is_empty() { "the workflow" } else { at }
}

/// As much of a name as tells which one it is.
fn shown(name: &str) -> &str {
    &name[..name.floor_char_boundary(MAX_NAME_BYTES)]
}

/// Names the steps that there are, the first few of many.
pub(crate) fn there_are(steps: &[StepId]) -> String {
    const NAMED: usize = 20;
    let names: Vec<_> = steps.iter().take(NAMED).map(StepId::as_str).collect();
    match steps.len().saturating_sub(NAMED) {
        _ if steps.is_empty() => "the workflow has no steps".into(),
        0 => format!("the steps are {}", names.join(", ")),
        more => format!("the steps are {} and {more} more", names.join(", ")),
    }
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
