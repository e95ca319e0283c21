//! How long to wait, and for what: one timer, moved on from wait to wait.

use std::{
    pin::{Pin, pin},
    time::Duration,
};

use futures_util::future::{Either, select};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::TimeoutKind;

/// The one timer of an answer. From piece to piece it is only moved on, which costs far less than a new one for each.
pub(crate) type Timer = Option<Pin<Box<Sleep>>>;

/// Until when to wait, and for what.
#[derive(Clone, Copy)]
pub(crate) struct Limit {
    pub(crate) at: Instant,
    pub(crate) which: TimeoutKind,
    pub(crate) limit: Duration,
}

/// The moment so far from now, and how far that is.
pub(crate) fn from_now(limit: Option<Duration>) -> Option<(Instant, Duration)> {
    let limit = limit?;
    // A limit too far away for the clock is none.
    Some((Instant::now().checked_add(limit)?, limit))
}

/// What a future gives, where it does so in time. Cancel-safe as the future is.
pub(crate) async fn within<F: Future>(
    timer: &mut Timer,
    limit: Option<Limit>,
    future: F,
) -> Result<F::Output, Limit> {
    let Some(limit) = limit else {
        return Ok(future.await);
    };
    let timer = timer.get_or_insert_with(|| Box::pin(sleep_until(limit.at)));
    timer.as_mut().reset(limit.at);
    match select(pin!(future), timer).await {
        Either::Left((output, _)) => Ok(output),
        Either::Right(_) => Err(limit),
    }
}
