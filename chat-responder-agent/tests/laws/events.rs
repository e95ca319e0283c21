//! The events table of the contract, over a turn in which a workflow says all that it can say.

use chat_conformance::{ScriptedModel, ScriptedTool};
use chat_core::{ChatEvent, FinishReason, ResponderError, Usage};
use serde_json::{Value, json};

use crate::support::{ask_for, kinds, one_step, send, streaming};

/// An event as JSON: its type and fields, without what changes from one run to the next. Those whose place the store or the
/// turn decides are looked at elsewhere.
fn shown(event: &ChatEvent) -> Option<Value> {
    let mut event = serde_json::to_value(event).unwrap();
    let elsewhere = ["run-update", "steered", "turn-start", "turn-end"];
    if elsewhere.contains(&event["type"].as_str().unwrap()) {
        return None;
    }
    let fields = event.as_object_mut().unwrap();
    fields.remove("seq");
    fields.remove("durationMs");
    if let Some(Value::Object(request)) = fields.get_mut("request") {
        assert!(request.remove("requestedAt").is_some());
    }
    Some(event)
}

#[tokio::test]
async fn each_thing_a_run_says_is_the_event_that_the_table_names() {
    let (model, mut script) = ScriptedModel::new();
    let (tool, mut tools) = ScriptedTool::new("deploy");
    let tool = tool.needing_approval();
    let responder = streaming(move || one_step(&model).tool(tool.clone()))
        .on_tool_result(|_, _, result| json!({ "hooked": result }));
    let mut sent = send(responder).await;
    let call = script.next_call().await;
    call.retry(1, 250, &ResponderError::new("busy").with_kind("overloaded"));
    call.reasoning_with_data("hm", json!({"signature": "s"}));
    call.text("Let me see.");
    call.tool_call_start(0, "a", "dep");
    call.tool_name_fragment(0, "loy");
    call.tool_arguments_fragment(0, "{}");
    call.tool_call_ready(0, "a", "deploy", json!({}));
    call.tool_call_ready(1, "b", "missing", json!({}));
    call.usage(Usage {
        output_tokens: Some(5),
        ..Usage::default()
    });
    call.finish(FinishReason::ToolCalls);
    let request = sent.request().await;
    let steer = tokio::spawn(sent.turn.steer("faster"));
    tokio::task::yield_now().await;
    sent.turn.approve(&request.id).unwrap();
    tools.next_call().await.answer(json!("deployed"));
    steer.await.unwrap().unwrap();
    ask_for(&mut script, "deploy", json!({"n": 2})).await;
    let request = sent.request().await;
    sent.turn.deny(&request.id, "not now").unwrap();
    script.next_call().await.answer("Done.");
    let (events, result) = sent.end().await;
    assert_eq!(&*result.unwrap().text, "Let me see.\n\nDone.");

    let call = |number: u32, index: u32, id: &str, tool: &str, event: Value| {
        let mut of =
            json!({"step": "reply", "number": number, "index": index, "callId": id, "tool": tool});
        of.as_object_mut()
            .unwrap()
            .append(&mut event.as_object().unwrap().clone());
        of
    };
    let expected = [
        json!({"type": "step-start", "step": "reply", "number": 1}),
        json!({"type": "step-retry", "step": "reply", "number": 1, "attempt": 1, "delayMs": 250,
            "error": {"message": "busy", "kind": "overloaded"}}),
        json!({"type": "reasoning-delta", "text": "hm", "step": "reply", "provider": "scripted", "data": {"signature": "s"}}),
        json!({"type": "text-delta", "text": "Let me see.", "step": "reply"}),
        call(1, 0, "a", "dep", json!({"type": "tool-call-start"})),
        call(
            1,
            0,
            "a",
            "dep",
            json!({"type": "tool-call-delta", "nameFragment": "loy"}),
        ),
        call(
            1,
            0,
            "a",
            "dep",
            json!({"type": "tool-call-delta", "argumentsFragment": "{}"}),
        ),
        call(
            1,
            0,
            "a",
            "deploy",
            json!({"type": "tool-call-ready", "input": {}}),
        ),
        call(1, 1, "b", "missing", json!({"type": "tool-call-start"})),
        call(
            1,
            1,
            "b",
            "missing",
            json!({"type": "tool-call-ready", "input": {}}),
        ),
        json!({"type": "step-end", "step": "reply", "number": 1, "usage": {"outputTokens": 5}, "finishReason": "tool-calls"}),
        json!({"type": "approval-request", "request": {"id": "reply/1", "callId": "a", "toolName": "deploy", "input": {}, "step": "reply"}}),
        call(
            1,
            1,
            "b",
            "missing",
            json!({"type": "tool-execution-end", "outcome": "error"}),
        ),
        json!({"type": "tool-result", "callId": "b", "tool": "missing",
            "result": {"hooked": {"error": "there is no tool missing; there are: deploy"}}}),
        json!({"type": "approval-resolved", "id": "reply/1", "outcome": "approved"}),
        call(1, 0, "a", "deploy", json!({"type": "tool-execution-start"})),
        call(
            1,
            0,
            "a",
            "deploy",
            json!({"type": "tool-execution-end", "outcome": "ok"}),
        ),
        json!({"type": "tool-result", "callId": "a", "tool": "deploy", "result": {"hooked": "deployed"}}),
        json!({"type": "step-start", "step": "reply", "number": 2}),
        call(2, 0, "a", "deploy", json!({"type": "tool-call-start"})),
        call(
            2,
            0,
            "a",
            "deploy",
            json!({"type": "tool-call-ready", "input": {"n": 2}}),
        ),
        json!({"type": "step-end", "step": "reply", "number": 2, "finishReason": "tool-calls"}),
        json!({"type": "approval-request", "request": {"id": "reply/3", "callId": "a", "toolName": "deploy", "input": {"n": 2}, "step": "reply"}}),
        json!({"type": "approval-resolved", "id": "reply/3", "outcome": "denied", "reason": "not now"}),
        call(
            2,
            0,
            "a",
            "deploy",
            json!({"type": "tool-execution-end", "outcome": "denied"}),
        ),
        json!({"type": "tool-result", "callId": "a", "tool": "deploy",
            "result": {"hooked": {"error": "a person denied this call: not now"}}}),
        json!({"type": "step-start", "step": "reply", "number": 3}),
        json!({"type": "text-delta", "text": "\n\n", "step": "reply"}),
        json!({"type": "text-delta", "text": "Done.", "step": "reply"}),
        json!({"type": "step-end", "step": "reply", "number": 3, "finishReason": "stop"}),
    ];
    let seen: Vec<_> = events.iter().filter_map(shown).collect();
    for (seen, expected) in seen.iter().zip(&expected) {
        assert_eq!(seen, expected);
    }
    assert_eq!(seen.len(), expected.len());
    let steered = kinds(&events)
        .iter()
        .filter(|kind| **kind == "steered")
        .count();
    assert_eq!(steered, 1);
    assert!(matches!(events.first(), Some(ChatEvent::TurnStart { .. })));
    assert!(matches!(events.last(), Some(ChatEvent::TurnEnd { .. })));
}
