//! W4: the step that is named streams the reply; what is left over comes last, and what contradicts it fails the turn.

use chat_conformance::{ModelScript, ScriptedModel};
use chat_core::{ChatEvent, FinishReason};
use chat_responder_agent::{Agent, AgentResponder, Step};

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
    let asked: Vec<_> = call
        .request()
        .messages
        .iter()
        .map(|m| m.to_text())
        .collect();
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
