//! W5: steering is taken before the next model call of a running step, or refused.

use std::sync::Arc;

use chat_conformance::{ScriptedModel, ScriptedTool};
use chat_core::{
    FinishReason, LanguageModel, ModelEvent, ModelRef, ModelRequest, ResponderError, SteerRefused,
};
use chat_responder_agent::{Agent, Node, Parallel, RunOptions, Step};
use futures_util::{
    FutureExt as _,
    stream::{self, BoxStream, StreamExt as _},
};
use serde_json::json;
use tokio::sync::Notify;

use crate::support::{ids, kinds, one_step, send, streaming};

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
    let asked = crate::support::asked(&call);
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
    let said: Vec<_> = session.messages().iter().map(|m| m.to_text()).collect();
    assert_eq!(
        said,
        ["Hello", "assume no downtime", "and be quick", "done"]
    );
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

#[tokio::test]
async fn w5_side_by_side_the_first_step_at_its_boundary_takes_the_steer() {
    let (model, mut script) = ScriptedModel::new();
    let (tool, mut tools) = ScriptedTool::new("fetch");
    let sent = send(streaming(move || {
        let steps: Parallel = (0..20)
            .map(|n| Step::new(format!("step-{n}")).prompt(format!("step-{n}.")))
            .collect();
        Agent::new(model.clone())
            .tool(tool.clone())
            .then(steps)
            .then(Step::new("reply").prompt("reply"))
    }))
    .await;
    let mut calls = Vec::new();
    for n in 0..20 {
        calls.push(script.call_asking(&format!("step-{n}.")).await);
    }
    let steer = tokio::spawn(sent.turn.steer("faster"));
    tokio::task::yield_now().await;
    let seventh = calls.remove(7);
    for call in calls {
        call.text("busy");
        call.answer("done");
    }
    seventh.tool_call(0, "a", "fetch", json!({}));
    seventh.finish(FinishReason::ToolCalls);
    tools.next_call().await.answer(json!("fetched"));
    let call = script.next_call().await;
    let messages = &call.request().messages;
    assert_eq!(messages[0].to_text(), "step-7.");
    assert_eq!(messages[3].to_text(), "faster");
    steer.await.unwrap().unwrap();
    call.answer("done");
    script.next_call().await.answer("well");
    assert_eq!(&*sent.end().await.1.unwrap().text, "well");
}

#[tokio::test]
async fn w5_a_steer_right_behind_the_input_reaches_the_first_call() {
    let (model, mut script) = ScriptedModel::new();
    let responder = streaming(move || one_step(&model));
    let chat = chat_runtime::Chat::new(responder, chat_core::MemoryStore::new());
    let session = chat.create_session().await.unwrap();
    let turn = session.send("Hello");
    let steer = session.steer("and be brief");
    let call = script.next_call().await;
    let asked = crate::support::asked(&call);
    assert_eq!(asked, ["Hello", "and be brief"]);
    call.answer("Hi");
    steer.await.unwrap();
    assert_eq!(&*turn.await.unwrap().text, "Hi");
}

/// Says very much, all at once, when the gate opens.
#[derive(Clone)]
struct Flood(Arc<Notify>);

impl LanguageModel for Flood {
    fn model(&self) -> ModelRef {
        ModelRef::new("test", "flood")
    }

    fn stream(&self, _: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ResponderError>> {
        let gate = self.0.clone();
        let drop = ModelEvent::Reasoning {
            text: "drip".into(),
            kind: None,
            data: None,
        };
        let end = ModelEvent::Finish(FinishReason::Stop);
        let flood = stream::iter(vec![drop; 10_000].into_iter().chain([end]).map(Ok));
        stream::once(async move { gate.notified().await })
            .flat_map(move |()| flood.clone())
            .boxed()
    }
}

#[tokio::test]
async fn w5_a_boundary_waits_for_the_steer_to_be_polled_however_busy_its_siblings_are() {
    let (model, mut script) = ScriptedModel::new();
    let (tool, mut tools) = ScriptedTool::new("fetch");
    let gate = Arc::new(Notify::new());
    let flood = Flood(gate.clone());
    let sent = send(streaming(move || {
        let busy = Agent::new(flood.clone()).then(Step::new("busy").prompt("flood"));
        let steered = Agent::new(model.clone())
            .tool(tool.clone())
            .then(Step::new("reply").prompt("Hello"));
        Parallel::new().and(busy).and(steered)
    }))
    .await;
    let call = script.next_call().await;
    call.tool_call(0, "a", "fetch", json!({}));
    call.finish(FinishReason::ToolCalls);
    let running = tools.next_call().await;
    let steer = tokio::spawn(sent.turn.steer("faster"));
    tokio::task::yield_now().await;
    gate.notify_one();
    running.answer(json!("fetched"));
    let call = script.next_call().await;
    let last = call.request().messages.last().unwrap();
    assert_eq!(last.to_text(), "faster");
    steer.await.unwrap().unwrap();
    call.answer("done");
    assert_eq!(&*sent.end().await.1.unwrap().text, "done");
}

#[tokio::test]
async fn w5_whoever_polls_run_and_steer_in_one_task_may_do_so_in_any_order() {
    let (model, mut script) = ScriptedModel::new();
    let workflow = Node::from(one_step(&model));
    let mut run = workflow.start(RunOptions::default(), ids()).unwrap();
    let mut steer = run.control().steer("faster".into());
    // As `tokio::join!` does, which begins with another of its futures each time.
    assert!((&mut steer).now_or_never().is_none());
    assert!((&mut run).now_or_never().is_none());
    assert!((&mut run).now_or_never().is_none());
    steer.now_or_never().unwrap().unwrap();
    assert!((&mut run).now_or_never().is_none());
    let call = script.try_next_call().unwrap();
    assert_eq!(call.request().messages[1].to_text(), "faster");
    call.answer("done");
    assert_eq!(run.await.unwrap().text("reply").as_deref(), Some("done"));
}

#[tokio::test]
async fn t8_a_steer_that_a_cancel_overtakes_is_refused_with_its_input() {
    let (model, mut script) = ScriptedModel::new();
    let sent = send(streaming(move || one_step(&model))).await;
    let call = script.next_call().await;
    let steer = tokio::spawn(sent.turn.steer("faster"));
    tokio::task::yield_now().await;
    sent.turn.cancel("enough");
    call.dropped().await;
    assert_eq!(&*steer.await.unwrap().unwrap_err().input, "faster");
    let turn = sent.turn.id().clone();
    let session = sent.session.clone();
    sent.end().await.1.unwrap_err();
    assert!(session.find(&turn).unwrap().steering.is_empty());
}
