//! W5: steering is taken before the next model call of a running step, or refused.

use chat_conformance::{ScriptedModel, ScriptedTool};
use chat_core::{FinishReason, SteerRefused};
use chat_responder_agent::{Agent, Step};
use serde_json::json;

use crate::support::{kinds, one_step, send, streaming};

#[tokio::test]
async fn w5_a_steer_is_taken_before_the_next_model_call_behind_the_results() {
    let (model, mut script) = ScriptedModel::new();
    let (tool, mut tools) = ScriptedTool::new("fetch");
    let sent = send(streaming(move || {
        Agent::new(model.clone())
            .tool(tool.clone())
            .then(Step::new("reply").prompt("Hello"))
    }))
    .await;
    let call = script.next_call().await;
    call.tool_call(0, "a", "fetch", json!({}));
    call.finish(FinishReason::ToolCalls);
    let running = tools.next_call().await;
    let steer = tokio::spawn(sent.turn.steer("assume no downtime"));
    let second = tokio::spawn(sent.turn.steer("and be quick"));
    tokio::task::yield_now().await;
    running.answer(json!("fetched"));
    let call = script.next_call().await;
    let asked: Vec<_> = call
        .request()
        .messages
        .iter()
        .map(|m| m.to_text())
        .collect();
    assert_eq!(
        asked,
        ["Hello", "", "", "assume no downtime", "and be quick"]
    );
    steer.await.unwrap().unwrap();
    second.await.unwrap().unwrap();
    call.text("done");
    call.finish(FinishReason::Stop);
    let session = sent.session.clone();
    let (events, result) = sent.end().await;
    assert_eq!(&*result.unwrap().text, "done");
    assert!(kinds(&events).contains(&"steered"));
    assert_eq!(session.messages().len(), 4);
}

#[tokio::test]
async fn w5_one_that_no_call_will_follow_is_refused() {
    let (model, mut script) = ScriptedModel::new();
    let sent = send(streaming(move || one_step(&model))).await;
    let call = script.next_call().await;
    let steer = tokio::spawn(sent.turn.steer("too late"));
    tokio::task::yield_now().await;
    call.text("done");
    call.finish(FinishReason::Stop);
    let refused = steer.await.unwrap().unwrap_err();
    assert!(matches!(refused.why, SteerRefused::ReplyIn), "{refused}");
    assert_eq!(&*sent.end().await.1.unwrap().text, "done");
}
