//! The ids of a step's tool calls as the model reads them back. Servers refuse a conversation in which two calls have one id, or a
//! call has none (law W2, C60), and yet write such answers.

use std::collections::BTreeMap;

use chat_core::CallId;

/// The ids that were given, each with how many were made of it.
#[derive(Debug, Default)]
pub(crate) struct CallIds(BTreeMap<CallId, u32>);

impl CallIds {
    /// The id, or one like it where it is taken or empty.
    pub(crate) fn take(&mut self, id: &CallId) -> CallId {
        let id = match id.as_str() {
            "" => "call".into(),
            _ => id.clone(),
        };
        let Some(mut made) = self.0.get(&id).copied() else {
            self.0.insert(id.clone(), 1);
            return id;
        };
        loop {
            made += 1;
            let like: CallId = format!("{id}-{made}").into();
            if !self.0.contains_key(&like) {
                self.0.insert(like.clone(), 1);
                self.0.insert(id, made);
                return like;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c60_no_two_calls_have_one_id_and_each_has_one() {
        let mut ids = CallIds::default();
        let given = ["a", "a-2", "a", "a", "", "", "b"].map(|id| ids.take(&id.into()));
        assert_eq!(
            given.each_ref().map(CallId::as_str),
            ["a", "a-2", "a-3", "a-4", "call", "call-2", "b"]
        );
    }
}
