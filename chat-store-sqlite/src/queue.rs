//! Who of this store waits for a session: first come, first served (law S5). Knows nothing of other processes.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use chat_core::SessionId;
use tokio::sync::OwnedMutexGuard;

/// The queues of one store. A session that nobody wants costs nothing.
#[derive(Debug, Default)]
pub(crate) struct Queues {
    queues: Mutex<HashMap<SessionId, Weak<Queue>>>,
}

/// One session's queue: tokio's mutex is first come, first served.
#[derive(Debug, Default)]
struct Queue {
    front: Arc<tokio::sync::Mutex<()>>,
    wanted: Arc<()>,
}

/// The front of a queue: all others of this store wait.
#[derive(Debug)]
pub(crate) struct Front {
    _front: OwnedMutexGuard<()>,
    _queue: Arc<Queue>,
}

/// Kept by everyone who waits for the hold or has it, so that a delete is refused (law S7). It goes with the future or writer in
/// the caller's hand, while the work behind those may need the front for a moment more.
#[derive(Debug)]
pub(crate) struct Interest {
    _wanted: Arc<()>,
    _queue: Arc<Queue>,
}

impl Queues {
    /// Takes a place and waits for the front. The place is taken when this is first polled; dropping the future gives it up.
    pub(crate) async fn wait(&self, session: &SessionId) -> (Front, Interest) {
        let queue = self.queue(session);
        let interest = Interest {
            _wanted: queue.wanted.clone(),
            _queue: queue.clone(),
        };
        (front(queue).await, interest)
    }

    /// Waits for the front of a queue that nobody of this store wants; `None` where someone does.
    pub(crate) async fn wait_unwanted(&self, session: &SessionId) -> Option<Front> {
        let queue = self.queue(session);
        if Arc::strong_count(&queue.wanted) > 1 {
            return None;
        }
        Some(front(queue).await)
    }

    fn queue(&self, session: &SessionId) -> Arc<Queue> {
        let mut queues = self.lock();
        if let Some(queue) = queues.get(session).and_then(Weak::upgrade) {
            return queue;
        }
        // Before the map grows, those that nobody wants any more make room.
        if queues.len() == queues.capacity() {
            queues.retain(|_, queue| queue.strong_count() > 0);
        }
        let queue = Arc::new(Queue::default());
        queues.insert(session.clone(), Arc::downgrade(&queue));
        queue
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Weak<Queue>>> {
        // Nothing that is done under the lock can leave it half done.
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn front(queue: Arc<Queue>) -> Front {
    Front {
        _front: queue.front.clone().lock_owned().await,
        _queue: queue,
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn a_session_that_nobody_wants_costs_nothing() {
        let queues = Queues::default();
        for n in 0..10_000 {
            let session = SessionId::parse(format!("s{n}")).unwrap();
            drop(queues.wait(&session).now_or_never().unwrap());
        }
        assert!(queues.lock().len() < 100);
    }

    #[test]
    fn s7_one_who_waits_is_told_from_one_whose_work_goes_on() {
        let (queues, session) = (Queues::default(), SessionId::parse("s").unwrap());
        let (front, interest) = queues.wait(&session).now_or_never().unwrap();
        assert!(matches!(
            queues.wait_unwanted(&session).now_or_never(),
            Some(None)
        ));
        drop(interest);
        assert!(
            queues.wait_unwanted(&session).now_or_never().is_none(),
            "waits for the front"
        );
        drop(front);
        assert!(matches!(
            queues.wait_unwanted(&session).now_or_never(),
            Some(Some(_))
        ));
    }
}
