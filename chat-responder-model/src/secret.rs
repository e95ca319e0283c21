//! A secret: it can be sent, and never printed (law M6).

use std::{fmt, sync::Arc};

/// An API key or another credential. Whatever prints it prints `[secret]` (law M6).
///
/// ```
/// use chat_responder_model::Secret;
/// let key = Secret::from("sk-1234");
/// assert_eq!(format!("{key} {key:?}"), "[secret] [secret]");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// The secret itself: for the one place that sends it, and the one that takes it out of texts.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl<T: Into<Arc<str>>> From<T> for Secret {
    /// White space around it is left out: keys are often read from files that end with a new line.
    fn from(text: T) -> Self {
        let text = text.into();
        let trimmed = text.trim();
        if trimmed.len() == text.len() {
            Self(text)
        } else {
            Self(trimmed.into())
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}
