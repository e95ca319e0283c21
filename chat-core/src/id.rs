//! Identifiers: parsed once at the edge, a type from then on. They name things and hold nothing else.

use std::{borrow::Borrow, fmt, str::FromStr, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The longest id a store has to take, in bytes (law S4).
pub const MAX_ID_BYTES: usize = 128;

/// Why a text is not an id (law S4).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// The text is empty.
    #[error("an id can't be empty")]
    Empty,
    /// The text is longer than [`MAX_ID_BYTES`].
    #[error("an id holds at most {MAX_ID_BYTES} bytes, this one has {bytes}")]
    TooLong {
        /// Its length in bytes.
        bytes: usize,
    },
    /// The text holds a character that could be mistaken for a path, or breaks a terminal.
    #[error(
        "an id can't hold {character:?} (byte {at}); path separators and control characters are refused"
    )]
    Character {
        /// What was found.
        character: char,
        /// Its byte offset.
        at: usize,
    },
    /// The text is `.` or `..`, which name folders.
    #[error("an id can't be {0:?}, which names a folder")]
    Dots(String),
}

fn check(text: &str) -> Result<(), IdError> {
    if text.is_empty() {
        return Err(IdError::Empty);
    }
    if text.len() > MAX_ID_BYTES {
        return Err(IdError::TooLong { bytes: text.len() });
    }
    if text == "." || text == ".." {
        return Err(IdError::Dots(text.to_owned()));
    }
    match text
        .char_indices()
        .find(|(_, c)| matches!(c, '/' | '\\') || c.is_control())
    {
        Some((at, character)) => Err(IdError::Character { character, at }),
        None => Ok(()),
    }
}

/// Traits that every id shares; `$check` says what a text must pass to become one.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $error:ty, $check:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The id as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }
        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }
        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = crate::text::shared(deserializer)?;
                let check: fn(&str) -> Result<(), $error> = $check;
                check(&text).map_err(serde::de::Error::custom)?;
                Ok(Self(text))
            }
        }
    };
}

/// An id that reaches a store: 1 to 128 bytes without path separators or control characters.
macro_rules! store_id {
    ($(#[$doc:meta])* $name:ident) => {
        id!($(#[$doc])* $name, IdError, check);

        impl $name {
            /// Parses an id.
            ///
            /// # Errors
            /// [`IdError`] says what is wrong with the text, and where.
            pub fn parse(text: impl AsRef<str>) -> Result<Self, IdError> {
                let text = text.as_ref();
                check(text)?;
                Ok(Self(text.into()))
            }
        }
        impl FromStr for $name {
            type Err = IdError;
            fn from_str(text: &str) -> Result<Self, IdError> {
                Self::parse(text)
            }
        }
        impl TryFrom<&str> for $name {
            type Error = IdError;
            fn try_from(text: &str) -> Result<Self, IdError> {
                Self::parse(text)
            }
        }
        impl TryFrom<String> for $name {
            type Error = IdError;
            fn try_from(text: String) -> Result<Self, IdError> {
                Self::parse(text)
            }
        }
    };
}

/// A name that lives in events only and never reaches a store: any text, as its maker wrote it.
macro_rules! name_id {
    ($(#[$doc:meta])* $name:ident) => {
        id!($(#[$doc])* $name, std::convert::Infallible, |_| Ok(()));

        impl<T: Into<Arc<str>>> From<T> for $name {
            fn from(text: T) -> Self {
                Self(text.into())
            }
        }
    };
}

store_id! {
    /// Names a session: a long-lived conversation with one journal.
    ///
    /// ```
    /// use chat_core::SessionId;
    /// assert!(SessionId::parse("01jd3k8v").is_ok());
    /// assert!(SessionId::parse("../etc/passwd").is_err());
    /// ```
    SessionId
}
store_id! {
    /// Names a turn: one user input, answered once.
    TurnId
}
store_id! {
    /// Names a journal entry; unique in its journal. The same entry sent again is told by it (law S1).
    EntryId
}
name_id! {
    /// Names a step of a workflow, as the workflow's author wrote it.
    StepId
}
name_id! {
    /// Names one tool call, as the model wrote it; bounded by the responder that read it.
    CallId
}
name_id! {
    /// Names a tool, as its author wrote it; in an answer, as the model wrote it, whether or not there is such a tool.
    ToolName
}
name_id! {
    /// Names a pending approval; unique in its turn (law R2).
    ApprovalId
}

/// The place of an entry in its journal: 0, 1, 2 ... without gaps. Order is `seq`, never time.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Seq(pub u64);

impl Seq {
    /// The first entry's place.
    pub const ZERO: Self = Self(0);

    /// The place behind this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s4_ids_refuse_what_could_leave_a_folder_or_break_a_terminal() {
        let long = "x".repeat(MAX_ID_BYTES + 1);
        for bad in [
            "",
            ".",
            "..",
            "../x",
            "a/b",
            "a\\b",
            "a\0b",
            "a\nb",
            "\u{1b}[2J",
            "a\u{85}",
            long.as_str(),
        ] {
            assert!(SessionId::parse(bad).is_err(), "{bad:?}");
            let json = serde_json::to_string(bad).unwrap();
            assert!(
                serde_json::from_str::<SessionId>(&json).is_err(),
                "{bad:?} from JSON"
            );
        }
        for good in [
            "a",
            "01jd3k",
            "user@example.org",
            "Ünïcode",
            "a.b",
            "...",
            &"x".repeat(MAX_ID_BYTES),
        ] {
            assert_eq!(SessionId::parse(good).unwrap().as_str(), good);
        }
    }

    #[test]
    fn s4_the_error_says_what_and_where() {
        let error = SessionId::parse("ab/c").unwrap_err();
        assert_eq!(
            error.to_string(),
            "an id can't hold '/' (byte 2); path separators and control characters are refused"
        );
    }
}
