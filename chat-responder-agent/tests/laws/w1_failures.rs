//! W1: what fails names its step, stops its siblings, and can be caught; clocks stand while a person is asked.

use std::time::Duration;

use chat_conformance::{ScriptedModel, ScriptedTool};
use chat_core::{ChatEvent, FinishReason, ResponderError, TraceStatus};
use chat_responder_agent::{Agent, Catch, Parallel, Sequence, Step, Task};
use serde_json::json;

use crate::support::{failure, kinds, node, one_step, say, send, streaming, trace};

#[tokio::test]
async fn w1_a_failure_names_its_step_and_keeps_its_kind() {
    let (model, mut script) = ScriptedModel::new();
    let sent = send(streaming(move || one_step(&model))).await;
    script
        .next_call()
        .await
        .fail(ResponderError::new("no route").with_kind("connect"));
    let (events, result) = sent.end().await;
    let error = failure(result);
    assert_eq!(error.message(), "step reply failed: no route");
    assert_eq!(error.kind(), "connect");
    assert_eq!(node(&trace(&events), "reply").status, TraceStatus::Failed);
}

#[tokio::test]
async fn w1_siblings_of_what_failed_are_aborted_and_a_fallback_takes_over() {
    let (model, mut script) = ScriptedModel::new();
    let sent = send(streaming(move || {
        let branches = Parallel::new().and(Step::new("slow").prompt("slow")).and(
            Sequence::new()
                .then(Step::new("bad").prompt("bad"))
                .then(Step::new("never").prompt("never")),
        );
        Agent::new(model.clone())
            .then(Catch::new(branches).or(|error| {
                let why = error.to_string();
                Task::new("fallback", move |_| async move { Ok(why) })
            }))
            .then(Step::new("reply").prompt_with(|run| run.text("fallback")))
    }))
    .await;
    let slow = script.call_asking("slow").await;
    slow.text("half");
    script
        .call_asking("bad")
        .await
        .fail(ResponderError::new("broken"));
    slow.dropped().await;
    let call = script.next_call().await;
    assert_eq!(
        call.request().messages[0].to_text(),
        "step bad failed: broken"
    );
    call.text("well");
    call.finish(FinishReason::Stop);
    let (events, result) = sent.end().await;
    let reply = result.unwrap();
    assert_eq!(&*reply.text, "well");
    let tree = &reply.run.unwrap().trace;
    let status = |id| node(tree, id).status;
    assert_eq!(
        ["slow", "slow/model-1", "bad", "never", "fallback", "reply"].map(status),
        [
            TraceStatus::Aborted,
            TraceStatus::Aborted,
            TraceStatus::Failed,
            TraceStatus::Aborted,
            TraceStatus::Done,
            TraceStatus::Done
        ]
    );
    let ends = kinds(&events)
        .iter()
        .filter(|kind| **kind == "step-end")
        .count();
    assert_eq!(ends, 3, "of the aborted call too");
    assert!(tree.iter().all(|(_, node)| !node.status.is_open()));
}

#[tokio::test(start_paused = true)]
async fn w1_a_timeout_names_what_ran_out_and_what_was_at_work() {
    let (model, mut script) = ScriptedModel::new();
    let sent = send(streaming(move || {
        Agent::new(model.clone()).then(
            Step::new("reply")
                .prompt("Hello")
                .timeout(Duration::from_secs(30)),
        )
    }))
    .await;
    let call = script.next_call().await;
    tokio::time::advance(Duration::from_secs(30)).await;
    call.dropped().await;
    let error = failure(sent.end().await.1);
    assert_eq!(
        error.message(),
        "step reply failed: it ran out of its 30 s while the model scripted was at work"
    );
    assert_eq!(error.kind(), "timeout");
}

#[tokio::test(start_paused = true)]
async fn w1_a_runs_timeout_says_so() {
    let (model, mut script) = ScriptedModel::new();
    let responder = streaming(move || one_step(&model)).timeout(Duration::from_millis(1500));
    let sent = send(responder).await;
    let call = script.next_call().await;
    tokio::time::advance(Duration::from_millis(1500)).await;
    call.dropped().await;
    let error = failure(sent.end().await.1);
    assert_eq!(
        error.message(),
        "the run ran out of its 1500 ms while the model scripted of step reply was at work"
    );
}

#[tokio::test(start_paused = true)]
async fn w1_c63_clocks_of_step_and_run_stand_while_a_person_is_asked() {
    let (model, mut script) = ScriptedModel::new();
    let (tool, mut tools) = ScriptedTool::new("deploy");
    let tool = tool.needing_approval();
    let responder = streaming(move || {
        Agent::new(model.clone()).tool(tool.clone()).then(
            Step::new("reply")
                .prompt("Hello")
                .timeout(Duration::from_secs(10)),
        )
    })
    .timeout(Duration::from_secs(20));
    let mut sent = send(responder).await;
    let call = script.next_call().await;
    call.tool_call(0, "c1", "deploy", json!({}));
    call.finish(FinishReason::ToolCalls);
    let request = sent.request().await;
    tokio::time::advance(Duration::from_secs(3600)).await;
    sent.turn.approve(&request.id).unwrap();
    tools.next_call().await.answer(json!("done"));
    say(&mut script, "Deployed").await;
    let (events, result) = sent.end().await;
    assert_eq!(&*result.unwrap().text, "Deployed");
    assert!(
        events
            .iter()
            .any(|event| matches!(event, ChatEvent::ToolResult { .. }))
    );
}
