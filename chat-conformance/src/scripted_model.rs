//! A language model that says only what the test lets it say. It waits for nothing but the test, and guesses nothing.

use std::sync::Arc;

use chat_core::{
    CallId, FinishReason, LanguageModel, ModelEvent, ModelRef, ModelRequest, ResponderError,
    ToolName, Usage,
};
use futures_util::stream::{self, BoxStream, StreamExt};
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// A [`LanguageModel`] whose every answer is played by a test through its [`ModelScript`].
///
/// ```
/// use chat_conformance::ScriptedModel;
/// use chat_core::{FinishReason, LanguageModel, Message, ModelEvent, ModelRequest};
/// use futures_util::StreamExt;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let (model, mut script) = ScriptedModel::new();
/// let mut answer = model.stream(ModelRequest { messages: vec![Message::user("Hello")], ..Default::default() });
///
/// let mut call = script.next_call().await;
/// assert_eq!(call.request().messages[0].to_text(), "Hello");
/// call.text("Hi");
/// assert_eq!(answer.next().await.unwrap().unwrap(), ModelEvent::Text("Hi".into()));
///
/// drop(answer);
/// call.dropped().await;
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct ScriptedModel {
    model: ModelRef,
    calls: UnboundedSender<ModelCall>,
}

/// The test's side of a [`ScriptedModel`]: the calls that reach it, in order.
#[derive(Debug)]
pub struct ModelScript {
    calls: UnboundedReceiver<ModelCall>,
}

/// One call of a [`ScriptedModel`]. What is said here is queued and reaches the reader in order; dropping the call cuts the
/// answer off where it stands.
#[derive(Debug)]
pub struct ModelCall {
    request: ModelRequest,
    answer: UnboundedSender<Said>,
}

#[derive(Debug)]
enum Said {
    Event(ModelEvent),
    Failure(ResponderError),
    Panic(Arc<str>),
}

impl ScriptedModel {
    /// A model of provider `scripted`, and its script.
    #[must_use]
    pub fn new() -> (Self, ModelScript) {
        let (sender, calls) = unbounded_channel();
        (
            Self {
                model: ModelRef::new("scripted", "scripted"),
                calls: sender,
            },
            ModelScript { calls },
        )
    }

    /// Says which model it is.
    #[must_use]
    pub fn with_model(self, model: ModelRef) -> Self {
        Self { model, ..self }
    }
}

impl LanguageModel for ScriptedModel {
    fn model(&self) -> ModelRef {
        self.model.clone()
    }

    fn stream(
        &self,
        request: ModelRequest,
    ) -> BoxStream<'static, Result<ModelEvent, ResponderError>> {
        let (answer, said) = unbounded_channel();
        if self.calls.send(ModelCall { request, answer }).is_err() {
            let gone = ResponderError::new(
                "the model's script is gone: keep it as long as the model is called",
            );
            return stream::iter([Err(gone)]).boxed();
        }
        stream::unfold(said, |mut said| async move {
            let item = match said.recv().await? {
                Said::Event(event) => Ok(event),
                Said::Failure(error) => Err(error),
                Said::Panic(message) => panic!("{message}"),
            };
            Some((item, said))
        })
        .boxed()
    }
}

impl ModelScript {
    /// Waits for the next call. Cancel-safe.
    ///
    /// # Panics
    /// Where every clone of the model is gone, so that no call can come.
    pub async fn next_call(&mut self) -> ModelCall {
        self.calls.recv().await.expect("the model is still there")
    }

    /// The next call where one was made already.
    pub fn try_next_call(&mut self) -> Option<ModelCall> {
        self.calls.try_recv().ok()
    }
}

impl ModelCall {
    /// What the model was asked.
    #[must_use]
    pub fn request(&self) -> &ModelRequest {
        &self.request
    }

    /// Says a piece of text.
    pub fn text(&self, text: impl Into<Arc<str>>) {
        self.event(ModelEvent::Text(text.into()));
    }

    /// Says a piece of reasoning.
    pub fn reasoning(&self, text: impl Into<Arc<str>>) {
        self.event(ModelEvent::Reasoning {
            text: text.into(),
            kind: None,
            data: None,
        });
    }

    /// Says a whole tool call.
    pub fn tool_call(
        &self,
        index: u32,
        call_id: impl Into<CallId>,
        tool: impl Into<ToolName>,
        input: Value,
    ) {
        let (call_id, tool) = (call_id.into(), tool.into());
        self.event(ModelEvent::ToolCallStart {
            index,
            call_id: call_id.clone(),
            tool: tool.clone(),
        });
        self.event(ModelEvent::ToolCall {
            index,
            call_id,
            tool,
            input: Arc::new(input),
        });
    }

    /// Says how many tokens were used so far.
    pub fn usage(&self, usage: Usage) {
        self.event(ModelEvent::Usage(usage));
    }

    /// Says any one event.
    pub fn event(&self, event: ModelEvent) {
        self.say(Said::Event(event));
    }

    /// Ends the answer.
    pub fn finish(self, reason: FinishReason) {
        self.event(ModelEvent::Finish(reason));
    }

    /// Fails the answer.
    pub fn fail(self, error: impl Into<ResponderError>) {
        self.say(Said::Failure(error.into()));
    }

    /// Ends the stream without a finish, as a connection that was cut does. The same as dropping the call.
    pub fn cut(self) {
        drop(self);
    }

    /// Panics in the reader's poll.
    pub fn panic(self, message: impl Into<Arc<str>>) {
        self.say(Said::Panic(message.into()));
    }

    /// Waits until the reader has dropped the stream. Cancel-safe.
    pub async fn dropped(&self) {
        self.answer.closed().await;
    }

    /// Whether the reader has dropped the stream.
    #[must_use]
    pub fn is_dropped(&self) -> bool {
        self.answer.is_closed()
    }

    fn say(&self, said: Said) {
        // A reader that left hears nothing more; a test learns it from `dropped`.
        let _ = self.answer.send(said);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started() -> (
        BoxStream<'static, Result<ModelEvent, ResponderError>>,
        ModelCall,
    ) {
        let (model, mut script) = ScriptedModel::new();
        let answer = model.stream(ModelRequest::default());
        (answer, script.try_next_call().unwrap())
    }

    #[tokio::test]
    async fn an_answer_is_what_the_test_said_in_order() {
        let (answer, call) = started();
        call.text("a");
        call.reasoning("b");
        call.finish(FinishReason::Stop);
        let said: Vec<_> = answer.map(Result::unwrap).collect().await;
        assert_eq!(said.len(), 3);
        assert_eq!(said[2], ModelEvent::Finish(FinishReason::Stop));
    }

    #[tokio::test]
    async fn a_cut_answer_ends_without_a_finish_and_a_failed_one_errs() {
        let (mut answer, call) = started();
        call.cut();
        assert!(answer.next().await.is_none());

        let (mut answer, call) = started();
        call.fail(ResponderError::new("no"));
        assert_eq!(answer.next().await.unwrap().unwrap_err().message(), "no");
    }

    #[tokio::test]
    async fn a_model_without_its_script_says_so() {
        let (model, script) = ScriptedModel::new();
        drop(script);
        let error = model
            .stream(ModelRequest::default())
            .next()
            .await
            .unwrap()
            .unwrap_err();
        assert!(error.message().contains("script is gone"));
    }
}
