//! What a piece of an answer tells of the model's thoughts, and the name under which they go back (C49).

use chat_core::ModelEvent;
use serde_json::{Value, json};

use crate::wire::Delta;

/// The thoughts in a delta, wherever the server puts them.
pub(crate) fn reasoning(delta: &Delta) -> Option<ModelEvent> {
    // OpenRouter writes an empty list into each chunk, also where nothing was thought.
    let details = Some(&delta.reasoning_details).filter(|details| !is_empty(details));
    // Some gateways send the same piece under both names.
    let (text, kind, data) = match (
        delta.reasoning_content.as_str(),
        delta.reasoning.as_str(),
        delta.content.thinking.as_str(),
    ) {
        ("", "", "") if details.is_none() => return None,
        // Mistral refuses the field in which others want it back.
        ("", "", thinking) if !thinking.is_empty() => (
            thinking,
            "thinking",
            Some(json!({ "reasoning_content": null })),
        ),
        // It is wanted back under the name it came by: Ollama reads no other.
        ("", text, _) => (text, "reasoning", Some(json!({ "reasoning": "" }))),
        (text, _, _) => (text, "reasoning_content", None),
    };
    let mut data = data;
    if let Some(details) = details {
        data.get_or_insert_with(|| json!({}))["reasoning_details"] = details.clone();
    }
    Some(ModelEvent::Reasoning {
        text: text.into(),
        kind: Some(kind.into()),
        data: data.map(Into::into),
    })
}

/// Whether a field holds nothing.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}
