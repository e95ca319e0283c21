//! A turn of a chat whose responder is a workflow, watched by a reader that takes each event as it comes. The clock of these tests
//! moves only when nothing else is left to do.

use std::{sync::Arc, time::Duration};

use chat_conformance::{ModelCall, ScriptedModel};
use chat_core::{ApprovalRequest, ChatEvent, FinishReason, MemoryStore, ModelRef, Usage};
use chat_responder_agent::AgentResponder;
use chat_runtime::{Chat, Turn};
use serde_json::Value;
use tokio::{task::JoinHandle, time::Instant};

use crate::film::Film;

/// One event, and what could be seen when it came.
#[derive(Debug)]
pub(crate) struct Moment {
    /// Since the turn was sent.
    pub(crate) at: Duration,
    pub(crate) event: ChatEvent,
    /// What the turn said waits.
    pub(crate) requests: Vec<Arc<ApprovalRequest>>,
}

pub(crate) struct Stage {
    pub(crate) turn: Turn,
    watching: JoinHandle<Vec<Moment>>,
}

impl Stage {
    /// Sends a turn.
    pub(crate) async fn begin(responder: AgentResponder) -> Self {
        let chat = Chat::new(responder, MemoryStore::new());
        let session = chat.create_session().await.unwrap();
        let turn = session.send("Ship it.");
        let mut events = turn.events().unwrap();
        let (watched, began) = (turn.clone(), Instant::now());
        let watching = tokio::spawn(async move {
            // The session is kept as long as its turn is watched.
            let _session = session;
            let mut moments = Vec::new();
            while let Some(event) = events.next().await {
                moments.push(Moment {
                    at: began.elapsed(),
                    event,
                    requests: watched.requests(),
                });
            }
            moments
        });
        Self { turn, watching }
    }

    /// Lets the run do all that it can do now, and time pass.
    pub(crate) async fn pass(&self, millis: u64) {
        let _ =
            tokio::time::timeout(Duration::from_millis(millis), std::future::pending::<()>()).await;
    }

    /// The request for a tool that waits.
    pub(crate) fn request(&self, tool: &str) -> Arc<ApprovalRequest> {
        let mut requests = self.turn.requests().into_iter();
        requests
            .find(|request| request.tool_name.as_str() == tool)
            .unwrap()
    }

    /// All that was seen, once the turn is over.
    pub(crate) async fn end(self) -> Film {
        Film::of(self.watching.await.unwrap())
    }
}

/// A model as people know it, and its script.
pub(crate) fn model() -> (ScriptedModel, chat_conformance::ModelScript) {
    let (model, script) = ScriptedModel::new();
    (
        model.with_model(ModelRef::new("openai", "gpt-5-mini")),
        script,
    )
}

/// Ends an answer that asks for tools, in this order.
pub(crate) fn ask_for(call: ModelCall, tools: impl IntoIterator<Item = (&'static str, Value)>) {
    for (index, (tool, input)) in (0..).zip(tools) {
        call.tool_call(index, format!("call-{index}"), tool, input);
    }
    call.finish(FinishReason::ToolCalls);
}

pub(crate) fn used(input: u64, output: u64) -> Usage {
    Usage {
        input_tokens: Some(input),
        output_tokens: Some(output),
        ..Usage::default()
    }
}
