//! Runs that do not end well: canceled, out of time, cut off, failed.

use std::time::Duration;

use chat_conformance::ScriptedTool;
use chat_core::ResponderError;
use chat_responder_agent::{Agent, AgentResponder, Parallel, Step, Task};
use serde_json::json;

use crate::stage::{Stage, ask_for, model, used};

#[tokio::test(start_paused = true)]
async fn p2_a_run_that_is_canceled() {
    let (model, mut script) = model();
    let (fetch, mut fetches) = ScriptedTool::new("fetch");
    let responder = AgentResponder::new("report", move |_| {
        let body = Parallel::new()
            .and(Step::new("news").prompt("The news?"))
            .and(Step::new("weather").prompt("The weather?").stream());
        Agent::new(model.clone())
            .tool(fetch.clone())
            .then(body)
            .then(Step::new("reply").prompt("Write it up.").stream())
    });
    let stage = Stage::begin(responder.stream("reply")).await;
    let (news, weather) = (
        script.call_asking("news").await,
        script.call_asking("weather").await,
    );
    stage.pass(300).await;
    ask_for(
        news,
        [("fetch", json!({"url": "https://news.example/today"}))],
    );
    let _fetch = fetches.next_call().await;
    stage.pass(700).await;
    weather.text("It is going to");
    stage.pass(200).await;
    stage.turn.cancel("changed my mind");
    insta::assert_snapshot!(stage.end().await.text);
}

#[tokio::test(start_paused = true)]
async fn p2_a_step_that_runs_out_of_time() {
    let (model, mut script) = model();
    let (fetch, mut fetches) = ScriptedTool::new("fetch");
    let responder = AgentResponder::new("report", move |_| {
        Agent::new(model.clone())
            .tool(fetch.clone())
            .then(
                Step::new("news")
                    .prompt("The news?")
                    .timeout(Duration::from_secs(30)),
            )
            .then(Step::new("reply").prompt("Write it up.").stream())
    });
    let stage = Stage::begin(responder.stream("reply")).await;
    let call = script.next_call().await;
    stage.pass(1_000).await;
    ask_for(
        call,
        [("fetch", json!({"url": "https://news.example/today"}))],
    );
    let mut fetch = fetches.next_call().await;
    fetch.dropped().await;
    insta::assert_snapshot!(stage.end().await.text);
}

#[tokio::test(start_paused = true)]
async fn p2_a_run_that_runs_out_of_time() {
    let (model, mut script) = model();
    let responder = AgentResponder::new("report", move |_| {
        let body = Parallel::new()
            .and(Step::new("news").prompt("The news?"))
            .and(Task::new("count", |_| {
                std::future::pending::<Result<(), _>>()
            }));
        Agent::new(model.clone())
            .then(body)
            .then(Step::new("reply").prompt("Write it up.").stream())
    });
    let stage = Stage::begin(responder.stream("reply").timeout(Duration::from_secs(60))).await;
    let call = script.next_call().await;
    stage.pass(2_000).await;
    call.text("Today");
    call.dropped().await;
    insta::assert_snapshot!(stage.end().await.text);
}

#[tokio::test(start_paused = true)]
async fn p2_an_answer_that_comes_at_the_second_try_and_one_that_is_cut_off() {
    let (model, mut script) = model();
    let responder = AgentResponder::new("report", move |_| {
        Agent::new(model.clone())
            .then(Step::new("draft").prompt("A draft?"))
            .then(Step::new("reply").prompt("Write it up.").stream())
    });
    let stage = Stage::begin(responder.stream("reply")).await;
    let call = script.next_call().await;
    stage.pass(300).await;
    call.retry(2, 500, &ResponderError::new("503 from the model's server"));
    stage.pass(800).await;
    call.usage(used(40, 9));
    call.answer("A turn turns.");
    let call = script.next_call().await;
    stage.pass(300).await;
    call.text("A turn is one");
    stage.pass(300).await;
    call.cut();
    insta::assert_snapshot!(stage.end().await.text);
}

#[tokio::test(start_paused = true)]
async fn p2_a_tool_that_panics_and_one_that_is_not_there() {
    let (model, mut script) = model();
    let (fetch, mut fetches) = ScriptedTool::new("fetch");
    let fetch = fetch.taking(json!({"type": "object", "required": ["url"]}));
    let responder = AgentResponder::new("report", move |_| {
        let step = Step::new("reply").prompt("The news?").stream().max_calls(2);
        Agent::new(model.clone()).tool(fetch.clone()).then(step)
    });
    let stage = Stage::begin(responder.stream("reply")).await;
    let call = script.next_call().await;
    ask_for(
        call,
        [
            ("fetch", json!({"url": "https://news.example/today"})),
            ("fetch", json!({"uri": "news.example"})),
            ("browse", json!({"url": "https://news.example/today"})),
        ],
    );
    let fetch = fetches.next_call().await;
    stage.pass(100).await;
    fetch.panic("index out of bounds: the len is 0 but the index is 3");
    let call = script.next_call().await;
    stage.pass(100).await;
    ask_for(call, [("fetch", json!({"url": "https://news.example/"}))]);
    if let Some(fetch) = {
        stage.pass(100).await;
        fetches.try_next_call()
    } {
        fetch.answer("<html>");
    }
    insta::assert_snapshot!(stage.end().await.text);
}
