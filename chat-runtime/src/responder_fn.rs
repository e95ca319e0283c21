//! A responder made of a closure.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use chat_core::{
    Execution, Reasoning, Reply, Responder, ResponderError, ResponderEvent, TurnRequest, Usage,
};
use futures_core::Stream;
use futures_util::task::AtomicWaker;

/// Makes a responder of a closure. It gets the request and an [`Out`] to stream with; what it returns is the reply.
///
/// ```
/// use chat_core::Reply;
/// use chat_runtime::responder_fn;
///
/// let shout = responder_fn(|request, out| async move {
///     for word in request.input.to_uppercase().split(' ') {
///         out.text(format!("{word} "));
///     }
///     Ok(Reply::streamed()) // the text is what streamed
/// });
/// ```
pub fn responder_fn<F, R>(respond: F) -> impl Responder
where
    F: Fn(TurnRequest, Out) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Reply, ResponderError>> + Send + 'static,
{
    FnResponder(respond)
}

struct FnResponder<F>(F);

impl<F, R> Responder for FnResponder<F>
where
    F: Fn(TurnRequest, Out) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Reply, ResponderError>> + Send + 'static,
{
    fn respond(&self, request: TurnRequest) -> Execution {
        let queue = Arc::new(Queue::default());
        let result = (self.0)(request, Out(queue.clone()));
        let ended = queue.clone();
        Execution::new(async move {
            let result = result.await;
            ended.lock().ended = true;
            ended.waker.wake();
            result
        })
        .with_events(Events(queue))
    }
}

/// What a closure streams with. A clone streams to the same turn; what is said after the closure returned is dropped.
#[derive(Debug, Clone)]
pub struct Out(Arc<Queue>);

impl Out {
    /// Streams a piece of text.
    pub fn text(&self, text: impl Into<Arc<str>>) {
        self.event(ResponderEvent::text(text));
    }

    /// Streams a piece of reasoning: shown, and never part of the reply.
    pub fn reasoning(&self, text: impl Into<Arc<str>>) {
        let reasoning = Reasoning {
            text: text.into(),
            step: None,
            kind: None,
            provider: None,
            data: None,
        };
        self.event(ResponderEvent::ReasoningDelta(Box::new(reasoning)));
    }

    /// Tells the tokens used so far: kept also where the turn fails or is canceled.
    pub fn usage(&self, usage: Usage) {
        self.event(ResponderEvent::Usage(Box::new(usage)));
    }

    /// Tells any event.
    pub fn event(&self, event: ResponderEvent) {
        {
            let mut state = self.0.lock();
            if state.ended {
                return;
            }
            state.events.push_back(event);
        }
        self.0.waker.wake();
    }
}

/// Events on their way from a closure to its turn.
#[derive(Debug, Default)]
struct Queue {
    state: Mutex<State>,
    waker: AtomicWaker,
}

#[derive(Debug, Default)]
struct State {
    events: VecDeque<ResponderEvent>,
    ended: bool,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that can panic runs under this lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The events of a closure, for the task that runs its turn.
struct Events(Arc<Queue>);

impl Stream for Events {
    type Item = Result<ResponderEvent, ResponderError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        // Registered first, or an event that comes in between would wake nobody.
        self.0.waker.register(cx.waker());
        let mut state = self.0.lock();
        match state.events.pop_front() {
            Some(event) => Poll::Ready(Some(Ok(event))),
            None if state.ended => Poll::Ready(None),
            None => Poll::Pending,
        }
    }
}
