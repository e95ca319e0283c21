//! A model's message as it goes back to it. Shared by the corpus and the laws.

use chat_core::{ModelEvent, Part};

/// What a model said, as the parts that an agent sends back.
pub(crate) fn parts(events: &[ModelEvent]) -> Vec<Part> {
    let part = |event: &ModelEvent| match event.clone() {
        ModelEvent::Text(text) => Some(Part::Text { text }),
        ModelEvent::Reasoning { text, data, .. } => Some(Part::Reasoning { text, data }),
        ModelEvent::ToolCall {
            call_id,
            tool,
            input,
            ..
        } => Some(Part::ToolCall {
            call_id,
            tool,
            input,
        }),
        _ => None,
    };
    events.iter().filter_map(part).collect()
}
