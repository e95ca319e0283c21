//! W5: what a person steered is read by a model, and shows to the steps behind it.

use chat_conformance::ScriptedModel;
use chat_core::ResponderError;
use chat_responder_agent::{Agent, Catch, Node, Parallel, RunOptions, Step, Task};
use futures_util::FutureExt as _;
use tokio::sync::oneshot;

use crate::support::ids;

#[tokio::test]
async fn w5_steps_that_follow_can_pass_on_what_was_steered() {
    let (model, mut script) = ScriptedModel::new();
    let agent = Agent::new(model)
        .then(Step::new("notes").prompt_with(|run| format!("{} so far", run.steering().len())))
        .then(Step::new("reply").prompt_with(|run| run.steering().join("; ")));
    let mut run = Node::from(agent)
        .start(RunOptions::default(), ids())
        .unwrap();
    let control = run.control();
    let mut steers = ["in French", "and briefly"].map(|input| control.steer(input.into()));
    for steer in &mut steers {
        assert!(steer.now_or_never().is_none());
    }
    assert!((&mut run).now_or_never().is_none());
    for steer in &mut steers {
        assert!(matches!(steer.now_or_never(), Some(Ok(()))));
    }
    assert!((&mut run).now_or_never().is_none());
    let call = script.next_call().await;
    assert_eq!(call.request().messages[0].to_text(), "0 so far");
    call.answer("noted");
    assert!((&mut run).now_or_never().is_none());
    let call = script.next_call().await;
    assert_eq!(call.request().messages.len(), 1);
    assert_eq!(
        call.request().messages[0].to_text(),
        "in French; and briefly"
    );
    call.answer("fini");
    run.await.unwrap();
}

#[tokio::test]
async fn w5_a_steer_that_was_taken_and_never_read_fails_the_run() {
    let (model, mut script) = ScriptedModel::new();
    let (fail, failing) = oneshot::channel::<()>();
    let body = Parallel::new()
        .and(Agent::new(model).then(Step::new("work").prompt("Hello")))
        .and(Task::new("fails", |_| async move {
            let _ = failing.await;
            Err::<(), _>(ResponderError::new("no"))
        }));
    let workflow = Catch::new(body).or(|_| Task::new("plan-b", |_| async { Ok("plan b") }));
    let mut run = Node::from(workflow)
        .start(RunOptions::default(), ids())
        .unwrap();
    let mut steer = run.control().steer("with care".into());
    assert!((&mut steer).now_or_never().is_none());
    // The step stands at its boundary, and the steer is taken.
    assert!((&mut run).now_or_never().is_none());
    assert!(matches!(steer.now_or_never(), Some(Ok(()))));
    fail.send(()).unwrap();
    let error = run.await.unwrap_err();
    assert_eq!(error.kind(), "steer-unread");
    assert!(script.try_next_call().is_none());
}
