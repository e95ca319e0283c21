//! Where time and ids come from: the system, or a test.

use std::time::{SystemTime, UNIX_EPOCH};

use chat_core::Timestamp;

/// What the core must not know by itself. Called without any lock held.
pub trait Environment: Send + Sync + 'static {
    /// The time.
    fn now(&self) -> Timestamp;

    /// A number that no other call gives, here or in any other process; sessions, turns and entries are named by it, as the
    /// lower-case text of a [ULID](https://github.com/ulid/spec). A turn whose numbers were given before is refused
    /// ([`NotAccepted::IdTaken`](chat_core::NotAccepted::IdTaken)).
    fn unique(&self) -> u128;
}

/// The system's clock and random numbers.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemEnvironment;

impl Environment for SystemEnvironment {
    fn now(&self) -> Timestamp {
        // A clock before 1970 or behind the year 9999 is wrong; what is written must be readable all the same.
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        i64::try_from(since.as_millis())
            .ok()
            .and_then(|millis| Timestamp::from_millis(millis).ok())
            .unwrap_or(Timestamp::UNIX_EPOCH)
    }

    fn unique(&self) -> u128 {
        ulid::Ulid::generate().into()
    }
}

/// The text of a unique number: 26 characters of Crockford's base 32, which any id may be made of.
pub(crate) fn id_text(unique: u128) -> String {
    ulid::Ulid::from(unique).to_string().to_ascii_lowercase()
}
