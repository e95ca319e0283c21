//! What tells a tool call from all others, and stays the same when its turn is retried (law T9).
//!
//! A place would not do: a model that is asked again may call something else there, whose service would then take it for done.

use std::{collections::BTreeMap, sync::Arc};

use chat_core::{StepId, ToolName, TurnId};
use data_encoding::HEXLOWER;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// How many bytes of the hash are in a key.
const HASH_BYTES: usize = 16;

/// The keys of a step's calls: how often each call was made.
#[derive(Debug, Default)]
pub(crate) struct Keys(BTreeMap<String, u32>);

impl Keys {
    /// The key of a call: the chain's first turn, the step, the tool, a hash of the arguments, and which of the same calls it is.
    pub(crate) fn of(
        &mut self,
        root: &TurnId,
        step: &StepId,
        tool: &ToolName,
        input: &Value,
    ) -> Arc<str> {
        let mut sorted = input.clone();
        sorted.sort_all_objects();
        let hash = Sha256::digest(sorted.to_string());
        let call = format!("{tool}/{}", HEXLOWER.encode(&hash[..HASH_BYTES]));
        let made = self.0.entry(call.clone()).or_default();
        *made += 1;
        format!("{root}/{step}/{call}/{made}").into()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn t9_a_key_is_of_the_call_and_not_of_its_place() {
        let mut keys = Keys::default();
        let mut of = |tool: &str, input: Value| {
            let root = TurnId::parse("root").unwrap();
            keys.of(&root, &"ship".into(), &tool.into(), &input)
        };
        let staging = of("deploy", json!({"to": "staging", "n": {"a": 1, "b": 2}}));
        assert_eq!(
            &*staging,
            "root/ship/deploy/03582657d0dd0478759f514aef242ec8/1"
        );
        let again = of("deploy", json!({"n": {"b": 2, "a": 1}, "to": "staging"}));
        assert_eq!(again.strip_suffix("/2"), staging.strip_suffix("/1"));
        let others = [
            of("deploy", json!({"to": "prod"})),
            of("pay", json!({"to": "staging"})),
        ];
        assert!(others.iter().all(|key| key.ends_with("/1")));
        assert_ne!(others[0], others[1]);
        assert_ne!(others[0], staging);
    }
}
