//! A model chat's responder, turn by turn: what the model is asked, what the turn hears, what the reply is.

use std::{sync::Arc, task::Poll};

use chat_conformance::{ModelCall, ModelScript, ScriptedModel};
use chat_core::{
    Context, ContextPolicy, Entry, EntryBody, EntryId, Execution, FinishReason, LanguageModel,
    Metadata, ModelEvent, ModelRef, RecordedError, Reply, Responder, ResponderError,
    ResponderEvent, ResponderInfo, Role, Seq, SessionId, Timestamp, Transcript, TurnId,
    TurnRequest, Usage,
};
use chat_responder_model::{ModelError, ModelResponder};
use futures_util::{FutureExt, StreamExt, poll};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::{self, server};

fn request(input: &str, messages: Context) -> TurnRequest {
    let turn_id = TurnId::parse("turn").unwrap();
    TurnRequest {
        input: input.into(),
        messages,
        cancel: CancellationToken::new(),
        session_id: SessionId::parse("session").unwrap(),
        root_turn_id: turn_id.clone(),
        turn_id,
    }
}

/// The context of one completed turn.
fn context(input: &str, reply: &str) -> Context {
    let turn_id = TurnId::parse("before").unwrap();
    let bodies = [
        EntryBody::SessionCreated { labels: None },
        EntryBody::TurnAccepted {
            turn_id: turn_id.clone(),
            input: input.into(),
            retry_of: None,
            labels: None,
        },
        EntryBody::TurnCompleted {
            turn_id,
            text: reply.into(),
            metadata: Metadata::default(),
            responder: ResponderInfo::of_kind("model"),
        },
    ];
    let mut transcript = Transcript::default();
    for (place, body) in (0..).zip(bodies) {
        let id = EntryId::parse(format!("e{place}")).unwrap();
        transcript.apply(&Entry::new(
            Seq(place),
            id,
            Timestamp::from_millis(0).unwrap(),
            body,
        ));
    }
    ContextPolicy::Whole.build(&transcript.turns())
}

/// Takes an execution to its end as a turn does: the events first, then the result.
async fn finish(execution: Execution) -> (Vec<ResponderEvent>, Result<Reply, ResponderError>) {
    let mut events = execution.events.unwrap();
    let mut heard = Vec::new();
    while let Some(event) = events.next().await {
        heard.push(event.unwrap());
    }
    (heard, execution.result.await)
}

fn started() -> (Execution, ModelCall, ModelScript) {
    let (model, mut script) = ScriptedModel::new();
    let execution = ModelResponder::new(model).respond(request("Hello", Context::default()));
    let call = script.try_next_call().unwrap();
    (execution, call, script)
}

fn text(text: &str) -> ResponderEvent {
    ResponderEvent::TextDelta {
        text: text.into(),
        step: Some("reply".into()),
    }
}

fn start() -> ResponderEvent {
    ResponderEvent::StepStart {
        step: "reply".into(),
        number: 1,
    }
}

#[tokio::test]
async fn m1_instructions_then_context_then_input_reach_the_server_in_order() {
    let server = server().await;
    let responder = ModelResponder::new(support::model(&server)).instructions("Be brief.");
    let execution = responder.respond(request("And now?", context("Hello", "Hi")));
    let (exchange, ended) = tokio::join!(
        async {
            let mut exchange = server.next().await;
            exchange.respond_events().await;
            exchange.event(support::HI).await;
            exchange.event(support::STOP).await;
            exchange.event("[DONE]").await;
            exchange
        },
        finish(execution),
    );
    assert_eq!(
        exchange.json()["messages"],
        json!([
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hello"},
            {"role": "assistant", "content": "Hi"},
            {"role": "user", "content": "And now?"},
        ])
    );
    let metadata = ended.1.unwrap().metadata;
    assert_eq!(metadata.model, Some(ModelRef::new("127.0.0.1", "tiny")));
}

#[tokio::test]
async fn m1_without_instructions_there_is_no_system_message_and_no_tool() {
    let (_execution, call, _script) = started();
    let roles: Vec<Role> = call
        .request()
        .messages
        .iter()
        .map(|message| message.role)
        .collect();
    assert_eq!((roles, call.request().tools.len()), (vec![Role::User], 0));
}

#[tokio::test]
async fn m2_the_deltas_are_the_reply_and_reasoning_is_not() {
    let (execution, call, _script) = started();
    let usage = Usage {
        output_tokens: Some(2),
        ..Usage::default()
    };
    call.reasoning("hm");
    call.text("Hi");
    call.text(" there");
    call.usage(usage);
    call.finish(FinishReason::Stop);
    let (events, result) = finish(execution).await;
    let ResponderEvent::ReasoningDelta(reasoning) = &events[1] else {
        panic!("{events:?}")
    };
    assert_eq!(
        (&*reasoning.text, reasoning.provider.as_deref()),
        ("hm", Some("scripted"))
    );
    let end = ResponderEvent::StepEnd {
        step: "reply".into(),
        number: 1,
        usage: Some(Box::new(usage)),
        finish_reason: Some(FinishReason::Stop),
    };
    assert_eq!(events[0], start());
    assert_eq!(
        events[2..],
        [
            text("Hi"),
            text(" there"),
            ResponderEvent::Usage(Box::new(usage)),
            end
        ]
    );
    let metadata = result.unwrap().metadata;
    assert_eq!(metadata.model, Some(ModelRef::new("scripted", "scripted")));
    assert_eq!(
        (metadata.usage, metadata.finish_reason),
        (Some(usage), Some(FinishReason::Stop))
    );
}

#[tokio::test]
async fn c47_a_length_stop_is_in_the_metadata() {
    let (execution, call, _script) = started();
    call.text("Hi");
    call.finish(FinishReason::Length);
    let (_, result) = finish(execution).await;
    assert_eq!(
        result.unwrap().metadata.finish_reason,
        Some(FinishReason::Length)
    );
}

#[tokio::test]
async fn c51_what_streamed_before_an_error_is_no_reply_and_usage_is_kept() {
    let (execution, call, _script) = started();
    let usage = Usage {
        input_tokens: Some(9),
        ..Usage::default()
    };
    call.text("Hi");
    call.usage(usage);
    call.fail(
        ModelError::Truncated {
            url: "http://host".into(),
            cause: "test".into(),
            request_id: None,
        }
        .into_responder_error(),
    );
    let (events, result) = finish(execution).await;
    assert_eq!(
        events,
        [start(), text("Hi"), ResponderEvent::Usage(Box::new(usage))]
    );
    let error = result.unwrap_err();
    assert!(matches!(
        support::model_error(&error),
        ModelError::Truncated { .. }
    ));
}

#[tokio::test]
async fn m3_an_answer_that_ends_without_a_finish_fails_the_turn() {
    let (execution, call, _script) = started();
    call.text("Hi");
    call.cut();
    let (_, result) = finish(execution).await;
    assert_eq!(result.unwrap_err().kind(), "truncated");
}

#[tokio::test]
async fn m4_a_retry_is_told() {
    let (execution, call, _script) = started();
    let error = RecordedError::of("overloaded", "server", Some(true));
    call.event(ModelEvent::Retry {
        attempt: 1,
        delay_ms: 500,
        error: error.clone(),
    });
    call.finish(FinishReason::Stop);
    let (events, _) = finish(execution).await;
    let ResponderEvent::StepRetry(retry) = &events[1] else {
        panic!("{events:?}")
    };
    assert_eq!(
        (retry.number, retry.attempt, retry.delay_ms, &retry.error),
        (1, 1, 500, &error)
    );
}

#[tokio::test]
async fn m5_dropping_the_execution_drops_the_answer_and_so_does_its_end() {
    let (execution, call, _script) = started();
    assert!(!call.is_dropped());
    drop(execution);
    call.dropped().await;

    // A tool call, which a model chat can't answer, lets the connection go though the events are still held.
    let (execution, call, _script) = started();
    let mut events = execution.events.unwrap();
    call.tool_call(0, "call", "deploy", json!({}));
    assert_eq!(events.next().await.unwrap().unwrap(), start());
    assert!(events.next().await.is_none());
    call.dropped().await;
    let error = execution.result.await.unwrap_err();
    assert_eq!(error.kind(), "protocol");
    // The name is whatever the server wrote, and the journal keeps the error (law M6).
    assert!(!error.message().contains("deploy"), "{error}");
    assert!(error.message().contains("called a tool"), "{error}");
}

#[tokio::test]
async fn the_result_waits_for_the_events_and_is_told_where_nobody_reads_them() {
    let (execution, call, _script) = started();
    let mut result = execution.result;
    call.finish(FinishReason::Stop);
    assert!(matches!(poll!(&mut result), Poll::Pending));
    drop(execution.events);
    let error = result.now_or_never().unwrap().unwrap_err();
    assert!(error.message().contains("events were dropped"), "{error}");
}

#[test]
fn a_responder_says_who_it_is() {
    let (model, _script) = ScriptedModel::new();
    let shared: Arc<dyn LanguageModel> = Arc::new(model);
    let responder = ModelResponder::new(shared).id("helper").version("3");
    let expected = ResponderInfo {
        id: Some("helper".into()),
        version: Some("3".into()),
        ..ResponderInfo::of_kind("model")
    };
    assert_eq!(responder.info(), expected);
}
