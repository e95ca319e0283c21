//! What does the work of a workflow: a step or a task. Each waits for its permit, has a clock and a signal of its own, and gives
//! one result.

use std::{sync::Arc, time::Duration};

use chat_core::{NodeIndex, ResponderError, StepId};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    StepError,
    tool::shallow,
    workflow::{Progress, Step, Task, TaskContext},
};

use super::{
    caught::{Caught, caught},
    clock::{Clock, within},
    node::{OpenNode, Place},
    plan::AgentScope,
    state::State,
    step::{self, StepScope},
};

/// What a step or task works with.
struct Leaf {
    node: NodeIndex,
    cancel: CancellationToken,
    clock: Option<Arc<Clock>>,
}

pub(crate) async fn step(
    state: Arc<State>,
    place: Place,
    agent: Option<Arc<AgentScope>>,
    step: Step,
) -> Result<(), StepError> {
    let (id, timeout) = (step.id.clone(), step.timeout);
    let Some(agent) = agent else {
        let error = ResponderError::new("it stands in no agent").with_kind("workflow-invalid");
        return Err(StepError::new(id, error));
    };
    leaf(state.clone(), place, id.clone(), timeout, |leaf| {
        let scope = StepScope {
            is_reply: state.reply.as_ref() == Some(&id),
            state,
            agent,
            id,
            node: leaf.node,
            cancel: leaf.cancel,
            clock: leaf.clock,
        };
        step::run(scope, step)
    })
    .await
}

pub(crate) async fn task(state: Arc<State>, place: Place, task: Task) -> Result<(), StepError> {
    let Task { id, run, timeout } = task;
    leaf(
        state.clone(),
        place,
        id.clone(),
        timeout,
        |leaf| async move {
            let place = || format!("the task {id}");
            let progress = progress(&state);
            let context = TaskContext {
                progress: progress.clone(),
                cancel: leaf.cancel,
                session_id: state.ids.session_id.clone(),
                turn_id: state.ids.turn_id.clone(),
                root_turn_id: state.ids.root_turn_id.clone(),
                step: id.clone(),
                idempotency_key: format!("{}/{id}", state.ids.root_turn_id).into(),
            };
            let work = caught(place, || run(context))?;
            let result = shallow(Caught::new(work, place).await??)?;
            progress.all_there()?;
            Ok(Arc::new(result))
        },
    )
    .await
}

pub(crate) fn progress(state: &State) -> Progress {
    let ids = &state.ids;
    Progress::new(
        state.results.clone(),
        state.steering.read().clone(),
        ids.session_id.clone(),
        ids.turn_id.clone(),
    )
}

async fn leaf<W>(
    state: Arc<State>,
    place: Place,
    id: StepId,
    timeout: Option<Duration>,
    work: impl FnOnce(Leaf) -> W,
) -> Result<(), StepError>
where
    W: Future<Output = Result<Arc<Value>, ResponderError>>,
{
    // Before it waits, so that it is closed where it never begins.
    let open = OpenNode::placed(&state, place);
    let _permit = state.permit().await;
    open.begin();
    let cancel = state.cancel.child_token();
    let clock = timeout.map(Clock::start);
    let leaf = Leaf {
        node: open.index(),
        cancel: cancel.clone(),
        clock: clock.clone(),
    };
    let unwanted = cancel.drop_guard();
    let mut work = Box::pin(work(leaf));
    let done = within(clock.as_ref(), &mut work).await;
    let result = match (done, clock) {
        (Some(result), _) => result,
        (None, clock) => {
            let limit = clock.map_or(Duration::ZERO, |clock| clock.limit());
            let at_work = state.at_work(Some(open.index()));
            Err(out_of_time("it", limit, &at_work))
        }
    };
    if result.is_ok() {
        // What a tool or task left behind, on purpose, may go on.
        unwanted.disarm();
    } else {
        drop(unwanted);
    }
    // Closes what a step that ran out of time left open, before the step itself.
    drop(work);
    match result {
        Ok(output) => {
            state.results.insert(id, output.clone());
            open.done(|node| node.output = Some(output));
            Ok(())
        }
        Err(error) => {
            open.failed(&error, |_| ());
            Err(StepError::new(id, error))
        }
    }
}

/// The error of a clock that ran out.
pub(crate) fn out_of_time(what: &str, limit: Duration, at_work: &str) -> ResponderError {
    let limit = if limit.subsec_nanos() == 0 {
        format!("{} s", limit.as_secs())
    } else {
        format!("{} ms", limit.as_millis())
    };
    ResponderError::new(format!("{what} ran out of its {limit}{at_work}"))
        .with_kind("timeout")
        .with_retryable(true)
}
