//! A responder that does only what the test lets it do: every step of every call waits for a word. It answers nothing by itself.

use std::{
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    task::{Context, Poll, ready},
};

use chat_core::{
    ApprovalId, Control, Decision, Execution, Reply, Responder, ResponderError, ResponderEvent,
    ResponderInfo, SteerRefused, TurnRequest,
};
use futures_util::{Stream, future::BoxFuture};
use tokio::sync::{
    mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    oneshot,
};

/// A [`Responder`] whose every answer is played by a test through its [`ResponderScript`]. Clones are the same responder.
///
/// ```
/// use chat_conformance::ScriptedResponder;
/// use chat_core::{Reply, Responder};
///
/// # async fn a_test(request: chat_core::TurnRequest) {
/// let (responder, mut script) = ScriptedResponder::new();
/// let execution = responder.respond(request);    // a runtime does this
///
/// let mut call = script.next_call().await;
/// call.text("Hel");
/// call.text("lo");
/// call.reply(Reply::streamed());                 // the turn goes on: its events have not ended
/// call.end_events();
///
/// drop(execution);
/// call.dropped().await;
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct ScriptedResponder {
    info: ResponderInfo,
    calls: UnboundedSender<ResponderCall>,
    planned: Arc<Mutex<Option<Disturbance>>>,
}

/// The test's side of a [`ScriptedResponder`]: the calls that reach it, in order.
#[derive(Debug)]
pub struct ResponderScript {
    calls: UnboundedReceiver<ResponderCall>,
    planned: Arc<Mutex<Option<Disturbance>>>,
}

/// One call of a [`ScriptedResponder`]. What is said here is queued for the execution, which tells it as it is polled.
///
/// Dropping it ends the events and, where no reply was given, fails the result, so that a test that failed hangs nobody.
#[derive(Debug)]
pub struct ResponderCall {
    request: TurnRequest,
    events: Option<UnboundedSender<Step<Result<ResponderEvent, ResponderError>>>>,
    result: UnboundedSender<Step<Result<Reply, ResponderError>>>,
    steers: UnboundedReceiver<SteerOffer>,
    answers: UnboundedReceiver<(ApprovalId, Decision)>,
    /// Ends once every part of the execution is gone.
    alive: UnboundedReceiver<()>,
    panics_when_dropped: Arc<AtomicBool>,
}

/// A part of a [`ResponderCall`] that a test can make panic or block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Where the events are polled, behind what was said before.
    Events,
    /// Where the result is polled.
    Result,
}

/// A thread that waits, in caller's code, for the test. Dropping this lets it go.
#[derive(Debug)]
pub struct Blocked {
    reached: oneshot::Receiver<()>,
    _go_on: mpsc::Sender<()>,
}

/// Input that was offered to a [`ResponderCall`]: take it or refuse it. Dropping it refuses it.
#[derive(Debug)]
pub struct SteerOffer {
    input: Arc<str>,
    answer: oneshot::Sender<Result<(), SteerRefused>>,
}

/// What a part of an execution does when it is polled next.
#[derive(Debug)]
enum Step<T> {
    Say(T),
    Disturb(Disturbance),
}

#[derive(Debug)]
enum Disturbance {
    Panic,
    Block(Stop),
}

/// The blocking side of a [`Blocked`].
#[derive(Debug)]
struct Stop {
    reached: oneshot::Sender<()>,
    go_on: mpsc::Receiver<()>,
}

impl ScriptedResponder {
    /// A responder, and its script.
    #[must_use]
    pub fn new() -> (Self, ResponderScript) {
        let (sender, calls) = unbounded_channel();
        let planned = Arc::default();
        let script = ResponderScript {
            calls,
            planned: Arc::clone(&planned),
        };
        let responder = Self {
            info: ResponderInfo::default(),
            calls: sender,
            planned,
        };
        (responder, script)
    }

    /// Says who it is.
    #[must_use]
    pub fn with_info(self, info: ResponderInfo) -> Self {
        Self { info, ..self }
    }
}

impl Responder for ScriptedResponder {
    fn respond(&self, request: TurnRequest) -> Execution {
        let (events, event_steps) = unbounded_channel();
        let (result, result_steps) = unbounded_channel();
        let (steer_sender, steers) = unbounded_channel();
        let (answer_sender, answers) = unbounded_channel();
        let (life, alive) = unbounded_channel();
        let panics_when_dropped = Arc::new(AtomicBool::new(false));
        let part = || Part {
            _life: life.clone(),
            panics_when_dropped: panics_when_dropped.clone(),
        };
        let execution = Execution::new(ScriptedResult {
            steps: result_steps,
            _part: part(),
        })
        .with_events(ScriptedEvents {
            steps: event_steps,
            _part: part(),
        })
        .with_control(Arc::new(ScriptedControl {
            steers: steer_sender,
            answers: answer_sender,
            _part: part(),
        }));
        let call = ResponderCall {
            request,
            events: Some(events),
            result,
            steers,
            answers,
            alive,
            panics_when_dropped,
        };
        // A script that is gone plays nothing: the call is dropped, which fails it.
        let _ = self.calls.send(call);
        let planned = self
            .planned
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(planned) = planned {
            planned.happen("respond");
        }
        execution
    }

    fn info(&self) -> ResponderInfo {
        self.info.clone()
    }
}

impl ResponderScript {
    /// Waits for the next call of `respond`. Cancel-safe.
    ///
    /// # Panics
    /// Where the responder is gone: no call will come.
    pub async fn next_call(&mut self) -> ResponderCall {
        self.calls
            .recv()
            .await
            .expect("the responder is still there")
    }

    /// A call that has come already, where there is one.
    pub fn try_next_call(&mut self) -> Option<ResponderCall> {
        self.calls.try_recv().ok()
    }

    /// The next `respond` panics, once its call has been handed over.
    pub fn panic_in_respond(&self) {
        self.plan(Disturbance::Panic);
    }

    /// The next `respond` blocks its thread, once its call has been handed over.
    #[must_use = "dropping it lets the thread go on"]
    pub fn block_respond(&self) -> Blocked {
        let (blocked, stop) = Blocked::new();
        self.plan(Disturbance::Block(stop));
        blocked
    }

    fn plan(&self, planned: Disturbance) {
        *self.planned.lock().unwrap_or_else(PoisonError::into_inner) = Some(planned);
    }
}

impl ResponderCall {
    /// What was asked.
    #[must_use]
    pub fn request(&self) -> &TurnRequest {
        &self.request
    }

    /// Streams a piece of text.
    pub fn text(&self, text: impl Into<Arc<str>>) {
        self.event(ResponderEvent::text(text));
    }

    /// Streams an event. Said after [`Self::end_events`], or to an execution that is gone, it reaches nobody.
    pub fn event(&self, event: ResponderEvent) {
        self.step(Step::Say(Ok(event)));
    }

    /// Ends the events, behind what was said before.
    pub fn end_events(&mut self) {
        self.events = None;
    }

    /// The events err, behind what was said before.
    pub fn fail_events(&self, error: ResponderError) {
        self.step(Step::Say(Err(error)));
    }

    /// Gives the reply. The events go on until they are ended.
    pub fn reply(&self, reply: Reply) {
        self.settle(Step::Say(Ok(reply)));
    }

    /// Ends the events and gives the reply.
    pub fn finish(&mut self, reply: Reply) {
        self.end_events();
        self.reply(reply);
    }

    /// Rejects the result.
    pub fn fail(&self, error: ResponderError) {
        self.settle(Step::Say(Err(error)));
    }

    /// Panics in this place, once it has come so far.
    pub fn panic_in(&self, place: Place) {
        self.disturb(place, Disturbance::Panic);
    }

    /// Makes each part of the execution (events, result, control) panic when it is dropped. A runtime that lets one of these
    /// panics begin while another unwinds ends the process.
    pub fn panic_when_dropped(&self) {
        self.panics_when_dropped.store(true, Ordering::SeqCst);
    }

    /// Blocks the thread that polls this place, once it has come so far. What is said meanwhile comes behind.
    #[must_use = "dropping it lets the thread go on"]
    pub fn block(&self, place: Place) -> Blocked {
        let (blocked, stop) = Blocked::new();
        self.disturb(place, Disturbance::Block(stop));
        blocked
    }

    /// Waits for input that is offered. Cancel-safe.
    ///
    /// # Panics
    /// Where the execution is dropped before: nothing will be offered.
    pub async fn steer_offered(&mut self) -> SteerOffer {
        self.next_steer()
            .await
            .expect("the execution is still there")
    }

    /// Waits for input that is offered; `None` once the execution is dropped. Cancel-safe.
    pub async fn next_steer(&mut self) -> Option<SteerOffer> {
        self.steers.recv().await
    }

    /// Waits for a person's answer to an approval request. Cancel-safe.
    ///
    /// # Panics
    /// Where the execution's control is gone: no answer will come.
    pub async fn answered(&mut self) -> (ApprovalId, Decision) {
        self.answers
            .recv()
            .await
            .expect("the execution is still there")
    }

    /// An answer that has come already, where there is one.
    pub fn try_answered(&mut self) -> Option<(ApprovalId, Decision)> {
        self.answers.try_recv().ok()
    }

    /// Waits until the turn's cancellation signal has fired. Cancel-safe.
    pub async fn signaled(&self) {
        self.request.cancel.cancelled().await;
    }

    /// Waits until every part of the execution has been dropped. Cancel-safe.
    pub async fn dropped(&mut self) {
        while self.alive.recv().await.is_some() {}
    }

    /// Whether every part of the execution has been dropped.
    #[must_use]
    pub fn is_dropped(&self) -> bool {
        self.alive.sender_strong_count() == 0
    }

    fn step(&self, step: Step<Result<ResponderEvent, ResponderError>>) {
        if let Some(events) = &self.events {
            // An execution that is gone hears nothing: that is what tests of late output are about.
            let _ = events.send(step);
        }
    }

    fn settle(&self, step: Step<Result<Reply, ResponderError>>) {
        let _ = self.result.send(step);
    }

    fn disturb(&self, place: Place, disturbance: Disturbance) {
        match place {
            Place::Events => self.step(Step::Disturb(disturbance)),
            Place::Result => self.settle(Step::Disturb(disturbance)),
        }
    }
}

impl SteerOffer {
    /// The input.
    #[must_use]
    pub fn input(&self) -> &Arc<str> {
        &self.input
    }

    /// Takes it. `false` where the offer was withdrawn before.
    pub fn take(self) -> bool {
        self.answer.send(Ok(())).is_ok()
    }

    /// Refuses it.
    pub fn refuse(self, why: SteerRefused) {
        // An offer that was withdrawn needs no answer.
        let _ = self.answer.send(Err(why));
    }

    /// Waits until the offer is withdrawn: its future was dropped. Cancel-safe.
    pub async fn withdrawn(&mut self) {
        self.answer.closed().await;
    }
}

impl Blocked {
    fn new() -> (Self, Stop) {
        let ((reached, is_reached), (go_on, going_on)) = (oneshot::channel(), mpsc::channel());
        let stop = Stop {
            reached,
            go_on: going_on,
        };
        let blocked = Self {
            reached: is_reached,
            _go_on: go_on,
        };
        (blocked, stop)
    }

    /// Waits until a thread is blocked here. Cancel-safe until it has returned.
    ///
    /// # Panics
    /// Where the execution was dropped before it came so far.
    pub async fn reached(&mut self) {
        (&mut self.reached)
            .await
            .expect("the execution comes to where it blocks");
    }

    /// Lets the thread go on.
    pub fn release(self) {
        // Dropping does it.
    }
}

impl Disturbance {
    fn happen(self, place: &str) {
        match self {
            Self::Panic => panic!("the test said so, in {place}"),
            Self::Block(Stop { reached, go_on }) => {
                // Whether anyone waits for it is the test's affair.
                let _ = reached.send(());
                // Nothing is ever sent: the test lets go by dropping its side.
                let _ = go_on.recv();
            }
        }
    }
}

/// What every part of an execution shares with its call.
struct Part {
    _life: UnboundedSender<()>,
    panics_when_dropped: Arc<AtomicBool>,
}

impl Drop for Part {
    fn drop(&mut self) {
        if self.panics_when_dropped.load(Ordering::SeqCst) {
            panic!("the test said so, when dropped");
        }
    }
}

struct ScriptedEvents {
    steps: UnboundedReceiver<Step<Result<ResponderEvent, ResponderError>>>,
    _part: Part,
}

impl Stream for ScriptedEvents {
    type Item = Result<ResponderEvent, ResponderError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            match ready!(self.steps.poll_recv(cx)) {
                Some(Step::Say(event)) => return Poll::Ready(Some(event)),
                Some(Step::Disturb(disturbance)) => disturbance.happen("the events"),
                None => return Poll::Ready(None),
            }
        }
    }
}

struct ScriptedResult {
    steps: UnboundedReceiver<Step<Result<Reply, ResponderError>>>,
    _part: Part,
}

impl Future for ScriptedResult {
    type Output = Result<Reply, ResponderError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            match ready!(self.steps.poll_recv(cx)) {
                Some(Step::Say(result)) => return Poll::Ready(result),
                Some(Step::Disturb(disturbance)) => disturbance.happen("the result"),
                None => {
                    let error = ResponderError::new("the test dropped the call");
                    return Poll::Ready(Err(error.with_kind("scripted")));
                }
            }
        }
    }
}

struct ScriptedControl {
    steers: UnboundedSender<SteerOffer>,
    answers: UnboundedSender<(ApprovalId, Decision)>,
    _part: Part,
}

impl Control for ScriptedControl {
    fn approve(&self, id: &ApprovalId) {
        // A call that is gone plays nothing.
        let _ = self.answers.send((id.clone(), Decision::Approve));
    }

    fn deny(&self, id: &ApprovalId, reason: Option<Arc<str>>) {
        let _ = self.answers.send((id.clone(), Decision::Deny(reason)));
    }

    fn steer(&self, input: Arc<str>) -> BoxFuture<'static, Result<(), SteerRefused>> {
        let (answer, answered) = oneshot::channel();
        let _ = self.steers.send(SteerOffer { input, answer });
        Box::pin(async move {
            answered.await.unwrap_or_else(|_| {
                Err(SteerRefused::Responder("the test dropped the offer".into()))
            })
        })
    }
}
