//! Waits that grow.

use std::time::Duration;

/// Waits that grow from a quarter of a millisecond to [`CAP`](Self::CAP), each a little random so that two who wait don't keep meeting.
#[derive(Debug, Clone)]
pub struct Backoff {
    next: Duration,
}

impl Backoff {
    /// No wait is longer.
    pub const CAP: Duration = Duration::from_millis(25);

    /// Begins with the shortest wait.
    #[must_use]
    pub fn new() -> Self {
        Self {
            next: Duration::from_micros(250),
        }
    }

    /// How long to wait now: from half of what it has grown to up to all of it. `random` is any number, another one each time.
    pub fn next(&mut self, random: u32) -> Duration {
        let half = self.next / 2;
        let wait = half + half.mul_f64(f64::from(random) / f64::from(u32::MAX));
        self.next = (self.next * 2).min(Self::CAP);
        wait
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Self::new()
    }
}
