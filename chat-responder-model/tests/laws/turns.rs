//! Whole turns over a model: cancel reaches the socket (M5), and two providers in one program don't meet.

use std::time::{Duration, Instant};

use chat_conformance::ScriptedServer;
use chat_core::{ChatEvent, MemoryStore};
use chat_responder_model::{ModelResponder, OpenAi, OpenAiModel};
use chat_runtime::{Chat, Session, TurnEvents};

use crate::support::*;

/// When a turn is canceled.
#[derive(Debug, Clone, Copy)]
enum Stage {
    BeforeTheHead,
    BeforeTheBody,
    IdleMidStream,
    Streaming,
}

async fn session(model: OpenAiModel) -> Session {
    let chat = Chat::new(ModelResponder::new(model), MemoryStore::new());
    chat.create_session().await.unwrap()
}

async fn next_text(events: &mut TurnEvents) -> String {
    loop {
        match events.next().await.expect("an event") {
            ChatEvent::TextDelta { text, .. } => return text.to_string(),
            _ => continue,
        }
    }
}

#[tokio::test]
async fn m5_a_canceled_turn_closes_its_socket_within_50_ms_at_any_time() {
    let server = server().await;
    let session = session(model(&server)).await;
    for stage in [
        Stage::BeforeTheHead,
        Stage::BeforeTheBody,
        Stage::IdleMidStream,
        Stage::Streaming,
    ] {
        within_50_ms(&format!("{stage:?}"), async || {
            time_to_close(&server, &session, stage).await
        })
        .await;
    }
}

/// Cancels a turn at this stage, and gives how long its socket stays open.
async fn time_to_close(server: &ScriptedServer, session: &Session, stage: Stage) -> Duration {
    let turn = session.send("Hello");
    let mut events = turn.events().unwrap();
    let mut exchange = server.next().await;
    if !matches!(stage, Stage::BeforeTheHead) {
        exchange.respond_events().await;
    }
    if matches!(stage, Stage::IdleMidStream) {
        exchange.event(HI).await;
        assert_eq!(next_text(&mut events).await, "Hi");
    }
    let closed = tokio::spawn(async move {
        if matches!(stage, Stage::Streaming) {
            // As fast as it is taken.
            while exchange.event(HI).await {
                tokio::task::yield_now().await;
            }
        }
        exchange.closed().await;
    });
    if matches!(stage, Stage::Streaming) {
        for _ in 0..100 {
            next_text(&mut events).await;
        }
    }
    let canceled = Instant::now();
    turn.cancel("changed my mind");
    closed.await.unwrap();
    let took = canceled.elapsed();
    assert!(turn.await.is_err());
    took
}

#[tokio::test]
async fn m1_two_providers_at_once_each_have_their_own_key_and_place() {
    let (one, other) = (server().await, server().await);
    let model = |server: &ScriptedServer, base: &str, key: &str, name: &str| {
        OpenAi::new(format!("{}{base}", server.url()))
            .unwrap()
            .api_key(key)
            .unwrap()
            .provider(name)
            .model(name)
            .with_settings(once())
    };
    let first = session(model(&one, "/v1", "canary-first", "first")).await;
    let second = session(model(&other, "/api/v3", "canary-second", "second")).await;
    let (turn, other_turn) = (first.send("Hello"), second.send("Hello"));
    let (mut events, mut other_events) = (turn.events().unwrap(), other_turn.events().unwrap());
    let (mut exchange, mut other_exchange) = tokio::join!(one.next(), other.next());
    for (exchange, path, key, name) in [
        (
            &mut exchange,
            "/v1/chat/completions",
            "Bearer canary-first",
            "first",
        ),
        (
            &mut other_exchange,
            "/api/v3/chat/completions",
            "Bearer canary-second",
            "second",
        ),
    ] {
        assert_eq!(exchange.path(), path);
        assert_eq!(exchange.header("authorization"), Some(key));
        assert_eq!(exchange.json()["model"], name);
        exchange.respond_events().await;
    }

    // Their pieces come by turns, and one fails while the other goes on.
    exchange.event(HI).await;
    assert_eq!(next_text(&mut events).await, "Hi");
    other_exchange.event(HI.replace("Hi", "Ho")).await;
    assert_eq!(next_text(&mut other_events).await, "Ho");
    exchange
        .event(r#"{"error":{"message":"no more for canary-first","code":429}}"#)
        .await;
    let error = turn.await.unwrap_err().to_string();
    assert!(
        error.contains(&one.url()) && !error.contains("canary"),
        "{error}"
    );
    other_exchange.event(STOP).await;
    other_exchange.event("[DONE]").await;
    let reply = other_turn.await.unwrap();
    assert_eq!(&*reply.text, "Ho");
    assert_eq!(&*reply.metadata.model.unwrap().provider, "second");
}
