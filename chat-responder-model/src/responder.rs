//! A whole chat's responder: one model, asked once a turn with the conversation so far. No tools, no steering, no memory.

use std::{fmt, sync::Arc};

use chat_core::{
    Execution, FinishReason, LanguageModel, Message, Metadata, ModelEvent, ModelRef, ModelRequest,
    Reasoning, Reply, Responder, ResponderError, ResponderEvent, ResponderInfo, StepId, StepRetry,
    TurnRequest, Usage,
};
use futures_util::stream::{self, BoxStream, Stream, StreamExt};
use tokio::sync::oneshot;

/// The step that a model chat's events name.
const STEP: &str = "reply";

/// Answers each turn with one call of a model (laws M1 to M3).
///
/// The model reads the instructions as its system message, then the chat's context, then the input. The reply is the text it
/// streamed. Canceling drops the call, and with it the connection.
///
/// ```
/// use chat_responder_model::{ModelResponder, OpenAi};
/// # fn main() -> Result<(), chat_responder_model::EndpointError> {
/// let responder = ModelResponder::new(OpenAi::new("http://localhost:8080/v1")?.model("qwen3"))
///     .instructions("You explain software briefly and plainly.");
/// # Ok(())
/// # }
/// ```
pub struct ModelResponder<M> {
    model: M,
    instructions: Option<Arc<str>>,
    id: Option<Arc<str>>,
    version: Option<Arc<str>>,
}

impl<M: LanguageModel> ModelResponder<M> {
    /// A responder without instructions.
    pub fn new(model: M) -> Self {
        Self {
            model,
            instructions: None,
            id: None,
            version: None,
        }
    }

    /// Tells the model what it is here for. Never stored (law J3).
    #[must_use]
    pub fn instructions(self, instructions: impl Into<Arc<str>>) -> Self {
        Self {
            instructions: Some(instructions.into()),
            ..self
        }
    }

    /// Names this responder in the journal.
    #[must_use]
    pub fn id(self, id: impl Into<Arc<str>>) -> Self {
        Self {
            id: Some(id.into()),
            ..self
        }
    }

    /// Says which version of it answers: set it anew whenever instructions or model change.
    #[must_use]
    pub fn version(self, version: impl Into<Arc<str>>) -> Self {
        Self {
            version: Some(version.into()),
            ..self
        }
    }
}

impl<M: LanguageModel> Responder for ModelResponder<M> {
    fn respond(&self, request: TurnRequest) -> Execution {
        let instructions = self
            .instructions
            .iter()
            .map(|text| Message::system(text.clone()));
        let messages = instructions.chain(request.conversation()).collect();
        let answer = self.model.stream(ModelRequest {
            messages,
            ..ModelRequest::default()
        });
        let (settle, settled) = oneshot::channel();
        // The events drive the model; the result is what they came to. No task is needed, and dropping the execution drops
        // the call.
        Execution::new(async move {
            settled.await.unwrap_or_else(|_| {
                Err(ResponderError::new(
                    "the events were dropped before the answer was whole",
                ))
            })
        })
        .with_events(events(Call::new(self.model.model(), answer, settle)))
    }

    fn info(&self) -> ResponderInfo {
        ResponderInfo {
            id: self.id.clone(),
            version: self.version.clone(),
            ..ResponderInfo::of_kind("model")
        }
    }
}

impl<M: LanguageModel> fmt::Debug for ModelResponder<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelResponder")
            .field("model", &self.model.model())
            .field("instructions", &self.instructions.is_some())
            .field("id", &self.id)
            .field("version", &self.version)
            .finish()
    }
}

/// The one model call of a turn.
struct Call {
    model: ModelRef,
    answer: BoxStream<'static, Result<ModelEvent, ResponderError>>,
    settle: Option<oneshot::Sender<Result<Reply, ResponderError>>>,
    step: StepId,
    started: bool,
    usage: Option<Usage>,
}

impl Call {
    fn new(
        model: ModelRef,
        answer: BoxStream<'static, Result<ModelEvent, ResponderError>>,
        settle: oneshot::Sender<Result<Reply, ResponderError>>,
    ) -> Self {
        Self {
            model,
            answer,
            settle: Some(settle),
            step: STEP.into(),
            started: false,
            usage: None,
        }
    }

    /// The next event; `None` once the result is settled.
    async fn next(&mut self) -> Option<ResponderEvent> {
        self.settle.as_ref()?;
        if !self.started {
            self.started = true;
            return Some(ResponderEvent::StepStart {
                step: self.step.clone(),
                number: 1,
            });
        }
        loop {
            let event = match self.answer.next().await {
                Some(Ok(event)) => event,
                Some(Err(error)) => return self.fail(error),
                None => {
                    let cut = "the model's answer was cut off: it ended without a finish";
                    return self.fail(
                        ResponderError::new(cut)
                            .with_kind("truncated")
                            .with_retryable(true),
                    );
                }
            };
            let step = || self.step.clone();
            match event {
                ModelEvent::Text(text) => {
                    return Some(ResponderEvent::TextDelta {
                        text,
                        step: Some(step()),
                    });
                }
                ModelEvent::Reasoning { text, kind, data } => {
                    let provider = Some(self.model.provider.clone());
                    let reasoning = Reasoning {
                        text,
                        step: Some(step()),
                        kind,
                        provider,
                        data,
                    };
                    return Some(ResponderEvent::ReasoningDelta(Box::new(reasoning)));
                }
                ModelEvent::Retry {
                    attempt,
                    delay_ms,
                    error,
                } => {
                    let retry = StepRetry {
                        step: Some(step()),
                        number: 1,
                        attempt,
                        delay_ms,
                        error,
                    };
                    return Some(ResponderEvent::StepRetry(Box::new(retry)));
                }
                ModelEvent::Usage(usage) => {
                    self.usage = Some(usage);
                    return Some(ResponderEvent::Usage(Box::new(usage)));
                }
                ModelEvent::Finish(reason) => return Some(self.finish(reason)),
                ModelEvent::ToolCallStart { .. } | ModelEvent::ToolCall { .. } => {
                    // The journal keeps this, so not the name: it is whatever the server wrote.
                    let asked = "the model called a tool, and this chat gave it none";
                    return self.fail(
                        ResponderError::new(asked)
                            .with_kind("protocol")
                            .with_retryable(false),
                    );
                }
                // Its start has failed the turn already. What a newer core may add is no text.
                _ => {}
            }
        }
    }

    fn finish(&mut self, reason: FinishReason) -> ResponderEvent {
        let metadata = Metadata {
            model: Some(self.model.clone()),
            usage: self.usage,
            finish_reason: Some(reason.clone()),
            responder: None,
        };
        self.settle(Ok(Reply::streamed().with_metadata(metadata)));
        let usage = self.usage.map(Box::new);
        ResponderEvent::StepEnd {
            step: self.step.clone(),
            number: 1,
            usage,
            finish_reason: Some(reason),
        }
    }

    fn fail(&mut self, error: ResponderError) -> Option<ResponderEvent> {
        self.settle(Err(error));
        None
    }

    fn settle(&mut self, result: Result<Reply, ResponderError>) {
        // The connection is let go with the answer, not only when the stream is dropped.
        self.answer = stream::empty().boxed();
        if let Some(settle) = self.settle.take() {
            // Nobody waits any more: the turn has ended without us.
            let _ = settle.send(result);
        }
    }
}

fn events(call: Call) -> impl Stream<Item = Result<ResponderEvent, ResponderError>> + Send {
    stream::unfold(call, |mut call| async move {
        let event = call.next().await?;
        Some((Ok(event), call))
    })
}
