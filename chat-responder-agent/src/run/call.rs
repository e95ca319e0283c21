//! One model call: its stream read to the end, each piece an event.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    sync::Arc,
    task::{Context, Poll},
};

use chat_core::{
    CallId, FinishReason, ModelEvent, ModelRequest, Part, Reasoning, ResponderError,
    ResponderEvent, StepRetry, ToolCallRef,
};
use futures_util::{StreamExt as _, stream::BoxStream};
use serde_json::Value;

use crate::tool::is_too_deep;

use super::{
    call_ids::CallIds,
    caught::{QuietDrop, caught},
    open_call::OpenCall,
    open_tool::OpenTool,
    step::{StepScope, Written},
};

/// How many events of a model are read before others get their turn.
const EVENTS_AT_ONCE: usize = 64;

/// Between the texts of two calls of a step whose text is shown as one.
const BLANK_LINE: &str = "\n\n";

/// A whole answer.
pub(crate) struct Answer {
    /// Text and reasoning, as the model wrote them.
    pub(crate) parts: Vec<Part>,
    /// The text alone.
    pub(crate) text: Arc<Value>,
    /// The tool calls, in call order.
    pub(crate) calls: Vec<Called>,
    pub(crate) reason: FinishReason,
}

/// A tool call that a model made.
pub(crate) struct Called {
    pub(crate) call: Arc<ToolCallRef>,
    /// The id as the model reads it back.
    pub(crate) id: CallId,
    pub(crate) input: Arc<Value>,
    pub(crate) open: OpenTool,
}

/// Asks the model once. Dropped, it closes what it opened.
pub(crate) async fn ask(
    scope: &StepScope,
    written: &mut Written,
    request: ModelRequest,
) -> Result<Answer, ResponderError> {
    let open = OpenCall::begin(scope, written.calls);
    let place = || format!("the model {}", scope.agent.model_ref.model_id);
    let stream = match caught(place, || scope.agent.model.stream(request)) {
        Ok(stream) => stream,
        Err(panicked) => {
            open.failed(&panicked);
            return Err(panicked);
        }
    };
    let mut reading = Reading {
        scope,
        open,
        stream: QuietDrop(Some(stream)),
        shown: written.shown.as_mut(),
        ids: &mut written.ids,
        fresh: Vec::new(),
        pieces: Vec::new(),
        has_text: false,
        begun: BTreeMap::new(),
        calls: BTreeMap::new(),
        at_once: 0,
    };
    let read = reading.read().await;
    reading.show();
    let Reading {
        open,
        stream,
        pieces,
        calls,
        ..
    } = reading;
    // The connection is let go with the answer.
    drop(stream);
    match read {
        Ok(reason) => {
            let text: String = pieces.iter().filter_map(Piece::text).collect();
            let text = Arc::new(Value::String(text));
            open.done(&reason, &text);
            Ok(Answer {
                parts: pieces.into_iter().map(Piece::into_part).collect(),
                text,
                calls: calls.into_values().collect(),
                reason,
            })
        }
        Err(error) => {
            open.failed(&error);
            Err(error)
        }
    }
}

/// What a model wrote, with what belongs together put together.
enum Piece {
    Text(String),
    Reasoning(String, Option<Arc<Value>>),
}

impl Piece {
    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Reasoning(..) => None,
        }
    }

    fn into_part(self) -> Part {
        match self {
            Self::Text(text) => Part::Text { text: text.into() },
            Self::Reasoning(text, data) => Part::Reasoning {
                text: text.into(),
                data,
            },
        }
    }
}

struct Reading<'a> {
    scope: &'a StepScope,
    open: OpenCall<'a>,
    stream: QuietDrop<BoxStream<'static, Result<ModelEvent, ResponderError>>>,
    /// All text of the step, where it is shown as it is written.
    shown: Option<&'a mut String>,
    ids: &'a mut CallIds,
    /// Text that was read and not shown yet.
    fresh: Vec<Arc<str>>,
    pieces: Vec<Piece>,
    has_text: bool,
    begun: BTreeMap<u32, Arc<ToolCallRef>>,
    calls: BTreeMap<u32, Called>,
    at_once: usize,
}

impl Reading<'_> {
    async fn read(&mut self) -> Result<FinishReason, ResponderError> {
        loop {
            let event = std::future::poll_fn(|cx| self.poll_event(cx)).await;
            let Some(event) = event? else {
                return Err(truncated("it ended without a finish"));
            };
            if !matches!(event, ModelEvent::Text(_)) {
                self.show();
            }
            match event {
                ModelEvent::Finish(reason) => {
                    self.all_complete(&reason)?;
                    return Ok(reason);
                }
                other => self.take(other)?,
            }
        }
    }

    /// The next event. Text that was ready together is shown together, at the latest before others get their turn.
    fn poll_event(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<ModelEvent>, ResponderError>> {
        if self.at_once == EVENTS_AT_ONCE {
            cx.waker().wake_by_ref();
        } else {
            let model = &self.scope.agent.model_ref.model_id;
            let polled = caught(
                || format!("the model {model}"),
                || match &mut self.stream.0 {
                    Some(stream) => stream.poll_next_unpin(cx),
                    None => Poll::Ready(None),
                },
            );
            match polled {
                Ok(Poll::Ready(event)) => {
                    self.at_once += 1;
                    return Poll::Ready(event.transpose());
                }
                Ok(Poll::Pending) => {}
                Err(panicked) => return Poll::Ready(Err(panicked)),
            }
        }
        self.at_once = 0;
        self.show();
        Poll::Pending
    }

    /// Shows the text that was read: first the update that carries it, then its deltas.
    fn show(&mut self) {
        if self.fresh.is_empty() {
            return;
        }
        let StepScope { state, node, .. } = self.scope;
        state.commit(|live| {
            live.tree.update(*node, |node| {
                for piece in &self.fresh {
                    node.partial_text.push(piece.clone());
                }
            });
        });
        for text in self.fresh.drain(..).filter(|_| self.scope.is_reply) {
            state.emit(ResponderEvent::TextDelta {
                text,
                step: Some(self.scope.id.clone()),
            });
        }
    }

    fn take(&mut self, event: ModelEvent) -> Result<(), ResponderError> {
        let state = &self.scope.state;
        match event {
            ModelEvent::Text(text) => self.take_text(text),
            ModelEvent::Reasoning { text, kind, data } => {
                state.emit(ResponderEvent::ReasoningDelta(Box::new(Reasoning {
                    text: text.clone(),
                    step: Some(self.scope.id.clone()),
                    kind,
                    provider: Some(self.scope.agent.model_ref.provider.clone()),
                    data: data.clone(),
                })));
                match (self.pieces.last_mut(), data) {
                    (Some(Piece::Reasoning(before, None)), None) => before.push_str(&text),
                    (_, data) => self
                        .pieces
                        .push(Piece::Reasoning(text.as_ref().into(), data)),
                }
            }
            ModelEvent::ToolCallStart {
                index,
                call_id,
                tool,
            } => {
                let call = self.open.call_ref(index, call_id, tool);
                self.begun.insert(index, call.clone());
                state.emit(ResponderEvent::ToolCallStart(call));
            }
            ModelEvent::ToolCallDelta {
                index,
                name_fragment,
                arguments_fragment,
            } => {
                if let Some(call) = self.begun.get(&index) {
                    state.emit(ResponderEvent::ToolCallDelta {
                        call: call.clone(),
                        name_fragment,
                        arguments_fragment,
                    });
                }
            }
            ModelEvent::ToolCall {
                index,
                call_id,
                tool,
                input,
            } => {
                let call = self.open.call_ref(index, call_id, tool);
                return self.take_call(index, call, input);
            }
            ModelEvent::Retry {
                attempt,
                delay_ms,
                error,
            } => state.emit(ResponderEvent::StepRetry(Box::new(StepRetry {
                step: Some(self.scope.id.clone()),
                number: self.open.number,
                attempt,
                delay_ms,
                error,
            }))),
            ModelEvent::Usage(usage) => {
                self.open.usage = Some(usage);
                state.used(self.open.number, usage);
            }
            // The end is seen to by the reader. What a newer core may add is no text and no call.
            _ => {}
        }
        Ok(())
    }

    /// An answer without the calls it was to have is none.
    fn all_complete(&self, reason: &FinishReason) -> Result<(), ResponderError> {
        if let Some(call) = self
            .begun
            .iter()
            .find_map(|(index, call)| (!self.calls.contains_key(index)).then_some(call))
        {
            let tool = &call.tool;
            return Err(truncated(&format!(
                "its call of the tool {tool} is not complete"
            )));
        }
        if *reason == FinishReason::ToolCalls && self.calls.is_empty() {
            return Err(truncated("it asks for tools and has no call of any"));
        }
        Ok(())
    }

    fn take_text(&mut self, text: Arc<str>) {
        if text.is_empty() {
            return;
        }
        let is_first = !std::mem::replace(&mut self.has_text, true);
        match self.pieces.last_mut() {
            Some(Piece::Text(before)) => before.push_str(&text),
            Some(Piece::Reasoning(..)) | None => {
                self.pieces.push(Piece::Text(text.as_ref().into()))
            }
        }
        let Some(shown) = &mut self.shown else {
            return;
        };
        if is_first && !shown.is_empty() {
            shown.push_str(BLANK_LINE);
            self.fresh.push(BLANK_LINE.into());
        }
        shown.push_str(&text);
        self.fresh.push(text);
    }

    fn take_call(
        &mut self,
        index: u32,
        call: Arc<ToolCallRef>,
        input: Arc<Value>,
    ) -> Result<(), ResponderError> {
        let Entry::Vacant(place) = self.calls.entry(index) else {
            let twice = format!("the model made two tool calls in one place, {index}");
            return Err(ResponderError::new(twice).with_kind("protocol"));
        };
        if is_too_deep(&input) {
            let deep = format!(
                "the model's arguments of the tool {} are nested too deep",
                call.tool
            );
            return Err(ResponderError::new(deep).with_kind("protocol"));
        }
        let state = &self.scope.state;
        if !self.begun.contains_key(&index) {
            state.emit(ResponderEvent::ToolCallStart(call.clone()));
        }
        state.emit(ResponderEvent::ToolCallReady {
            call: call.clone(),
            input: input.clone(),
        });
        let open = OpenTool::new(state, &call);
        let id = self.ids.take(&call.call_id);
        place.insert(Called {
            call,
            id,
            input,
            open,
        });
        Ok(())
    }
}

fn truncated(why: &str) -> ResponderError {
    ResponderError::new(format!("the model's answer was cut off: {why}"))
        .with_kind("truncated")
        .with_retryable(true)
}
