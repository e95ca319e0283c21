//! A run's events on their way to whoever reads them.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use chat_core::{ResponderEvent, TraceTree};
use futures_util::{Stream, task::AtomicWaker};

/// Events that one reader has not read yet.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    queue: Mutex<Queue>,
    waker: AtomicWaker,
    /// Whoever reads them closes what they leave open, as a turn does, and has an order for it.
    of_turn: bool,
}

#[derive(Debug, Default)]
struct Queue {
    events: VecDeque<ResponderEvent>,
    /// None will come, or nobody reads them.
    ended: bool,
}

impl EventQueue {
    pub(crate) fn of_turn() -> Self {
        Self {
            of_turn: true,
            ..Self::default()
        }
    }

    pub(crate) fn push(&self, event: ResponderEvent) {
        {
            let mut queue = self.lock();
            if queue.ended {
                return;
            }
            queue.events.push_back(event);
        }
        self.waker.wake();
    }

    /// Takes no more events, but for the trace of a run that was stopped. What is there can still be read.
    pub(crate) fn end(&self, aborted: Option<&TraceTree>) {
        {
            let mut queue = self.lock();
            if let Some(tree) = aborted.filter(|_| !self.of_turn && !queue.ended) {
                let last = ResponderEvent::RunUpdate(tree.clone());
                queue.events.push_back(last);
            }
            queue.ended = true;
        }
        self.waker.wake();
    }

    /// Whether it takes no more events: the run has ended, or its reader has left.
    pub(crate) fn has_ended(&self) -> bool {
        self.lock().ended
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        // Nothing that can panic runs under this lock.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The events of a [`Run`](crate::Run) as it makes them. They wait here until they are read; dropping it forgets them.
#[derive(Debug)]
pub struct RunEvents(pub(crate) Arc<EventQueue>);

impl RunEvents {
    /// The next event that is there.
    pub(crate) fn pop(&self) -> Option<ResponderEvent> {
        self.0.lock().events.pop_front()
    }
}

impl Stream for RunEvents {
    type Item = ResponderEvent;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<ResponderEvent>> {
        // Registered first, or an event that comes in between would wake nobody.
        self.0.waker.register(cx.waker());
        let mut queue = self.0.lock();
        match queue.events.pop_front() {
            Some(event) => Poll::Ready(Some(event)),
            None if queue.ended => Poll::Ready(None),
            None => Poll::Pending,
        }
    }
}

impl Drop for RunEvents {
    fn drop(&mut self) {
        let unread = {
            let mut queue = self.0.lock();
            queue.ended = true;
            std::mem::take(&mut queue.events)
        };
        drop(unread);
    }
}
