//! Runs a workflow: one future made of nested futures. It spawns nothing, so that dropping it stops all of it.

mod approvals;
mod at_work;
mod call;
mod call_ids;
mod caught;
mod clock;
mod control;
mod events;
mod idempotency;
mod leaf;
mod names;
mod node;
mod nodes;
mod open_call;
mod open_tool;
mod options;
mod plan;
mod spend;
mod start;
mod state;
mod steering;
mod step;
mod tools;

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use chat_core::{Control, Metadata, ResponderError, RunResult, SteerRefused};
use futures_util::{FutureExt as _, future::BoxFuture};

pub(crate) use caught::caught;
pub(crate) use events::EventQueue;
pub use events::RunEvents;
pub use options::{RunIds, RunOptions};

use self::{caught::quietly, clock::RunsOut, control::RunControl, leaf::out_of_time, state::State};

/// One execution of a workflow: a future that does nothing unless it is polled, and stops all it does when it is dropped.
///
/// It resolves with what the steps gave, or why the run failed. [`Node::start`](crate::Node::start) makes one.
#[must_use = "a run does nothing unless it is polled"]
pub struct Run {
    state: Arc<State>,
    /// The workflow at work; `None` once it has ended.
    work: Option<BoxFuture<'static, Result<(), ResponderError>>>,
    /// Resolves when any of its signals has fired.
    canceled: BoxFuture<'static, ()>,
    run_out: Option<RunsOut>,
}

impl Run {
    /// The run's events from now on: take them before the run is first polled to have all. Each call gives them once more. They
    /// end with the run. Where that failed or was dropped, the last one is the trace with all that was open aborted; what else
    /// they left open is closed by their end.
    #[must_use]
    pub fn events(&self) -> RunEvents {
        let queue = Arc::new(EventQueue::default());
        if self.work.is_none() {
            queue.end(None);
        }
        self.state.add_reader(queue.clone());
        RunEvents(queue)
    }

    /// What can be asked of the run while it goes on: answers to its approval requests, and steering. Where the run answers a
    /// turn, answer through the turn: it alone knows what is pending (law R2).
    #[must_use]
    pub fn control(&self) -> Arc<dyn Control> {
        Arc::new(RunControl(self.state.clone()))
    }

    /// How it is answered so far: which model, where all calls asked the same; the tokens used; why the last call stopped.
    #[must_use]
    pub fn metadata(&self) -> Metadata {
        self.state.metadata()
    }

    /// Whether whoever has this queue is told of the run.
    pub(crate) fn tells(&self, queue: &Arc<EventQueue>) -> bool {
        self.state.tells(queue)
    }

    /// Whether a step waits for steers to be taken. It goes on after the next polls.
    pub(crate) fn waits_for_steers(&self) -> bool {
        self.state.steering.is_open()
    }

    fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ResponderError>> {
        let Some(work) = &mut self.work else {
            let ended = "the run was polled after it had ended";
            return Poll::Ready(Err(ResponderError::new(ended)));
        };
        // The signal first: a run that is not wanted does nothing more.
        if self.canceled.poll_unpin(cx).is_ready() {
            let canceled = ResponderError::new("the run was canceled").with_kind("canceled");
            return Poll::Ready(Err(canceled));
        }
        self.state.steering.begin_round();
        let polled = caught(|| "the run".to_owned(), || work.poll_unpin(cx));
        if let Some(failure) = self.state.failure() {
            return Poll::Ready(Err(failure));
        }
        match polled {
            Ok(Poll::Ready(result)) => return Poll::Ready(result.and_then(|()| self.all_read())),
            Ok(Poll::Pending) => {}
            Err(panicked) => return Poll::Ready(Err(panicked)),
        }
        if let Some(run_out) = &mut self.run_out
            && run_out.poll_unpin(cx).is_ready()
        {
            let at_work = self.state.at_work(None);
            return Poll::Ready(Err(out_of_time("the run", run_out.limit(), &at_work)));
        }
        if self.waits_for_steers() {
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }

    /// A steer that was taken is kept: the run must not end well as if nobody had said it.
    fn all_read(&self) -> Result<(), ResponderError> {
        if !self.state.steering.has_unread() {
            return Ok(());
        }
        let unread =
            "a steer was taken, and the step that was to read it ended before its model was asked";
        Err(ResponderError::new(unread).with_kind("steer-unread"))
    }

    /// Ends it, and drops what is still at work, which says nothing any more.
    fn end(&mut self, result: Result<(), ResponderError>) -> Result<RunResult, ResponderError> {
        self.state.end(result.is_err());
        let work = self.work.take();
        quietly(|| drop(work));
        self.state.steering.refuse(match result {
            Ok(()) => SteerRefused::ReplyIn,
            Err(_) => SteerRefused::Ended,
        });
        result.map(|()| self.state.result())
    }
}

impl Future for Run {
    type Output = Result<RunResult, ResponderError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let result = ready!(this.poll_end(cx));
        Poll::Ready(this.end(result))
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if self.work.is_some() {
            let dropped = ResponderError::new("the run was dropped");
            let _ = self.end(Err(dropped));
        }
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run")
            .field("ids", &self.state.ids)
            .field("ended", &self.work.is_none())
            .finish_non_exhaustive()
    }
}
