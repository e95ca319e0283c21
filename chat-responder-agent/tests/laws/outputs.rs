//! What becomes of answers that are cut, missing or no such value as was asked for.

use chat_conformance::{ModelCall, ScriptedModel};
use chat_core::{FinishReason, Message, ResponderError};
use chat_responder_agent::{Agent, AgentResponder, JsonSchema, Step};
use serde::{Deserialize, Serialize};

use crate::support::{failure, journal, one_step, send, streaming};

#[derive(Serialize, Deserialize, JsonSchema)]
struct Who {
    age: u8,
}

/// A responder whose reply is a value.
fn valued(model: ScriptedModel) -> AgentResponder {
    AgentResponder::new("test", move |_| {
        Agent::new(model.clone()).then(Step::new("who").prompt("Who?").output::<Who>())
    })
    .reply(|run| run.text("who"))
}

#[tokio::test]
async fn j3_what_a_model_wrote_as_a_value_is_in_no_journal() {
    let (model, mut script) = ScriptedModel::new();
    let sent = send(valued(model)).await;
    let (store, session) = (sent.store.clone(), sent.session.clone());
    let wrong = r#"{"age": "Maria"}"#;
    script.next_call().await.answer(wrong);
    let call = script.next_call().await;
    let told = call.request().messages.last().unwrap().to_text();
    assert!(told.contains("at /age: \"Maria\" is not of type"), "{told}");
    assert!(told.contains(r#""required":["age"]"#), "{told}");
    call.answer(wrong);
    let error = failure(sent.end().await.1);
    assert_eq!(error.kind(), "output-mismatch");
    assert_eq!(
        error.message(),
        "step who failed: its answer does not fit what was asked for: it breaks the schema at /properties/age/type"
    );
    let journal = journal(&store, &session).await;
    assert!(journal.contains("output-mismatch"), "{journal}");
    assert!(!journal.contains("Maria"), "{journal}");
}

#[tokio::test]
async fn a_value_in_one_block_of_code_is_read_at_once() {
    let (model, mut script) = ScriptedModel::new();
    let sent = send(valued(model)).await;
    let call = script.next_call().await;
    call.answer("```json\n{\"age\": 7}\n```");
    assert_eq!(&*sent.end().await.1.unwrap().text, r#"{"age":7}"#);
}

#[tokio::test]
async fn m3_a_value_that_was_cut_off_is_not_asked_for_again() {
    let (model, mut script) = ScriptedModel::new();
    let sent = send(valued(model)).await;
    let call = script.next_call().await;
    call.text("{\"age\": ");
    call.finish(FinishReason::Length);
    let error = failure(sent.end().await.1);
    assert_eq!(error.kind(), "truncated");
    assert!(error.message().contains("limit of tokens"), "{error}");
}

#[tokio::test]
async fn m3_an_answer_without_the_calls_it_was_to_have_is_none() {
    let failing = async |cut: fn(ModelCall)| {
        let (model, mut script) = ScriptedModel::new();
        let sent = send(streaming(move || one_step(&model))).await;
        cut(script.next_call().await);
        failure(sent.end().await.1)
    };
    let error = failing(|call| {
        call.text("Let me see.");
        call.finish(FinishReason::ToolCalls);
    });
    assert_eq!(error.await.kind(), "truncated");
    for reason in [FinishReason::Length, FinishReason::ToolCalls] {
        let (model, mut script) = ScriptedModel::new();
        let sent = send(streaming(move || one_step(&model))).await;
        let call = script.next_call().await;
        call.tool_call_start(0, "a", "look");
        call.tool_arguments_fragment(0, "{\"q\":");
        call.finish(reason);
        let error: ResponderError = failure(sent.end().await.1);
        assert_eq!(error.kind(), "truncated");
        assert!(error.message().contains("the tool look"), "{error}");
    }
}

#[tokio::test]
async fn a_prompt_that_is_made_of_no_messages_is_not_sent() {
    let (model, _script) = ScriptedModel::new();
    let sent = send(streaming(move || {
        Agent::new(model.clone()).then(Step::new("reply").prompt_with(|_| Vec::<Message>::new()))
    }))
    .await;
    let error = failure(sent.end().await.1);
    assert_eq!(error.kind(), "workflow-invalid");
    assert!(error.message().contains("nothing to ask"), "{error}");
}
