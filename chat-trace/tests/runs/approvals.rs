//! A person is asked: the row is there exactly while the request waits (law P2).

use std::time::Duration;

use chat_conformance::ScriptedTool;
use chat_core::ResponderError;
use chat_responder_agent::{Agent, AgentResponder, Catch, Parallel, Step};
use serde_json::json;

use crate::{
    film::SECRETS,
    stage::{Stage, ask_for, model},
};

/// Two requests at once: one is approved and one is denied.
#[tokio::test(start_paused = true)]
async fn p2_approvals_that_wait_and_are_answered() {
    let (model, mut script) = model();
    let (deploy, mut deploys) = ScriptedTool::new("deploy");
    let deploy = deploy.needing_approval_if(|input| input["env"] != "test");
    let responder = AgentResponder::new("engineer", move |_| {
        Agent::new(model.clone())
            .tool(deploy.clone())
            .then(Step::new("reply").prompt("Ship it.").stream())
    });
    let stage = Stage::begin(responder.stream("reply")).await;
    let call = script.next_call().await;
    stage.pass(800).await;
    call.text("I will ship it everywhere.");
    ask_for(
        call,
        [
            ("deploy", json!({"env": "prod", "token": SECRETS[2]})),
            ("deploy", json!({"env": "test"})),
            (
                "deploy",
                json!({"env": "stage", "note": "behind the new flag"}),
            ),
        ],
    );
    let test = deploys.next_call().await;
    stage.pass(1_000).await;
    let (prod, others) = {
        let requests = stage.turn.requests();
        assert_eq!(requests.len(), 2);
        (requests[0].id.clone(), requests[1].id.clone())
    };
    stage.turn.deny(&prod, "not on a Friday").unwrap();
    stage.pass(1_000).await;
    test.answer(json!({"deployed": "test", "build": 512}));
    stage.pass(1_000).await;
    stage.turn.approve(&others).unwrap();
    let deploy = deploys.next_call().await;
    stage.pass(2_000).await;
    deploy.answer(json!({"deployed": "stage", "build": 512}));
    let call = script.next_call().await;
    stage.pass(500).await;
    call.answer("Test and stage have it.");
    let film = stage.end().await;
    assert!(film.was_planted(SECRETS[2]));
    insta::assert_snapshot!(film.text);
}

/// What stands beside the step that asks fails: nobody has to answer any more.
#[tokio::test(start_paused = true)]
async fn p2_an_approval_that_is_withdrawn_since_a_sibling_failed() {
    let (model, mut script) = model();
    let (deploy, _deploys) = ScriptedTool::new("deploy");
    let deploy = deploy.needing_approval();
    let responder = AgentResponder::new("engineer", move |_| {
        let body = Parallel::new()
            .and(Step::new("tests").prompt("Run the tests."))
            .and(Step::new("ship").prompt("Ship it."));
        let body =
            Catch::new(body).or(|_| Step::new("reply").prompt("Say what went wrong.").stream());
        Agent::new(model.clone()).tool(deploy.clone()).then(body)
    });
    let stage = Stage::begin(responder.stream("reply")).await;
    let (tests, ship) = (
        script.call_asking("tests").await,
        script.call_asking("Ship").await,
    );
    stage.pass(500).await;
    ask_for(ship, [("deploy", json!({"env": "prod"}))]);
    stage.pass(1_500).await;
    assert_eq!(stage.request("deploy").step.as_str(), "ship");
    tests.fail(ResponderError::new("3 of 412 tests failed"));
    let reply = script.call_asking("wrong").await;
    stage.pass(400).await;
    reply.answer("3 tests failed, so nothing was shipped.");
    insta::assert_snapshot!(stage.end().await.text);
}

/// The turn is canceled while a person is asked.
#[tokio::test(start_paused = true)]
async fn p2_an_approval_that_is_withdrawn_by_cancel() {
    let (model, mut script) = model();
    let (deploy, _deploys) = ScriptedTool::new("deploy");
    let deploy = deploy.needing_approval();
    let responder = AgentResponder::new("engineer", move |_| {
        Agent::new(model.clone()).tool(deploy.clone()).then(
            Step::new("reply")
                .prompt("Ship it.")
                .timeout(Duration::from_secs(5)),
        )
    });
    let stage = Stage::begin(responder.stream("reply")).await;
    let call = script.next_call().await;
    ask_for(call, [("deploy", json!({"env": "prod"}))]);
    stage.pass(60_000).await;
    assert_eq!(
        stage.turn.requests().len(),
        1,
        "clocks stand while a person is asked"
    );
    stage.turn.cancel("changed my mind");
    insta::assert_snapshot!(stage.end().await.text);
}
