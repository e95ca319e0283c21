//! The task that runs a responder for one turn: builds the context, polls what the responder gave, and tells the machine in
//! batches. All caller's code of a turn runs here, so that one which blocks or panics hurts nobody but its own turn.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
};

use chat_core::{
    ApprovalId, Control, Decision, Execution, Reply, ResponderError, ResponderEvent, Start,
    SteerId, SteerRefused, TurnRequest,
};
use futures_core::{future::BoxFuture, stream::BoxStream};
use futures_util::task::AtomicWaker;
use tokio::task::coop;
use tokio_util::sync::CancellationToken;

use crate::{
    giving_way::{behind_others, giving_way},
    quietly::quietly,
    shared::Shared,
};

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
    // Whoever was woken by the turn's start goes first: what follows is caller's code and may never yield.
    behind_others().await;
    if cancel.is_cancelled() {
        // The turn ended before this task could be aborted: its responder is not to be called any more.
        return;
    }
    let turn = start.turn_id.clone();
    let mut work = match guarded(|| begin(&shared, start, cancel)) {
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
        giving_way(|cx| work.poll(cx, &inbox, &mut round)).await;
        let failed = work.has_failed() || matches!(round.ended, Some(Err(_)));
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
        // Theirs are the last references, dropped once the machine was told and the lock is free.
        let failures: Vec<ResponderError> = round
            .ended
            .iter()
            .filter_map(|ended| ended.as_ref().err())
            .chain(
                reply
                    .iter()
                    .flatten()
                    .filter_map(|reply| reply.as_ref().err()),
            )
            .cloned()
            .collect();
        for failure in &failures {
            shared.keep(&turn, failure);
        }
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
        quietly(|| drop(failures));
        if done {
            return;
        }
        round.more = false;
        // Whoever the batch woke runs before caller's code is polled again.
        behind_others().await;
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

    fn has_failed(&self) -> bool {
        matches!(self.reply, Some(Err(_)))
    }

    /// Polls all there is to poll, until there is something to tell: requests, then steers, then events, then the result.
    fn poll(&mut self, cx: &mut Context<'_>, inbox: &Inbox, round: &mut Round) -> Poll<()> {
        for request in inbox.take(cx) {
            self.ask(cx, request, round);
        }
        self.poll_steers(cx, round);
        self.poll_events(cx, round);
        self.poll_result(cx);
        if self.has_failed() || self.is_done() || !round.is_empty() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }

    fn ask(&mut self, cx: &mut Context<'_>, request: Request, round: &mut Round) {
        match request {
            Request::Answer { request, decision } => {
                // Who asks for approvals and can't hear the answer never goes on with them.
                if let Some(control) = self.control.clone() {
                    self.run(|| match decision {
                        Decision::Approve => control.approve(&request),
                        Decision::Deny(reason) => control.deny(&request, reason),
                    });
                }
            }
            Request::Steer { ticket, input } => match self.control.clone() {
                Some(control) => {
                    let steer = self.run(|| control.steer(input));
                    self.steers.extend(steer.map(|steer| (ticket, steer)));
                }
                None => round.steered.push((ticket, Err(SteerRefused::Unsupported))),
            },
            Request::WithdrawSteer(ticket) => {
                // One that was taken in the same moment is told as taken.
                self.poll_steers(cx, round);
                if let Some(place) = self.steers.iter().position(|(of, _)| *of == ticket) {
                    let (_, steer) = self.steers.remove(place);
                    self.run(|| drop(steer));
                    round
                        .steered
                        .push((ticket, Err(SteerRefused::ShuttingDown)));
                }
            }
        }
    }

    fn poll_steers(&mut self, cx: &mut Context<'_>, round: &mut Round) {
        for (ticket, mut steer) in std::mem::take(&mut self.steers) {
            match self.run(|| steer.as_mut().poll(cx)) {
                Some(Poll::Pending) => self.steers.push((ticket, steer)),
                Some(Poll::Ready(result)) => {
                    round.steered.push((ticket, result));
                    self.run(|| drop(steer));
                }
                // It panicked: the turn's end refuses it.
                None => {
                    self.run(|| drop(steer));
                }
            }
        }
    }

    fn poll_events(&mut self, cx: &mut Context<'_>, round: &mut Round) {
        let Some(mut events) = self.events.take() else {
            return;
        };
        let failed = self.has_failed();
        let going_on = self.run(|| {
            loop {
                if round.events.len() == BATCH {
                    round.more = true;
                    return true;
                }
                match events.as_mut().poll_next(cx) {
                    Poll::Ready(Some(Ok(event))) => round.events.push(event),
                    Poll::Ready(Some(Err(error))) => {
                        // The first failure decides.
                        round.ended = Some(if failed { Ok(()) } else { Err(error) });
                        return false;
                    }
                    Poll::Ready(None) => {
                        round.ended = Some(Ok(()));
                        return false;
                    }
                    Poll::Pending => {
                        // A stream that says so for want of budget may have more.
                        round.more = !coop::has_budget_remaining();
                        return true;
                    }
                }
            }
        });
        match going_on {
            Some(true) => self.events = Some(events),
            Some(false) | None => {
                self.run(|| drop(events));
            }
        }
    }

    fn poll_result(&mut self, cx: &mut Context<'_>) {
        let Some(mut result) = self.result.take() else {
            return;
        };
        match self.run(|| result.as_mut().poll(cx)) {
            Some(Poll::Pending) if !self.has_failed() => self.result = Some(result),
            Some(Poll::Ready(reply)) => {
                self.reply.get_or_insert(reply);
                self.run(|| drop(result));
            }
            Some(Poll::Pending) | None => {
                self.run(|| drop(result));
            }
        }
    }

    /// Takes the execution apart, once all of it is in or has failed: steers are polled once more, then everything is dropped,
    /// where a panic fails the turn too (laws T4, T8). The result is told last.
    fn finish(&mut self, round: &mut Round) -> Option<Result<Reply, ResponderError>> {
        self.poll_steers(&mut Context::from_waker(std::task::Waker::noop()), round);
        self.take_apart();
        self.reply.take()
    }

    /// Drops each part by itself: two that panic at once would end the process.
    fn take_apart(&mut self) {
        let (events, result, control) =
            (self.events.take(), self.result.take(), self.control.take());
        self.run(|| drop(events));
        self.run(|| drop(result));
        self.run(|| drop(control));
        for steer in std::mem::take(&mut self.steers) {
            self.run(|| drop(steer));
        }
    }

    /// Runs caller's code: a panic in it fails the turn. The first failure decides (law T4).
    fn run<T>(&mut self, run: impl FnOnce() -> T) -> Option<T> {
        match guarded(run) {
            Ok(value) => Some(value),
            Err(error) => {
                if !self.has_failed() {
                    self.reply = Some(Err(error));
                }
                None
            }
        }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.take_apart();
    }
}

/// Runs caller's code, and makes a panic an error.
fn guarded<T>(run: impl FnOnce() -> T) -> Result<T, ResponderError> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|payload| {
        let error = ResponderError::panicked("the responder", &*payload);
        // A payload may panic when it is dropped; it has nothing left to say.
        std::mem::forget(payload);
        error
    })
}
