//! What a piece of an answer tells of the model's thoughts, and the name under which they go back (C49).

use chat_core::ModelEvent;
use serde_json::json;

use crate::wire::Delta;

/// The thoughts in a delta, wherever the server puts them.
pub(crate) fn reasoning(delta: &Delta) -> Option<ModelEvent> {
    let details = &delta.reasoning_details;
    // Some gateways send the same piece under both names.
    let (text, kind, data) = match (
        delta.reasoning_content.as_str(),
        delta.reasoning.as_str(),
        delta.content.thinking.as_str(),
    ) {
        ("", "", "") if details.is_null() => return None,
        // Mistral refuses the field in which others want it back.
        ("", "", thinking) if details.is_null() => (
            thinking,
            "thinking",
            Some(json!({ "reasoning_content": null })),
        ),
        // It is wanted back under the name it came by: Ollama reads no other.
        ("", text, _) => (text, "reasoning", Some(json!({ "reasoning": "" }))),
        (text, _, _) => (text, "reasoning_content", None),
    };
    let mut data = data;
    if !details.is_null() {
        data.get_or_insert_with(|| json!({}))["reasoning_details"] = details.clone();
    }
    Some(ModelEvent::Reasoning {
        text: text.into(),
        kind: Some(kind.into()),
        data: data.map(Into::into),
    })
}
