//! Holds in the order they were asked for. Nobody is woken who does not get one.

use std::{collections::VecDeque, mem};

use futures_channel::oneshot;

use super::MemoryStore;
use crate::{SessionId, StoreError};

/// Who has the hold on one journal, and who waits for it.
#[derive(Debug, Default)]
pub(super) struct Queue {
    held: bool,
    /// Those who wait, and places that were given up since.
    waiting: VecDeque<oneshot::Sender<Hold>>,
}

impl Queue {
    /// Whether someone has the hold; nobody waits where nobody does.
    pub(super) fn is_held(&self) -> bool {
        self.held
    }
}

/// The right to write one journal. Dropped, it goes to whoever waited longest; a hold that was granted to a future which is
/// dropped before it was polled again is dropped with it, and goes on likewise.
#[derive(Debug)]
pub(super) struct Hold {
    pub(super) store: MemoryStore,
    pub(super) session: SessionId,
    /// Handed to another: this value stands for nothing any more.
    passed_on: bool,
}

impl MemoryStore {
    /// Waits for the hold on a session. The place in the queue is taken when this is first polled, and given up when it is
    /// dropped.
    pub(super) async fn hold(&self, session: &SessionId) -> Result<Hold, StoreError> {
        let receiver = {
            let mut journals = self.lock();
            let queue = &mut journals.journal_mut(session)?.queue;
            if mem::replace(&mut queue.held, true) {
                let (sender, receiver) = oneshot::channel();
                queue.waiting.push_back(sender);
                Some(receiver)
            } else {
                None
            }
        };
        match receiver {
            // The sender goes unused only with its journal.
            Some(receiver) => receiver.await.map_err(|_| StoreError::Missing {
                session: session.clone(),
            }),
            None => Ok(Hold::new(self, session)),
        }
    }
}

impl Hold {
    fn new(store: &MemoryStore, session: &SessionId) -> Self {
        Self {
            store: store.clone(),
            session: session.clone(),
            passed_on: false,
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        while !self.passed_on {
            let next = {
                let mut journals = self.store.lock();
                let Ok(journal) = journals.journal_mut(&self.session) else {
                    return;
                };
                let next = journal.queue.waiting.pop_front();
                journal.queue.held = next.is_some();
                next
            };
            let Some(next) = next else { return };
            // Sent with the lock free: it wakes the one who waits, and a refused hold is dropped here.
            match next.send(Hold::new(&self.store, &self.session)) {
                Ok(()) => self.passed_on = true,
                // Whoever waited there has given up: the hold is still this one.
                Err(mut refused) => refused.passed_on = true,
            }
        }
    }
}
