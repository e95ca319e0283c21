//! What can be asked of a run from outside.

use std::sync::Arc;

use chat_core::{ApprovalId, Control, Decision, SteerRefused};
use futures_util::future::BoxFuture;

use super::state::State;

pub(crate) struct RunControl(pub(crate) Arc<State>);

impl Control for RunControl {
    fn approve(&self, id: &ApprovalId) {
        self.0.approvals.decide(id, Decision::Approve);
    }

    fn deny(&self, id: &ApprovalId, reason: Option<Arc<str>>) {
        self.0.approvals.decide(id, Decision::Deny(reason));
    }

    fn steer(&self, input: Arc<str>) -> BoxFuture<'static, Result<(), SteerRefused>> {
        Box::pin(self.0.steering.steer(input))
    }
}
