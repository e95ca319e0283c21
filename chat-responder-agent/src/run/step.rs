//! A step: asks the model, runs the tools it asks for, and asks again until it has answered.

use std::sync::Arc;

use chat_core::{
    FinishReason, Message, ModelRequest, NodeIndex, Part, ResponderError, Role, StepId,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    CheckError,
    schema::Misfit,
    workflow::{Output, Step},
};

use super::{
    call::{self, Answer, Called},
    call_ids::CallIds,
    caught::caught,
    clock::Clock,
    idempotency::Keys,
    leaf::progress,
    plan::AgentScope,
    state::State,
    tools,
};

/// What all calls of a step work with.
pub(crate) struct StepScope {
    pub(crate) state: Arc<State>,
    pub(crate) agent: Arc<AgentScope>,
    pub(crate) id: StepId,
    pub(crate) node: NodeIndex,
    pub(crate) cancel: CancellationToken,
    pub(crate) clock: Option<Arc<Clock>>,
    /// Its text is the reply as it is written.
    pub(crate) is_reply: bool,
}

impl StepScope {
    /// The clocks that it runs against.
    pub(crate) fn clocks(&self) -> impl Iterator<Item = &Arc<Clock>> {
        self.clock.iter().chain(&self.state.clock)
    }

    /// Whether one of them has run out.
    pub(crate) fn is_out_of_time(&self) -> bool {
        self.clocks().any(|clock| clock.has_run_out())
    }
}

/// What a step has come to so far.
#[derive(Default)]
pub(crate) struct Written {
    /// Model calls made.
    pub(crate) calls: u32,
    /// Tools called.
    pub(crate) tools: u32,
    /// The ids of those calls.
    pub(crate) ids: CallIds,
    /// Their idempotency keys.
    pub(crate) keys: Keys,
    /// The text shown as it was written, where it is shown at all: `Some` from the start.
    pub(crate) shown: Option<String>,
}

pub(crate) async fn run(scope: StepScope, step: Step) -> Result<Arc<Value>, ResponderError> {
    let Step {
        id: _,
        prompt,
        stream,
        output,
        max_calls,
        timeout: _,
    } = step;
    let mut messages = Vec::new();
    messages.extend(scope.agent.instructions.clone().map(Message::system));
    if let Some(prompt) = prompt {
        let place = || format!("the prompt of step {}", scope.id);
        let prompt = caught(place, || prompt.make(&progress(&scope.state)))??;
        if prompt.0.is_empty() {
            let step = scope.id.clone();
            return Err(CheckError::NoPrompt { step }.into_responder_error());
        }
        messages.extend(prompt.0);
    }
    let tools: Vec<_> = scope
        .agent
        .tools
        .iter()
        .map(|tool| tool.spec.clone())
        .collect();
    let mut written = Written {
        shown: (stream || scope.is_reply).then(String::new),
        ..Written::default()
    };
    for part in messages.iter().flat_map(|message| &message.parts) {
        if let Part::ToolCall { call_id, .. } = part {
            written.ids.take(call_id);
        }
    }
    let mut corrected = false;
    loop {
        let steers = scope.state.steering.boundary().await;
        messages.extend(steers.into_iter().map(Message::user));
        let request = ModelRequest {
            messages: messages.clone(),
            tools: tools.clone(),
            output: output.as_ref().map(|output| output.schema.clone()),
        };
        written.calls += 1;
        let answer = call::ask(&scope, &mut written, request).await?;
        let is_last = written.calls >= max_calls;
        if answer.calls.is_empty() {
            let Some(output) = &output else {
                return Ok(match written.shown {
                    Some(shown) => Arc::new(Value::String(shown)),
                    None => answer.text,
                });
            };
            let misfit = match read(&scope, output, &answer)? {
                Ok(value) => return Ok(value),
                Err(misfit) => misfit,
            };
            if answer.reason == FinishReason::Length {
                let cut =
                    "its answer was cut off: it reached the limit of tokens before it was whole";
                return Err(ResponderError::new(cut).with_kind("truncated"));
            }
            if corrected || is_last {
                let error = format!(
                    "its answer does not fit what was asked for: {}",
                    misfit.masked
                );
                return Err(ResponderError::new(error).with_kind("output-mismatch"));
            }
            corrected = true;
            messages.extend(correction(answer, &misfit, output));
        } else {
            if is_last {
                let error = format!("the model asked for tools in all of its {max_calls} calls");
                return Err(ResponderError::new(error)
                    .with_kind("too-many-calls")
                    .with_retryable(false));
            }
            messages.push(asked(answer.parts, &answer.calls));
            let results = tools::run(&scope, &mut written, answer.calls).await;
            messages.push(Message {
                role: Role::Tool,
                parts: results,
            });
        }
    }
}

/// The value that an answer holds. What reads it is the caller's code.
fn read(
    scope: &StepScope,
    output: &Output,
    answer: &Answer,
) -> Result<Result<Arc<Value>, Misfit>, ResponderError> {
    let text = answer.text.as_str().unwrap_or_default();
    caught(
        || format!("what reads the output of step {}", scope.id),
        || output.read(text),
    )
}

/// What tells the model that its answer did not fit, once.
fn correction(answer: Answer, misfit: &Misfit, output: &Output) -> Vec<Message> {
    let mut messages = Vec::new();
    if answer.text.as_str().is_some_and(|text| !text.is_empty()) {
        messages.push(asked(answer.parts, &answer.calls));
    }
    // Not every server shows the model the schema.
    messages.push(Message::user(format!(
        "Your answer does not fit what was asked for: {}\nAnswer again, with nothing but JSON that fits this schema:\n{}",
        misfit.told, output.schema.schema
    )));
    messages
}

/// An answer as the model reads it back: its reasoning too, which some servers want beside the calls it led to.
fn asked(parts: Vec<Part>, calls: &[Called]) -> Message {
    let calls = calls.iter().map(|called| Part::ToolCall {
        call_id: called.id.clone(),
        tool: called.call.tool.clone(),
        input: called.input.clone(),
    });
    Message {
        role: Role::Assistant,
        parts: parts.into_iter().chain(calls).collect(),
    }
}
