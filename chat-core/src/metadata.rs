//! Provenance: the little that is kept about how a turn was answered (law J3).

use std::{fmt, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The model that answered.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelRef {
    /// Who serves it, such as `openai`.
    #[serde(deserialize_with = "crate::text::shared")]
    pub provider: Arc<str>,
    /// Its name there, such as `gpt-5-mini`.
    #[serde(deserialize_with = "crate::text::shared")]
    pub model_id: Arc<str>,
}

impl ModelRef {
    /// A model of a provider.
    #[must_use]
    pub fn new(provider: impl Into<Arc<str>>, model_id: impl Into<Arc<str>>) -> Self {
        Self {
            provider: provider.into(),
            model_id: model_id.into(),
        }
    }
}

/// Tokens used. What is not known is absent, never 0 (law T12).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Tokens of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens of the answer, reasoning among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// All tokens, as the provider counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_tokens: Option<u64>,
    /// Those of the answer that were reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
    /// Those of the request that came from the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input_tokens: Option<u64>,
}

impl Usage {
    /// Whether nothing is known.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }

    /// The sum of two usages: known counts add up, and a count that only one side knows stands.
    ///
    /// ```
    /// use chat_core::Usage;
    /// let one = Usage { input_tokens: Some(3), ..Usage::default() };
    /// let two = Usage { input_tokens: Some(4), output_tokens: Some(1), ..Usage::default() };
    /// assert_eq!(one.plus(&two), Usage { input_tokens: Some(7), output_tokens: Some(1), ..Usage::default() });
    /// ```
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        fn sum(one: Option<u64>, two: Option<u64>) -> Option<u64> {
            match (one, two) {
                (Some(one), Some(two)) => Some(one.saturating_add(two)),
                (known, None) | (None, known) => known,
            }
        }
        Self {
            input_tokens: sum(self.input_tokens, other.input_tokens),
            output_tokens: sum(self.output_tokens, other.output_tokens),
            total_tokens: sum(self.total_tokens, other.total_tokens),
            reasoning_tokens: sum(self.reasoning_tokens, other.reasoning_tokens),
            cached_input_tokens: sum(self.cached_input_tokens, other.cached_input_tokens),
        }
    }
}

/// Why a model stopped. In JSON a text: `stop`, `length`, `content-filter`, `tool-calls`, or the provider's own word.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FinishReason {
    /// It was done.
    Stop,
    /// It ran into the limit of output tokens: the reply is cut.
    Length,
    /// The provider withheld the rest.
    ContentFilter,
    /// It wants tools to be called.
    ToolCalls,
    /// A word of the provider's own.
    Other(Arc<str>),
}

impl FinishReason {
    /// The reason as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ContentFilter => "content-filter",
            Self::ToolCalls => "tool-calls",
            Self::Other(word) => word,
        }
    }
}

impl From<&str> for FinishReason {
    fn from(text: &str) -> Self {
        match text {
            "stop" => Self::Stop,
            "length" => Self::Length,
            "content-filter" => Self::ContentFilter,
            "tool-calls" => Self::ToolCalls,
            other => Self::Other(other.into()),
        }
    }
}

impl fmt::Display for FinishReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for FinishReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for FinishReason {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from(String::deserialize(deserializer)?.as_str()))
    }
}

/// Who answered: what kind of responder, which one, in which version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResponderInfo {
    /// `model`, `agent`, or `custom` unless set.
    #[serde(deserialize_with = "crate::text::shared")]
    pub kind: Arc<str>,
    /// The responder's own id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Arc<str>>,
    /// The version of what answers: set it anew whenever a prompt, model or workflow changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Arc<str>>,
}

impl ResponderInfo {
    /// A responder of a kind.
    #[must_use]
    pub fn of_kind(kind: impl Into<Arc<str>>) -> Self {
        Self {
            kind: kind.into(),
            id: None,
            version: None,
        }
    }
}

impl Default for ResponderInfo {
    fn default() -> Self {
        Self::of_kind("custom")
    }
}

/// How a turn was answered: nothing else about it is kept (law J3).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// The model that answered, where one did and all of the turn used the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelRef>,
    /// Tokens used, as far as known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Why the model stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<FinishReason>,
    /// Who answered; set by the machine, whatever a responder says here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub responder: Option<ResponderInfo>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t12_what_is_unknown_stays_unknown_when_usage_adds_up() {
        let usage = |counts: [Option<u64>; 5]| {
            let [
                input_tokens,
                output_tokens,
                total_tokens,
                reasoning_tokens,
                cached_input_tokens,
            ] = counts;
            Usage {
                input_tokens,
                output_tokens,
                total_tokens,
                reasoning_tokens,
                cached_input_tokens,
            }
        };
        let one = usage([Some(1), None, Some(0), None, Some(u64::MAX)]);
        let two = usage([Some(2), Some(3), None, None, Some(1)]);
        let sum = usage([Some(3), Some(3), Some(0), None, Some(u64::MAX)]);
        assert_eq!((one.plus(&two), two.plus(&one)), (sum, sum));
        assert_eq!(one.plus(&Usage::default()), one);
        assert!(Usage::default().is_unknown());
        // Known to be none is known.
        assert!(!usage([Some(0), None, None, None, None]).is_unknown());
    }

    #[test]
    fn a_finish_reason_is_a_word_in_json_the_providers_own_among_them() {
        for (word, reason) in [
            ("stop", FinishReason::Stop),
            ("length", FinishReason::Length),
            ("content-filter", FinishReason::ContentFilter),
            ("tool-calls", FinishReason::ToolCalls),
            ("tired", FinishReason::Other("tired".into())),
        ] {
            let json = format!("{word:?}");
            assert_eq!(serde_json::to_string(&reason).unwrap(), json);
            assert_eq!(serde_json::from_str::<FinishReason>(&json).unwrap(), reason);
            assert_eq!(reason.to_string(), word);
        }
    }

    #[test]
    fn j3_provenance_is_written_with_what_is_known_alone() {
        let info = ResponderInfo {
            version: Some("2".into()),
            ..ResponderInfo::default()
        };
        assert_eq!(
            serde_json::to_string(&info).unwrap(),
            r#"{"kind":"custom","version":"2"}"#
        );
        assert_eq!(serde_json::to_string(&Metadata::default()).unwrap(), "{}");
        let metadata = Metadata {
            model: Some(ModelRef::new("p", "m")),
            ..Metadata::default()
        };
        let json = r#"{"model":{"provider":"p","modelId":"m"}}"#;
        assert_eq!(serde_json::to_string(&metadata).unwrap(), json);
        assert_eq!(serde_json::from_str::<Metadata>(json).unwrap(), metadata);
    }
}
