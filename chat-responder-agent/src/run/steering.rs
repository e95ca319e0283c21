//! Input that a person adds while the run goes on: taken before the next model call of a step, refused where none will come
//! (laws T8, W5).
//!
//! A steer is taken in two steps, because whoever polls it has to learn of it before the run uses it: the step at its boundary
//! opens the **door**, and a steer that is polled while the door is open hands its input over.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use chat_core::SteerRefused;

use crate::workflow::Steers;

/// How many polls of the run a step waits at its boundary for steers to be polled. Where one task polls both, in whatever order,
/// each steer is polled between the door's opening and the second poll of the run behind it, but not always before the first.
const ROUNDS: u64 = 2;

#[derive(Debug, Default)]
pub(crate) struct Steering {
    state: Mutex<State>,
    /// What models have read.
    read: Steers,
}

#[derive(Debug, Default)]
struct State {
    /// Steers that were polled and not taken, in the order they came, each with who waits for it.
    waiting: Vec<(u64, Waker)>,
    next: u64,
    /// How many steps stand at their boundary with the door open, and who wakes them.
    doors: Vec<Waker>,
    open: usize,
    /// What was handed over and not used yet.
    taken: Vec<Arc<str>>,
    /// How often the run was polled.
    round: u64,
    refused: Option<SteerRefused>,
}

impl Steering {
    pub(crate) fn steer(self: &Arc<Self>, input: Arc<str>) -> Steer {
        Steer {
            steering: self.clone(),
            input,
            place: None,
        }
    }

    /// Counts a poll of the run, and lets the steps at a boundary look whether they have waited enough.
    pub(crate) fn begin_round(&self) {
        let doors = {
            let mut state = self.lock();
            state.round += 1;
            std::mem::take(&mut state.doors)
        };
        doors.into_iter().for_each(Waker::wake);
    }

    /// Whether a step waits at its boundary, so that the run has to be polled again once steers had their chance.
    pub(crate) fn is_open(&self) -> bool {
        self.lock().open > 0
    }

    /// The safe boundary: all input that is to be had now. Waits only where there are steers to be taken. Input that was taken
    /// and not used, since this was dropped, goes to the next step at its boundary.
    pub(crate) async fn boundary(&self) -> Vec<Arc<str>> {
        if let Some(mut door) = self.open_door() {
            std::future::poll_fn(|cx| door.poll(cx)).await;
        }
        let taken = std::mem::take(&mut self.lock().taken);
        self.read.extend(&taken);
        taken
    }

    /// What models have read so far.
    pub(crate) fn read(&self) -> &Steers {
        &self.read
    }

    /// Whether input was taken that no model has read.
    pub(crate) fn has_unread(&self) -> bool {
        !self.lock().taken.is_empty()
    }

    /// Refuses all that was not taken, now and from now on.
    pub(crate) fn refuse(&self, why: SteerRefused) {
        let waiting = {
            let mut state = self.lock();
            state.refused.get_or_insert(why);
            std::mem::take(&mut state.waiting)
        };
        waiting.into_iter().for_each(|(_, waker)| waker.wake());
    }

    fn open_door(&self) -> Option<Door<'_>> {
        let (since, waiting) = {
            let mut state = self.lock();
            if state.waiting.is_empty() {
                return None;
            }
            state.open += 1;
            // A steer that is polled leaves its waker anew.
            let wakers: Vec<_> = state
                .waiting
                .iter_mut()
                .map(|(_, waker)| std::mem::replace(waker, Waker::noop().clone()))
                .collect();
            (state.round, wakers)
        };
        waiting.into_iter().for_each(Waker::wake);
        Some(Door {
            steering: self,
            since,
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Wakers that panic leave nothing half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A step at its boundary.
struct Door<'a> {
    steering: &'a Steering,
    since: u64,
}

impl Door<'_> {
    fn poll(&mut self, cx: &Context<'_>) -> Poll<()> {
        let waker = cx.waker().clone();
        let mut state = self.steering.lock();
        if state.waiting.is_empty() || state.round >= self.since + ROUNDS {
            return Poll::Ready(());
        }
        state.doors.push(waker);
        Poll::Pending
    }
}

impl Drop for Door<'_> {
    fn drop(&mut self) {
        self.steering.lock().open -= 1;
    }
}

/// Input on offer. Dropped before it resolved, it was refused.
pub(crate) struct Steer {
    steering: Arc<Steering>,
    input: Arc<str>,
    place: Option<u64>,
}

impl Future for Steer {
    type Output = Result<(), SteerRefused>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let waker = cx.waker().clone();
        let mut state = this.steering.lock();
        if let Some(why) = &state.refused {
            return Poll::Ready(Err(why.clone()));
        }
        if state.open > 0 {
            let waited = this.place.take().and_then(|place| state.leave(place));
            state.taken.push(this.input.clone());
            drop(state);
            drop(waited);
            return Poll::Ready(Ok(()));
        }
        let place = *this.place.get_or_insert_with(|| {
            state.next += 1;
            state.next
        });
        let before = match state.waiting.iter_mut().find(|(of, _)| *of == place) {
            Some((_, before)) => Some(std::mem::replace(before, waker)),
            None => {
                state.waiting.push((place, waker));
                None
            }
        };
        drop(state);
        drop(before);
        Poll::Pending
    }
}

impl State {
    fn leave(&mut self, place: u64) -> Option<Waker> {
        let at = self.waiting.iter().position(|(of, _)| *of == place)?;
        Some(self.waiting.remove(at).1)
    }
}

impl Drop for Steer {
    fn drop(&mut self) {
        let waker = self
            .place
            .take()
            .and_then(|place| self.steering.lock().leave(place));
        drop(waker);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn steering() -> Arc<Steering> {
        Arc::new(Steering::default())
    }

    #[test]
    fn w5_a_steer_is_used_only_once_whoever_polls_it_has_learned_that_it_was_taken() {
        let steering = steering();
        let mut steer = steering.steer("one".into());
        assert!((&mut steer).now_or_never().is_none());
        let mut boundary = Box::pin(steering.boundary());
        assert!((&mut boundary).now_or_never().is_none());
        assert!(matches!((&mut steer).now_or_never(), Some(Ok(()))));
        assert_eq!(boundary.now_or_never().unwrap(), ["one".into()]);
        assert!(!steering.is_open());
    }

    #[test]
    fn w5_one_that_is_not_polled_waits_for_the_next_boundary_and_no_step_waits_for_it() {
        let steering = steering();
        let mut steer = steering.steer("one".into());
        assert!((&mut steer).now_or_never().is_none());
        let mut boundary = Box::pin(steering.boundary());
        for _ in 0..ROUNDS {
            assert!((&mut boundary).now_or_never().is_none());
            steering.begin_round();
        }
        assert!(boundary.now_or_never().unwrap().is_empty());
        assert!((&mut steer).now_or_never().is_none());
        steering.refuse(SteerRefused::ReplyIn);
        assert!(matches!(
            steer.now_or_never(),
            Some(Err(SteerRefused::ReplyIn))
        ));
    }

    #[test]
    fn t8_one_that_was_dropped_was_refused() {
        let steering = steering();
        let mut steer = steering.steer("one".into());
        assert!((&mut steer).now_or_never().is_none());
        drop(steer);
        drop(steering.steer("two".into()));
        assert!(steering.boundary().now_or_never().unwrap().is_empty());
    }

    #[test]
    fn w5_what_a_step_took_and_did_not_use_goes_to_the_next() {
        let steering = steering();
        let mut steer = steering.steer("one".into());
        assert!((&mut steer).now_or_never().is_none());
        let mut boundary = Box::pin(steering.boundary());
        assert!((&mut boundary).now_or_never().is_none());
        assert!(matches!((&mut steer).now_or_never(), Some(Ok(()))));
        drop(boundary);
        assert!(steering.has_unread());
        assert_eq!(steering.boundary().now_or_never().unwrap(), ["one".into()]);
        assert!(!steering.has_unread());
    }
}
