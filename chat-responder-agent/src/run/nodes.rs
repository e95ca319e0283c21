//! How nodes run in each other: futures in futures, polled by whoever polls the run. Nothing is spawned, so that nothing can be
//! left running; what is dropped closes its own nodes.

use std::sync::Arc;

use futures_util::{FutureExt as _, StreamExt as _, future::BoxFuture, stream::FuturesUnordered};

use crate::{
    StepError,
    workflow::{Fallback, Within},
};

use super::{
    caught::caught,
    leaf,
    node::{OpenNode, Place},
    plan::{Planned, Site, Work, plan},
    state::State,
};

/// Runs a node, and all that stands in it, to its end.
pub(crate) fn run(
    state: Arc<State>,
    planned: Planned,
) -> BoxFuture<'static, Result<(), StepError>> {
    let Planned { place, site, work } = planned;
    match work {
        Work::InOrder(nodes) => composite(state.clone(), place, in_order(state, nodes)).boxed(),
        Work::Parallel(nodes) => composite(state.clone(), place, parallel(state, nodes)).boxed(),
        Work::Catch { body, fallback } => {
            let caught = catch(state.clone(), place, site, body, fallback);
            composite(state, place, caught).boxed()
        }
        Work::Step(step) => leaf::step(state, place, site.agent, *step).boxed(),
        Work::Task(task) => leaf::task(state, place, *task).boxed(),
    }
}

async fn composite(
    state: Arc<State>,
    place: Place,
    work: impl Future<Output = Result<(), StepError>>,
) -> Result<(), StepError> {
    let open = OpenNode::placed(&state, place);
    open.begin();
    let result = work.await;
    match &result {
        Ok(()) => open.done(|_| ()),
        Err(_) => open.failed_within(),
    }
    result
}

async fn in_order(state: Arc<State>, nodes: Vec<Planned>) -> Result<(), StepError> {
    for node in nodes {
        run(state.clone(), node).await?;
    }
    Ok(())
}

/// The first failure ends it: the others are dropped where they stand, which aborts them (law W1).
async fn parallel(state: Arc<State>, nodes: Vec<Planned>) -> Result<(), StepError> {
    let mut branches: FuturesUnordered<_> = nodes
        .into_iter()
        .map(|node| run(state.clone(), node))
        .collect();
    while let Some(result) = branches.next().await {
        result?;
    }
    Ok(())
}

async fn catch(
    state: Arc<State>,
    place: Place,
    site: Site,
    body: Vec<Planned>,
    fallback: Option<Fallback>,
) -> Result<(), StepError> {
    let Err(error) = in_order(state.clone(), body).await else {
        return Ok(());
    };
    let Some(fallback) = fallback else {
        return Err(error);
    };
    // What is wrong with the fallback is told of the step that it was for.
    let of_step = |wrong| StepError::new(error.step().clone(), wrong);
    let node = caught(
        || format!("the fallback after \"{error}\""),
        || fallback(&error),
    )
    .map_err(of_step)?;
    let site = site.child(place.first, 1, &site.agent);
    let within = Within {
        depth: site.depth,
        agent: site.agent.is_some(),
    };
    let reply = state.reply.as_ref();
    let checked = state.live().ids.check_fallback(&node, reply, within);
    checked.map_err(|wrong| of_step(wrong.into_responder_error()))?;
    let planned = plan(&state, node, site).map_err(of_step)?;
    run(state, planned).await
}
