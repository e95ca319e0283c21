//! A turn's handle: cheap, cloneable, and of no weight for the turn itself.

use std::{fmt, future::IntoFuture, sync::Arc};

use chat_core::{
    AnswerError, ApprovalId, ApprovalRequest, Decision, SteerError, TurnError, TurnId, TurnReply,
    TurnStatus,
};
use futures_core::future::BoxFuture;

use crate::{
    events::{EventsTaken, TurnEvents, TurnText},
    session::told,
    shared::Shared,
    turn_state::TurnState,
};

/// One user input being answered. The turn goes on whether or not anyone holds this.
///
/// Awaiting it (or `&turn`) gives the reply, any number of times; an error says that the turn failed, was canceled or was
/// interrupted, and why.
#[derive(Clone)]
pub struct Turn(Arc<Handle>);

/// What the clones of a handle share: once the last is gone, nobody can ask for the events any more.
struct Handle {
    shared: Arc<Shared>,
    state: Arc<TurnState>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.state.log.give_up();
    }
}

impl Turn {
    pub(crate) fn new(shared: Arc<Shared>, state: Arc<TurnState>) -> Self {
        Self(Arc::new(Handle { shared, state }))
    }

    /// The turn's id.
    #[must_use]
    pub fn id(&self) -> &TurnId {
        &self.0.state.id
    }

    /// Waits until the input is in the journal, durable (law T3). Cancel-safe.
    ///
    /// # Errors
    /// [`TurnError::NotAccepted`] where the store refused it: then nothing of it is in the journal.
    /// [`TurnError::Canceled`] where it was canceled before. [`TurnError::Interrupted`] where it can't be known.
    pub async fn accepted(&self) -> Result<(), TurnError> {
        self.0.state.accepted.wait().await
    }

    /// Waits for the reply. May be asked any number of times, by any number of tasks. Cancel-safe.
    ///
    /// # Errors
    /// [`TurnError`] where there is none: each variant is one way to end.
    pub async fn result(&self) -> Result<TurnReply, TurnError> {
        self.0.state.result.wait().await
    }

    /// The turn's events, all of them from the start, however late this is called.
    ///
    /// # Errors
    /// [`EventsTaken`] where they are being read already: they can be read once.
    pub fn events(&self) -> Result<TurnEvents, EventsTaken> {
        TurnEvents::take(&self.0.state.log)
    }

    /// Only the text as it streams: this *is* the turn's one event stream.
    ///
    /// # Errors
    /// [`EventsTaken`] where the events are being read already.
    pub fn text(&self) -> Result<TurnText, EventsTaken> {
        self.events().map(TurnText)
    }

    /// Stops the turn, in whatever state it is; returns at once. The first reason stands. Of no effect where the outcome is
    /// being recorded, or was (law T6). `()` gives no reason.
    #[doc(alias = "abort")]
    pub fn cancel(&self, reason: impl Into<Reason>) {
        let reason = reason.into().0;
        self.0
            .shared
            .tell(|machine, now| machine.cancel(now, self.id(), reason));
    }

    /// Offers input to this turn while it is answered; a queued one is waited for (law T8). Offered at once; resolves when
    /// the responder has taken it and it is in the journal. Dropping the future does not take it back.
    ///
    /// # Errors
    /// [`SteerError`] where it was not taken: why, with the input handed back.
    #[doc(alias = "send")]
    pub fn steer(&self, input: impl Into<Arc<str>>) -> BoxFuture<'static, Result<(), SteerError>> {
        let input = input.into();
        let receiver = self.0.shared.steer(Some(self.id()), input.clone());
        Box::pin(told(receiver, input))
    }

    /// The approval requests that wait for an answer, in the order they were made (law R2).
    #[must_use]
    pub fn requests(&self) -> Vec<Arc<ApprovalRequest>> {
        self.0.shared.lock().machine.requests(self.id())
    }

    /// Says yes to an approval request.
    ///
    /// # Errors
    /// [`AnswerError`] where nothing waits for this answer: then nothing happened.
    pub fn approve(&self, request: &ApprovalId) -> Result<(), AnswerError> {
        self.answer(request, Decision::Approve)
    }

    /// Says no to an approval request, and perhaps why (`()` for no reason).
    ///
    /// # Errors
    /// [`AnswerError`] where nothing waits for this answer: then nothing happened.
    pub fn deny(&self, request: &ApprovalId, reason: impl Into<Reason>) -> Result<(), AnswerError> {
        self.answer(request, Decision::Deny(reason.into().0))
    }

    fn answer(&self, request: &ApprovalId, decision: Decision) -> Result<(), AnswerError> {
        self.0
            .shared
            .tell(|machine, _| machine.answer(self.id(), request, decision))
    }

    /// Where the turn stands.
    #[must_use]
    pub fn status(&self) -> TurnStatus {
        // The machine first: what settles meanwhile is then seen as settled.
        let status = self.0.shared.lock().machine.status(self.id());
        match self.0.state.result.get() {
            Some(Ok(_)) => TurnStatus::Completed,
            Some(Err(error)) => error.status(),
            None => status.unwrap_or(TurnStatus::Queued),
        }
    }

    /// Whether the turn has ended.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.0.state.result.get().is_some()
    }
}

impl IntoFuture for Turn {
    type Output = Result<TurnReply, TurnError>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        // Holds no handle: who only waits for the result reads no events.
        Box::pin(self.0.state.result.wait())
    }
}

impl IntoFuture for &Turn {
    type Output = Result<TurnReply, TurnError>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.0.state.result.wait())
    }
}

impl fmt::Debug for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn")
            .field("id", self.id())
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}

/// Why something is stopped or denied, where that is said: a text, or `()` for none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reason(pub(crate) Option<Arc<str>>);

impl From<()> for Reason {
    fn from((): ()) -> Self {
        Self(None)
    }
}

impl From<&str> for Reason {
    fn from(reason: &str) -> Self {
        Self(Some(reason.into()))
    }
}

impl From<String> for Reason {
    fn from(reason: String) -> Self {
        Self(Some(reason.into()))
    }
}

impl From<Arc<str>> for Reason {
    fn from(reason: Arc<str>) -> Self {
        Self(Some(reason))
    }
}

impl<T: Into<Reason>> From<Option<T>> for Reason {
    fn from(reason: Option<T>) -> Self {
        reason.map(Into::into).unwrap_or_default()
    }
}
