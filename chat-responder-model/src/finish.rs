//! What a finish reason says.

use chat_core::FinishReason;

/// The most that is kept of a finish reason that only this server gives: the journal keeps it, so a word is all it may be.
pub(crate) const MAX_WORD_BYTES: usize = 64;

/// What a chunk says about the answer's end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Nothing.
    NotYet,
    /// The answer is whole, for this reason.
    For(FinishReason),
    /// There will be no whole answer.
    GaveUp,
}

impl Stop {
    pub(crate) fn of(word: &str) -> Self {
        Self::For(match word.to_ascii_lowercase().replace('-', "_").as_str() {
            "" => return Self::NotYet,
            reason if gave_up(reason) => return Self::GaveUp,
            "stop" => FinishReason::Stop,
            "length" | "max_tokens" | "model_length" => FinishReason::Length,
            "content_filter" => FinishReason::ContentFilter,
            "tool_calls" | "function_call" => FinishReason::ToolCalls,
            // As it was sent: a secret in it must still be known for one.
            _ => FinishReason::Other(word[..word.floor_char_boundary(MAX_WORD_BYTES)].into()),
        })
    }
}

/// Whether a finish reason says that there is no whole answer: of vLLM and OpenRouter, DeepSeek, Z.ai, and Gemini.
fn gave_up(reason: &str) -> bool {
    let whole = [
        "error",
        "abort",
        "cancelled",
        "canceled",
        "insufficient_system_resource",
        "network_error",
        "engine_overloaded",
    ];
    whole.contains(&reason) || reason.contains("malformed_function_call")
}
