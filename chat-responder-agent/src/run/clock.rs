//! How long a step or a run may take. The clock stands while a person is asked (law W1).

use std::{
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use futures_util::{
    future::{self, Either},
    task::AtomicWaker,
};
use tokio::time::{Instant, Sleep, sleep_until};

/// Longer than any run: what a limit that overflows the clock comes to.
const FAR: Duration = Duration::from_secs(60 * 60 * 24 * 365 * 30);

/// One limit of time, running from the moment it is made.
#[derive(Debug)]
pub(crate) struct Clock {
    limit: Duration,
    hand: Mutex<Hand>,
    waker: AtomicWaker,
}

#[derive(Debug, Clone, Copy)]
enum Hand {
    /// It runs, and has run out at this moment.
    Runs(Instant),
    /// It stands, with so much left.
    Stands { left: Duration, stops: usize },
}

impl Clock {
    pub(crate) fn start(limit: Duration) -> Arc<Self> {
        Arc::new(Self {
            limit,
            hand: Mutex::new(Hand::Runs(after(limit))),
            waker: AtomicWaker::new(),
        })
    }

    pub(crate) fn limit(&self) -> Duration {
        self.limit
    }

    /// Stops the clock until what this gives is dropped, and all others like it.
    pub(crate) fn stop(self: &Arc<Self>) -> Stopped {
        let mut hand = self.hand();
        *hand = match *hand {
            Hand::Runs(until) => Hand::Stands {
                left: until.saturating_duration_since(Instant::now()),
                stops: 1,
            },
            Hand::Stands { left, stops } => Hand::Stands {
                left,
                stops: stops + 1,
            },
        };
        drop(hand);
        Stopped(self.clone())
    }

    pub(crate) fn has_run_out(&self) -> bool {
        match *self.hand() {
            Hand::Runs(until) => until <= Instant::now(),
            Hand::Stands { .. } => false,
        }
    }

    fn hand(&self) -> MutexGuard<'_, Hand> {
        // Nothing that can panic runs under this lock.
        self.hand.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn after(left: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(left).unwrap_or_else(|| now + FAR)
}

/// Keeps a clock standing.
#[derive(Debug)]
pub(crate) struct Stopped(Arc<Clock>);

impl Drop for Stopped {
    fn drop(&mut self) {
        let mut hand = self.0.hand();
        *hand = match *hand {
            Hand::Stands { left, stops: 1 } => Hand::Runs(after(left)),
            Hand::Stands { left, stops } => Hand::Stands {
                left,
                stops: stops - 1,
            },
            runs @ Hand::Runs(_) => runs,
        };
        drop(hand);
        self.0.waker.wake();
    }
}

/// Resolves when its clock has run out. A clock has one of these at most: it wakes the last one polled.
pub(crate) struct RunsOut {
    clock: Arc<Clock>,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl RunsOut {
    pub(crate) fn of(clock: Arc<Clock>) -> Self {
        Self { clock, sleep: None }
    }

    pub(crate) fn limit(&self) -> Duration {
        self.clock.limit()
    }
}

impl Future for RunsOut {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        this.clock.waker.register(cx.waker());
        let hand = *this.clock.hand();
        let Hand::Runs(until) = hand else {
            this.sleep = None;
            return Poll::Pending;
        };
        let sleep = this
            .sleep
            .get_or_insert_with(|| Box::pin(sleep_until(until)));
        if sleep.deadline() != until {
            sleep.as_mut().reset(until);
        }
        sleep.as_mut().poll(cx)
    }
}

/// What the work comes to; nothing where the clock runs out first. Work that is done in the same moment is done.
pub(crate) async fn within<W: Future + Unpin>(
    clock: Option<&Arc<Clock>>,
    work: &mut W,
) -> Option<W::Output> {
    let Some(clock) = clock else {
        return Some(work.await);
    };
    match future::select(work, RunsOut::of(clock.clone())).await {
        Either::Left((output, _)) => Some(output),
        Either::Right(((), _)) => None,
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn w1_a_clock_stands_as_long_as_anybody_is_asked() {
        let clock = Clock::start(Duration::from_secs(10));
        let mut out = RunsOut::of(clock.clone());
        assert!((&mut out).now_or_never().is_none());
        let (one, two) = (clock.stop(), clock.stop());
        advance(Duration::from_secs(60)).await;
        assert!((&mut out).now_or_never().is_none());
        drop(one);
        advance(Duration::from_secs(60)).await;
        assert!((&mut out).now_or_never().is_none());
        drop(two);
        advance(Duration::from_secs(9)).await;
        assert!((&mut out).now_or_never().is_none());
        advance(Duration::from_secs(1)).await;
        assert!(out.now_or_never().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn work_that_is_done_as_the_clock_runs_out_is_done() {
        let clock = Clock::start(Duration::ZERO);
        assert_eq!(within(Some(&clock), &mut future::ready(1)).await, Some(1));
        let mut never = future::pending::<u8>();
        assert_eq!(within(Some(&clock), &mut never).await, None);
        let mut done = future::ready(2);
        assert_eq!(within(None, &mut done).await, Some(2));
        // A limit that no clock can hold is none.
        let endless = Clock::start(Duration::MAX);
        assert!(within(Some(&endless), &mut never).now_or_never().is_none());
    }
}
