//! The chunks that most of an answer is made of, as nearly all servers write them: a piece of text, and nothing else that
//! counts. They are read in one pass and without a tree of values between; whatever is any other way is left to the careful
//! reading of `wire.rs`, so nothing here has to be lenient.

use std::borrow::Cow;

use serde::{
    Deserialize, Deserializer,
    de::{Error, IgnoredAny},
};

/// The text of a chunk that has only that to say; `None` where it must be read with care.
pub(crate) fn text(data: &str) -> Option<Cow<'_, str>> {
    let Chunk {
        choices: [choice], ..
    } = serde_json::from_str(data).ok()?;
    (choice.index == 0).then_some(choice.delta.content)
}

// In each of the three, the first field refuses whatever it is. That keeps out lists, whose items serde would take for the
// fields in order. A field that is not named refuses, too: it may be one that counts.

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Chunk<'a> {
    #[serde(default, rename = "error", deserialize_with = "refuse")]
    _error: (),
    #[serde(borrow)]
    choices: [Choice<'a>; 1],
    #[serde(default, rename = "usage")]
    _usage: (),
    #[serde(default, rename = "object", deserialize_with = "chunk")]
    _object: (),
    #[serde(default, rename = "id")]
    _id: IgnoredAny,
    #[serde(default, rename = "created")]
    _created: IgnoredAny,
    #[serde(default, rename = "model")]
    _model: IgnoredAny,
    #[serde(default, rename = "provider")]
    _provider: IgnoredAny,
    #[serde(default, rename = "system_fingerprint")]
    _system_fingerprint: IgnoredAny,
    #[serde(default, rename = "service_tier")]
    _service_tier: IgnoredAny,
    #[serde(default, rename = "obfuscation")]
    _obfuscation: IgnoredAny,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Choice<'a> {
    #[serde(default, rename = "usage", deserialize_with = "refuse")]
    _usage: (),
    #[serde(borrow)]
    delta: Delta<'a>,
    #[serde(default)]
    index: u64,
    #[serde(default, rename = "finish_reason")]
    _finish_reason: (),
    #[serde(default, rename = "native_finish_reason")]
    _native_finish_reason: IgnoredAny,
    #[serde(default, rename = "stop_reason")]
    _stop_reason: IgnoredAny,
    #[serde(default, rename = "logprobs")]
    _logprobs: IgnoredAny,
    #[serde(default, rename = "token_ids")]
    _token_ids: IgnoredAny,
    #[serde(default, rename = "content_filter_results")]
    _content_filter_results: IgnoredAny,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Delta<'a> {
    #[serde(default, rename = "tool_calls", deserialize_with = "refuse")]
    _tool_calls: (),
    #[serde(borrow)]
    content: Cow<'a, str>,
    #[serde(default, rename = "role")]
    _role: IgnoredAny,
    #[serde(default, rename = "refusal")]
    _refusal: (),
    #[serde(default, rename = "reasoning")]
    _reasoning: (),
    #[serde(default, rename = "reasoning_content")]
    _reasoning_content: (),
}

fn refuse<'de, D: Deserializer<'de>>(_: D) -> Result<(), D::Error> {
    Err(D::Error::custom("to be read with care"))
}

/// Errors name their kind in the same field.
fn chunk<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
    match <&str>::deserialize(deserializer)? {
        "chat.completion.chunk" => Ok(()),
        _ => Err(D::Error::custom("to be read with care")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_with_text_alone_is_read_in_one_pass() {
        for data in [
            r#"{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","system_fingerprint":null,"choices":[{"index":0,"delta":{"role":"assistant","content":"Hi"},"logprobs":null,"finish_reason":null}],"usage":null}"#,
            r#"{"choices":[{"delta":{"content":"Hi"}}]}"#,
            r#"{"choices":[{"delta":{"content":"\u0048i","reasoning_content":null},"index":0,"stop_reason":null}],"provider":7}"#,
        ] {
            assert_eq!(text(data).as_deref(), Some("Hi"), "{data}");
        }
    }

    #[test]
    fn c40_to_c43_whatever_else_a_chunk_may_say_is_read_with_care() {
        for data in [
            r#"{"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}"#,
            r#"{"choices":[{"delta":{"content":"Hi"},"finish_reason":""}]}"#,
            r#"{"choices":[{"delta":{"content":"Hi","tool_calls":[]}}]}"#,
            r#"{"choices":[{"delta":{"content":"Hi","reasoning":"Hm"}}]}"#,
            r#"{"choices":[{"delta":{"content":"Hi"},"usage":{}}]}"#,
            r#"{"choices":[{"delta":{"content":"Hi"}}],"usage":{"total_tokens":1}}"#,
            r#"{"choices":[{"delta":{"content":"Hi"}}],"error":"no"}"#,
            r#"{"choices":[{"delta":{"content":"Hi"}}],"object":"error"}"#,
            r#"{"choices":[{"delta":{"content":"Hi"}}],"x_groq":{"error":"no"}}"#,
            r#"{"choices":[{"delta":{"content":"Hi"}}],"choices":[]}"#,
            r#"{"choices":[{"delta":{"content":"Hi"},"index":1}]}"#,
            r#"{"choices":[{"delta":{"content":"Hi"}},{"delta":{"content":"Ho"},"index":1}]}"#,
            r#"{"choices":[{"delta":{"content":null}}]}"#,
            r#"{"choices":[{"delta":{}}]}"#,
            r#"{"choices":[]}"#,
            r#"[[{"delta":{"content":"Hi"}}]]"#,
            r#"{"choices":[[{"content":"Hi"}]]}"#,
            r#"{"choices":[{"delta":["Hi"]}]}"#,
            r#"{"choices":[{"delta":{"content":"\ud83d"}}]}"#,
            "{}",
            "Hi",
        ] {
            assert_eq!(text(data), None, "{data}");
        }
    }
}
