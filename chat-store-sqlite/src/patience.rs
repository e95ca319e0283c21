//! Waiting for other connections to be done, with jitter, so that no "database is locked" reaches a caller. Only for threads that
//! may block.

use std::time::{Duration, Instant};

use chat_core::hold::Backoff;

/// How long a database may stay locked before something else than this store is at fault: ours hold no lock for longer than a
/// write takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often SQLite asks again by itself, where it asks at all, before it says that the database is busy.
const ASKS: i32 = 8;

/// How much longer to wait for a lock.
#[derive(Debug)]
pub(crate) struct Patience {
    until: Instant,
    backoff: Backoff,
}

impl Patience {
    pub(crate) fn new() -> Self {
        Self::of(PATIENCE)
    }

    pub(crate) fn of(patience: Duration) -> Self {
        Self {
            until: Instant::now() + patience,
            backoff: Backoff::new(),
        }
    }

    /// Waits a little; false where it was long enough.
    pub(crate) fn wait(&mut self) -> bool {
        if Instant::now() >= self.until {
            return false;
        }
        std::thread::sleep(self.backoff.next(fastrand::u32(..)));
        true
    }
}

/// SQLite's busy handler: waits a little longer each time, then leaves it to the [`Patience`] of whoever asked.
pub(crate) fn busy(asked: i32) -> bool {
    if asked >= ASKS {
        return false;
    }
    let most = Backoff::CAP.as_secs_f64();
    let wait = (0.0005 * f64::from(1 << asked)).min(most) * (0.5 + fastrand::f64() / 2.0);
    std::thread::sleep(Duration::from_secs_f64(wait));
    true
}
