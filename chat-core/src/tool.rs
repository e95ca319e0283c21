//! The contract of a tool: a function that a model may ask for.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{CallId, ResponderError, SessionId, StepId, ToolSpec, TurnId};

/// A function that a model may ask for.
pub trait Tool: Send + Sync + 'static {
    /// The tool as a model is told of it.
    fn spec(&self) -> ToolSpec;

    /// Runs it once. The arguments fit the schema. An error becomes the call's result, so that the model can go on (law W2).
    fn call(
        &self,
        input: Arc<Value>,
        context: ToolContext,
    ) -> BoxFuture<'static, Result<Value, ResponderError>>;

    /// Whether a person has to agree first, seen from its arguments (law W3).
    fn needs_approval(&self, input: &Value) -> bool {
        let _ = input;
        false
    }

    /// Whether no other tool of the same answer may run beside it (law W2).
    fn is_exclusive(&self) -> bool {
        false
    }
}

impl<T: Tool + ?Sized> Tool for Arc<T> {
    fn spec(&self) -> ToolSpec {
        (**self).spec()
    }
    fn call(
        &self,
        input: Arc<Value>,
        context: ToolContext,
    ) -> BoxFuture<'static, Result<Value, ResponderError>> {
        (**self).call(input, context)
    }
    fn needs_approval(&self, input: &Value) -> bool {
        (**self).needs_approval(input)
    }
    fn is_exclusive(&self) -> bool {
        (**self).is_exclusive()
    }
}

/// What a tool knows of the call it answers.
#[derive(Debug, Clone)]
pub struct ToolContext {
    /// Fires when the call is no longer wanted (law W6).
    pub cancel: CancellationToken,
    /// The session.
    pub session_id: SessionId,
    /// The turn.
    pub turn_id: TurnId,
    /// The first turn of a chain of retries, this one where it is none (law T9).
    pub root_turn_id: TurnId,
    /// The workflow step.
    pub step: StepId,
    /// The call.
    pub call_id: CallId,
    /// The same for the same call over retries of the same turn: hand it to whatever must not happen twice. It is made of the
    /// chain's first turn, the step, the tool, the arguments, and which of the step's calls of just these it is.
    pub idempotency_key: Arc<str>,
}
