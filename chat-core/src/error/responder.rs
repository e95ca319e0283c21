//! What a responder fails with, and the bounded, redacted form of it that a journal keeps.

use std::{error::Error, fmt, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::redact::Redactor;

/// The most a recorded error's message may hold, in bytes (law J3).
pub const MAX_ERROR_BYTES: usize = 2048;

/// Why a responder could not answer: a message, a kind that programs can match, and the cause.
///
/// Any error turns into one with `?`, which is why this type itself is no [`std::error::Error`] (the two would be
/// ambiguous); [`TurnError`](crate::TurnError), which carries it, is.
///
/// ```
/// use chat_core::ResponderError;
/// fn answer() -> Result<u8, ResponderError> {
///     let number: u8 = "x".parse()?;
///     if number == 0 { return Err(ResponderError::new("nothing to say").with_kind("empty")); }
///     Ok(number)
/// }
/// assert_eq!(answer().unwrap_err().kind(), "error");
/// ```
#[derive(Clone)]
pub struct ResponderError {
    message: Arc<str>,
    kind: Arc<str>,
    retryable: Option<bool>,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

impl ResponderError {
    /// An error of kind `error`.
    #[must_use]
    pub fn new(message: impl Into<Arc<str>>) -> Self {
        Self {
            message: message.into(),
            kind: "error".into(),
            retryable: None,
            source: None,
        }
    }

    /// Sets the kind: one word that programs can match, such as `rate-limited`.
    #[must_use]
    pub fn with_kind(self, kind: impl Into<Arc<str>>) -> Self {
        Self {
            kind: kind.into(),
            ..self
        }
    }

    /// Says whether the same request may well succeed later.
    #[must_use]
    pub fn with_retryable(self, retryable: bool) -> Self {
        Self {
            retryable: Some(retryable),
            ..self
        }
    }

    /// Keeps the cause.
    #[must_use]
    pub fn with_source(self, source: impl Error + Send + Sync + 'static) -> Self {
        Self {
            source: Some(Arc::new(source)),
            ..self
        }
    }

    /// What happened, in a sentence.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// One word that programs can match.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// Whether the same request may well succeed later, where known.
    #[must_use]
    pub fn retryable(&self) -> Option<bool> {
        self.retryable
    }

    /// The cause, where one was kept: downcast it to the responder's own error type.
    #[must_use]
    pub fn source(&self) -> Option<&(dyn Error + Send + Sync + 'static)> {
        self.source.as_deref()
    }

    /// A responder that panicked (law T4).
    #[must_use]
    pub fn panicked(place: &str, payload: &(dyn std::any::Any + Send)) -> Self {
        let said = payload
            .downcast_ref::<&str>()
            .copied()
            .or(payload.downcast_ref::<String>().map(String::as_str));
        Self::new(format!(
            "{place} panicked: {}",
            said.unwrap_or("no message")
        ))
        .with_kind("panic")
    }
}

impl fmt::Display for ResponderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Debug for ResponderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponderError")
            .field("kind", &self.kind)
            .field("message", &self.message)
            .field("retryable", &self.retryable)
            .finish_non_exhaustive()
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for ResponderError {
    /// The message is the error's and its causes', joined by colons.
    fn from(error: E) -> Self {
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(inner) = cause {
            let text = inner.to_string();
            // Many errors repeat their cause in their own message.
            if !message.contains(&text) {
                message.push_str(": ");
                message.push_str(&text);
            }
            cause = inner.source();
        }
        Self::new(message).with_source(error)
    }
}

/// An error as the journal keeps it: bounded to [`MAX_ERROR_BYTES`] and redacted (law J3).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedError {
    /// What happened.
    pub message: Arc<str>,
    /// One word that programs can match.
    pub kind: Arc<str>,
    /// Whether the same request may well succeed later, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
}

impl RecordedError {
    /// The recorded form of an error: redacted first, then bounded, so that no cut can hide a secret from redaction.
    #[must_use]
    pub fn of(message: &str, kind: &str, retryable: Option<bool>) -> Self {
        let redactor = Redactor::default();
        Self {
            message: bounded(&redactor.text(message), MAX_ERROR_BYTES).into(),
            kind: bounded(&redactor.text(kind), 64).into(),
            retryable,
        }
    }
}

impl From<&ResponderError> for RecordedError {
    fn from(error: &ResponderError) -> Self {
        Self::of(&error.message, &error.kind, error.retryable)
    }
}

/// At most `limit` bytes of a text, cut on a character, with an ellipsis where something was cut.
fn bounded(text: &str, limit: usize) -> String {
    const CUT: &str = "…";
    if text.len() <= limit {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(limit - CUT.len());
    format!("{}{CUT}", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn j3_recorded_errors_are_bounded_on_a_character_and_redacted() {
        let long = "é".repeat(MAX_ERROR_BYTES);
        let recorded = RecordedError::of(&long, "error", None);
        assert!(recorded.message.len() <= MAX_ERROR_BYTES);
        assert!(recorded.message.ends_with('…'));
        let secret = "sk-abcdefghijklmnopqrstuvwxyz0123456789";
        let recorded = RecordedError::of(
            &format!("server said: bad key {secret}"),
            "error",
            Some(false),
        );
        assert!(!recorded.message.contains(secret), "{}", recorded.message);
    }

    #[test]
    fn j3_a_secret_on_the_cut_is_redacted_whole() {
        let secret = "sk-abcdefghijklmnopqrstuvwxyz0123456789";
        for before in MAX_ERROR_BYTES - 60..MAX_ERROR_BYTES {
            let recorded =
                RecordedError::of(&format!("{} {secret}", "x".repeat(before)), "error", None);
            assert!(!recorded.message.contains("sk-abc"), "cut after {before}");
        }
    }

    #[test]
    fn causes_are_in_the_message_once() {
        #[derive(Debug, thiserror::Error)]
        #[error("outer")]
        struct Outer(#[source] std::num::ParseIntError);
        let inner = "x".parse::<u8>().unwrap_err();
        let error = ResponderError::from(Outer(inner.clone()));
        assert_eq!(error.message(), format!("outer: {inner}"));
        assert!(error.source().is_some_and(|source| source.is::<Outer>()));
    }
}
