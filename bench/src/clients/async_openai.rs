//! async-openai, with its own types and with a small struct through `byot`. Retries, where a behavior allows any, are its own
//! middleware's.

use anyhow::Result;
use async_openai::{
    Client,
    config::OpenAIConfig,
    error::OpenAIError,
    middleware::{ReqwestService, retry::OpenAIRetryLayer},
    types::chat::{
        ChatCompletionMessageToolCallChunk, ChatCompletionRequestUserMessage,
        ChatCompletionStreamOptions, CreateChatCompletionRequest, CreateChatCompletionRequestArgs,
        CreateChatCompletionStreamResponse,
    },
};
use futures_util::{Stream, StreamExt};
use serde::Deserialize;
use serde_json::Value;
use tower::Layer;

use super::{Outcome, Setup, Take, arguments, body, give};
use crate::corpus::{Call, KEY, Reader, Tokens};

/// What a chat needs of a chunk, and no more is asked of it.
#[derive(Debug, Default, Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Vec<Choice>,
    usage: Option<Usage>,
}

#[derive(Debug, Default, Deserialize)]
struct Choice {
    #[serde(default)]
    delta: Delta,
    finish_reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
struct Delta {
    content: Option<String>,
    refusal: Option<String>,
    reasoning_content: Option<String>,
    reasoning: Option<String>,
    tool_calls: Option<Vec<CallPiece>>,
}

#[derive(Debug, Default, Deserialize)]
struct CallPiece {
    #[serde(default)]
    index: usize,
    id: Option<String>,
    function: Option<FunctionPiece>,
}

#[derive(Debug, Default, Deserialize)]
struct FunctionPiece {
    name: Option<String>,
    arguments: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
struct Usage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    total_tokens: Option<u64>,
}

pub(super) async fn read_byot(setup: &Setup, reader: &mut Reader) -> Result<Outcome> {
    let client = client(setup)?;
    let answer = client.chat().create_stream_byot::<_, Chunk>(body()).await;
    read(answer, reader).await
}

pub(super) async fn read_typed(setup: &Setup, reader: &mut Reader) -> Result<Outcome> {
    let client = client(setup)?;
    let answer = client.chat().create_stream(request()?).await;
    read(answer, reader).await
}

pub(super) async fn stream_byot(base: &str, take: &mut dyn Take) -> Result<()> {
    let client = Client::with_config(config(base));
    let mut answer = client.chat().create_stream_byot::<_, Chunk>(body()).await?;
    while let Some(chunk) = answer.next().await {
        for choice in chunk?.choices {
            if let Some(text) = &choice.delta.content {
                give(take, text).await;
            }
        }
    }
    Ok(())
}

pub(super) async fn stream_typed(base: &str, take: &mut dyn Take) -> Result<()> {
    let client = Client::with_config(config(base));
    let mut answer = client.chat().create_stream(request()?).await?;
    while let Some(chunk) = answer.next().await {
        for choice in chunk?.choices {
            if let Some(text) = &choice.delta.content {
                give(take, text).await;
            }
        }
    }
    Ok(())
}

fn config(base: &str) -> OpenAIConfig {
    OpenAIConfig::new().with_api_base(base).with_api_key(KEY)
}

fn client(setup: &Setup) -> Result<Client<OpenAIConfig>> {
    let http = setup.http()?;
    let client = Client::with_config(config(&setup.base)).with_http_client(http.clone());
    if setup.max_retries == 0 {
        return Ok(client);
    }
    let retries = OpenAIRetryLayer::new(setup.max_retries as usize);
    Ok(client.with_http_service(retries.layer(ReqwestService::new(http))))
}

fn request() -> Result<CreateChatCompletionRequest> {
    let request = CreateChatCompletionRequestArgs::default()
        .model("tiny")
        .messages([ChatCompletionRequestUserMessage::from("Hello").into()])
        // With the `byot` feature, the typed call does not say so by itself.
        .stream(true)
        .stream_options(ChatCompletionStreamOptions {
            include_usage: Some(true),
            include_obfuscation: None,
        })
        .build()?;
    Ok(request)
}

/// Reads until the end or the first error, as `?` does it.
async fn read<C: Into<Chunk>>(
    answer: Result<impl Stream<Item = Result<C, OpenAIError>> + Unpin, OpenAIError>,
    reader: &mut Reader,
) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut calls = Vec::new();
    let mut answer = match answer {
        Ok(answer) => answer,
        Err(error) => {
            outcome.fail(&error);
            return Ok(outcome);
        }
    };
    while let Some(chunk) = answer.next().await {
        let chunk: Chunk = match chunk {
            Ok(chunk) => chunk.into(),
            Err(error) => {
                outcome.fail(&error);
                break;
            }
        };
        if let Some(usage) = chunk.usage {
            outcome.usage = Some(Tokens {
                input: usage.prompt_tokens,
                output: usage.completion_tokens,
                total: usage.total_tokens,
                ..Tokens::default()
            });
        }
        let Some(Choice {
            delta,
            finish_reason,
        }) = chunk.choices.into_iter().next()
        else {
            continue;
        };
        for text in [delta.content, delta.refusal].into_iter().flatten() {
            reader.take(&text).await;
        }
        if let Some(text) = delta.reasoning_content.or(delta.reasoning) {
            outcome.reasoning.push_str(&text);
        }
        for piece in delta.tool_calls.into_iter().flatten() {
            join(&mut calls, piece);
        }
        outcome.finish = finish_reason.or(outcome.finish);
    }
    outcome.calls = calls
        .into_iter()
        .map(|(id, tool, text)| Call {
            id,
            tool,
            input: arguments(text),
        })
        .collect();
    Ok(outcome)
}

/// Joins a piece to its call as async-openai's own example of streamed tool calls does.
fn join(calls: &mut Vec<(String, String, String)>, piece: CallPiece) {
    // No server of the corpus has more; one that did could ask for any amount of memory.
    if piece.index > 64 {
        return;
    }
    while calls.len() <= piece.index {
        calls.push(Default::default());
    }
    let (id, tool, text) = &mut calls[piece.index];
    if let Some(said) = piece.id {
        *id = said;
    }
    let function = piece.function.unwrap_or_default();
    if let Some(name) = function.name {
        *tool = name;
    }
    if let Some(arguments) = function.arguments {
        text.push_str(&arguments);
    }
}

impl From<CreateChatCompletionStreamResponse> for Chunk {
    fn from(chunk: CreateChatCompletionStreamResponse) -> Self {
        let choices = chunk.choices.into_iter().map(|choice| Choice {
            delta: Delta {
                content: choice.delta.content,
                refusal: choice.delta.refusal,
                tool_calls: choice
                    .delta
                    .tool_calls
                    .map(|calls| calls.into_iter().map(Into::into).collect()),
                ..Delta::default()
            },
            finish_reason: choice.finish_reason.and_then(|reason| {
                match serde_json::to_value(reason) {
                    Ok(Value::String(word)) => Some(word),
                    _ => None,
                }
            }),
        });
        Self {
            choices: choices.collect(),
            usage: chunk.usage.map(|usage| Usage {
                prompt_tokens: Some(usage.prompt_tokens.into()),
                completion_tokens: Some(usage.completion_tokens.into()),
                total_tokens: Some(usage.total_tokens.into()),
            }),
        }
    }
}

impl From<ChatCompletionMessageToolCallChunk> for CallPiece {
    fn from(piece: ChatCompletionMessageToolCallChunk) -> Self {
        Self {
            index: piece.index as usize,
            id: piece.id,
            function: piece.function.map(|function| FunctionPiece {
                name: function.name,
                arguments: function.arguments,
            }),
        }
    }
}
