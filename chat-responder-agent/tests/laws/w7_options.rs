//! W7, T9: what a host, a tool and a task get of a run, and what they can't take from it.

use std::time::Duration;

use chat_conformance::{ScriptedModel, ScriptedTool};
use chat_core::{FinishReason, ResponderError};
use chat_responder_agent::{Agent, Node, RunOptions, Step, Task, function_tool};
use futures_util::FutureExt as _;
use serde_json::json;

use crate::support::{ask_for, failure, ids, one_step, send, streaming};

#[tokio::test]
async fn w7_a_run_that_was_started_without_the_turns_options_fails_the_turn() {
    let (model, _script) = ScriptedModel::new();
    let responder = streaming(move || one_step(&model))
        .start_run(|workflow, _options, ids| workflow.start(RunOptions::default(), ids));
    let error = failure(send(responder).await.end().await.1);
    assert_eq!(error.kind(), "workflow-invalid");
    assert!(error.message().contains("the options"), "{error}");
}

#[tokio::test]
async fn t9_the_key_of_a_call_follows_the_call_and_not_its_place() {
    let (model, mut script) = ScriptedModel::new();
    let (deploy, mut deploys) = ScriptedTool::new("deploy");
    let sent = send(streaming(move || one_step(&model).tool(deploy.clone()))).await;
    let (session, first) = (sent.session.clone(), sent.turn.clone());
    ask_for(&mut script, "deploy", json!({"to": "staging"})).await;
    let running = deploys.next_call().await;
    assert_eq!(running.context().root_turn_id, *first.id());
    let staging = running.context().idempotency_key.clone();
    running.answer(json!("up"));
    script.next_call().await.fail(ResponderError::new("no"));
    first.result().await.unwrap_err();

    let again = session.retry(first.id());
    let call = script.next_call().await;
    for (place, to) in ["prod", "staging", "staging"].into_iter().enumerate() {
        call.tool_call(
            place as u32,
            format!("{place}"),
            "deploy",
            json!({ "to": to }),
        );
    }
    call.finish(FinishReason::ToolCalls);
    let mut keys = Vec::new();
    for _ in 0..3 {
        let running = deploys.next_call().await;
        assert_eq!(running.context().root_turn_id, *first.id());
        keys.push(running.context().idempotency_key.clone());
        running.answer(json!("up"));
    }
    assert_ne!(keys[0], staging);
    assert_eq!(keys[1], staging);
    assert_ne!(keys[2], staging);
    assert!(staging.starts_with(&format!("{}/reply/deploy/", first.id())));
    script.next_call().await.answer("done");
    again.result().await.unwrap();
}

#[tokio::test]
async fn t9_a_task_knows_the_first_turn_and_may_hand_what_it_knows_on() {
    let task = Task::new("key", |run| async move {
        let run = run.clone();
        Ok(run.root_turn_id.as_str() == "root" && run.turn_id.as_str() == "turn")
    });
    let run = Node::from(task).start(RunOptions::default(), ids());
    assert_eq!(run.unwrap().await.unwrap().text("key").unwrap(), "true");
}

#[tokio::test(start_paused = true)]
async fn w1_c63_nobody_is_asked_once_the_time_is_up() {
    let (model, mut script) = ScriptedModel::new();
    let (tool, mut tools) = ScriptedTool::new("deploy");
    let step = Step::new("reply")
        .prompt("Hello")
        .timeout(Duration::from_secs(10));
    let workflow = Agent::new(model).tool(tool.needing_approval()).then(step);
    let mut run = Node::from(workflow)
        .start(RunOptions::default(), ids())
        .unwrap();
    assert!((&mut run).now_or_never().is_none());
    ask_for(&mut script, "deploy", json!({})).await;
    tokio::time::advance(Duration::from_secs(10)).await;
    let error = (&mut run).now_or_never().unwrap().unwrap_err();
    assert_eq!(error.kind(), "timeout");
    assert!(tools.try_next_call().is_none());
}

struct PanicsInDrop;

impl Drop for PanicsInDrop {
    fn drop(&mut self) {
        panic!("gone badly");
    }
}

#[tokio::test]
async fn t4_a_tool_that_panics_as_it_is_dropped_takes_no_answer_away() {
    let (model, mut script) = ScriptedModel::new();
    let held = PanicsInDrop;
    let fetch = function_tool("fetch", "", move |(): (), _| {
        let _held = &held;
        async { Ok(()) }
    });
    let workflow = Agent::new(model)
        .tool(fetch)
        .then(Step::new("reply").prompt("Hello"));
    let run = Node::from(workflow).start(RunOptions::default(), ids());
    let run = tokio::spawn(run.unwrap());
    script.next_call().await.answer("done");
    let result = run.await.unwrap().unwrap();
    assert_eq!(result.text("reply").as_deref(), Some("done"));
}
