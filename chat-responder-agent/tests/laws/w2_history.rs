//! W2, C60: what a model reads back of its calls is valid and bounded, however it wrote them.

use chat_conformance::{ScriptedModel, ScriptedTool};
use chat_core::{FinishReason, Message, Part, ResponderError, ToolOutcome, TraceTree};
use chat_responder_agent::{Agent, RunOptions, Step, function_tool};
use serde_json::{Value, json};

use crate::support::{ask_for, ids, node, one_step, send, streaming, trace};

/// The ids of the calls in a conversation, and those of their results.
fn call_ids(messages: &[Message]) -> (Vec<String>, Vec<String>) {
    let parts = || messages.iter().flat_map(|message| &message.parts);
    let calls = parts().filter_map(|part| match part {
        Part::ToolCall { call_id, .. } => Some(call_id.to_string()),
        _ => None,
    });
    let results = parts().filter_map(|part| match part {
        Part::ToolResult { call_id, .. } => Some(call_id.to_string()),
        _ => None,
    });
    (calls.collect(), results.collect())
}

/// The result that a conversation ends with.
fn last_result(messages: &[Message]) -> Value {
    match &messages.last().unwrap().parts[..] {
        [Part::ToolResult { result, .. }] => (**result).clone(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn w2_c60_calls_of_one_id_or_none_go_back_with_ids_of_their_own() {
    let (model, mut script) = ScriptedModel::new();
    let earlier = Message {
        parts: vec![Part::ToolCall {
            call_id: "b".into(),
            tool: "fetch".into(),
            input: json!({}).into(),
        }],
        ..Message::assistant("")
    };
    let sent = send(streaming(move || {
        let prompt = vec![Message::user("Hello"), earlier.clone()];
        Agent::new(model.clone()).then(Step::new("reply").prompt(prompt))
    }))
    .await;
    for _ in 0..2 {
        let call = script.next_call().await;
        for (place, id) in ["a", "a", "", "b"].into_iter().enumerate() {
            call.tool_call(place as u32, id, "fetch", json!({}));
        }
        call.finish(FinishReason::ToolCalls);
    }
    let call = script.next_call().await;
    let (calls, results) = call_ids(&call.request().messages);
    let given = ["a", "a-2", "call", "b-2", "a-3", "a-4", "call-2", "b-3"];
    assert_eq!(results, given);
    assert_eq!(calls[0], "b");
    assert_eq!(calls[1..], given);
    call.answer("done");
    // Whoever watches sees what the model wrote.
    let (events, _) = sent.end().await;
    let trace = trace(&events);
    let shown = trace.iter().filter_map(|(_, node)| node.call_id.clone());
    let shown: Vec<_> = shown.map(|id| id.to_string()).collect();
    assert_eq!(shown, ["a", "a", "", "b", "a", "a", "", "b"]);
}

#[tokio::test]
async fn w2_broken_arguments_are_told_as_what_they_are() {
    let (model, mut script) = ScriptedModel::new();
    let (tool, _tools) = ScriptedTool::new("fetch");
    let sent = send(streaming(move || one_step(&model).tool(tool.clone()))).await;
    ask_for(&mut script, "fetch", json!("{\"a\": ")).await;
    let call = script.next_call().await;
    let told = "the arguments are no JSON object: EOF while parsing a value at line 1 column 6";
    assert_eq!(
        last_result(&call.request().messages),
        json!({ "error": told })
    );
    call.answer("done");
    assert_eq!(&*sent.end().await.1.unwrap().text, "done");
}

#[tokio::test]
async fn c66_what_a_hook_takes_out_of_a_result_is_nowhere() {
    let failed = |hooked: Value| async move {
        let (model, mut script) = ScriptedModel::new();
        let (tool, mut tools) = ScriptedTool::new("fetch");
        let responder = streaming(move || one_step(&model).tool(tool.clone())).on_tool_result(
            move |_, outcome, _| {
                assert_eq!(outcome, ToolOutcome::Error);
                hooked.clone()
            },
        );
        let sent = send(responder).await;
        ask_for(&mut script, "fetch", json!({})).await;
        let secret = ResponderError::new("customer Maria not found").with_kind("missing");
        tools.next_call().await.fail(secret);
        script.next_call().await.answer("done");
        let (events, result) = sent.end().await;
        assert!(!format!("{events:?}").contains("Maria"));
        let trace: TraceTree = result.unwrap().run.unwrap().trace;
        node(&trace, "reply/tool-1").error.clone().unwrap()
    };
    let error = failed(json!({"error": "hidden"})).await;
    assert_eq!((&*error.message, &*error.kind), ("hidden", "missing"));
    let error = failed(json!("hidden")).await;
    assert_eq!(&*error.message, "the call failed");
}

#[tokio::test]
async fn t4_a_result_or_output_that_is_nested_too_deep_is_an_error() {
    fn deep() -> Value {
        (0..1000).fold(json!(1), |value, _| Value::Array(vec![value]))
    }
    let (model, mut script) = ScriptedModel::new();
    let fetch = function_tool("fetch", "", |(): (), _| async { Ok(deep()) });
    let sent = send(streaming(move || one_step(&model).tool(fetch.clone()))).await;
    ask_for(&mut script, "fetch", json!({})).await;
    let call = script.next_call().await;
    assert_eq!(
        last_result(&call.request().messages),
        json!({"error": "the result is nested more than 128 levels deep"})
    );
    call.tool_call(0, "a", "fetch", deep());
    call.finish(FinishReason::ToolCalls);
    let error = crate::support::failure(sent.end().await.1);
    assert_eq!(error.kind(), "protocol");

    let task = chat_responder_agent::Task::new("dig", |_| async { Ok(deep()) });
    let run = chat_responder_agent::Node::from(task).start(RunOptions::default(), ids());
    let error = run.unwrap().await.unwrap_err();
    assert_eq!(error.kind(), "result-too-deep");
}

#[tokio::test]
async fn names_that_a_model_writes_are_cut_off() {
    let (model, mut script) = ScriptedModel::new();
    let sent = send(streaming(move || one_step(&model))).await;
    let long = "x".repeat(100_000);
    let call = script.next_call().await;
    call.tool_call(0, &*long, &*long, json!({}));
    call.finish(FinishReason::ToolCalls);
    let call = script.next_call().await;
    let written = serde_json::to_string(&call.request().messages).unwrap();
    assert!(written.len() < 5000, "{} bytes", written.len());
    call.answer("done");
    let (events, _) = sent.end().await;
    let ended = events.iter().filter(|event| {
        matches!(event, chat_core::ChatEvent::ToolExecutionEnd { outcome, .. } if *outcome == ToolOutcome::Error)
    });
    assert_eq!(ended.count(), 1);
    assert!(!format!("{events:?}").contains(&long[..300]));
}
