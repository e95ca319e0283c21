//! Tool calls that wait for a person (law W3). Each request has an id of its own and is answered once.

use std::{
    collections::BTreeMap,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use chat_core::{ApprovalId, ApprovalRequest, Decision, ResponderEvent};
use futures_util::FutureExt as _;
use tokio::sync::oneshot;

use super::{
    clock::{Clock, Stopped},
    state::State,
};

/// The requests that wait for an answer.
#[derive(Debug, Default)]
pub(crate) struct Approvals {
    open: Mutex<BTreeMap<ApprovalId, oneshot::Sender<Decision>>>,
}

impl Approvals {
    /// Hands on an answer. One to what was never asked, or is answered already, is nobody's.
    pub(crate) fn decide(&self, id: &ApprovalId, decision: Decision) {
        let waits = self.lock().remove(id);
        if let Some(waits) = waits {
            // Who asked may be gone in the same moment: the request is withdrawn then.
            let _ = waits.send(decision);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ApprovalId, oneshot::Sender<Decision>>> {
        // Nothing that can panic runs under this lock.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that waits. Resolves with the answer; dropped before, it is withdrawn. The clocks stand as long as it waits.
pub(crate) struct Asked {
    state: Arc<State>,
    id: ApprovalId,
    answer: oneshot::Receiver<Decision>,
    /// `None` once it was answered.
    clocks: Option<Vec<Stopped>>,
}

impl Asked {
    /// Asks a person. `clocks` are those that stand meanwhile.
    pub(crate) fn ask<'a>(
        state: &Arc<State>,
        request: ApprovalRequest,
        clocks: impl Iterator<Item = &'a Arc<Clock>>,
    ) -> Self {
        let (waits, answer) = oneshot::channel();
        let id = request.id.clone();
        state.approvals.lock().insert(id.clone(), waits);
        let clocks = Some(clocks.map(Clock::stop).collect());
        state.emit(ResponderEvent::ApprovalRequest(Arc::new(request)));
        Self {
            state: state.clone(),
            id,
            answer,
            clocks,
        }
    }
}

impl Future for Asked {
    type Output = Decision;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Decision> {
        let this = self.get_mut();
        match this.answer.poll_unpin(cx) {
            Poll::Ready(Ok(decision)) => {
                this.clocks = None;
                Poll::Ready(decision)
            }
            // Its sender leaves the open requests only to send, or with this.
            Poll::Ready(Err(_)) | Poll::Pending => Poll::Pending,
        }
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        let Some(clocks) = self.clocks.take() else {
            return;
        };
        let waits = self.state.approvals.lock().remove(&self.id);
        drop((waits, clocks));
        self.state.emit(ResponderEvent::ApprovalWithdrawn {
            id: self.id.clone(),
            reason: None,
        });
    }
}
