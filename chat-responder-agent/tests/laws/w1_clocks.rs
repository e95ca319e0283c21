//! W1: time-outs name what ran out, and clocks stand while a person is asked. The clock of these tests moves by itself when
//! nothing else is left to do.

use std::time::Duration;

use chat_conformance::{ScriptedModel, ScriptedTool};
use chat_core::{ChatEvent, FinishReason, ToolOutcome};
use chat_responder_agent::{Agent, Parallel, Step, Task};
use serde_json::json;
use tokio::time::{Instant, advance};

use crate::support::{ask_for, failure, one_step, say, send, streaming};

fn limited(step: &str, seconds: u64) -> Step {
    Step::new(step)
        .prompt(format!("{step}."))
        .timeout(Duration::from_secs(seconds))
}

#[tokio::test(start_paused = true)]
async fn w1_a_tool_that_never_returns_is_dropped_and_named_with_its_step() {
    let (model, mut script) = ScriptedModel::new();
    let (tool, mut tools) = ScriptedTool::new("fetch");
    let sent = send(streaming(move || {
        Agent::new(model.clone())
            .tool(tool.clone())
            .then(limited("reply", 30))
    }))
    .await;
    ask_for(&mut script, "fetch", json!({})).await;
    let mut running = tools.next_call().await;
    running.dropped().await;
    running.signaled().await;
    let (events, result) = sent.end().await;
    assert_eq!(
        failure(result).message(),
        "step reply failed: it ran out of its 30 s while the tool fetch was at work"
    );
    let aborted = events.iter().filter(|event| {
        matches!(event, ChatEvent::ToolExecutionEnd { outcome, .. } if *outcome == ToolOutcome::Aborted)
    });
    assert_eq!(aborted.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn w1_a_runs_timeout_names_all_that_was_at_work() {
    let (model, mut script) = ScriptedModel::new();
    let (tool, mut tools) = ScriptedTool::new("fetch");
    let responder = streaming(move || {
        let count = Task::new("count", |_| std::future::pending::<Result<(), _>>());
        Parallel::new()
            .and(one_step(&model).tool(tool.clone()))
            .and(count)
    });
    let sent = send(responder.timeout(Duration::from_secs(60))).await;
    ask_for(&mut script, "fetch", json!({})).await;
    tools.next_call().await.dropped().await;
    let error = failure(sent.end().await.1);
    assert_eq!(
        error.message(),
        "the run ran out of its 60 s while the task count, the tool fetch of step reply were at work"
    );
    assert_eq!(error.kind(), "timeout");
}

#[tokio::test(start_paused = true)]
async fn w1_a_task_that_never_returns_is_dropped_and_named() {
    let sent = send(
        streaming(|| {
            let (model, _) = ScriptedModel::new();
            let count = Task::new("count", |_| std::future::pending::<Result<(), _>>());
            Parallel::new()
                .and(count.timeout(Duration::from_millis(2500)))
                .and(Agent::new(model).then(Step::new("reply").prompt_with(|_| "Hello")))
        })
        .concurrency(1),
    )
    .await;
    assert_eq!(
        failure(sent.end().await.1).message(),
        "step count failed: it ran out of its 2500 ms"
    );
}

#[tokio::test(start_paused = true)]
async fn w1_c63_what_a_person_took_is_not_counted_and_all_else_is() {
    let (model, mut script) = ScriptedModel::new();
    let (tool, mut tools) = ScriptedTool::new("deploy");
    let tool = tool.needing_approval();
    let responder = streaming(move || {
        Agent::new(model.clone())
            .tool(tool.clone())
            .then(limited("reply", 10))
    });
    let mut sent = send(responder.timeout(Duration::from_secs(20))).await;
    let began = Instant::now();
    let call = script.next_call().await;
    advance(Duration::from_secs(4)).await;
    call.tool_call(0, "a", "deploy", json!({"n": 1}));
    call.tool_call(1, "b", "deploy", json!({"n": 2}));
    call.finish(FinishReason::ToolCalls);
    let (first, second) = (sent.request().await, sent.request().await);
    advance(Duration::from_secs(1800)).await;
    sent.turn.approve(&first.id).unwrap();
    let _hangs = tools.next_call().await;
    // One is answered, and one still waits.
    advance(Duration::from_secs(1800)).await;
    sent.turn.deny(&second.id, "no").unwrap();
    let error = failure(sent.end().await.1);
    assert_eq!(
        error.message(),
        "step reply failed: it ran out of its 10 s while the tool deploy was at work"
    );
    assert_eq!(began.elapsed().as_secs(), 3610);
}

#[tokio::test(start_paused = true)]
async fn w1_c63_the_clock_of_a_step_that_asks_nobody_goes_on() {
    let (model, mut script) = ScriptedModel::new();
    let (tool, _tools) = ScriptedTool::new("deploy");
    let tool = tool.needing_approval();
    let mut sent = send(
        streaming(move || {
            let both = Parallel::new()
                .and(limited("asks", 10))
                .and(limited("works", 5));
            Agent::new(model.clone())
                .tool(tool.clone())
                .then(both)
                .then(Step::new("reply").prompt("reply"))
        })
        .timeout(Duration::from_secs(1)),
    )
    .await;
    let asks = script.call_asking("asks.").await;
    asks.tool_call(0, "a", "deploy", json!({}));
    asks.finish(FinishReason::ToolCalls);
    sent.request().await;
    let _works = script.call_asking("works.").await;
    assert_eq!(
        failure(sent.end().await.1).message(),
        "step works failed: it ran out of its 5 s while the model scripted was at work"
    );
}

#[tokio::test(start_paused = true)]
async fn w1_a_step_that_waits_for_its_place_is_not_on_the_clock() {
    let (model, mut script) = ScriptedModel::new();
    let responder = streaming(move || {
        let both = Parallel::new()
            .and(Step::new("slow").prompt("slow."))
            .and(limited("reply", 1));
        Agent::new(model.clone()).then(both)
    });
    let sent = send(responder.concurrency(1)).await;
    let slow = script.call_asking("slow.").await;
    advance(Duration::from_secs(100)).await;
    slow.answer("done");
    say(&mut script, "done too").await;
    assert_eq!(&*sent.end().await.1.unwrap().text, "done too");
}
