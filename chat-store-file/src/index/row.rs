//! One session as the index has it: what a list shows of it, and the stamp of the file that was read for it. Reads nothing itself.

use std::{
    cmp::{Ordering, Reverse},
    time::{SystemTime, UNIX_EPOCH},
};

use chat_core::{SessionId, SessionSummary, StoreError, Timestamp};

use crate::system::{FileId, Metadata};

/// What is known of one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) id: SessionId,
    /// What the list is ordered by: when something last happened, in milliseconds since 1970.
    pub(crate) at: i64,
    /// When it was created, likewise.
    pub(crate) created: Option<i64>,
    pub(crate) turns: u64,
    pub(crate) title: Option<Box<str>>,
    /// The file's, taken before it was read.
    pub(crate) stamp: Stamp,
    pub(crate) standing: Standing,
    /// Whether its lock file was there: it may have been written since it was read.
    pub(crate) marked: bool,
}

/// How far a row can be believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// As true as its stamp: the file was left alone for a moment before it was read, so that any later write changes the stamp.
    Settled,
    /// Read so soon after a write that the next one may leave the same stamp, or behind a torn tail, which is cut and written over.
    Unsettled,
    /// It could not be read in full: it is read again for every list, so that the error is always today's.
    Failed,
}

impl Row {
    pub(crate) fn key(&self) -> Key {
        Key {
            at: Reverse(self.at),
            id: self.id.clone(),
        }
    }

    /// Which of two rows a list has first.
    pub(crate) fn order(&self, other: &Self) -> Ordering {
        (Reverse(self.at), &self.id).cmp(&(Reverse(other.at), &other.id))
    }

    /// Whether the row is still true of a file.
    pub(crate) fn is_true_of(&self, found: &Metadata) -> bool {
        match self.standing {
            Standing::Settled => Stamp::of(found) == self.stamp,
            Standing::Unsettled | Standing::Failed => false,
        }
    }

    pub(crate) fn summary(&self, error: Option<StoreError>) -> SessionSummary {
        let time = |millis| Timestamp::from_millis(millis).ok();
        SessionSummary {
            id: self.id.clone(),
            title: self.title.as_deref().map(Into::into),
            created_at: self.created.and_then(time),
            last_activity: time(self.at),
            turns: self.turns,
            error,
        }
    }
}

/// A place in the list's order; what is less comes first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) at: Reverse<i64>,
    pub(crate) id: SessionId,
}

/// What tells whether a file is as it was: two that are the same are of the same file with the same content, unless one was taken
/// within the clock's granularity of a write ([`is_settled`](Self::is_settled)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) id: FileId,
    pub(crate) len: u64,
    /// In nanoseconds since 1970; [`UNKNOWN`](Self::UNKNOWN) where the system doesn't tell.
    pub(crate) modified: i64,
    pub(crate) changed: i64,
}

impl Stamp {
    /// That of no file.
    pub(crate) const NONE: Self = Self {
        id: FileId { device: 0, file: 0 },
        len: 0,
        modified: Self::UNKNOWN,
        changed: Self::UNKNOWN,
    };

    const UNKNOWN: i64 = i64::MIN;
    const SECOND: i64 = 1_000_000_000;

    pub(crate) fn of(found: &Metadata) -> Self {
        Self {
            id: found.id,
            len: found.len,
            modified: found.modified.map_or(Self::UNKNOWN, nanos),
            changed: found.changed.map_or(Self::UNKNOWN, nanos),
        }
    }

    /// Whether a write at `now` or later gives another stamp. Clocks of file systems tick: on the best every 10 ms or less, on old
    /// ones, which show whole seconds, every two. A time to come is never settled, nor one that isn't known.
    pub(crate) fn is_settled(&self, now: SystemTime) -> bool {
        let last = self.modified.max(self.changed);
        let tick = if last % Self::SECOND == 0 {
            5 * Self::SECOND / 2
        } else {
            Self::SECOND / 10
        };
        self.modified != Self::UNKNOWN && nanos(now).saturating_sub(last) > tick
    }
}

fn nanos(time: SystemTime) -> i64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN + 1, |n| -n),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::system::Kind;

    fn stamp(modified: Option<Duration>, changed: Option<Duration>) -> Stamp {
        Stamp::of(&Metadata {
            kind: Kind::Plain,
            id: FileId { device: 1, file: 2 },
            len: 3,
            modified: modified.map(|since| UNIX_EPOCH + since),
            changed: changed.map(|since| UNIX_EPOCH + since),
        })
    }

    #[test]
    fn a_stamp_is_settled_once_the_clock_has_ticked() {
        let ms = Duration::from_millis;
        let check = |modified, changed, now, settled| {
            let stamp = stamp(modified, changed);
            assert_eq!(
                stamp.is_settled(UNIX_EPOCH + now),
                settled,
                "{stamp:?} at {now:?}"
            );
        };
        check(Some(ms(5_001)), Some(ms(5_001)), ms(5_101), false);
        check(Some(ms(5_001)), Some(ms(5_001)), ms(5_102), true);
        // Whole seconds.
        check(Some(ms(5_000)), None, ms(7_500), false);
        check(Some(ms(5_000)), None, ms(7_501), true);
        // A restored time; a time to come; none.
        check(Some(ms(1)), Some(ms(5_001)), ms(5_010), false);
        check(Some(ms(9_001)), Some(ms(5_001)), ms(5_500), false);
        check(None, None, ms(9_000), false);
    }
}
