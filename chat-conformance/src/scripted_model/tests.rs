//! What a scripted model says, and when its reader has heard it.

use chat_core::Message;
use futures_util::FutureExt;
use serde_json::json;

use super::*;

fn started() -> (
    BoxStream<'static, Result<ModelEvent, ResponderError>>,
    ModelCall,
) {
    let (model, mut script) = ScriptedModel::new();
    let answer = model.stream(ModelRequest::default());
    (answer, script.try_next_call().unwrap())
}

#[tokio::test]
async fn an_answer_is_what_the_test_said_in_order() {
    let (answer, call) = started();
    call.text("a");
    call.reasoning("b");
    call.finish(FinishReason::Stop);
    let said: Vec<_> = answer.map(Result::unwrap).collect().await;
    assert_eq!(said.len(), 3);
    assert_eq!(said[2], ModelEvent::Finish(FinishReason::Stop));
}

#[tokio::test]
async fn a_cut_answer_ends_without_a_finish_and_a_failed_one_errs() {
    let (mut answer, call) = started();
    call.cut();
    assert!(answer.next().await.is_none());

    let (mut answer, call) = started();
    call.fail(ResponderError::new("no"));
    assert_eq!(answer.next().await.unwrap().unwrap_err().message(), "no");
}

#[tokio::test]
async fn what_was_said_is_heard_once_the_reader_asks_for_more() {
    let (mut answer, call) = started();
    call.text("a");
    call.text("b");
    assert!(call.heard().now_or_never().is_none());
    answer.next().await;
    answer.next().await;
    assert!(
        call.heard().now_or_never().is_none(),
        "it may still be at work on it"
    );
    assert!(answer.next().now_or_never().is_none());
    call.heard().await;
    call.text("c");
    assert!(call.heard().now_or_never().is_none());
}

#[tokio::test]
async fn calls_side_by_side_are_told_apart_by_what_they_ask() {
    let (model, mut script) = ScriptedModel::new();
    let ask = |text: &str| {
        model.stream(ModelRequest {
            messages: vec![Message::system("You help."), Message::user(text)],
            ..ModelRequest::default()
        })
    };
    let _answers = [ask("one"), ask("two"), ask("three")];
    let asked = |call: ModelCall| call.request().messages[1].to_text();
    assert_eq!(asked(script.call_asking("two").await), "two");
    assert!(script.call_asking("two").now_or_never().is_none());
    assert_eq!(asked(script.call_asking("You help").await), "one");
    assert_eq!(asked(script.next_call().await), "three");
    assert!(script.try_next_call().is_none());
}

#[tokio::test]
async fn a_tool_call_may_be_streamed_in_fragments() {
    let (answer, call) = started();
    call.tool_call_start(0, "c1", "se");
    call.tool_name_fragment(0, "arch");
    call.tool_arguments_fragment(0, r#"{"q":1}"#);
    call.tool_call_ready(0, "c1", "search", json!({"q": 1}));
    call.retry(1, 500, &ResponderError::new("busy"));
    call.finish(FinishReason::ToolCalls);
    let said: Vec<_> = answer.map(Result::unwrap).collect().await;
    assert_eq!(said.len(), 6);
    assert!(matches!(&said[3], ModelEvent::ToolCall { tool, .. } if tool.as_str() == "search"));
}

#[tokio::test]
async fn a_model_without_its_script_says_so() {
    let (model, script) = ScriptedModel::new();
    drop(script);
    let error = model
        .stream(ModelRequest::default())
        .next()
        .await
        .unwrap()
        .unwrap_err();
    assert!(error.message().contains("script is gone"));
}

#[tokio::test]
#[should_panic(
    expected = r#"no such call can come, the model is gone; those that came ask ["Draft this"]"#
)]
async fn a_call_that_can_not_come_is_told_with_those_that_came() {
    let (model, mut script) = ScriptedModel::new();
    let _asked = model.stream(ModelRequest {
        messages: vec![Message::user("Draft this")],
        ..ModelRequest::default()
    });
    drop(model);
    script.call_asking("Review").await;
}
