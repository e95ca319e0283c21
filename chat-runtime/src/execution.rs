//! The task that runs a responder for one turn: builds the context, polls what the responder gave, and tells the machine in
//! batches. All caller's code of a turn runs here, so that one which blocks or panics hurts nobody but its own turn.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
};

use chat_core::{
    ApprovalId, Control, Decision, Execution, Reply, ResponderError, ResponderEvent, Start,
    SteerId, SteerRefused, TurnRequest,
};
use futures_core::{Stream, future::BoxFuture, stream::BoxStream};
use futures_util::task::AtomicWaker;
use tokio_util::sync::CancellationToken;

use crate::shared::Shared;

/// How many events are taken from a responder before the machine is told.
const BATCH: usize = 256;

/// How many batches of what a failed responder's stream has ready are still taken (law T4).
const LAST_BATCHES: usize = 16;

/// What is asked of an execution while it goes on.
#[derive(Debug)]
pub(crate) enum Request {
    Answer {
        request: ApprovalId,
        decision: Decision,
    },
    Steer {
        ticket: SteerId,
        input: Arc<str>,
    },
    WithdrawSteer(SteerId),
}

/// Requests on their way to an execution.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    requests: Mutex<VecDeque<Request>>,
    waker: AtomicWaker,
}

impl Inbox {
    /// Adds a request; [`Self::wake`] is for when no lock is held.
    pub(crate) fn put(&self, request: Request) {
        self.requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push_back(request);
    }

    pub(crate) fn wake(&self) {
        self.waker.wake();
    }

    fn take(&self, cx: &Context<'_>) -> VecDeque<Request> {
        self.waker.register(cx.waker());
        std::mem::take(&mut *self.requests.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A responder's work as this task polls it.
struct Work {
    result: Option<BoxFuture<'static, Result<Reply, ResponderError>>>,
    events: Option<BoxStream<'static, Result<ResponderEvent, ResponderError>>>,
    control: Option<Arc<dyn Control>>,
    steers: Vec<(SteerId, BoxFuture<'static, Result<(), SteerRefused>>)>,
    reply: Option<Result<Reply, ResponderError>>,
}

/// What one round of polling came to, in the order the machine is told of it.
#[derive(Default)]
struct Round {
    steered: Vec<(SteerId, Result<(), SteerRefused>)>,
    events: Vec<ResponderEvent>,
    /// The events have ended in this round, or erred.
    ended: Option<Result<(), ResponderError>>,
    /// There may be more events ready.
    more: bool,
}

impl Round {
    fn is_empty(&self) -> bool {
        self.steered.is_empty() && self.events.is_empty() && self.ended.is_none()
    }
}

/// Runs one turn's responder to its end, or until it is aborted.
pub(crate) async fn execute(
    shared: Arc<Shared>,
    start: Start,
    cancel: CancellationToken,
    inbox: Arc<Inbox>,
) {
    // Whoever was woken by the turn's start may be waiting for this very thread: they go first, since what follows is caller's
    // code and may never yield.
    tokio::task::yield_now().await;
    let turn = start.turn_id.clone();
    let mut work = match guarded("the responder", || begin(&shared, start, cancel)) {
        Ok(execution) => Work::new(execution),
        Err(error) => {
            return shared.tell(|machine, now| machine.handle_result(now, &turn, Err(error)));
        }
    };
    if work.events.is_none() {
        shared.tell(|machine, now| machine.handle_events_ended(now, &turn, Ok(())));
    }
    let mut last_batches = LAST_BATCHES;
    let mut round = Round::default();
    loop {
        std::future::poll_fn(|cx| work.poll(cx, &inbox, &mut round)).await;
        let failed = matches!(work.reply, Some(Err(_))) || matches!(round.ended, Some(Err(_)));
        let done = if failed {
            !round.more || last_batches == 0
        } else {
            work.is_done()
        };
        last_batches -= usize::from(failed && !done);
        let reply = if done {
            Some(work.finish(&mut round))
        } else {
            None
        };
        if !round.is_empty() || reply.is_some() {
            shared.tell(|machine, now| {
                for (ticket, result) in round.steered.drain(..) {
                    machine.handle_steered(now, ticket, result);
                }
                machine.handle_events(now, &turn, round.events.drain(..));
                if let Some(ended) = round.ended.take() {
                    machine.handle_events_ended(now, &turn, ended);
                }
                if let Some(Some(reply)) = reply {
                    machine.handle_result(now, &turn, reply);
                }
            });
        }
        if done {
            return;
        }
        round.more = false;
        // Measured on tokio 1.54: a task that wakes another and then blocks its thread keeps that one in a slot nobody steals
        // from. Whoever the batch woke runs before caller's code is polled again.
        tokio::task::yield_now().await;
    }
}

fn begin(shared: &Shared, start: Start, cancel: CancellationToken) -> Execution {
    let Start {
        turn_id,
        root_turn_id,
        input,
        history,
        context,
    } = start;
    let messages = context
        .as_ref()
        .unwrap_or(&shared.services.context)
        .build(&history);
    let session_id = shared.id.clone();
    shared.services.responder.respond(TurnRequest {
        input,
        messages,
        cancel,
        session_id,
        turn_id,
        root_turn_id,
    })
}

impl Work {
    fn new(execution: Execution) -> Self {
        let Execution {
            result,
            events,
            control,
        } = execution;
        Self {
            result: Some(result),
            events,
            control,
            steers: Vec::new(),
            reply: None,
        }
    }

    /// Whether the reply is in and the events have ended.
    fn is_done(&self) -> bool {
        self.reply.is_some() && self.events.is_none()
    }

    /// Polls all there is to poll, until there is something to tell: requests, then steers, then events, then the result.
    fn poll(&mut self, cx: &mut Context<'_>, inbox: &Inbox, round: &mut Round) -> Poll<()> {
        let polled = guarded("the responder", || {
            for request in inbox.take(cx) {
                self.ask(request, round);
            }
            self.poll_steers(cx, round);
            self.poll_events(cx, round);
        });
        if let Err(error) = polled {
            self.fail(error);
        }
        if let Some(result) = &mut self.result {
            match guarded("the responder", || result.as_mut().poll(cx)) {
                Ok(Poll::Ready(reply)) => {
                    self.result = None;
                    self.reply = Some(reply);
                }
                Ok(Poll::Pending) => {}
                Err(error) => self.fail(error),
            }
        }
        let over = match &self.reply {
            Some(Ok(_)) => self.events.is_none(),
            Some(Err(_)) => true,
            None => false,
        };
        if over || !round.is_empty() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }

    /// The first failure decides (law T4).
    fn fail(&mut self, error: ResponderError) {
        self.result = None;
        if !matches!(self.reply, Some(Err(_))) {
            self.reply = Some(Err(error));
        }
    }

    fn ask(&mut self, request: Request, round: &mut Round) {
        match (request, &self.control) {
            (
                Request::Answer {
                    request,
                    decision: Decision::Approve,
                },
                Some(control),
            ) => control.approve(&request),
            (
                Request::Answer {
                    request,
                    decision: Decision::Deny(reason),
                },
                Some(control),
            ) => {
                control.deny(&request, reason);
            }
            // Who asks for approvals and can't hear the answer never goes on with them.
            (Request::Answer { .. }, None) => {}
            (Request::Steer { ticket, input }, Some(control)) => {
                self.steers.push((ticket, control.steer(input)))
            }
            (Request::Steer { ticket, .. }, None) => {
                round.steered.push((ticket, Err(SteerRefused::Unsupported)))
            }
            (Request::WithdrawSteer(ticket), _) => {
                // One that was taken meanwhile has been told as taken.
                if let Some(place) = self.steers.iter().position(|(of, _)| *of == ticket) {
                    drop(self.steers.swap_remove(place));
                    round
                        .steered
                        .push((ticket, Err(SteerRefused::ShuttingDown)));
                }
            }
        }
    }

    fn poll_steers(&mut self, cx: &mut Context<'_>, round: &mut Round) {
        self.steers
            .retain_mut(|(ticket, steer)| match steer.as_mut().poll(cx) {
                Poll::Ready(result) => {
                    round.steered.push((*ticket, result));
                    false
                }
                Poll::Pending => true,
            });
    }

    fn poll_events(&mut self, cx: &mut Context<'_>, round: &mut Round) {
        while let Some(events) = &mut self.events {
            if round.events.len() == BATCH {
                round.more = true;
                return;
            }
            match Pin::new(events).poll_next(cx) {
                Poll::Ready(Some(Ok(event))) => round.events.push(event),
                Poll::Ready(Some(Err(error))) => {
                    self.events = None;
                    round.ended = Some(Err(error));
                }
                Poll::Ready(None) => {
                    self.events = None;
                    round.ended = Some(Ok(()));
                }
                Poll::Pending => return,
            }
        }
    }

    /// Takes the execution apart, once all of it is in or has failed: steers are polled once more, then everything is dropped,
    /// where a panic fails the turn too (laws T4, T8). The result is told last.
    fn finish(&mut self, round: &mut Round) -> Option<Result<Reply, ResponderError>> {
        let reply = self.reply.take();
        let dropped = guarded("the responder", || {
            let mut cx = Context::from_waker(std::task::Waker::noop());
            self.poll_steers(&mut cx, round);
            self.steers.clear();
            (self.events, self.result, self.control) = (None, None, None);
        });
        match (reply, dropped) {
            (Some(Ok(_)), Err(error)) => Some(Err(error)),
            (reply, _) => reply,
        }
    }
}

/// Runs caller's code, and makes a panic an error.
fn guarded<T>(place: &str, run: impl FnOnce() -> T) -> Result<T, ResponderError> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|payload| {
        let error = ResponderError::panicked(place, &*payload);
        // A payload may panic when it is dropped; it has nothing left to say.
        std::mem::forget(payload);
        error
    })
}
