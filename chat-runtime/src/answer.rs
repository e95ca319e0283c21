//! A value that is given once and may be asked for by any number of tasks.
//!
//! Giving it wakes nobody by itself: the wakers are handed back, to be woken once no lock is held.

use std::{
    collections::BTreeMap,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, Waker},
};

/// A value to come. Clones share it.
#[derive(Debug)]
pub(crate) struct Answer<T>(Arc<Mutex<State<T>>>);

#[derive(Debug)]
struct State<T> {
    value: Option<T>,
    wakers: BTreeMap<u64, Waker>,
    next: u64,
}

impl<T> Clone for Answer<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: Clone> Answer<T> {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(State {
            value: None,
            wakers: BTreeMap::new(),
            next: 0,
        })))
    }

    /// Gives the value, and back who waits for it. The first value stands.
    pub(crate) fn give(&self, value: T) -> impl Iterator<Item = Waker> + use<T> {
        let mut state = self.lock();
        state.value.get_or_insert(value);
        std::mem::take(&mut state.wakers).into_values()
    }

    /// The value, where it is there.
    pub(crate) fn get(&self) -> Option<T> {
        self.lock().value.clone()
    }

    /// Waits for the value.
    pub(crate) fn wait(&self) -> Wait<T> {
        Wait {
            answer: self.clone(),
            place: None,
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State<T>> {
        // Nothing that can panic runs under this lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for an [`Answer`]; dropping it gives up the wait and nothing else.
#[derive(Debug)]
pub(crate) struct Wait<T: Clone> {
    answer: Answer<T>,
    place: Option<u64>,
}

impl<T: Clone> Future for Wait<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let answer = self.answer.clone();
        // A waker is caller's code: cloned before there is a lock, and the one from before dropped behind it.
        let waker = cx.waker().clone();
        let mut state = answer.lock();
        if let Some(value) = &state.value {
            return Poll::Ready(value.clone());
        }
        let place = *self.place.get_or_insert_with(|| {
            state.next += 1;
            state.next
        });
        let before = state.wakers.insert(place, waker);
        drop(state);
        drop(before);
        Poll::Pending
    }
}

impl<T: Clone> Drop for Wait<T> {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            // The waker is caller's code: dropped once the lock is free.
            let _waker = self.answer.lock().wakers.remove(&place);
        }
    }
}
