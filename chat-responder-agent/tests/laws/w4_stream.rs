//! W4: the step that is named streams the reply; what is left over comes last, and what contradicts it fails the turn.

use chat_conformance::{ModelScript, ScriptedModel, ScriptedTool};
use chat_core::{ChatEvent, FinishReason};
use chat_responder_agent::{Agent, AgentResponder, Step};
use serde_json::json;

use crate::support::{deltas, failure, kinds, node, one_step, say, send, streaming};

fn responder() -> (AgentResponder, ModelScript) {
    let (model, script) = ScriptedModel::new();
    (streaming(move || one_step(&model)), script)
}

#[tokio::test]
async fn w4_the_named_steps_text_is_the_reply_and_each_delta_follows_the_update_that_carries_it() {
    let (model, mut script) = ScriptedModel::new();
    let sent = send(streaming(move || {
        Agent::new(model.clone())
            .instructions("Be brief.")
            .then(Step::new("draft").prompt("Draft"))
            .then(Step::new("reply").prompt_with(|run| format!("Review {}", run.text("draft"))))
    }))
    .await;
    say(&mut script, "a draft").await;
    let call = script.next_call().await;
    let asked = crate::support::asked(&call);
    assert_eq!(asked, ["Be brief.", "Review a draft"]);
    call.text("One, ");
    call.text("two");
    call.finish(FinishReason::Stop);
    let (events, result) = sent.end().await;
    assert_eq!(&*result.unwrap().text, "One, two");
    assert_eq!(deltas(&events), ["One, ", "two"]);
    let mut carried = String::new();
    let mut shown = String::new();
    for event in &events {
        match event {
            ChatEvent::RunUpdate { tree, .. } => {
                carried = node(tree, "reply").partial_text.to_string()
            }
            ChatEvent::TextDelta { text, .. } => {
                shown.push_str(text);
                assert!(carried.starts_with(&shown), "{shown:?} before {carried:?}");
            }
            _ => {}
        }
    }
}

#[tokio::test]
async fn w4_what_was_not_streamed_of_the_reply_is_one_last_delta() {
    let (responder, mut script) = responder();
    let responder = responder.reply(|run| run.text("reply").map(|text| format!("{text}!")));
    let sent = send(responder).await;
    say(&mut script, "Hi").await;
    let (events, result) = sent.end().await;
    assert_eq!(&*result.unwrap().text, "Hi!");
    assert_eq!(deltas(&events), ["Hi", "!"]);
}

#[tokio::test]
async fn w4_a_reply_that_contradicts_what_streamed_fails_the_turn() {
    let (responder, mut script) = responder();
    let sent = send(responder.reply(|_| "No")).await;
    say(&mut script, "Hi").await;
    assert_eq!(failure(sent.end().await.1).kind(), "reply-contradicts");
}

#[tokio::test]
async fn w4_a_reply_that_is_not_there_fails_the_turn_and_says_what_is() {
    let (responder, mut script) = responder();
    let sent = send(responder.reply(|run| run.text("rely"))).await;
    say(&mut script, "Hi").await;
    let error = failure(sent.end().await.1);
    assert_eq!(error.kind(), "reply-missing");
    assert_eq!(error.message(), "the run gave no reply; these did: reply");
}

#[tokio::test]
async fn w4_text_and_reasoning_that_come_together_keep_their_order() {
    let (responder, mut script) = responder();
    let sent = send(responder).await;
    let call = script.next_call().await;
    call.text("One");
    call.reasoning("hm");
    call.text(", two");
    call.finish(FinishReason::Stop);
    let (events, result) = sent.end().await;
    assert_eq!(&*result.unwrap().text, "One, two");
    let said: Vec<_> = kinds(&events)
        .into_iter()
        .filter(|kind| !matches!(*kind, "run-update" | "turn-start" | "turn-end"))
        .collect();
    assert_eq!(
        said,
        [
            "step-start",
            "text-delta",
            "reasoning-delta",
            "text-delta",
            "step-end"
        ]
    );
}

#[tokio::test]
async fn w4_what_a_step_wrote_before_its_tools_is_shown_and_kept() {
    let (model, mut script) = ScriptedModel::new();
    let (tool, mut tools) = ScriptedTool::new("fetch");
    let sent = send(streaming(move || one_step(&model).tool(tool.clone()))).await;
    let call = script.next_call().await;
    call.text("Let me look.");
    call.tool_call(0, "a", "fetch", json!({}));
    call.finish(FinishReason::ToolCalls);
    tools.next_call().await.answer(json!("seen"));
    let call = script.next_call().await;
    assert_eq!(call.request().messages[1].to_text(), "Let me look.");
    call.answer("It is there.");
    let (events, result) = sent.end().await;
    let reply = result.unwrap();
    assert_eq!(&*reply.text, "Let me look.\n\nIt is there.");
    assert_eq!(deltas(&events).concat(), &*reply.text);
    let run = reply.run.unwrap();
    assert_eq!(run.text("reply").as_deref(), Some(&*reply.text));
    let last = node(&run.trace, "reply/model-2");
    assert_eq!(last.output.as_deref(), Some(&json!("It is there.")));
}

#[tokio::test]
async fn w4_without_a_streamed_step_the_reply_is_what_the_caller_takes() {
    let (model, mut script) = ScriptedModel::new();
    let responder = AgentResponder::new("test", move |_| one_step(&model))
        .reply(|run| run.json::<String>("reply"));
    let sent = send(responder).await;
    say(&mut script, "Hi").await;
    let (events, result) = sent.end().await;
    assert_eq!(&*result.unwrap().text, "Hi");
    assert!(deltas(&events).is_empty());
}

#[tokio::test]
async fn w4_an_agent_that_names_no_reply_guesses_none() {
    let (model, _script) = ScriptedModel::new();
    let sent = send(AgentResponder::new("test", move |_| one_step(&model))).await;
    let error = failure(sent.end().await.1);
    assert_eq!(error.kind(), "reply-missing");
}
