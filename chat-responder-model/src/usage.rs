//! What chunks tell of the tokens used.

use chat_core::Usage;

use crate::wire::Chunk;

/// What is known of the tokens once more was told: a count that is left out or zero does not take back an earlier one (law T12).
pub(crate) fn newer(old: &Usage, new: &Usage) -> Usage {
    let count = |old: Option<u64>, new: Option<u64>| new.filter(|new| *new > 0).or(old).or(new);
    Usage {
        input_tokens: count(old.input_tokens, new.input_tokens),
        output_tokens: count(old.output_tokens, new.output_tokens),
        total_tokens: count(old.total_tokens, new.total_tokens),
        reasoning_tokens: count(old.reasoning_tokens, new.reasoning_tokens),
        cached_input_tokens: count(old.cached_input_tokens, new.cached_input_tokens),
    }
}

/// The tokens that a chunk tells of, wherever it does.
pub(crate) fn usage(chunk: &Chunk) -> Option<Usage> {
    let choices = chunk.choices.iter().map(|choice| &choice.usage);
    [&chunk.usage, &chunk.x_groq.usage]
        .into_iter()
        .chain(choices)
        .map(|wire| Usage {
            input_tokens: wire.prompt_tokens,
            output_tokens: wire.completion_tokens,
            total_tokens: wire.total_tokens,
            reasoning_tokens: wire.completion_tokens_details.reasoning_tokens,
            cached_input_tokens: wire
                .prompt_tokens_details
                .cached_tokens
                .or(wire.cached_tokens)
                .or(wire.prompt_cache_hit_tokens),
        })
        .find(|usage| !usage.is_unknown())
}
