//! The answer's chunks as servers really send them. Every field may be missing, null or of another type; none of that loses
//! the rest of a chunk (C40, C41, C42).

use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::Value;

/// One chunk of a streamed answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Chunk {
    #[serde(deserialize_with = "each")]
    pub(crate) choices: Vec<Choice>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) usage: WireUsage,
    #[serde(deserialize_with = "lenient")]
    pub(crate) x_groq: GroqFields,
}

/// What Groq says in a field of its own.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct GroqFields {
    #[serde(deserialize_with = "lenient")]
    pub(crate) usage: WireUsage,
}

/// One of the answers that a chunk carries a piece of. We ask for one, so only index 0 counts.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Choice {
    #[serde(deserialize_with = "index")]
    pub(crate) index: u64,
    #[serde(deserialize_with = "lenient")]
    pub(crate) delta: Option<Delta>,
    /// The answer in one piece, from servers that don't stream. Some write it beside each delta: there it counts for nothing.
    #[serde(deserialize_with = "lenient")]
    pub(crate) message: Option<Delta>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) finish_reason: String,
    /// Where Moonshot puts it.
    #[serde(deserialize_with = "lenient")]
    pub(crate) usage: WireUsage,
}

/// A piece of an answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Delta {
    #[serde(deserialize_with = "content")]
    pub(crate) content: Content,
    #[serde(deserialize_with = "text")]
    pub(crate) refusal: String,
    #[serde(deserialize_with = "text")]
    pub(crate) reasoning: String,
    #[serde(deserialize_with = "text")]
    pub(crate) reasoning_content: String,
    pub(crate) reasoning_details: Value,
    #[serde(deserialize_with = "each")]
    pub(crate) tool_calls: Vec<ToolCallDelta>,
    /// A tool call as it was written before there could be several.
    #[serde(deserialize_with = "lenient")]
    pub(crate) function_call: FunctionDelta,
}

/// A piece of a tool call.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ToolCallDelta {
    #[serde(deserialize_with = "count")]
    pub(crate) index: Option<u64>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) id: String,
    #[serde(deserialize_with = "lenient")]
    pub(crate) function: FunctionDelta,
    /// What Gemini wants back with the call.
    pub(crate) extra_content: Value,
}

/// A piece of what is said, and of what was thought: Mistral writes both into the one field.
#[derive(Debug, Default)]
pub(crate) struct Content {
    pub(crate) text: String,
    pub(crate) thinking: String,
}

/// A piece of what a tool call calls.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct FunctionDelta {
    #[serde(deserialize_with = "lenient")]
    pub(crate) name: String,
    /// A piece of JSON text; some servers send the JSON itself.
    pub(crate) arguments: Value,
}

/// Tokens used, as far as the server says.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct WireUsage {
    #[serde(deserialize_with = "count")]
    pub(crate) prompt_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    pub(crate) completion_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    pub(crate) total_tokens: Option<u64>,
    #[serde(deserialize_with = "lenient")]
    pub(crate) prompt_tokens_details: PromptDetails,
    #[serde(deserialize_with = "lenient")]
    pub(crate) completion_tokens_details: CompletionDetails,
    /// What `cached_tokens` of the details is elsewhere: Moonshot's word, and DeepSeek's.
    #[serde(deserialize_with = "count")]
    pub(crate) cached_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    pub(crate) prompt_cache_hit_tokens: Option<u64>,
}

/// More about the request's tokens.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct PromptDetails {
    #[serde(deserialize_with = "count")]
    pub(crate) cached_tokens: Option<u64>,
}

/// More about the answer's tokens.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct CompletionDetails {
    #[serde(deserialize_with = "count")]
    pub(crate) reasoning_tokens: Option<u64>,
}

/// The default where the value is null or of another shape: a chunk's other fields are worth more than its form.
fn lenient<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(read(Value::deserialize(deserializer)?))
}

fn index<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    Ok(count(deserializer)?.unwrap_or_default())
}

/// More items than any list has that is to be read: what follows is left out, so a list of as many is refused. One more than tool
/// calls are taken.
pub(crate) const MAX_ITEMS: usize = 1025;

/// As [`lenient`], item by item: one that can't be read loses none of the others. What is no object says nothing.
fn each<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Array(items) => items
            .into_iter()
            .filter(Value::is_object)
            .take(MAX_ITEMS)
            .map(read)
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            Vec::new()
        }
    })
}

fn read<T: DeserializeOwned + Default>(value: Value) -> T {
    // Serde would read a list as an object's fields in order.
    if value.is_array() {
        return T::default();
    }
    serde_json::from_value(value).unwrap_or_default()
}

/// A number of tokens, also where it is written as a fraction or as text.
fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let number = match &value {
        Value::String(text) => text.trim().parse().ok(),
        value => value.as_number().cloned(),
    };
    // Only whole numbers have an integer form that is equal; the greatest is far above any count.
    Ok(number.and_then(|number: serde_json::Number| {
        let float = number
            .as_f64()
            .filter(|float| (0.0..1e15).contains(float))?;
        (float.fract() == 0.0).then_some(float as u64)
    }))
}

/// A text, or a list of parts, as some servers send it.
fn content<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Content, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let thinking = value.as_array().into_iter().flatten();
    Ok(Content {
        thinking: thinking.map(|part| texts(&part["thinking"])).collect(),
        text: texts(&value),
    })
}

fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(texts(&Value::deserialize(deserializer)?))
}

fn texts(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part.as_str().or(part["text"].as_str()))
            .collect(),
        part @ Value::Object(_) => part["text"].as_str().unwrap_or_default().to_owned(),
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn text_of(chunk: Value) -> String {
        serde_json::from_value::<Chunk>(chunk)
            .unwrap()
            .choices
            .remove(0)
            .delta
            .unwrap()
            .content
            .text
    }

    #[test]
    fn c40_to_c42_no_odd_field_loses_a_chunks_text() {
        for odd in [
            json!({"choices": [{"delta": {"content": "Hi"}}]}),
            json!({"choices": [{"index": null, "delta": {"content": "Hi", "role": null}, "finish_reason": ""}]}),
            json!({"choices": [{"delta": {"content": "Hi"}, "finish_reason": 7}], "usage": {}}),
            json!({"choices": [{"delta": {"content": "Hi", "tool_calls": null}}], "usage": "none", "id": 5}),
            json!({"choices": [{"delta": {"content": [{"type": "text", "text": "H"}, {"text": "i"}]}}]}),
            json!({"choices": [{"delta": {"content": ["H", "i"]}}]}),
            json!({"choices": [{"delta": {"content": {"type": "text", "text": "Hi"}}}]}),
            json!({"choices": [{"delta": {"content": "Hi", "tool_calls": {"index": 0}}}], "usage": {"prompt_tokens": -1}}),
        ] {
            assert_eq!(text_of(odd.clone()), "Hi", "{odd}");
        }
    }

    #[test]
    fn usage_is_read_as_far_as_it_makes_sense() {
        let usage = json!({"prompt_tokens": 3, "completion_tokens": "4", "total_tokens": 7.5, "prompt_tokens_details": null});
        let usage: WireUsage = serde_json::from_value(usage).unwrap();
        assert_eq!(
            (
                usage.prompt_tokens,
                usage.completion_tokens,
                usage.total_tokens
            ),
            (Some(3), Some(4), None)
        );
    }
}
