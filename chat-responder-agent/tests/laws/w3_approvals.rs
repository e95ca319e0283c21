//! W3: a person is asked before, and what was approved runs once, with the arguments that were shown.

use chat_conformance::{ScriptedModel, ScriptedTool};
use chat_core::{ApprovalOutcome, ChatEvent, FinishReason, ToolOutcome};
use chat_responder_agent::{Agent, Step};
use serde_json::json;

use crate::support::{kinds, send, streaming};

#[tokio::test]
async fn w3_c61_c62_all_approvals_are_shown_at_once_and_each_approved_call_runs_once() {
    let (model, mut script) = ScriptedModel::new();
    let (tool, mut tools) = ScriptedTool::new("deploy");
    let tool = tool.needing_approval_if(|input| input["env"] != "test");
    let mut sent = send(streaming(move || {
        Agent::new(model.clone())
            .tool(tool.clone())
            .then(Step::new("reply").prompt("Hello"))
    }))
    .await;
    let call = script.next_call().await;
    for (index, env) in (0..).zip(["prod", "test", "stage"]) {
        call.tool_call(index, format!("c{index}"), "deploy", json!({ "env": env }));
    }
    call.finish(FinishReason::ToolCalls);
    let (first, second) = (sent.request().await, sent.request().await);
    assert!(!kinds(&sent.seen).contains(&"tool-execution-start"));
    assert_ne!(first.id, second.id);
    assert_eq!(*first.input, json!({"env": "prod"}));
    assert_eq!(sent.turn.requests().len(), 2);
    tools.next_call().await.answer(json!("tested"));
    sent.turn.approve(&first.id).unwrap();
    let approved = tools.next_call().await;
    assert_eq!(approved.input(), &*first.input);
    approved.answer(json!("deployed"));
    assert!(sent.turn.approve(&first.id).is_err());
    sent.turn.deny(&second.id, "not now").unwrap();
    let call = script.next_call().await;
    let results = serde_json::to_value(&call.request().messages[2].parts).unwrap();
    assert_eq!(results[0]["result"], "deployed");
    assert_eq!(results[1]["result"], "tested");
    assert_eq!(
        results[2]["result"],
        json!({"error": "a person denied this call: not now"})
    );
    assert!(tools.try_next_call().is_none());
    call.text("done");
    call.finish(FinishReason::Stop);
    let (events, result) = sent.end().await;
    assert_eq!(&*result.unwrap().text, "done");
    let denied = events.iter().filter(|event| {
        matches!(
            event,
            ChatEvent::ToolExecutionEnd {
                outcome: ToolOutcome::Denied,
                ..
            }
        )
    });
    assert_eq!(denied.count(), 1);
}

#[tokio::test]
async fn w3_cancel_withdraws_what_was_asked() {
    let (model, mut script) = ScriptedModel::new();
    let (tool, _tools) = ScriptedTool::new("deploy");
    let tool = tool.needing_approval();
    let mut sent = send(streaming(move || {
        Agent::new(model.clone())
            .tool(tool.clone())
            .then(Step::new("reply").prompt("Hello"))
    }))
    .await;
    let call = script.next_call().await;
    call.tool_call(0, "a", "deploy", json!({}));
    call.finish(FinishReason::ToolCalls);
    let request = sent.request().await;
    sent.turn.cancel("enough");
    assert!(sent.turn.approve(&request.id).is_err());
    let (events, result) = sent.end().await;
    assert_eq!(result.unwrap_err().to_string(), "enough");
    assert!(events.iter().any(|event| matches!(
        event,
        ChatEvent::ApprovalResolved { id, outcome: ApprovalOutcome::Withdrawn, .. } if *id == request.id
    )));
}
