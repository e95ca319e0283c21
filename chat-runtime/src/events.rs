//! One turn's events as its one reader gets them.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use chat_core::{ChatEvent, EventLog};
use futures_core::Stream;

/// A turn's events are read by one reader, and there is one already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this turn's events are already being read; they can be read once")]
pub struct EventsTaken;

/// The log of one turn's events, with its reader.
#[derive(Debug, Default)]
pub(crate) struct Log(Mutex<Reading>);

#[derive(Debug, Default)]
pub(crate) struct Reading {
    log: EventLog,
    waker: Option<Waker>,
    taken: bool,
    ended: bool,
}

impl Log {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Reading> {
        // Nothing that can panic runs under this lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nobody will ask for the events any more: they are kept only where somebody already has.
    pub(crate) fn give_up(&self) {
        let mut reading = self.lock();
        if !reading.taken {
            reading.log.close();
        }
    }
}

impl Reading {
    /// Adds an event, and gives back who waits for one.
    pub(crate) fn push(&mut self, event: ChatEvent) -> Option<Waker> {
        self.ended |= matches!(event, ChatEvent::TurnEnd { .. });
        self.log.push(event);
        self.waker.take()
    }

    fn take(&mut self) -> Result<(), EventsTaken> {
        if std::mem::replace(&mut self.taken, true) {
            Err(EventsTaken)
        } else {
            Ok(())
        }
    }
}

/// A turn's events from the start, however late they are read. Ends after `turn-end`.
///
/// Cancel-safe: dropping a pending `next` loses no event. Dropping the stream changes nothing about the turn.
#[derive(Debug)]
pub struct TurnEvents {
    log: Arc<Log>,
    ready: VecDeque<ChatEvent>,
}

impl TurnEvents {
    pub(crate) fn take(log: &Arc<Log>) -> Result<Self, EventsTaken> {
        log.lock().take()?;
        Ok(Self {
            log: log.clone(),
            ready: VecDeque::new(),
        })
    }

    /// The next event; `None` after `turn-end`.
    pub async fn next(&mut self) -> Option<ChatEvent> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }
}

impl Stream for TurnEvents {
    type Item = ChatEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<ChatEvent>> {
        if let Some(event) = self.ready.pop_front() {
            return Poll::Ready(Some(event));
        }
        let log = self.log.clone();
        // A waker is caller's code: cloned before there is a lock, and the one from before dropped behind it.
        let waker = cx.waker().clone();
        let mut reading = log.lock();
        // All there is, in one go: the writer is held up once for many events.
        self.ready = reading.log.take();
        match self.ready.pop_front() {
            Some(event) => Poll::Ready(Some(event)),
            None if reading.ended => Poll::Ready(None),
            None => {
                let before = reading.waker.replace(waker);
                drop(reading);
                drop(before);
                Poll::Pending
            }
        }
    }
}

impl Drop for TurnEvents {
    fn drop(&mut self) {
        self.log.lock().log.close();
    }
}

/// Only the text of a turn, piece by piece. It is the turn's one event stream; why a turn has no reply is told by its result.
#[derive(Debug)]
pub struct TurnText(pub(crate) TurnEvents);

impl TurnText {
    /// The next piece; `None` once the turn ended.
    pub async fn next(&mut self) -> Option<Arc<str>> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }
}

impl Stream for TurnText {
    type Item = Arc<str>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Arc<str>>> {
        loop {
            match std::task::ready!(Pin::new(&mut self.0).poll_next(cx)) {
                Some(ChatEvent::TextDelta { text, .. }) => return Poll::Ready(Some(text)),
                Some(_) => {}
                None => return Poll::Ready(None),
            }
        }
    }
}
