//! Caller's code: a panic in it becomes an error that names what panicked, and one in its drop ends there.

use std::{
    ops::Deref,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll},
};

use chat_core::ResponderError;
use futures_util::future::BoxFuture;

/// Runs caller's code. `place` says what it is, such as "the prompt of step draft".
pub(crate) fn caught<T>(
    place: impl FnOnce() -> String,
    run: impl FnOnce() -> T,
) -> Result<T, ResponderError> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|payload| {
        let error = ResponderError::panicked(&place(), &*payload);
        // A payload may panic when it is dropped; it has nothing left to say.
        std::mem::forget(payload);
        error
    })
}

/// Runs caller's code that nobody waits for.
pub(crate) fn quietly(run: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(run)) {
        std::mem::forget(payload);
    }
}

/// What a caller made, such as a stream: a panic in its drop ends there.
pub(crate) struct QuietDrop<T>(pub(crate) Option<T>);

impl<T> QuietDrop<T> {
    pub(crate) fn new(held: T) -> Self {
        Self(Some(held))
    }
}

impl<T> Deref for QuietDrop<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect("it is held until it is let go")
    }
}

impl<T> Drop for QuietDrop<T> {
    fn drop(&mut self) {
        let held = self.0.take();
        quietly(|| drop(held));
    }
}

/// A caller's future, which is dropped as soon as it is done or has panicked.
pub(crate) struct Caught<T, P> {
    work: QuietDrop<BoxFuture<'static, T>>,
    place: P,
}

impl<T, P: Fn() -> String> Caught<T, P> {
    pub(crate) fn new(work: BoxFuture<'static, T>, place: P) -> Self {
        Self {
            work: QuietDrop(Some(work)),
            place,
        }
    }
}

impl<T, P: Fn() -> String + Unpin> Future for Caught<T, P> {
    type Output = Result<T, ResponderError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let Some(work) = &mut this.work.0 else {
            return Poll::Pending;
        };
        let output = match caught(&this.place, || work.as_mut().poll(cx)) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(output)) => Ok(output),
            Err(panicked) => Err(panicked),
        };
        this.work = QuietDrop(None);
        Poll::Ready(output)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    struct PanicsInDrop;

    impl Drop for PanicsInDrop {
        fn drop(&mut self) {
            panic!("gone badly");
        }
    }

    fn task<T: 'static>(
        work: impl Future<Output = T> + Send + 'static,
    ) -> Caught<T, impl Fn() -> String> {
        Caught::new(work.boxed(), || "the task count".to_owned())
    }

    #[test]
    fn a_panic_names_what_panicked() {
        let error = task(async { panic!("no {}", "luck") })
            .now_or_never()
            .unwrap()
            .map(|(): ()| ())
            .unwrap_err();
        assert_eq!(error.message(), "the task count panicked: no luck");
        assert_eq!(error.kind(), "panic");
    }

    #[test]
    fn a_panic_in_a_drop_ends_there() {
        let held = PanicsInDrop;
        drop(task(async move {
            let _held = held;
            std::future::pending::<()>().await;
        }));
        let held = PanicsInDrop;
        let done = task(async move {
            std::mem::forget(held);
            7
        });
        assert_eq!(done.now_or_never().unwrap().unwrap(), 7);
    }
}
