//! How a task that runs caller's code gives way, so that whoever it woke never waits behind code that blocks its thread.
//!
//! Measured on tokio 1.54, each of two places of a worker thread is emptied by that worker alone: the slot of the task it woke
//! last, and the list of tasks that `tokio::task::yield_now` or a spent budget put off. What waits there when caller's code
//! blocks the thread, waits for as long. A task that wakes itself waits in the queue that other workers take from.

use std::task::{Context, Poll};

use tokio::task::coop;

/// Goes to the back of the worker's queue: all that was woken before runs first, and any worker may run this next.
pub(crate) async fn behind_others() {
    let mut yielded = false;
    std::future::poll_fn(|cx| {
        if std::mem::replace(&mut yielded, true) {
            Poll::Ready(())
        } else {
            cx.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await;
}

/// Polls caller's code until it is ready. After each wake, those that were woken with it go first.
pub(crate) async fn giving_way<T>(mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>) -> T {
    loop {
        let polled = std::future::poll_fn(|cx| {
            let polled = poll(cx);
            if polled.is_pending() && !coop::has_budget_remaining() {
                cx.waker().wake_by_ref();
            }
            Poll::Ready(polled)
        })
        .await;
        match polled {
            Poll::Ready(value) => return value,
            Poll::Pending => {
                woken().await;
                behind_others().await;
            }
        }
    }
}

/// Resolves when the task is polled again.
async fn woken() {
    let mut polled = false;
    std::future::poll_fn(|_| {
        if std::mem::replace(&mut polled, true) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
}
