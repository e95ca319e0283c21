//! What the model calls of a run came to: tokens, which model, why it stopped (laws T12, W7).

use std::collections::BTreeMap;

use chat_core::{FinishReason, Metadata, ModelRef, Usage};

#[derive(Debug, Default)]
pub(crate) struct Spend {
    calls: u32,
    /// What the calls that ended have used.
    ended: Usage,
    /// What the calls that go on have used so far.
    open: BTreeMap<u32, Usage>,
    models: Models,
    last: Option<FinishReason>,
    /// Why the last call of the step that writes the reply stopped.
    of_reply: Option<FinishReason>,
}

#[derive(Debug, Default)]
enum Models {
    #[default]
    None,
    One(ModelRef),
    Several,
}

impl Spend {
    /// A model call begins; gives its number, from 1.
    pub(crate) fn begin(&mut self, model: &ModelRef) -> u32 {
        self.models = match std::mem::take(&mut self.models) {
            Models::None => Models::One(model.clone()),
            Models::One(other) if other == *model => Models::One(other),
            Models::One(_) | Models::Several => Models::Several,
        };
        self.calls += 1;
        self.calls
    }

    /// What a call has used so far; gives what all have.
    pub(crate) fn used(&mut self, number: u32, usage: Usage) -> Usage {
        self.open.insert(number, usage);
        self.sum()
    }

    pub(crate) fn end(&mut self, number: u32, reason: Option<&FinishReason>, is_reply: bool) {
        if let Some(usage) = self.open.remove(&number) {
            self.ended = self.ended.plus(&usage);
        }
        if let Some(reason) = reason {
            self.last = Some(reason.clone());
            if is_reply {
                self.of_reply = Some(reason.clone());
            }
        }
    }

    fn sum(&self) -> Usage {
        self.open
            .values()
            .fold(self.ended, |sum, usage| sum.plus(usage))
    }

    /// All tokens used so far, as far as known.
    pub(crate) fn total(&self) -> Option<Usage> {
        Some(self.sum()).filter(|usage| !usage.is_unknown())
    }

    pub(crate) fn metadata(&self) -> Metadata {
        Metadata {
            model: match &self.models {
                Models::One(model) => Some(model.clone()),
                Models::None | Models::Several => None,
            },
            usage: self.total(),
            finish_reason: self.of_reply.as_ref().or(self.last.as_ref()).cloned(),
            responder: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(tokens: u64) -> Usage {
        Usage {
            output_tokens: Some(tokens),
            ..Usage::default()
        }
    }

    #[test]
    fn t12_a_calls_last_usage_stands_and_all_calls_add_up() {
        let (mut spend, model) = (Spend::default(), ModelRef::new("p", "m"));
        assert_eq!(spend.total(), None);
        assert_eq!((spend.begin(&model), spend.begin(&model)), (1, 2));
        assert_eq!(spend.used(1, output(3)), output(3));
        assert_eq!(spend.used(2, output(10)), output(13));
        assert_eq!(spend.used(1, output(5)), output(15));
        spend.end(1, None, false);
        assert_eq!(spend.total(), Some(output(15)));
        spend.end(2, None, false);
        assert_eq!(spend.total(), Some(output(15)));
    }

    #[test]
    fn w7_the_model_is_named_only_where_all_calls_used_the_same() {
        let mut spend = Spend::default();
        let (one, two) = (ModelRef::new("p", "one"), ModelRef::new("p", "two"));
        spend.begin(&one);
        spend.begin(&one);
        assert_eq!(spend.metadata().model, Some(one.clone()));
        spend.begin(&two);
        spend.begin(&one);
        assert_eq!(spend.metadata().model, None);
    }

    #[test]
    fn the_reason_is_that_of_the_step_which_writes_the_reply() {
        let mut spend = Spend::default();
        spend.end(1, Some(&FinishReason::Length), true);
        spend.end(2, Some(&FinishReason::Stop), false);
        assert_eq!(spend.metadata().finish_reason, Some(FinishReason::Length));
        let mut spend = Spend::default();
        spend.end(1, Some(&FinishReason::Stop), false);
        assert_eq!(spend.metadata().finish_reason, Some(FinishReason::Stop));
    }
}
