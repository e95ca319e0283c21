//! W2: every call has exactly one result that the model can go on with, whatever its tool, hook or person did.

use std::sync::Arc;

use chat_conformance::{ScriptedModel, ScriptedTool};
use chat_core::{
    ChatEvent, FinishReason, Message, Part, ResponderError, Tool, ToolContext, ToolOutcome,
    ToolSpec, TraceStatus,
};
use chat_responder_agent::{Agent, AgentResponder, Step, function_tool};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::support::{ask_for, node, one_step, say, send, streaming, trace};

/// A tool that panics where it is told to.
#[derive(Clone, Copy, PartialEq)]
enum Panics {
    Asked,
    Placed,
    Called,
}

impl Tool for Panics {
    fn spec(&self) -> ToolSpec {
        let name = match self {
            Self::Asked => "asked",
            Self::Placed => "placed",
            Self::Called => "called",
        };
        ToolSpec {
            name: name.into(),
            description: "Panics.".into(),
            input_schema: json!({"type": "object"}).into(),
        }
    }

    fn call(
        &self,
        _: Arc<Value>,
        _: ToolContext,
    ) -> BoxFuture<'static, Result<Value, ResponderError>> {
        panic!("no")
    }

    fn needs_approval(&self, _: &Value) -> bool {
        assert!(*self != Self::Asked, "no");
        false
    }

    fn is_exclusive(&self) -> bool {
        assert!(*self != Self::Placed, "no");
        false
    }
}

/// The error that the model reads in the place of each result, and how the tools ended.
async fn errors(
    responder: impl FnOnce(ScriptedModel) -> AgentResponder,
    calls: &[(&str, Value)],
) -> (Vec<String>, Vec<ChatEvent>) {
    let (model, mut script) = ScriptedModel::new();
    let sent = send(responder(model)).await;
    let call = script.next_call().await;
    for (index, (tool, input)) in (0..).zip(calls) {
        call.tool_call(index, format!("c{index}"), *tool, input.clone());
    }
    call.finish(FinishReason::ToolCalls);
    let call = script.next_call().await;
    let errors = results(&call.request().messages)
        .into_iter()
        .map(|(_, result)| result["error"].as_str().unwrap().to_owned())
        .collect();
    call.answer("done");
    let (events, result) = sent.end().await;
    assert_eq!(&*result.unwrap().text, "done");
    (errors, events)
}

/// All results, each behind the call it is of, which has no other.
fn results(messages: &[Message]) -> Vec<(String, Value)> {
    let mut open = Vec::new();
    let mut results = Vec::new();
    for part in messages.iter().flat_map(|message| &message.parts) {
        match part {
            Part::ToolCall { call_id, .. } => open.push(call_id.clone()),
            Part::ToolResult {
                call_id, result, ..
            } => {
                assert_eq!(*call_id, open.remove(0), "results are in call order");
                results.push((call_id.to_string(), (**result).clone()));
            }
            _ => {}
        }
    }
    assert!(open.is_empty(), "no result of {open:?}");
    results
}

#[tokio::test]
async fn w2_a_tool_that_panics_wherever_it_is_asked_gives_an_error() {
    let (errors, events) = errors(
        |model| {
            streaming(move || {
                one_step(&model)
                    .tool(Panics::Asked)
                    .tool(Panics::Placed)
                    .tool(Panics::Called)
            })
        },
        &["asked", "placed", "called"].map(|tool| (tool, json!({}))),
    )
    .await;
    assert_eq!(
        errors,
        [
            "what tells whether the tool asked needs approval panicked: no",
            "the tool placed panicked: no",
            "the tool called panicked: no",
        ]
    );
    let tree = trace(&events);
    for n in 1..=3 {
        let tool = node(&tree, &format!("reply/tool-{n}"));
        assert_eq!(tool.status, TraceStatus::Failed);
        assert_eq!(tool.error.as_ref().unwrap().kind.as_ref(), "panic");
    }
}

#[tokio::test]
async fn w2_hooks_rewrite_in_their_order_and_one_that_panics_gives_an_error() {
    let (model, mut script) = ScriptedModel::new();
    let look = function_tool("look", "Looks.", |(): (), _| async { Ok("seen") });
    let responder = streaming(move || one_step(&model).tool(look.clone()))
        .on_tool_result(|call, _, result| {
            assert!(call.call_id.as_str() != "b", "no");
            json!([result])
        })
        .on_tool_result(|call, _, result| json!({ call.tool.as_str(): result }));
    let sent = send(responder).await;
    let call = script.next_call().await;
    call.tool_call(0, "a", "look", json!({}));
    call.tool_call(1, "b", "look", json!({}));
    call.finish(FinishReason::ToolCalls);
    let call = script.next_call().await;
    let rewritten = json!({"look": ["seen"]});
    let broken = json!({"error": "the hook on the result of tool look panicked: no"});
    assert_eq!(
        results(&call.request().messages),
        [("a".into(), rewritten.clone()), ("b".into(), broken)]
    );
    call.answer("done");
    let (events, _) = sent.end().await;
    let shown = events.iter().find_map(|event| match event {
        ChatEvent::ToolResult { result, .. } => Some(result.clone()),
        _ => None,
    });
    assert_eq!(*shown.unwrap(), rewritten);
    let output = &node(&trace(&events), "reply/tool-1").output;
    assert_eq!(output.as_deref(), Some(&rewritten));
}

#[tokio::test]
async fn w2_a_result_that_is_too_long_is_an_error_unless_a_hook_or_the_agent_lets_it_be() {
    let long = || {
        function_tool("long", "Is long.", |(): (), _| async {
            Ok("x".repeat(3000))
        })
    };
    let limited = move |model: &ScriptedModel| one_step(model).tool(long()).max_result_bytes(1000);
    let calls = [("long", json!({}))];
    let (errors, _) = errors(move |model| streaming(move || limited(&model)), &calls).await;
    assert_eq!(
        errors,
        ["the result has 3002 bytes of JSON, and 1000 are allowed: ask for less"]
    );
    let (model, mut script) = ScriptedModel::new();
    let responder = streaming(move || limited(&model))
        .on_tool_result(|_, _, result| json!(result.as_str().map(str::len)));
    let sent = send(responder).await;
    ask_for(&mut script, "long", json!({})).await;
    let call = script.next_call().await;
    assert_eq!(results(&call.request().messages)[0].1, 3000);
    call.answer("done");
    sent.end().await.1.unwrap();
}

#[tokio::test]
async fn w2_every_call_has_one_result_in_call_order_whatever_became_of_it() {
    let (model, mut script) = ScriptedModel::new();
    let (tool, mut tools) = ScriptedTool::new("do");
    let tool = tool
        .taking(json!({"type": "object", "required": ["n"]}))
        .needing_approval_if(|input| input["n"] == 4);
    let mut sent = send(streaming(move || one_step(&model).tool(tool.clone()))).await;
    let call = script.next_call().await;
    call.tool_call(0, "misfit", "do", json!("not even an object"));
    call.tool_call(1, "unknown", "undo", json!({}));
    for n in 2..=5 {
        call.tool_call(n, format!("c{n}"), "do", json!({ "n": n }));
    }
    call.finish(FinishReason::ToolCalls);
    let request = sent.request().await;
    sent.turn.deny(&request.id, "no").unwrap();
    let mut running = Vec::new();
    for _ in 0..3 {
        running.push(tools.next_call().await);
    }
    running.remove(2).answer(json!("five"));
    running.remove(1).panic("oh");
    running.remove(0).fail(ResponderError::new("no luck"));
    let call = script.next_call().await;
    let results = results(&call.request().messages);
    let ids: Vec<_> = results.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(ids, ["misfit", "unknown", "c2", "c3", "c4", "c5"]);
    assert_eq!(results[5].1, "five");
    call.answer("done");
    let (events, _) = sent.end().await;
    let mut ends: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            ChatEvent::ToolExecutionEnd { call, outcome, .. } => Some((call.index, *outcome)),
            _ => None,
        })
        .collect();
    ends.sort_by_key(|(index, _)| *index);
    let (error, denied) = (ToolOutcome::Error, ToolOutcome::Denied);
    let outcomes = [error, error, error, error, denied, ToolOutcome::Ok];
    assert_eq!(ends, (0..).zip(outcomes).collect::<Vec<_>>());
}

#[tokio::test]
async fn w2_c60_a_canceled_tool_leaves_nothing_behind_that_the_next_turn_would_be_refused_for() {
    let (model, mut script) = ScriptedModel::new();
    let (tool, mut tools) = ScriptedTool::new("fetch");
    let responder = AgentResponder::new("test", move |turn| {
        Agent::new(model.clone())
            .tool(tool.clone())
            .then(Step::new("reply").prompt(turn.conversation()))
    });
    let sent = send(responder.stream("reply")).await;
    ask_for(&mut script, "fetch", json!({})).await;
    let mut running = tools.next_call().await;
    sent.turn.cancel("enough");
    running.dropped().await;
    let session = sent.session.clone();
    sent.end().await.1.unwrap_err();
    let next = session.send("Again");
    ask_for(&mut script, "fetch", json!({})).await;
    tools.next_call().await.answer(json!("fetched"));
    let call = script.next_call().await;
    assert_eq!(results(&call.request().messages).len(), 1);
    assert_eq!(call.request().messages[0].to_text(), "Again");
    call.answer("done");
    assert_eq!(&*next.await.unwrap().text, "done");
}

#[tokio::test]
async fn w2_tools_of_different_types_may_come_as_one_list() {
    let (model, mut script) = ScriptedModel::new();
    let (fetch, mut fetches) = ScriptedTool::new("fetch");
    let fetch = fetch.exclusive().needing_approval();
    let look = function_tool("look", "Looks.", |(): (), _| async { Ok("seen") });
    let tools: Vec<Arc<dyn Tool>> = vec![Arc::new(fetch), Arc::new(look)];
    let mut sent = send(streaming(move || {
        let agent = one_step(&model);
        tools.iter().cloned().fold(agent, Agent::tool)
    }))
    .await;
    ask_for(&mut script, "fetch", json!({})).await;
    let request = sent.request().await;
    sent.turn.approve(&request.id).unwrap();
    fetches.next_call().await.answer(json!(1));
    say(&mut script, "done").await;
    assert_eq!(&*sent.end().await.1.unwrap().text, "done");
}
