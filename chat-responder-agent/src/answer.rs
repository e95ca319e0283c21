//! A turn's run on its way to a reply: the events drive it, and what they streamed is held against what the caller takes (law W4).

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use chat_core::{Metadata, Reply, ResponderError, ResponderEvent, RunResult, StepId};
use futures_util::{FutureExt as _, Stream};
use tokio::sync::oneshot;

use crate::run::{Run, RunEvents, caught};

/// Takes the reply from what a run came to.
pub(crate) type Take = dyn Fn(&RunResult) -> Result<Option<Arc<str>>, ResponderError> + Send + Sync;

/// What a function that takes the reply may return: a text, an `Option` of one where it may be missing, or a `Result`.
pub trait IntoReply {
    /// The reply; `None` where there is none, which fails the turn.
    ///
    /// # Errors
    /// Why it could not be taken.
    fn into_reply(self) -> Result<Option<Arc<str>>, ResponderError>;
}

impl IntoReply for Arc<str> {
    fn into_reply(self) -> Result<Option<Arc<str>>, ResponderError> {
        Ok(Some(self))
    }
}

impl IntoReply for String {
    fn into_reply(self) -> Result<Option<Arc<str>>, ResponderError> {
        Ok(Some(self.into()))
    }
}

impl IntoReply for &'static str {
    fn into_reply(self) -> Result<Option<Arc<str>>, ResponderError> {
        Ok(Some(self.into()))
    }
}

impl<T: IntoReply> IntoReply for Option<T> {
    fn into_reply(self) -> Result<Option<Arc<str>>, ResponderError> {
        self.map_or(Ok(None), T::into_reply)
    }
}

impl<T: IntoReply, E: Into<ResponderError>> IntoReply for Result<T, E> {
    fn into_reply(self) -> Result<Option<Arc<str>>, ResponderError> {
        self.map_err(Into::into).and_then(T::into_reply)
    }
}

/// What the run of a turn answers it with.
pub(crate) struct Answer {
    /// The step whose text is the reply as it is written.
    pub(crate) stream: Option<StepId>,
    pub(crate) take: Option<Arc<Take>>,
}

/// The events of a turn, and the run that makes them.
pub(crate) struct Answering {
    answer: Answer,
    events: RunEvents,
    stage: Stage,
    streamed: Vec<Arc<str>>,
    settle: Option<oneshot::Sender<Result<Reply, ResponderError>>>,
}

enum Stage {
    Running {
        run: Run,
        /// Steers are to be polled before the run is.
        gives_way: bool,
    },
    /// The run has ended. What it streamed is read first: the reply depends on it.
    Ended(Result<(RunResult, Metadata), ResponderError>),
    /// All is said but how the turn settles.
    Settling(Result<Reply, ResponderError>),
    Over,
}

impl Answering {
    /// The events that drive a run, and what settles once they have ended.
    pub(crate) fn new(
        run: Run,
        events: RunEvents,
        answer: Answer,
    ) -> (Self, oneshot::Receiver<Result<Reply, ResponderError>>) {
        let (settle, settled) = oneshot::channel();
        let answering = Self {
            answer,
            events,
            stage: Stage::Running {
                run,
                gives_way: false,
            },
            streamed: Vec::new(),
            settle: Some(settle),
        };
        (answering, settled)
    }

    fn next_said(&mut self) -> Option<ResponderEvent> {
        let event = self.events.pop()?;
        if let ResponderEvent::TextDelta { text, .. } = &event {
            self.streamed.push(text.clone());
        }
        Some(event)
    }
}

impl Stream for Answering {
    type Item = Result<ResponderEvent, ResponderError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            if let Some(event) = this.next_said() {
                return Poll::Ready(Some(Ok(event)));
            }
            match std::mem::replace(&mut this.stage, Stage::Over) {
                Stage::Running {
                    run,
                    gives_way: true,
                } => {
                    // Whoever polls this polls the steers before it polls this again.
                    this.stage = Stage::Running {
                        run,
                        gives_way: false,
                    };
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Stage::Running { mut run, .. } => match run.poll_unpin(cx) {
                    Poll::Ready(result) => {
                        let metadata = run.metadata();
                        this.stage = Stage::Ended(result.map(|result| (result, metadata)));
                    }
                    Poll::Pending => {
                        let gives_way = run.waits_for_steers();
                        this.stage = Stage::Running { run, gives_way };
                        let Some(event) = this.next_said() else {
                            return Poll::Pending;
                        };
                        return Poll::Ready(Some(Ok(event)));
                    }
                },
                Stage::Ended(Err(error)) => this.stage = Stage::Settling(Err(error)),
                Stage::Ended(Ok((result, metadata))) => {
                    let judged = this.answer.judge(&result, &this.streamed);
                    let (reply, rest) = match judged {
                        Ok((reply, rest)) => (Ok(reply), rest),
                        Err(error) => (Err(error), None),
                    };
                    this.stage = Stage::Settling(
                        reply.map(|reply| reply.with_metadata(metadata).with_run(result)),
                    );
                    if let Some(text) = rest {
                        let step = this.answer.stream.clone();
                        return Poll::Ready(Some(Ok(ResponderEvent::TextDelta { text, step })));
                    }
                }
                Stage::Settling(reply) => {
                    if let Some(settle) = this.settle.take() {
                        // Nobody waits any more: the turn has ended without us.
                        let _ = settle.send(reply);
                    }
                }
                Stage::Over => return Poll::Ready(None),
            }
        }
    }
}

impl Answer {
    /// The reply, and what of it was not streamed yet.
    fn judge(
        &self,
        result: &RunResult,
        streamed: &[Arc<str>],
    ) -> Result<(Reply, Option<Arc<str>>), ResponderError> {
        let text = self.text(result)?;
        if self.stream.is_none() {
            return Ok((Reply::text(text), None));
        }
        let rest = streamed
            .iter()
            .try_fold(&*text, |rest, piece| rest.strip_prefix(&**piece));
        match rest {
            Some(rest) => Ok((
                Reply::streamed(),
                Some(rest).filter(|rest| !rest.is_empty()).map(Into::into),
            )),
            None => {
                let error =
                    "the reply contradicts what was streamed of it: it has to begin with that text";
                Err(ResponderError::new(error).with_kind("reply-contradicts"))
            }
        }
    }

    fn text(&self, result: &RunResult) -> Result<Arc<str>, ResponderError> {
        let (text, of) = match (&self.take, &self.stream) {
            (Some(take), _) => {
                let place = || "what takes the reply from the result".to_owned();
                (caught(place, || take(result))??, String::new())
            }
            (None, Some(step)) => (
                result.text(step.as_str()).map(Into::into),
                format!(": step {step} gave no result"),
            ),
            (None, None) => (None, String::new()),
        };
        text.ok_or_else(|| {
            let steps: Vec<_> = result.steps.keys().map(StepId::as_str).collect();
            let there = match steps.as_slice() {
                [] => "no step did".to_owned(),
                [_, ..] => format!("these did: {}", steps.join(", ")),
            };
            ResponderError::new(format!("the run gave no reply{of}; {there}"))
                .with_kind("reply-missing")
        })
    }
}
