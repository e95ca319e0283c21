//! The contract of a language model: one request, one streamed answer.

use std::{fmt, sync::Arc};

use futures_core::stream::BoxStream;
use serde_json::Value;

use crate::{
    CallId, FinishReason, Message, ModelRef, RecordedError, ResponderError, ToolName, Usage,
};

/// A model that answers messages. Dropping the stream stops the answer and closes its connection (law M5).
pub trait LanguageModel: Send + Sync + 'static {
    /// Which model this is.
    fn model(&self) -> ModelRef;

    /// Starts one answer. The stream ends after [`ModelEvent::Finish`] or its first error; one that ends without either was
    /// cut off, and its text is no answer (law M3).
    fn stream(
        &self,
        request: ModelRequest,
    ) -> BoxStream<'static, Result<ModelEvent, ResponderError>>;
}

impl<M: LanguageModel + ?Sized> LanguageModel for Arc<M> {
    fn model(&self) -> ModelRef {
        (**self).model()
    }
    fn stream(
        &self,
        request: ModelRequest,
    ) -> BoxStream<'static, Result<ModelEvent, ResponderError>> {
        (**self).stream(request)
    }
}

/// What a model is asked.
#[derive(Debug, Clone, Default)]
pub struct ModelRequest {
    /// What it reads, in order; instructions are system messages.
    pub messages: Vec<Message>,
    /// The tools it may call.
    pub tools: Vec<ToolSpec>,
    /// The JSON schema its answer must fit, where it must.
    pub output: Option<OutputSchema>,
}

/// A tool as a model is told of it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Its name.
    pub name: ToolName,
    /// What it does, for the model to read.
    pub description: Arc<str>,
    /// The JSON schema of its arguments.
    pub input_schema: Arc<Value>,
}

/// The shape an answer must have.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputSchema {
    /// Its name.
    pub name: Arc<str>,
    /// Its JSON schema.
    pub schema: Arc<Value>,
}

/// A piece of a model's answer, in the order the model wrote it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ModelEvent {
    /// A piece of text.
    Text(Arc<str>),
    /// A piece of reasoning: never part of the answer.
    Reasoning {
        /// The piece.
        text: Arc<str>,
        /// The provider's word for this kind of reasoning.
        kind: Option<Arc<str>>,
        /// What the provider wants back with it.
        data: Option<Arc<Value>>,
    },
    /// A tool call begins.
    ToolCallStart {
        /// Its place among the answer's tool calls, from 0.
        index: u32,
        /// Its id.
        call_id: CallId,
        /// The tool's name as far as known.
        tool: ToolName,
    },
    /// A piece of a tool call.
    ToolCallDelta {
        /// Its place among the answer's tool calls.
        index: u32,
        /// A piece of its name.
        name_fragment: Option<Arc<str>>,
        /// A piece of its arguments' JSON text.
        arguments_fragment: Option<Arc<str>>,
    },
    /// A tool call is complete.
    ToolCall {
        /// Its place among the answer's tool calls.
        index: u32,
        /// Its id.
        call_id: CallId,
        /// The tool's name.
        tool: ToolName,
        /// Its arguments; a string where the model wrote no valid JSON.
        input: Arc<Value>,
    },
    /// The request failed before its first output and will be sent again (law M4).
    Retry {
        /// Which retry this is, from 1.
        attempt: u32,
        /// How long is waited before it, in milliseconds.
        delay_ms: u64,
        /// What went wrong.
        error: RecordedError,
    },
    /// Tokens used so far; the last one stands.
    Usage(Usage),
    /// The answer is whole, as far as the model let it become.
    Finish(FinishReason),
}

impl fmt::Debug for dyn LanguageModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LanguageModel").field(&self.model()).finish()
    }
}
