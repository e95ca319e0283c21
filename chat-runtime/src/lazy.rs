//! A turn that has not been sent: options first, then it starts when someone wants it.

use std::{
    future::IntoFuture,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use chat_core::{ChatEvent, ContextPolicy, Labels, TurnError, TurnInput, TurnReply};
use futures_core::{Stream, future::BoxFuture};

use crate::{Session, Turn, TurnEvents, session::Options};

/// A turn to be sent. Starts on [`start`](Self::start), `.await`, or the first read of its events; dropped before, it never
/// was (law T1).
#[derive(Debug, Clone)]
#[must_use = "a lazy turn does nothing until it is started, awaited or read"]
pub struct LazyTurn {
    session: Session,
    input: Arc<str>,
    options: Options,
}

impl LazyTurn {
    pub(crate) fn new(session: Session, input: Arc<str>) -> Self {
        Self {
            session,
            input,
            options: Options::default(),
        }
    }

    /// Adds the host's own labels, journaled with the turn and never sent to a model.
    pub fn labels(mut self, labels: Labels) -> Self {
        self.options.labels = Some(labels);
        self
    }

    /// Sets what the responder sees of earlier turns, for this turn alone.
    pub fn context(mut self, context: ContextPolicy) -> Self {
        self.options.context = Some(context);
        self
    }

    /// Starts the turn.
    pub fn start(self) -> Turn {
        self.session.start(TurnInput::New(self.input), self.options)
    }

    /// The turn's events; the first read starts it.
    #[must_use]
    pub fn events(self) -> LazyEvents {
        LazyEvents(State::Waiting(Box::new(self)))
    }
}

impl IntoFuture for LazyTurn {
    type Output = Result<TurnReply, TurnError>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    /// Starts when it is first polled.
    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.start().await })
    }
}

/// The events of a turn that starts with their first read.
#[derive(Debug)]
pub struct LazyEvents(State);

#[derive(Debug)]
enum State {
    Waiting(Box<LazyTurn>),
    Reading {
        turn: Turn,
        events: TurnEvents,
    },
    /// Only while a state is changed for the next.
    Changing,
}

impl LazyEvents {
    /// The turn, once it has started.
    #[must_use]
    pub fn turn(&self) -> Option<&Turn> {
        match &self.0 {
            State::Reading { turn, .. } => Some(turn),
            State::Waiting(_) | State::Changing => None,
        }
    }

    /// The next event; `None` after `turn-end`.
    pub async fn next(&mut self) -> Option<ChatEvent> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }
}

impl Stream for LazyEvents {
    type Item = ChatEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<ChatEvent>> {
        self.0 = match std::mem::replace(&mut self.0, State::Changing) {
            State::Waiting(lazy) => {
                let turn = lazy.start();
                match turn.events() {
                    Ok(events) => State::Reading { turn, events },
                    // Nobody else had the turn.
                    Err(_) => State::Changing,
                }
            }
            other @ (State::Reading { .. } | State::Changing) => other,
        };
        match &mut self.0 {
            State::Reading { events, .. } => Pin::new(events).poll_next(cx),
            State::Waiting(_) | State::Changing => Poll::Ready(None),
        }
    }
}
