//! A clock that stands still only where a wait is to be over at once, so that nothing sleeps and no timeout runs out by chance.

use std::{cell::Cell, time::Duration};

/// How often the clock was stopped. The server and the reader may both need it to stand.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    stops: Cell<usize>,
}

impl Clock {
    /// Lets this much time pass. A stopped clock moves only when nothing else can happen, so whoever can do something has done it
    /// by then.
    pub(crate) async fn pass(&self, time: Duration) {
        self.stop();
        tokio::time::sleep(time).await;
        self.go();
    }

    /// Lets everybody do what they can.
    pub(crate) async fn settle(&self) {
        self.pass(Duration::from_millis(1)).await;
    }

    /// From now on each wait is over as soon as nothing else can happen.
    pub(crate) fn stop(&self) {
        if self.stops.replace(self.stops.get() + 1) == 0 {
            tokio::time::pause();
        }
    }

    /// Undoes one stop.
    pub(crate) fn go(&self) {
        self.stops.set(self.stops.get() - 1);
        if self.stops.get() == 0 {
            tokio::time::resume();
        }
    }
}
