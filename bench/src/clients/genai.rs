//! genai, with its adapter for OpenAI's form and all its captures on.

use anyhow::Result;
use futures_util::StreamExt;
use genai::{
    Client, ModelIden, ServiceTarget,
    adapter::AdapterKind,
    chat::{ChatMessage, ChatOptions, ChatRequest, ChatStreamEvent, StopReason, StreamEnd},
    resolver::{AuthData, Endpoint},
};

use super::{Outcome, Setup, Take, arguments, give};
use crate::corpus::{Call, KEY, Reader, Tokens};

pub(super) async fn read(setup: &Setup, reader: &mut Reader) -> Result<Outcome> {
    let client = Client::builder().with_reqwest(setup.http()?).build()?;
    let options = ChatOptions::default()
        .with_capture_usage(true)
        .with_capture_tool_calls(true)
        .with_capture_reasoning_content(true);
    let mut outcome = Outcome::default();
    let answer = client
        .exec_chat_stream(target(&setup.base), request(), Some(&options))
        .await;
    let mut events = match answer {
        Ok(answer) => answer.stream,
        Err(error) => {
            outcome.fail(&error);
            return Ok(outcome);
        }
    };
    while let Some(event) = events.next().await {
        match event {
            Ok(ChatStreamEvent::Chunk(chunk)) => reader.take(&chunk.content).await,
            Ok(ChatStreamEvent::ReasoningChunk(chunk)) => {
                outcome.reasoning.push_str(&chunk.content);
            }
            Ok(ChatStreamEvent::End(end)) => close(&mut outcome, end),
            Ok(_) => {}
            Err(error) => {
                outcome.fail(&error);
                break;
            }
        }
    }
    Ok(outcome)
}

pub(super) async fn stream(base: &str, take: &mut dyn Take) -> Result<()> {
    let client = Client::builder().build()?;
    let options = ChatOptions::default().with_capture_usage(true);
    let answer = client
        .exec_chat_stream(target(base), request(), Some(&options))
        .await?;
    let mut events = answer.stream;
    while let Some(event) = events.next().await {
        if let ChatStreamEvent::Chunk(chunk) = event? {
            give(take, &chunk.content).await;
        }
    }
    Ok(())
}

fn target(base: &str) -> ServiceTarget {
    ServiceTarget {
        endpoint: Endpoint::from_owned(format!("{base}/")),
        auth: AuthData::from_single(KEY),
        model: ModelIden::new(AdapterKind::OpenAI, "tiny"),
    }
}

fn request() -> ChatRequest {
    ChatRequest::new(vec![ChatMessage::user("Hello")])
}

/// What is only told with the end.
fn close(outcome: &mut Outcome, end: StreamEnd) {
    let tokens = |count: i32| u64::try_from(count).ok();
    outcome.usage = end.captured_usage.as_ref().map(|usage| Tokens {
        input: usage.prompt_tokens.and_then(tokens),
        output: usage.completion_tokens.and_then(tokens),
        total: usage.total_tokens.and_then(tokens),
        ..Tokens::default()
    });
    outcome.finish = end.captured_stop_reason.as_ref().map(|reason| {
        let word = match reason {
            StopReason::Completed(_) => "stop",
            StopReason::MaxTokens(_) => "length",
            StopReason::ToolCall(_) => "tool-calls",
            StopReason::ContentFilter(_) => "content-filter",
            StopReason::StopSequence(word) | StopReason::Other(word) => word,
        };
        word.to_owned()
    });
    let calls = end.captured_into_tool_calls().into_iter().flatten();
    outcome.calls = calls
        .map(|call| Call {
            id: call.call_id,
            tool: call.fn_name,
            input: match call.fn_arguments {
                serde_json::Value::String(text) => arguments(text),
                whole => whole,
            },
        })
        .collect();
}
