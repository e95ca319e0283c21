//! What the tests over HTTP share: a model of a scripted server, and ways to read it while the test plays the server.

use std::{ops::Deref, thread, time::Duration};

use chat_conformance::{Exchange, ScriptedServer};
use chat_core::{LanguageModel, Message, ModelEvent, ModelRequest, ResponderError};
use chat_responder_model::{ModelError, OpenAi, OpenAiModel, Settings, Timeouts};
use chat_runtime::TurnEvents;
use futures_util::{
    FutureExt,
    stream::{BoxStream, StreamExt},
};

use crate::watchdog::{Watchdog, watchdog};

pub(crate) const KEY: &str = "canary-5f0c8d2e-key";

pub(crate) const HI: &str = r#"{"choices":[{"index":0,"delta":{"content":"Hi"}}]}"#;
pub(crate) const STOP: &str = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;

pub(crate) type Answer = BoxStream<'static, Result<ModelEvent, ResponderError>>;

/// A server, and a watchdog over the test that plays it.
pub(crate) struct Server {
    server: ScriptedServer,
    _watchdog: Watchdog,
}

impl Deref for Server {
    type Target = ScriptedServer;

    fn deref(&self) -> &ScriptedServer {
        &self.server
    }
}

/// Starts a server. The test must be over soon.
pub(crate) async fn server() -> Server {
    // Each test has a thread of its own, named as the test is; where they run one by one, only what is printed before tells.
    let _watchdog = watchdog(thread::current().name().unwrap_or("a test"));
    Server {
        server: ScriptedServer::start().await,
        _watchdog,
    }
}

/// All events of a turn, as Debug prints them.
pub(crate) async fn printed(events: TurnEvents) -> String {
    events
        .map(|event| format!("{event:?}\n"))
        .collect::<Vec<_>>()
        .await
        .concat()
}

/// Fails where it takes 50 ms or more each time. A machine that does something else for as long is no fault of ours, but not five times.
pub(crate) async fn within_50_ms(what: &str, measure: impl AsyncFn() -> Duration) {
    let mut took = Vec::new();
    while took
        .last()
        .is_none_or(|took| *took >= Duration::from_millis(50))
    {
        assert!(took.len() < 5, "{what} took {took:?}");
        took.push(measure().await);
    }
}

pub(crate) fn endpoint(server: &ScriptedServer) -> OpenAi {
    OpenAi::new(format!("{}/v1", server.url()))
        .unwrap()
        .api_key(KEY)
        .unwrap()
}

/// A model that never retries, so that a test sees every failure.
pub(crate) fn model(server: &ScriptedServer) -> OpenAiModel {
    endpoint(server).model("tiny").with_settings(once())
}

pub(crate) fn with_timeouts(server: &ScriptedServer, timeouts: Timeouts) -> OpenAiModel {
    endpoint(server)
        .timeouts(timeouts)
        .model("tiny")
        .with_settings(once())
}

pub(crate) fn once() -> Settings {
    Settings {
        max_retries: 0,
        ..Settings::default()
    }
}

pub(crate) fn ask(model: &OpenAiModel) -> Answer {
    model.stream(ModelRequest {
        messages: vec![Message::user("Hello")],
        ..ModelRequest::default()
    })
}

/// Plays the server while the answer is read; nothing may come of the answer meanwhile.
pub(crate) async fn during<T>(answer: &mut Answer, play: impl Future<Output = T>) -> T {
    tokio::select! {
        biased;
        event = answer.next() => panic!("too early: {event:?}"),
        played = play => played,
    }
}

/// Lets a wait of the answer's own pass, which must be as long as said, and no other.
pub(crate) async fn pass(answer: &mut Answer, wait: std::time::Duration) {
    tokio::time::pause();
    assert!(answer.next().now_or_never().is_none(), "it waits");
    tokio::time::advance(wait).await;
    tokio::time::resume();
}

/// Asks, and takes the request.
pub(crate) async fn asked(server: &ScriptedServer, model: &OpenAiModel) -> (Answer, Exchange) {
    let mut answer = ask(model);
    let exchange = during(&mut answer, server.next()).await;
    (answer, exchange)
}

/// Asks, takes the request, and answers that events follow.
pub(crate) async fn answering(server: &ScriptedServer, model: &OpenAiModel) -> (Answer, Exchange) {
    let (answer, mut exchange) = asked(server, model).await;
    exchange.respond_events().await;
    (answer, exchange)
}

pub(crate) async fn event(answer: &mut Answer) -> ModelEvent {
    answer.next().await.expect("an event").expect("no error")
}

/// The text up to the answer's end, and the error it ended with.
pub(crate) async fn rest(mut answer: Answer) -> (String, Option<ModelError>) {
    let mut text = String::new();
    while let Some(item) = answer.next().await {
        match item {
            Ok(ModelEvent::Text(piece)) => text.push_str(&piece),
            Ok(ModelEvent::Retry { .. }) => panic!("a retry that is not to be"),
            Ok(_) => {}
            Err(error) => {
                let error = model_error(&error);
                assert!(
                    answer.next().await.is_none(),
                    "nothing comes after an error"
                );
                return (text, Some(error));
            }
        }
    }
    (text, None)
}

pub(crate) async fn failure(answer: Answer) -> ModelError {
    rest(answer).await.1.expect("a failure")
}

/// The typed error behind a responder's, which tells the same.
pub(crate) fn model_error(error: &ResponderError) -> ModelError {
    let typed: &ModelError = error
        .source()
        .and_then(|source| source.downcast_ref())
        .expect("a model error");
    assert_eq!(
        (error.kind(), error.retryable()),
        (typed.kind(), Some(typed.is_retryable()))
    );
    assert_eq!(error.message(), typed.to_string());
    typed.clone()
}

/// Answers a request with a status and a body, and gives the error that it becomes.
pub(crate) async fn refused(status: u16, content_type: &str, body: &str) -> ModelError {
    let server = server().await;
    let (answer, exchange) = asked(&server, &model(&server)).await;
    let (error, ()) = tokio::join!(
        failure(answer),
        exchange.respond_whole(status, content_type, body)
    );
    error
}
