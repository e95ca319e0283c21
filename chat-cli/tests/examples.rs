//! The examples' workflows, each model call and tool call of them played by the test: what a model is shown, what is asked of a
//! person, which text is the reply.
#![allow(clippy::unwrap_used, reason = "a test panics where it is wrong")]

use std::time::Duration;

use chat_conformance::{ModelScript, ScriptedModel};
use chat_core::{
    ApprovalId, ChatEvent, FinishReason, MemoryStore, Message, ModelRequest, Part, Responder, Role,
};
use chat_runtime::{Chat, Session, Turn, TurnEvents};
use serde_json::{Value, json};

#[path = "../examples/draft_and_review.rs"]
#[allow(dead_code, reason = "`main` is for the terminal")]
mod draft_and_review;
#[path = "../examples/engineer.rs"]
#[allow(dead_code, reason = "`main` is for the terminal")]
mod engineer;

/// Long enough for the busiest machine; whatever is waited for comes by itself.
const HANGS: Duration = Duration::from_secs(60);

/// The next event for which this gives something.
async fn event<T>(events: &mut TurnEvents, wanted: impl Fn(ChatEvent) -> Option<T>) -> T {
    let found = async {
        loop {
            let event = events.next().await.expect("the turn goes on");
            if let Some(found) = wanted(event) {
                break found;
            }
        }
    };
    let found = tokio::time::timeout(HANGS, found).await;
    found.expect("this should have come by itself")
}

/// A session that this responder answers. The chat is kept by the session.
async fn session(responder: impl Responder) -> Session {
    let chat = Chat::new(responder, MemoryStore::default());
    chat.create_session().await.unwrap()
}

fn texts(request: &ModelRequest, role: Role) -> Vec<String> {
    let messages = request.messages.iter();
    messages
        .filter(|message| message.role == role)
        .map(Message::to_text)
        .collect()
}

/// The result that the model is told last.
fn result(request: &ModelRequest) -> &Value {
    let last = request.messages.last().unwrap();
    assert_eq!(last.role, Role::Tool);
    match last.parts.as_slice() {
        [Part::ToolResult { result, .. }] => result,
        other => panic!("one result, and not {other:?}"),
    }
}

#[tokio::test]
async fn the_engineers_prompt_shows_how_its_tool_is_called() {
    let (model, mut script) = ScriptedModel::new();
    let session = session(engineer::engineer(model)).await;
    let turn = session.send("Deploy to prod.");
    let call = script.next_call().await;
    let request = call.request();
    let tools: Vec<_> = request
        .tools
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    assert_eq!(tools, ["deploy"]);
    let shown = request.messages.iter().flat_map(|message| &message.parts);
    let calls = shown
        .filter(|part| matches!(part, Part::ToolCall { tool, .. } if tool.as_str() == "deploy"));
    assert_eq!(calls.count(), 1);
    assert_eq!(
        texts(request, Role::User).last().unwrap(),
        "Deploy to prod."
    );
    call.answer("No.");
    assert_eq!(&*turn.await.unwrap().text, "No.");
}

/// Answers the engineer's request to deploy by `answer`; gives what the model was told then.
async fn deployed(answer: fn(&Turn, &ApprovalId)) -> Value {
    let (model, mut script) = ScriptedModel::new();
    let session = session(engineer::engineer(model)).await;
    let turn = session.send("Deploy to prod.");
    let call = script.next_call().await;
    call.tool_call(0, "call-1", "deploy", json!({"environment": "prod"}));
    call.finish(FinishReason::ToolCalls);
    let mut events = turn.events().unwrap();
    let request = event(&mut events, |event| match event {
        ChatEvent::ApprovalRequest { request, .. } => Some(request),
        _ => None,
    })
    .await;
    assert_eq!(request.tool_name.as_str(), "deploy");
    assert_eq!(*request.input, json!({"environment": "prod"}));
    assert!(script.try_next_call().is_none(), "it waits for the person");
    answer(&turn, &request.id);
    let told = finish(&mut script, "That is that.").await;
    assert_eq!(&*turn.await.unwrap().text, "That is that.");
    told
}

async fn finish(script: &mut ModelScript, text: &str) -> Value {
    let call = script.next_call().await;
    let told = result(call.request()).clone();
    call.answer(text);
    told
}

#[tokio::test]
async fn w3_the_engineer_deploys_once_a_person_has_agreed() {
    let told = deployed(|turn, id| turn.approve(id).unwrap()).await;
    assert_eq!(told["deployed"], "prod");
}

#[tokio::test]
async fn w3_what_a_person_denies_is_not_deployed_and_the_model_learns_why() {
    let told = deployed(|turn, id| turn.deny(id, "not on a Friday").unwrap()).await;
    assert!(told.get("deployed").is_none(), "{told}");
    assert!(told["error"].as_str().unwrap().contains("not on a Friday"));
}

#[tokio::test]
async fn w4_only_what_the_review_writes_is_the_reply_and_it_streams() {
    let (model, mut script) = ScriptedModel::new();
    let session = session(draft_and_review::draft_and_review(model)).await;
    let turn = session.send("What is a journal?");
    let mut events = turn.events().unwrap();
    let draft = script.next_call().await;
    assert_eq!(texts(draft.request(), Role::User), ["What is a journal?"]);
    draft.answer("A long draft.");

    let review = script.next_call().await;
    assert_eq!(texts(review.request(), Role::Assistant), ["A long draft."]);
    let asked = texts(review.request(), Role::User);
    assert_eq!(asked, ["What is a journal?", draft_and_review::REVIEW]);
    for piece in ["A list ", "of entries."] {
        review.text(piece);
        let (text, step) = event(&mut events, |event| match event {
            ChatEvent::TextDelta { text, step, .. } => Some((text, step.unwrap())),
            _ => None,
        })
        .await;
        assert_eq!((&*text, step.as_str()), (piece, "reply"));
    }
    review.finish(FinishReason::Stop);
    assert_eq!(&*turn.await.unwrap().text, "A list of entries.");
}
