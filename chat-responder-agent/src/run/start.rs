//! How a workflow becomes a run.

use std::sync::{Arc, Mutex, atomic::AtomicBool};

use chat_core::ResponderError;
use futures_util::{FutureExt as _, StreamExt as _, stream::FuturesUnordered};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::{Node, StepError, workflow::Ids};

use super::{
    Run, RunIds, RunOptions,
    approvals::Approvals,
    clock::{Clock, RunsOut},
    nodes,
    plan::{Site, plan},
    state::{Live, State},
};

impl Node {
    /// Starts a run of this workflow. Nothing of it happens before the run is polled; only its clock runs from here.
    ///
    /// # Panics
    /// A run or a step with a time-out has to be polled where tokio's time is on, and panics elsewhere, as tokio's `sleep` does.
    ///
    /// # Errors
    /// The workflow is not valid: kind `workflow-invalid`, with a [`CheckError`](crate::CheckError) as its source.
    pub fn start(self, options: RunOptions, ids: RunIds) -> Result<Run, ResponderError> {
        let RunOptions {
            concurrency,
            timeout,
            cancel,
            observers,
            hooks,
            readers,
            reply,
        } = options;
        let mut known = Ids::default();
        known
            .check_workflow(&self, reply.as_ref())
            .map_err(crate::CheckError::into_responder_error)?;
        let clock = timeout.map(Clock::start);
        let state = Arc::new(State {
            ids,
            // The first signal reaches tools by itself; any other by the end of the run.
            cancel: cancel
                .first()
                .map_or_else(CancellationToken::new, CancellationToken::child_token),
            clock: clock.clone(),
            permits: concurrency
                .map(|permits| Arc::new(Semaphore::new(permits.min(Semaphore::MAX_PERMITS)))),
            reply,
            results: Default::default(),
            approvals: Approvals::default(),
            steering: Default::default(),
            hooks,
            observers,
            readers: Mutex::new(readers.into()),
            over: AtomicBool::new(false),
            live: Mutex::new(Live {
                ids: known,
                ..Live::default()
            }),
        });
        Ok(Run {
            work: Some(work(state.clone(), self).boxed()),
            state,
            canceled: any_of(cancel).boxed(),
            run_out: clock.map(RunsOut::of),
        })
    }
}

async fn work(state: Arc<State>, workflow: Node) -> Result<(), ResponderError> {
    let planned = plan(&state, workflow, Site::root())?;
    nodes::run(state, planned)
        .await
        .map_err(StepError::into_responder_error)
}

/// Resolves when any of the signals has fired.
async fn any_of(signals: Vec<CancellationToken>) {
    let mut fired: FuturesUnordered<_> = signals
        .into_iter()
        .map(CancellationToken::cancelled_owned)
        .collect();
    if fired.next().await.is_none() {
        std::future::pending().await
    }
}
