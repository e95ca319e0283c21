//! What a responder sees of earlier turns (law R3). A turn is never split; one that has no reply is never in it.

use std::{fmt, sync::Arc};

use crate::{
    Message, TurnRecord, TurnStatus,
    transcript::{Slot, Turns, turn_messages},
};

/// How much of the conversation a responder sees.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum ContextPolicy {
    /// All completed turns.
    #[default]
    Whole,
    /// The newest completed turns, at most this many.
    LastTurns(usize),
    /// The newest completed turns that fit into a number of tokens together.
    TokenBudget {
        /// How many tokens fit.
        budget: u64,
        /// Counts the tokens of one turn: input, steering and reply. Asked once per turn, never under a lock.
        count: Arc<Counter>,
    },
}

/// Counts the tokens of one turn.
pub(crate) type Counter = dyn Fn(&TurnRecord) -> u64 + Send + Sync;

impl ContextPolicy {
    /// As many of the newest completed turns as fit into a budget, by the caller's own counter.
    ///
    /// ```
    /// use chat_core::ContextPolicy;
    /// // A common rule of thumb for English: four bytes a token.
    /// let policy = ContextPolicy::token_budget(8_000, |turn| {
    ///     (turn.input.len() + turn.output.as_ref().map_or(0, |text| text.len())) as u64 / 4
    /// });
    /// ```
    #[must_use]
    pub fn token_budget(
        budget: u64,
        count: impl Fn(&TurnRecord) -> u64 + Send + Sync + 'static,
    ) -> Self {
        Self::TokenBudget {
            budget,
            count: Arc::new(count),
        }
    }

    /// Builds the context of a conversation. Walks back from the newest turn no further than the policy looks, and copies none.
    ///
    /// Runs the caller's counter: a panic in it comes out here.
    #[must_use]
    pub fn build(&self, turns: &Turns) -> Context {
        let first = match self {
            Self::Whole => 0,
            Self::LastTurns(0) => turns.len(),
            Self::LastTurns(wanted) => completed(turns)
                .nth(wanted - 1)
                .map_or(0, |(place, _)| place),
            Self::TokenBudget { budget, count } => {
                let (mut left, mut first) = (*budget, turns.len());
                for (place, slot) in completed(turns) {
                    let tokens = tokens(slot, count);
                    let Some(rest) = left.checked_sub(tokens) else {
                        break;
                    };
                    (left, first) = (rest, place);
                }
                first
            }
        };
        Context {
            turns: turns.clone(),
            first,
        }
    }
}

/// What a counter counts for a turn. The first counter's figure is remembered, for that counter alone: another one may count
/// something else.
fn tokens(slot: &Slot, count: &Arc<Counter>) -> u64 {
    let (counter, tokens) = slot
        .tokens
        .get_or_init(|| (Arc::downgrade(count), count(&slot.record)));
    // A counter that is gone keeps its place in memory as long as it is named here, so no other can have it.
    if std::ptr::addr_eq(counter.as_ptr(), Arc::as_ptr(count)) {
        *tokens
    } else {
        count(&slot.record)
    }
}

/// The completed turns with their places, the newest first.
fn completed(turns: &Turns) -> impl Iterator<Item = (usize, &Slot)> {
    let last = turns.len();
    turns
        .slots
        .iter()
        .rev()
        .enumerate()
        .map(move |(back, slot)| (last - 1 - back, &**slot))
        .filter(|(_, slot)| slot.record.status == TurnStatus::Completed)
}

impl fmt::Debug for ContextPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => f.write_str("Whole"),
            Self::LastTurns(turns) => f.debug_tuple("LastTurns").field(turns).finish(),
            Self::TokenBudget { budget, .. } => f
                .debug_struct("TokenBudget")
                .field("budget", budget)
                .finish_non_exhaustive(),
        }
    }
}

/// The part of a conversation that a responder sees: messages are made from the shared history as they are asked for.
#[derive(Clone, Default)]
pub struct Context {
    turns: Turns,
    /// Where in `turns` it begins.
    first: usize,
}

impl Context {
    /// The completed turns in it, in order.
    pub fn turns(&self) -> impl DoubleEndedIterator<Item = &TurnRecord> {
        (self.first..self.turns.len())
            .filter_map(|place| self.turns.get(place))
            .filter(|turn| turn.status == TurnStatus::Completed)
    }

    /// Its messages, in order.
    pub fn iter(&self) -> impl Iterator<Item = Message> {
        self.turns().flat_map(turn_messages)
    }

    /// Whether no completed turn is in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.turns().next().is_none()
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("turns", &self.turns().count())
            .finish()
    }
}

#[cfg(test)]
mod tests;
