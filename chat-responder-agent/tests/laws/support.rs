//! What the tests share: a turn of a chat whose responder is a workflow, and ways to read its events.

use std::sync::Arc;

use chat_conformance::{ModelCall, ModelScript, ScriptedModel};
use chat_core::{
    ApprovalRequest, ChatEvent, FinishReason, JournalPart, MemoryStore, ResponderError, Seq, Store,
    TraceNode, TraceTree, TurnError, TurnReply,
};
use chat_responder_agent::{Agent, AgentResponder, Node, RunIds, Step};
use chat_runtime::{Chat, Session, Turn, TurnEvents};
use futures_util::StreamExt as _;
use serde_json::Value;

/// One turn, as whoever sent it sees it.
pub(crate) struct Sent {
    pub(crate) store: MemoryStore,
    pub(crate) session: Session,
    pub(crate) turn: Turn,
    pub(crate) events: TurnEvents,
    pub(crate) seen: Vec<ChatEvent>,
}

pub(crate) async fn send(responder: AgentResponder) -> Sent {
    let store = MemoryStore::new();
    let chat = Chat::new(responder, store.clone());
    let session = chat.create_session().await.unwrap();
    let turn = session.send("Hello");
    let events = turn.events().unwrap();
    Sent {
        store,
        session,
        turn,
        events,
        seen: Vec::new(),
    }
}

/// A responder whose reply is what its step `reply` streams.
pub(crate) fn streaming<N: Into<Node>>(
    render: impl Fn() -> N + Send + Sync + 'static,
) -> AgentResponder {
    AgentResponder::new("test", move |_| render()).stream("reply")
}

/// An agent of one step, `reply`.
pub(crate) fn one_step(model: &ScriptedModel) -> Agent {
    Agent::new(model.clone()).then(Step::new("reply").prompt("Hello"))
}

/// What a run works under that answers no turn.
pub(crate) fn ids() -> RunIds {
    RunIds {
        session_id: "session".parse().unwrap(),
        turn_id: "turn".parse().unwrap(),
        root_turn_id: "root".parse().unwrap(),
    }
}

/// Plays the next call: asks for one tool.
pub(crate) async fn ask_for(script: &mut ModelScript, tool: &str, input: Value) {
    let call = script.next_call().await;
    call.tool_call(0, "a", tool, input);
    call.finish(FinishReason::ToolCalls);
}

/// Plays the next call: says this, and is done.
pub(crate) async fn say(script: &mut ModelScript, text: &str) {
    let call = script.next_call().await;
    call.text(text);
    call.finish(FinishReason::Stop);
}

/// The texts that a call asks with, a message each.
pub(crate) fn asked(call: &ModelCall) -> Vec<String> {
    let messages = call.request().messages.iter();
    messages.map(|message| message.to_text()).collect()
}

impl Sent {
    /// The next event that is wanted; those before it are seen.
    pub(crate) async fn until<T>(&mut self, wanted: impl Fn(&ChatEvent) -> Option<T>) -> T {
        loop {
            let event = self.events.next().await.expect("an event that was to come");
            let found = wanted(&event);
            self.seen.push(event);
            if let Some(found) = found {
                return found;
            }
        }
    }

    /// The next request for approval.
    pub(crate) async fn request(&mut self) -> Arc<ApprovalRequest> {
        self.until(|event| match event {
            ChatEvent::ApprovalRequest { request, .. } => Some(request.clone()),
            _ => None,
        })
        .await
    }

    /// All events to the end, and what the turn came to.
    pub(crate) async fn end(mut self) -> (Vec<ChatEvent>, Result<TurnReply, TurnError>) {
        while let Some(event) = self.events.next().await {
            self.seen.push(event);
        }
        (self.seen, self.turn.result().await)
    }
}

/// A session's journal, as it is written.
pub(crate) async fn journal(store: &MemoryStore, session: &Session) -> String {
    let mut parts = store.read(session.id(), Seq::ZERO);
    let mut text = String::new();
    while let Some(part) = parts.next().await {
        match part.unwrap() {
            JournalPart::Entries(entries) => {
                text.extend(entries.iter().map(|entry| format!("{}\n", entry.encode())));
            }
            JournalPart::Torn(torn) => panic!("{torn:?}"),
        }
    }
    text
}

/// Why a turn failed.
pub(crate) fn failure(result: Result<TurnReply, TurnError>) -> ResponderError {
    match result {
        Err(TurnError::Failed(error)) => error,
        other => panic!("no failure: {other:?}"),
    }
}

pub(crate) fn kinds(events: &[ChatEvent]) -> Vec<&str> {
    events.iter().map(ChatEvent::kind).collect()
}

/// The last trace among events.
pub(crate) fn trace(events: &[ChatEvent]) -> TraceTree {
    let tree = events.iter().rev().find_map(|event| match event {
        ChatEvent::RunUpdate { tree, .. } => Some(tree),
        _ => None,
    });
    tree.unwrap().clone()
}

/// The node of this id.
pub(crate) fn node(tree: &TraceTree, id: &str) -> Arc<TraceNode> {
    let mut nodes = tree.iter().map(|(_, node)| node);
    nodes.find(|node| &*node.id == id).unwrap().clone()
}

/// The texts of the deltas among events.
pub(crate) fn deltas(events: &[ChatEvent]) -> Vec<&str> {
    let texts = events.iter().filter_map(|event| match event {
        ChatEvent::TextDelta { text, .. } => Some(&**text),
        _ => None,
    });
    texts.collect()
}
