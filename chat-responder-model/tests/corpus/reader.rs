//! The reader's side: asks as a chat or an agent does, and keeps all it is told.

use std::{sync::Arc, time::Duration};

use chat_conformance::ScriptedServer;
use chat_core::{
    LanguageModel, Message, ModelEvent, ModelRequest, Part, ResponderError, Role, ToolSpec,
};
use chat_responder_model::{OpenAi, OpenAiModel, Settings, Timeouts};
use futures_util::{FutureExt, StreamExt};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::{
    KEY,
    behavior::{Ask, Behavior},
    clock::Clock,
    parts::parts,
};

/// What was read, over all requests.
#[derive(Debug, Default)]
pub(crate) struct Read {
    pub(crate) events: Vec<ModelEvent>,
    pub(crate) error: Option<ResponderError>,
}

/// Reads answers until one calls no tool that the behavior knows, or fails.
pub(super) async fn read(
    behavior: &Behavior,
    server: &ScriptedServer,
    clock: &Clock,
    told: watch::Sender<String>,
    mut awake: watch::Receiver<bool>,
) -> Read {
    let ask = &behavior.ask;
    let model = model(ask, server);
    let mut read = Read::default();
    let mut messages = vec![Message::user("Hello")];
    loop {
        let mut answer = model.stream(ModelRequest {
            messages: messages.clone(),
            tools: ask.tools.keys().map(|name| tool(name)).collect(),
            output: None,
        });
        let start = read.events.len();
        while let Some(event) = answer.next().await {
            match event {
                Ok(event) => {
                    if let ModelEvent::Retry { delay_ms, .. } = &event {
                        let delay = Duration::from_millis(*delay_ms);
                        read.events.push(event);
                        // The wait is the reader's own, and as long as it said: a shorter one would show here.
                        clock.stop();
                        assert!(answer.next().now_or_never().is_none(), "a retry waits");
                        tokio::time::advance(delay).await;
                        clock.go();
                        continue;
                    }
                    if let ModelEvent::Text(text) = &event {
                        told.send_modify(|told| told.push_str(text));
                    }
                    read.events.push(event);
                    if ask.pauses_at.as_ref() == Some(&*told.borrow()) {
                        // An error is a server that is gone.
                        let _ = awake.wait_for(|awake| *awake).await;
                    }
                }
                Err(error) => {
                    read.error = Some(error);
                    assert!(
                        answer.next().await.is_none(),
                        "nothing comes after an error"
                    );
                    return read;
                }
            }
        }
        let parts = parts(&read.events[start..]);
        let results: Vec<Part> = parts.iter().filter_map(|part| result(part, ask)).collect();
        if results.is_empty() {
            return read;
        }
        messages.push(Message {
            role: Role::Assistant,
            parts,
        });
        messages.push(Message {
            role: Role::Tool,
            parts: results,
        });
    }
}

fn model(ask: &Ask, server: &ScriptedServer) -> OpenAiModel {
    let mut endpoint = OpenAi::new(format!("{}{}", server.url(), ask.base)).expect("a base URL");
    if ask.key {
        endpoint = endpoint.api_key(KEY).expect("a key");
    }
    for (name, value) in &ask.headers {
        endpoint = endpoint.header(name, value.as_str()).expect("a header");
    }
    let mut timeouts = Timeouts::default();
    for (name, seconds) in &ask.timeouts {
        let limit = Some(Duration::from_secs(*seconds));
        match name.as_str() {
            "connect" => timeouts.connect = limit,
            "first_chunk" => timeouts.first_chunk = limit,
            "between_chunks" => timeouts.between_chunks = limit,
            "total" => timeouts.total = limit,
            other => panic!("there is no timeout {other}"),
        }
    }
    let without = ask.without.iter().map(|name| (name.clone(), Value::Null));
    endpoint
        .timeouts(timeouts)
        .model("tiny")
        .with_settings(Settings {
            max_retries: ask.max_retries,
            done_suffices: ask.done_suffices,
            provider_options: ask.options.clone().into_iter().chain(without).collect(),
            ..Settings::default()
        })
}

fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: "A tool.".into(),
        input_schema: Arc::new(json!({"type": "object"})),
    }
}

fn result(part: &Part, ask: &Ask) -> Option<Part> {
    let Part::ToolCall { call_id, tool, .. } = part else {
        return None;
    };
    Some(Part::ToolResult {
        call_id: call_id.clone(),
        tool: tool.clone(),
        result: Arc::new(ask.tools.get(tool.as_str())?.clone()),
    })
}
