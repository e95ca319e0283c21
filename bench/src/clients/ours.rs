//! chat-responder-model: its answers as they are, and a whole chat with chat-runtime around it.

use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use chat_core::{ChatEvent, LanguageModel, MemoryStore, Message, ModelEvent, ModelRequest};
use chat_responder_model::{ModelResponder, OpenAi, Settings, Timeouts};
use chat_runtime::Chat;
use futures_util::StreamExt;

use super::{Outcome, Setup, Take, give};
use crate::corpus::{Call, KEY, Reader, Tokens};

pub(super) async fn read(setup: &Setup, reader: &mut Reader) -> Result<Outcome> {
    let limits = Timeouts {
        connect: Some(setup.connect),
        first_chunk: Some(setup.first_chunk),
        between_chunks: Some(setup.between_chunks),
        total: setup.total,
    };
    let model = OpenAi::new(&setup.base)?
        .api_key(KEY)?
        .timeouts(limits)
        .model("tiny")
        .with_settings(Settings {
            max_retries: setup.max_retries,
            done_suffices: setup.done_suffices,
            ..Settings::default()
        });
    let mut answer = model.stream(ModelRequest {
        messages: vec![Message::user("Hello")],
        ..ModelRequest::default()
    });
    let mut outcome = Outcome::default();
    while let Some(event) = answer.next().await {
        match event {
            Ok(ModelEvent::Text(text)) => reader.take(&text).await,
            Ok(ModelEvent::Reasoning { text, .. }) => outcome.reasoning.push_str(&text),
            Ok(ModelEvent::ToolCall {
                call_id,
                tool,
                input,
                ..
            }) => outcome.calls.push(Call {
                id: call_id.to_string(),
                tool: tool.to_string(),
                input: (*input).clone(),
            }),
            Ok(ModelEvent::Usage(usage)) => {
                outcome.usage = Some(Tokens {
                    input: usage.input_tokens,
                    output: usage.output_tokens,
                    total: usage.total_tokens,
                    ..Tokens::default()
                });
            }
            Ok(ModelEvent::Finish(reason)) => outcome.finish = Some(reason.as_str().to_owned()),
            Ok(_) => {}
            Err(error) => {
                outcome.fail(error.source().context("a model's error has its source")?);
                break;
            }
        }
    }
    Ok(outcome)
}

/// The model's answer alone.
pub(super) async fn stream_model(base: &str, take: &mut dyn Take) -> Result<()> {
    let model = OpenAi::new(base)?.api_key(KEY)?.model("tiny");
    let mut answer = model.stream(ModelRequest {
        messages: vec![Message::user("Hello")],
        ..ModelRequest::default()
    });
    while let Some(event) = answer.next().await {
        if let ModelEvent::Text(text) = event.map_err(|error| anyhow!("{error}"))? {
            give(take, &text).await;
        }
    }
    Ok(())
}

/// A whole turn of a chat: its journal, its events and its reply.
pub(super) async fn stream_chat(base: &str, take: &mut dyn Take) -> Result<()> {
    let model = OpenAi::new(base)?.api_key(KEY)?.model("tiny");
    let chat = Chat::new(ModelResponder::new(model), MemoryStore::default());
    let turn = chat.create_session().await?.send("Hello");
    let mut events = turn.events()?;
    while let Some(event) = events.next().await {
        if let ChatEvent::TextDelta { text, .. } = event {
            give(take, &text).await;
        }
    }
    turn.await?;
    chat.shutdown(Duration::ZERO).await;
    Ok(())
}
