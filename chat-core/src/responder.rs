//! The contract of a responder (laws R1 to R3): what answers turns.

use std::{fmt, sync::Arc};

use futures_core::{future::BoxFuture, stream::BoxStream};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    ApprovalId, ApprovalRequest, CallId, Context, FinishReason, Message, Metadata, Reasoning,
    ResponderError, ResponderInfo, RunResult, SessionId, SteerRefused, StepId, StepRetry,
    ToolCallRef, ToolName, ToolOutcome, TraceTree, TurnId, Usage,
};

/// What answers turns. Given the conversation so far and a new input, it produces one reply.
///
/// ```
/// use chat_core::{Execution, Reply, Responder, TurnRequest};
///
/// struct Shout;
///
/// impl Responder for Shout {
///     fn respond(&self, request: TurnRequest) -> Execution {
///         let text = request.input.to_uppercase();
///         Execution::new(async move { Ok(Reply::text(text)) })
///     }
/// }
/// ```
pub trait Responder: Send + Sync + 'static {
    /// Starts answering one turn. Returns right away; the work is in the execution, and is dropped with it when the turn is
    /// canceled. A panic here, or in anything returned, fails the turn and nothing else (law T4).
    fn respond(&self, request: TurnRequest) -> Execution;

    /// Who answers: recorded with every turn.
    fn info(&self) -> ResponderInfo {
        ResponderInfo::default()
    }
}

impl<R: Responder + ?Sized> Responder for Arc<R> {
    fn respond(&self, request: TurnRequest) -> Execution {
        (**self).respond(request)
    }
    fn info(&self) -> ResponderInfo {
        (**self).info()
    }
}

/// What a responder is asked.
#[derive(Debug, Clone)]
pub struct TurnRequest {
    /// What the person said.
    pub input: Arc<str>,
    /// What the responder sees of earlier turns (law R3). Shared with the session, not copied.
    pub messages: Context,
    /// Fires when the turn is canceled: stop, and tell whatever you called to stop.
    pub cancel: CancellationToken,
    /// The session.
    pub session_id: SessionId,
    /// The turn.
    pub turn_id: TurnId,
    /// The first turn of a chain of retries, this one where it is none: derive idempotency keys from it (law T9).
    pub root_turn_id: TurnId,
}

impl TurnRequest {
    /// The earlier messages, then the input: what a model usually wants to read.
    #[must_use]
    pub fn conversation(&self) -> Vec<Message> {
        self.messages
            .iter()
            .chain([Message::user(self.input.clone())])
            .collect()
    }
}

/// One responder's work on one turn. The turn ends once `result` is in and `events` has ended; both are polled by one task,
/// the events first.
pub struct Execution {
    /// The reply, or why there is none.
    pub result: BoxFuture<'static, Result<Reply, ResponderError>>,
    /// Live events, read once and in order (law R1). An error fails the turn.
    pub events: Option<BoxStream<'static, Result<ResponderEvent, ResponderError>>>,
    /// What can be asked of the work while it goes on.
    pub control: Option<Arc<dyn Control>>,
}

impl Execution {
    /// Work without live events.
    pub fn new(
        result: impl Future<Output = Result<Reply, ResponderError>> + Send + 'static,
    ) -> Self {
        Self {
            result: Box::pin(result),
            events: None,
            control: None,
        }
    }

    /// Adds live events.
    #[must_use]
    pub fn with_events(
        self,
        events: impl futures_core::Stream<Item = Result<ResponderEvent, ResponderError>>
        + Send
        + 'static,
    ) -> Self {
        Self {
            events: Some(Box::pin(events)),
            ..self
        }
    }

    /// Adds a control.
    #[must_use]
    pub fn with_control(self, control: Arc<dyn Control>) -> Self {
        Self {
            control: Some(control),
            ..self
        }
    }
}

impl fmt::Debug for Execution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Execution")
            .field("events", &self.events.is_some())
            .field("control", &self.control.is_some())
            .finish_non_exhaustive()
    }
}

/// What can be asked of an execution while it goes on. Answers reach it through the machine, each at most once, and only for
/// requests that are pending (law R2).
pub trait Control: Send + Sync + 'static {
    /// A person said yes to a request. Returns right away.
    fn approve(&self, id: &ApprovalId) {
        let _ = id;
    }

    /// A person said no to a request. Returns right away.
    fn deny(&self, id: &ApprovalId, reason: Option<Arc<str>>) {
        let _ = (id, reason);
    }

    /// Offers input while the work goes on (law T8). Resolves once the work has taken it, and only then may the work use it:
    /// a future that is dropped before it resolved was refused, and its input goes back to the person.
    fn steer(&self, input: Arc<str>) -> BoxFuture<'static, Result<(), SteerRefused>> {
        let _ = input;
        Box::pin(std::future::ready(Err(SteerRefused::Unsupported)))
    }
}

/// A reply as a responder gives it: text and how it came to be. Of the metadata only model, usage and finish reason are kept.
#[derive(Debug, Clone)]
pub struct Reply {
    pub(crate) text: ReplyText,
    /// Model, usage and finish reason, as far as known.
    pub metadata: Metadata,
    /// The workflow run behind it, where one was. In memory only: never stored (law W7).
    pub run: Option<RunResult>,
}

#[derive(Debug, Clone)]
pub(crate) enum ReplyText {
    Text(Arc<str>),
    Streamed,
}

impl Reply {
    /// A reply of this text.
    #[must_use]
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Self {
            text: ReplyText::Text(text.into()),
            metadata: Metadata::default(),
            run: None,
        }
    }

    /// A reply of all the text that was streamed, in the order of its deltas.
    #[must_use]
    pub fn streamed() -> Self {
        Self {
            text: ReplyText::Streamed,
            metadata: Metadata::default(),
            run: None,
        }
    }

    /// Says how it came to be.
    #[must_use]
    pub fn with_metadata(self, metadata: Metadata) -> Self {
        Self { metadata, ..self }
    }

    /// Keeps the run behind it.
    #[must_use]
    pub fn with_run(self, run: RunResult) -> Self {
        Self {
            run: Some(run),
            ..self
        }
    }
}

/// What a responder tells while it works. The machine numbers each and makes it a [`ChatEvent`](crate::ChatEvent) of the same
/// name; `Usage` alone is kept and not shown.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ResponderEvent {
    /// A piece of text.
    TextDelta {
        /// The piece.
        text: Arc<str>,
        /// The workflow step that wrote it.
        step: Option<StepId>,
    },
    /// A piece of a model's reasoning.
    ReasoningDelta(Box<Reasoning>),
    /// A workflow's run committed.
    RunUpdate(TraceTree),
    /// A tool call waits for a person. Ids are unique in the turn: a second request of the same id fails it.
    ApprovalRequest(Arc<ApprovalRequest>),
    /// A request no longer matters, though nobody answered it.
    ApprovalWithdrawn {
        /// The request.
        id: ApprovalId,
        /// Why.
        reason: Option<Arc<str>>,
    },
    /// A model call is about to begin.
    StepStart {
        /// The workflow step it belongs to.
        step: StepId,
        /// The number of the model call in the turn, from 1.
        number: u32,
    },
    /// A model call ended.
    StepEnd {
        /// The workflow step it belongs to.
        step: StepId,
        /// The number of the model call in the turn.
        number: u32,
        /// Tokens it used, where known.
        usage: Option<Box<Usage>>,
        /// Why the model stopped, where known.
        finish_reason: Option<FinishReason>,
    },
    /// A model call will be tried again.
    StepRetry(Box<StepRetry>),
    /// A model began to write a tool call.
    ToolCallStart(Arc<ToolCallRef>),
    /// A piece of a tool call.
    ToolCallDelta {
        /// The call.
        call: Arc<ToolCallRef>,
        /// A piece of its name.
        name_fragment: Option<Arc<str>>,
        /// A piece of its arguments' JSON text.
        arguments_fragment: Option<Arc<str>>,
    },
    /// A tool call is complete.
    ToolCallReady {
        /// The call.
        call: Arc<ToolCallRef>,
        /// Its arguments.
        input: Arc<Value>,
    },
    /// A tool began to run.
    ToolExecutionStart(Arc<ToolCallRef>),
    /// A tool ended, or was not run.
    ToolExecutionEnd {
        /// The call.
        call: Arc<ToolCallRef>,
        /// How.
        outcome: ToolOutcome,
        /// How long it ran, in milliseconds.
        duration_ms: u64,
    },
    /// A tool call's result as the model will see it.
    ToolResult {
        /// The call.
        call_id: CallId,
        /// The tool.
        tool: ToolName,
        /// The result.
        result: Arc<Value>,
    },
    /// Tokens the turn used so far, all its model calls together. The last one stands, also where the turn fails (law T12).
    Usage(Box<Usage>),
}

impl ResponderEvent {
    /// A piece of text outside any workflow step.
    #[must_use]
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Self::TextDelta {
            text: text.into(),
            step: None,
        }
    }
}
