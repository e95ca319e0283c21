//! W2: tools of one answer run side by side, each call has one result, in call order, and errors are results.

use chat_conformance::{ScriptedModel, ScriptedTool};
use chat_core::{ChatEvent, FinishReason, Part, ResponderError, Role, ToolOutcome};
use chat_responder_agent::{Agent, AgentResponder, Step};
use serde_json::{Value, json};

use crate::support::{one_step, say, send, streaming};

fn results(parts: &[Part]) -> Vec<(&str, Value)> {
    parts
        .iter()
        .map(|part| match part {
            Part::ToolResult {
                call_id, result, ..
            } => (call_id.as_str(), (**result).clone()),
            other => panic!("no result: {other:?}"),
        })
        .collect()
}

#[tokio::test]
async fn w2_c65_tools_run_side_by_side_end_as_they_end_and_results_are_in_call_order() {
    let (model, mut script) = ScriptedModel::new();
    let (tool, mut tools) = ScriptedTool::new("fetch");
    let mut sent = send(streaming(move || {
        Agent::new(model.clone())
            .tool(tool.clone())
            .then(Step::new("reply").prompt("Hello"))
    }))
    .await;
    let call = script.next_call().await;
    call.reasoning("hm");
    call.tool_call(0, "a", "fetch", json!({"n": 1}));
    call.tool_call(1, "b", "fetch", json!({"n": 2}));
    call.tool_call(2, "c", "missing", json!({}));
    call.finish(FinishReason::ToolCalls);
    let first = tools.next_call().await;
    let second = tools.next_call().await;
    assert_eq!(first.input(), &json!({"n": 1}));
    assert_ne!(
        first.context().idempotency_key,
        second.context().idempotency_key
    );
    second.answer(json!("two"));
    let ended = sent
        .until(|event| match event {
            ChatEvent::ToolExecutionEnd { call, outcome, .. } if *outcome == ToolOutcome::Ok => {
                Some(call.call_id.clone())
            }
            _ => None,
        })
        .await;
    assert_eq!(ended.as_str(), "b");
    first.fail(ResponderError::new("no luck"));
    let call = script.next_call().await;
    let [prompt, asked, answered] = &call.request().messages[..] else {
        panic!("{:?}", call.request());
    };
    assert_eq!(prompt.to_text(), "Hello");
    assert_eq!(asked.role, Role::Assistant);
    assert!(matches!(&asked.parts[0], Part::Reasoning { text, .. } if &**text == "hm"));
    assert_eq!(answered.role, Role::Tool);
    assert_eq!(
        results(&answered.parts),
        [
            ("a", json!({"error": "no luck"})),
            ("b", json!("two")),
            (
                "c",
                json!({"error": "there is no tool missing; there are: fetch"})
            ),
        ]
    );
    call.text("done");
    call.finish(FinishReason::Stop);
    assert_eq!(&*sent.end().await.1.unwrap().text, "done");
}

#[tokio::test]
async fn w2_an_exclusive_tool_runs_alone_and_is_not_overtaken() {
    let (model, mut script) = ScriptedModel::new();
    let (fetch, mut fetches) = ScriptedTool::new("fetch");
    let (push, mut pushes) = ScriptedTool::new("push");
    let push = push.exclusive();
    let sent = send(streaming(move || {
        Agent::new(model.clone())
            .tool(fetch.clone())
            .tool(push.clone())
            .then(Step::new("reply").prompt("Hello"))
    }))
    .await;
    let call = script.next_call().await;
    call.tool_call(0, "a", "fetch", json!({}));
    call.tool_call(1, "b", "push", json!({}));
    call.tool_call(2, "c", "fetch", json!({}));
    call.finish(FinishReason::ToolCalls);
    let first = fetches.next_call().await;
    assert!(pushes.try_next_call().is_none());
    assert!(fetches.try_next_call().is_none());
    first.answer(json!(1));
    let alone = pushes.next_call().await;
    assert!(fetches.try_next_call().is_none());
    alone.answer(json!(2));
    fetches.next_call().await.answer(json!(3));
    say(&mut script, "done").await;
    assert_eq!(&*sent.end().await.1.unwrap().text, "done");
}

#[tokio::test]
async fn w2_what_does_not_fit_the_schema_or_panics_is_a_result_and_hooks_rewrite_all() {
    let (model, mut script) = ScriptedModel::new();
    let (tool, mut tools) = ScriptedTool::new("fetch");
    let tool = tool.taking(json!({"type": "object", "properties": {"n": {"type": "integer"}}}));
    let responder = streaming(move || {
        Agent::new(model.clone())
            .tool(tool.clone())
            .then(Step::new("reply").prompt("Hello"))
    })
    .on_tool_result(|_, _, result| json!({ "seen": result }));
    let sent = send(responder).await;
    let call = script.next_call().await;
    call.tool_call(0, "a", "fetch", json!({"n": "one"}));
    call.tool_call(1, "b", "fetch", json!({"n": 2}));
    call.finish(FinishReason::ToolCalls);
    tools.next_call().await.panic("oh no");
    let call = script.next_call().await;
    let results = results(&call.request().messages[2].parts);
    let said = |place: usize| results[place].1["seen"]["error"].as_str().unwrap();
    assert!(said(0).contains("integer"), "{}", said(0));
    assert_eq!(said(1), "the tool fetch panicked: oh no");
    call.text("done");
    call.finish(FinishReason::Stop);
    assert_eq!(&*sent.end().await.1.unwrap().text, "done");
}

#[tokio::test]
async fn w2_c49_reasoning_goes_back_beside_the_calls_it_led_to_with_what_its_provider_wants() {
    let (model, mut script) = ScriptedModel::new();
    let (tool, mut tools) = ScriptedTool::new("fetch");
    let sent = send(streaming(move || one_step(&model).tool(tool.clone()))).await;
    let call = script.next_call().await;
    call.reasoning("I ");
    call.reasoning("think");
    call.reasoning_with_data("", json!({"signature": "s"}));
    call.tool_call(0, "a", "fetch", json!({"n": 1}));
    call.finish(FinishReason::ToolCalls);
    tools.next_call().await.answer(json!("seen"));
    let call = script.next_call().await;
    assert_eq!(
        serde_json::to_value(&call.request().messages[1]).unwrap(),
        json!({"role": "assistant", "parts": [
            {"type": "reasoning", "text": "I think"},
            {"type": "reasoning", "text": "", "data": {"signature": "s"}},
            {"type": "tool-call", "callId": "a", "tool": "fetch", "input": {"n": 1}},
        ]})
    );
    call.answer("done");
    assert_eq!(&*sent.end().await.1.unwrap().text, "done");
}

#[tokio::test]
async fn an_output_that_does_not_fit_is_corrected_once() {
    let (model, mut script) = ScriptedModel::new();
    let responder = AgentResponder::new("test", move |_| {
        Agent::new(model.clone()).then(Step::new("count").prompt("How many?").output::<u8>())
    })
    .reply(|run| run.text("count"));
    let sent = send(responder).await;
    let call = script.next_call().await;
    let output = call.request().output.clone().unwrap();
    call.answer("many");
    let call = script.next_call().await;
    assert_eq!(call.request().output.as_ref(), Some(&output));
    let [_, answer, correction] = &call.request().messages[..] else {
        panic!("{:?}", call.request());
    };
    assert_eq!(answer.to_text(), "many");
    assert!(correction.to_text().contains("no JSON"));
    call.answer(r#"{"value": 7}"#);
    assert_eq!(&*sent.end().await.1.unwrap().text, "7");
}
