//! Points in time as the journal writes them. No clock: a [`Timestamp`] is always handed in.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A point in time in UTC, in whole milliseconds; in JSON an RFC 3339 text such as `2026-01-31T09:30:00.000Z`.
///
/// ```
/// use chat_core::Timestamp;
/// let at: Timestamp = "2026-01-31T09:30:00.250Z".parse().unwrap();
/// assert_eq!(at.to_string(), "2026-01-31T09:30:00.250Z");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(jiff::Timestamp);

/// A text or number that is no [`Timestamp`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a point in time between the years -9999 and 9999 (RFC 3339)")]
pub struct TimestampError(String);

impl Timestamp {
    /// 1970-01-01, where counting starts.
    pub const UNIX_EPOCH: Self = Self(jiff::Timestamp::UNIX_EPOCH);

    /// From milliseconds since 1970-01-01 in UTC.
    ///
    /// # Errors
    /// Years before -9999 and after 9999 can't be written.
    pub fn from_millis(millis: i64) -> Result<Self, TimestampError> {
        jiff::Timestamp::from_millisecond(millis)
            .map(Self)
            .map_err(|_| TimestampError(millis.to_string()))
    }

    /// Milliseconds since 1970-01-01 in UTC.
    #[must_use]
    pub fn as_millis(self) -> i64 {
        self.0.as_millisecond()
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}", self.0)
    }
}

impl FromStr for Timestamp {
    type Err = TimestampError;
    fn from_str(text: &str) -> Result<Self, TimestampError> {
        let parsed =
            jiff::Timestamp::from_str(text).map_err(|_| TimestampError(text.to_owned()))?;
        // Other writers may know more digits; ours are milliseconds, so that what is compared is what is written.
        Self::from_millis(parsed.as_millisecond())
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl de::Visitor<'_> for Text {
            type Value = Timestamp;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an RFC 3339 point in time")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Timestamp, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_survive_the_text() {
        for millis in [0, 1, 999, -1, 1_764_535_040_123, 253_402_207_200_000] {
            let at = Timestamp::from_millis(millis).unwrap();
            assert_eq!(at.to_string().parse::<Timestamp>().unwrap(), at);
            assert_eq!(at.as_millis(), millis);
        }
        assert_eq!(
            Timestamp::UNIX_EPOCH.to_string(),
            "1970-01-01T00:00:00.000Z"
        );
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for bad in ["", "yesterday", "2026-13-01T00:00:00Z", "2026-01-31"] {
            assert!(bad.parse::<Timestamp>().is_err(), "{bad}");
        }
        assert!(Timestamp::from_millis(i64::MAX).is_err());
    }
}
