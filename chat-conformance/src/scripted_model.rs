//! A language model that says only what the test lets it say. It waits for nothing but the test, and guesses nothing.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
};

use chat_core::{
    CallId, FinishReason, LanguageModel, ModelEvent, ModelRef, ModelRequest, RecordedError,
    ResponderError, ToolName, Usage,
};
use futures_util::stream::{self, BoxStream, Stream, StreamExt};
use serde_json::Value;
use tokio::sync::{
    mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    watch,
};

use crate::script::Calls;

/// A [`LanguageModel`] whose every answer is played by a test through its [`ModelScript`]. Clones are the same model.
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
///
/// Calls that are made side by side come in no order of note: tell them apart by what they ask, and answer in whichever order the
/// test is about. A call that hangs is one that is kept and not answered.
///
/// ```
/// # use chat_conformance::ScriptedModel;
/// # use chat_core::{LanguageModel, Message, ModelRequest};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// # let (model, mut script) = ScriptedModel::new();
/// # let ask = |text: &'static str| model.stream(ModelRequest { messages: vec![Message::user(text)], ..Default::default() });
/// # let (review, draft) = (ask("Review this"), ask("Draft this"));
/// let draft = script.call_asking("Draft").await;
/// let review = script.call_asking("Review").await;
/// review.answer("Fine as it is.");
/// draft.tool_call(0, "call-1", "search", serde_json::json!({"q": "journals"}));
/// # }
/// ```
///
/// A script that waits for a call which does not come says nothing of it: as long as a responder keeps the model, one could still
/// come. Where a workflow that fails before it asks is to fail its test, wait for its end beside the call:
///
/// ```
/// # use chat_conformance::ScriptedModel;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// # let (model, mut script) = ScriptedModel::new();
/// # let _asked = chat_core::LanguageModel::stream(&model, Default::default());
/// # let turn = std::future::pending::<()>();
/// let call = tokio::select! {
///     call = script.next_call() => call,
///     ended = turn => panic!("the turn ended before it asked: {ended:?}"),
/// };
/// # call.answer("Hi");
/// # }
/// ```
/// A test that ends while a call is kept unanswered drops it, and the answer is cut off there.
#[derive(Debug, Clone)]
pub struct ScriptedModel {
    model: ModelRef,
    calls: UnboundedSender<ModelCall>,
}

/// The test's side of a [`ScriptedModel`]: the calls that reach it, in order.
#[derive(Debug)]
pub struct ModelScript {
    calls: Calls<ModelCall>,
}

/// One call of a [`ScriptedModel`]. What is said here is queued and reaches the reader in order; dropping the call cuts the
/// answer off where it stands.
#[derive(Debug)]
pub struct ModelCall {
    request: ModelRequest,
    answer: UnboundedSender<Said>,
    said: AtomicU64,
    heard: watch::Receiver<u64>,
}

#[derive(Debug)]
enum Said {
    Event(ModelEvent),
    Failure(ResponderError),
    Panic(Arc<str>),
}

/// The reader's side of one call.
struct Answer {
    said: UnboundedReceiver<Said>,
    taken: u64,
    heard: watch::Sender<u64>,
}

impl ScriptedModel {
    /// A model of provider `scripted`, and its script.
    #[must_use]
    pub fn new() -> (Self, ModelScript) {
        let (sender, calls) = Calls::new();
        let model = Self {
            model: ModelRef::new("scripted", "scripted"),
            calls: sender,
        };
        (model, ModelScript { calls })
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
        let ((answer, said), (heard, is_heard)) = (unbounded_channel(), watch::channel(0));
        let call = ModelCall {
            request,
            answer,
            said: AtomicU64::new(0),
            heard: is_heard,
        };
        if self.calls.send(call).is_err() {
            let gone = ResponderError::new(
                "the model's script is gone: keep it as long as the model is called",
            );
            return stream::iter([Err(gone)]).boxed();
        }
        Answer {
            said,
            taken: 0,
            heard,
        }
        .boxed()
    }
}

impl Stream for Answer {
    type Item = Result<ModelEvent, ResponderError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Poll::Ready(said) = self.said.poll_recv(cx) else {
            self.heard.send_replace(self.taken);
            return Poll::Pending;
        };
        self.taken += 1;
        Poll::Ready(said.map(|said| match said {
            Said::Event(event) => Ok(event),
            Said::Failure(error) => Err(error),
            Said::Panic(message) => panic!("{message}"),
        }))
    }
}

impl ModelScript {
    /// Waits for the next call, for ever where none comes. Cancel-safe.
    ///
    /// # Panics
    /// Where every clone of the model is gone, so that no call can come.
    pub async fn next_call(&mut self) -> ModelCall {
        self.next_call_where(|_| true).await
    }

    /// Waits for the next call whose messages hold this text, instructions among them: of steps that run side by side, the one
    /// with this prompt. Calls that are passed over keep their order; where no other comes they are waited behind for ever.
    /// Cancel-safe.
    ///
    /// # Panics
    /// Where every clone of the model is gone, so that no call can come: it names what the calls that were passed over ask.
    pub async fn call_asking(&mut self, text: &str) -> ModelCall {
        let asks = |request: &ModelRequest| {
            let mut messages = request.messages.iter();
            messages.any(|message| message.to_text().contains(text))
        };
        self.next_call_where(asks).await
    }

    /// Waits for the next call with such a request, for ever where none comes. Calls that are passed over keep their order.
    /// Cancel-safe.
    ///
    /// # Panics
    /// Where every clone of the model is gone, so that no call can come: it names what the calls that were passed over ask.
    pub async fn next_call_where(&mut self, wanted: impl Fn(&ModelRequest) -> bool) -> ModelCall {
        let call = self.calls.next(|call| wanted(&call.request)).await;
        call.unwrap_or_else(|| {
            let asked = self.calls.passed_over().map(|call| {
                let last = call.request.messages.last();
                last.map_or_else(String::new, |message| message.to_text().to_string())
            });
            let asked: Vec<String> = asked.collect();
            panic!("no such call can come, the model is gone; those that came ask {asked:?}")
        })
    }

    /// The next call where one was made already.
    pub fn try_next_call(&mut self) -> Option<ModelCall> {
        self.calls.try_next()
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

    /// Says a piece of reasoning with what the provider wants back beside it.
    pub fn reasoning_with_data(&self, text: impl Into<Arc<str>>, data: Value) {
        self.event(ModelEvent::Reasoning {
            text: text.into(),
            kind: None,
            data: Some(Arc::new(data)),
        });
    }

    /// Says a whole tool call, which was not streamed: its start, and that it is complete.
    pub fn tool_call(
        &self,
        index: u32,
        call_id: impl Into<CallId>,
        tool: impl Into<ToolName>,
        input: Value,
    ) {
        let (call_id, tool) = (call_id.into(), tool.into());
        self.tool_call_start(index, call_id.clone(), tool.clone());
        self.tool_call_ready(index, call_id, tool, input);
    }

    /// Begins a tool call; `tool` is what is known of its name.
    pub fn tool_call_start(
        &self,
        index: u32,
        call_id: impl Into<CallId>,
        tool: impl Into<ToolName>,
    ) {
        self.event(ModelEvent::ToolCallStart {
            index,
            call_id: call_id.into(),
            tool: tool.into(),
        });
    }

    /// Says a piece of a tool call's name.
    pub fn tool_name_fragment(&self, index: u32, fragment: impl Into<Arc<str>>) {
        self.event(ModelEvent::ToolCallDelta {
            index,
            name_fragment: Some(fragment.into()),
            arguments_fragment: None,
        });
    }

    /// Says a piece of a tool call's arguments, as JSON text.
    pub fn tool_arguments_fragment(&self, index: u32, fragment: impl Into<Arc<str>>) {
        self.event(ModelEvent::ToolCallDelta {
            index,
            name_fragment: None,
            arguments_fragment: Some(fragment.into()),
        });
    }

    /// Says that a tool call is complete, and what it came to.
    pub fn tool_call_ready(
        &self,
        index: u32,
        call_id: impl Into<CallId>,
        tool: impl Into<ToolName>,
        input: Value,
    ) {
        self.event(ModelEvent::ToolCall {
            index,
            call_id: call_id.into(),
            tool: tool.into(),
            input: Arc::new(input),
        });
    }

    /// Says that the request failed before its first output and will be sent again, as a model of a real server does.
    pub fn retry(&self, attempt: u32, delay_ms: u64, error: &ResponderError) {
        self.event(ModelEvent::Retry {
            attempt,
            delay_ms,
            error: RecordedError::from(error),
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

    /// Says a text and ends the answer: all that many tests want of a model.
    pub fn answer(self, text: impl Into<Arc<str>>) {
        self.text(text);
        self.finish(FinishReason::Stop);
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

    /// Waits until the reader has taken all that was said so far and asks for more: it has dealt with it, then. Cancel-safe.
    ///
    /// # Panics
    /// Where the reader drops the stream before.
    pub async fn heard(&self) {
        let said = self.said.load(Ordering::SeqCst);
        self.heard
            .clone()
            .wait_for(|heard| *heard >= said)
            .await
            .expect("the reader is still there");
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
        self.said.fetch_add(1, Ordering::SeqCst);
        // A reader that left hears nothing more; a test learns it from `dropped`.
        let _ = self.answer.send(said);
    }
}

#[cfg(test)]
mod tests;
