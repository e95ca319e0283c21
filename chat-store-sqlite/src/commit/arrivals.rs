//! What is asked of the thread that writes, and which of it shares a transaction: all that waits when one begins, and what comes
//! while it is made.

use std::{
    sync::mpsc,
    time::{Duration, Instant},
};

use super::{Order, Write};

/// How many requests share a transaction at most: so many entries are a small part of what a sync costs.
const MOST: usize = 256;

/// Of the time that a commit took, the part that the next one may wait for more requests.
const PATIENCE_PART: u32 = 4;

/// No wait for more requests is longer, whatever the last commit took: other processes wait meanwhile, and one whose process was
/// stopped took as long as that.
const LONGEST: Duration = Duration::from_millis(10);

/// The receiving end of a store's orders.
pub(super) struct Arrivals {
    orders: mpsc::Receiver<Order>,
    /// One that came while a transaction was made, and is no part of it.
    put_off: Option<Order>,
    last: Option<Last>,
}

/// The last transaction that was committed.
struct Last {
    requests: usize,
    /// How long the commit alone took.
    took: Duration,
    ended: Instant,
}

/// How long a transaction is kept open for more requests.
pub(super) struct Patience {
    /// How many there may be.
    expected: usize,
    /// Known once the first one is waited for.
    until: Option<Instant>,
}

impl Arrivals {
    pub(super) fn new(orders: mpsc::Receiver<Order>) -> Self {
        Self {
            orders,
            put_off: None,
            last: None,
        }
    }

    /// Waits for something to do, and gives all there is; `None` where nothing will come any more.
    pub(super) fn next(&mut self) -> Option<Vec<Order>> {
        let first = self.put_off.take().or_else(|| self.orders.recv().ok())?;
        let mut group = vec![first];
        while group.len() < MOST
            && let Ok(order) = self.orders.try_recv()
        {
            group.push(order);
        }
        Some(group)
    }

    /// Lets what came meanwhile share the transaction.
    pub(super) fn join(&mut self, writes: &mut Vec<Write>) {
        while writes.len() < MOST
            && self.put_off.is_none()
            && let Ok(order) = self.orders.try_recv()
        {
            self.put(order, writes);
        }
    }

    /// What a transaction that begins now may wait for: those who were answered a moment ago often come again at once. One session
    /// alone is never waited for.
    pub(super) fn patience(&self) -> Patience {
        Patience {
            expected: match &self.last {
                Some(last) if last.ended.elapsed() < last.took => last.requests,
                Some(_) | None => 0,
            },
            until: None,
        }
    }

    /// Waits for one more request to share the transaction; whether one came. All of a transaction's waiting is a small part of
    /// the second sync that it saves.
    pub(super) fn wait(&mut self, patience: &mut Patience, writes: &mut Vec<Write>) -> bool {
        let (Some(last), None) = (&self.last, &self.put_off) else {
            return false;
        };
        if writes.len() >= patience.expected {
            return false;
        }
        let now = Instant::now();
        let until = *patience
            .until
            .get_or_insert_with(|| now + (last.took / PATIENCE_PART).min(LONGEST));
        match self
            .orders
            .recv_timeout(until.saturating_duration_since(now))
        {
            Ok(order) => self.put(order, writes),
            Err(_) => return false,
        }
        true
    }

    /// Remembers a commit that ended now.
    pub(super) fn committed(&mut self, requests: usize, took: Duration) {
        self.last = Some(Last {
            requests,
            took,
            ended: Instant::now(),
        });
    }

    fn put(&mut self, order: Order, writes: &mut Vec<Write>) {
        match order {
            Order::Write(write) => writes.push(write),
            Order::MakeSure(_) => self.put_off = Some(order),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s1_no_commit_however_long_has_the_next_one_wait_for_long() {
        let (orders, received) = mpsc::channel();
        // Nobody comes, and nobody has to be waited for.
        drop(orders);
        let mut arrivals = Arrivals::new(received);
        for (took, longest) in [(4, 1), (40, 10), (3_600_000, 10)].map(|(took, longest)| {
            let millis = Duration::from_millis;
            (millis(took), millis(longest))
        }) {
            arrivals.committed(2, took);
            let mut patience = Patience {
                expected: 2,
                until: None,
            };
            let before = Instant::now();
            assert!(!arrivals.wait(&mut patience, &mut Vec::new()));
            let (until, after) = (patience.until.unwrap(), Instant::now());
            assert!((before + longest..=after + longest).contains(&until));
        }
    }
}
