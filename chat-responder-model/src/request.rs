//! The body of a request: async-openai's own shapes where it has them, and beside them what only other servers know.

use async_openai::types::chat::{
    ChatCompletionMessageToolCall, ChatCompletionMessageToolCalls,
    ChatCompletionRequestAssistantMessage, ChatCompletionRequestMessage,
    ChatCompletionRequestSystemMessage, ChatCompletionRequestToolMessage,
    ChatCompletionRequestUserMessage, ChatCompletionStreamOptions, ChatCompletionTool,
    ChatCompletionTools, FunctionCall, FunctionObject, ResponseFormat, ResponseFormatJsonSchema,
};
use bytes::Bytes;
use chat_core::{Message, ModelRequest, OutputSchema, Part, Role, ToolSpec};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{OpenAi, Settings};

/// What is asked, as the server reads it. Numbers are `f64`: async-openai's `f32` turn 0.2 into 0.20000000298.
#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<Value>,
    stream_options: ChatCompletionStreamOptions,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ChatCompletionTools>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<ResponseFormat>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_k: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    presence_penalty: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    frequency_penalty: Option<f64>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    stop: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<i64>,
}

/// A message, and beside it what providers want back with the tool calls of one run (C49).
#[derive(Serialize)]
struct WireMessage {
    #[serde(flatten)]
    message: ChatCompletionRequestMessage,
    #[serde(flatten)]
    reasoning: Map<String, Value>,
}

/// The body as JSON text.
pub(crate) fn body(
    endpoint: &OpenAi,
    model: &str,
    settings: &Settings,
    request: &ModelRequest,
) -> Bytes {
    // OpenAI's newer models refuse the old name, and many other servers don't know the new one.
    let (max_completion_tokens, max_tokens) = if endpoint.is_openai() {
        (settings.max_output_tokens, None)
    } else {
        (None, settings.max_output_tokens)
    };
    let body = Body {
        model,
        messages: request
            .messages
            .iter()
            .flat_map(wire_messages)
            .map(WireMessage::into_json)
            .collect(),
        stream_options: ChatCompletionStreamOptions {
            include_usage: Some(true),
            include_obfuscation: None,
        },
        tools: request.tools.iter().map(tool).collect(),
        response_format: request.output.as_ref().map(response_format),
        max_completion_tokens,
        max_tokens,
        temperature: settings.temperature,
        top_p: settings.top_p,
        top_k: settings.top_k,
        presence_penalty: settings.presence_penalty,
        frequency_penalty: settings.frequency_penalty,
        stop: &settings.stop,
        seed: settings.seed,
    };
    let mut body =
        serde_json::to_value(body).expect("string keys and finite shapes are always JSON");
    lay_over(&mut body, &settings.provider_options);
    // Last, so that nothing can take it out: an answer is always read as a stream.
    body["stream"] = true.into();
    body.to_string().into()
}

/// Lays options over a JSON object, object into object; `null` takes a field out.
fn lay_over(below: &mut Value, options: &Map<String, Value>) {
    if !below.is_object() {
        *below = Value::Object(Map::new());
    }
    let Value::Object(fields) = below else { return };
    for (name, option) in options {
        match option {
            Value::Null => {
                fields.remove(name);
            }
            Value::Object(options) => lay_over(fields.entry(name).or_insert(Value::Null), options),
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                fields.insert(name.clone(), option.clone());
            }
        }
    }
}

/// A message as the server reads it. A tool message becomes one for each of its results.
fn wire_messages(message: &Message) -> Vec<WireMessage> {
    let text = message.to_text();
    let message = match message.role {
        Role::System => {
            ChatCompletionRequestMessage::System(ChatCompletionRequestSystemMessage::from(text))
        }
        Role::User => {
            ChatCompletionRequestMessage::User(ChatCompletionRequestUserMessage::from(text))
        }
        Role::Assistant => return vec![assistant(message, text)],
        Role::Tool => {
            return message
                .parts
                .iter()
                .filter_map(tool_result)
                .map(WireMessage::plain)
                .collect();
        }
    };
    vec![WireMessage::plain(message)]
}

fn assistant(message: &Message, text: String) -> WireMessage {
    let calls: Vec<_> = message.parts.iter().filter_map(tool_call).collect();
    if calls.is_empty() {
        // Reasoning goes back only with the calls it led to: some servers refuse it anywhere else.
        return WireMessage::plain(ChatCompletionRequestAssistantMessage::from(text).into());
    }
    let mut reasoning = Map::new();
    let mut reasoning_text = String::new();
    for part in &message.parts {
        if let Part::Reasoning { text, data } = part {
            reasoning_text.push_str(text);
            if let Some(Value::Object(fields)) = data.as_deref() {
                for (name, value) in fields {
                    gather(&mut reasoning, name, value);
                }
            }
        }
    }
    if !reasoning_text.is_empty() {
        // Where it came under that name, it was marked so (`answer.rs`). A server that refuses it has said so with `null`.
        match reasoning.get_mut("reasoning") {
            Some(place) => *place = reasoning_text.into(),
            None => {
                reasoning
                    .entry("reasoning_content")
                    .or_insert(reasoning_text.into());
            }
        }
    }
    reasoning.retain(|_, value| !value.is_null() && value != "");
    let message = ChatCompletionRequestAssistantMessage {
        content: (!text.is_empty()).then(|| text.into()),
        tool_calls: Some(calls),
        ..Default::default()
    };
    WireMessage {
        message: message.into(),
        reasoning,
    }
}

/// Puts together what came in pieces: lists grow, anything else is replaced by the newest.
fn gather(fields: &mut Map<String, Value>, name: &str, value: &Value) {
    match (fields.get_mut(name), value) {
        (Some(Value::Array(list)), Value::Array(more)) => list.extend(more.iter().cloned()),
        _ => {
            fields.insert(name.to_owned(), value.clone());
        }
    }
}

fn tool_call(part: &Part) -> Option<ChatCompletionMessageToolCalls> {
    let Part::ToolCall {
        call_id,
        tool,
        input,
    } = part
    else {
        return None;
    };
    let function = FunctionCall {
        name: tool.to_string(),
        arguments: arguments(input),
    };
    Some(ChatCompletionMessageToolCalls::Function(
        ChatCompletionMessageToolCall {
            id: call_id.to_string(),
            function,
        },
    ))
}

/// Arguments as a server takes them back: many parse them, and refuse a conversation in which they are no JSON object. What a
/// model wrote instead goes back inside of one, for it to see.
fn arguments(input: &Value) -> String {
    match input {
        Value::Object(_) => input.to_string(),
        other => json!({ "invalid": as_text(other) }).to_string(),
    }
}

fn tool_result(part: &Part) -> Option<ChatCompletionRequestMessage> {
    let Part::ToolResult {
        call_id, result, ..
    } = part
    else {
        return None;
    };
    let message = ChatCompletionRequestToolMessage {
        content: as_text(result).into(),
        tool_call_id: call_id.to_string(),
    };
    Some(message.into())
}

/// A text as it is, anything else as JSON text.
fn as_text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn tool(spec: &ToolSpec) -> ChatCompletionTools {
    ChatCompletionTools::Function(ChatCompletionTool {
        function: FunctionObject {
            name: spec.name.to_string(),
            description: Some(spec.description.to_string()),
            parameters: Some((*spec.input_schema).clone()),
            strict: None,
        },
    })
}

fn response_format(output: &OutputSchema) -> ResponseFormat {
    ResponseFormat::JsonSchema {
        json_schema: ResponseFormatJsonSchema {
            description: None,
            name: output.name.to_string(),
            schema: (*output.schema).clone(),
            strict: Some(true),
        },
    }
}

impl WireMessage {
    /// As JSON. What belongs to single calls goes into them, by their ids.
    fn into_json(mut self) -> Value {
        let extras = self.reasoning.remove("tool_calls").unwrap_or_default();
        let mut message =
            serde_json::to_value(self).expect("string keys and finite shapes are always JSON");
        let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut);
        for call in calls.into_iter().flatten() {
            let mut extras = extras.as_array().into_iter().flatten();
            if let Some(extra) = extras.find(|extra| extra["id"] == call["id"]) {
                call["extra_content"] = extra["extra_content"].clone();
            }
        }
        message
    }

    fn plain(message: ChatCompletionRequestMessage) -> Self {
        Self {
            message,
            reasoning: Map::new(),
        }
    }
}

#[cfg(test)]
mod tests;
