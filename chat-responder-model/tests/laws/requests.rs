//! What reaches the server, and what is told where nothing does (M1).

use chat_conformance::ScriptedServer;
use chat_responder_model::{ModelError, OpenAi};
use futures_util::FutureExt;

use crate::support::*;

#[tokio::test]
async fn m1_the_request_is_a_streamed_chat_completion_with_key_and_headers() {
    let server = ScriptedServer::start().await;
    let model = endpoint(&server)
        .header("x-title", "My chat")
        .unwrap()
        .model("tiny");
    let (_answer, exchange) = asked(&server, &model).await;
    assert_eq!(
        (exchange.method(), exchange.path()),
        ("POST", "/v1/chat/completions")
    );
    assert_eq!(
        exchange.header("authorization"),
        Some(format!("Bearer {KEY}").as_str())
    );
    assert_eq!(exchange.header("x-title"), Some("My chat"));
    assert_eq!(exchange.header("accept"), Some("text/event-stream"));
    assert_eq!(exchange.header("content-type"), Some("application/json"));
    assert_eq!(exchange.header("openai-organization"), None);
    let body = exchange.json();
    assert_eq!(
        (&body["model"], &body["stream"]),
        (&"tiny".into(), &true.into())
    );
    assert_eq!(body["stream_options"]["include_usage"], true);
}

#[tokio::test]
async fn m1_without_a_key_no_authorization_is_sent() {
    let server = ScriptedServer::start().await;
    let model = OpenAi::new(server.url()).unwrap().model("tiny");
    let (_answer, exchange) = asked(&server, &model).await;
    assert_eq!(
        (exchange.path(), exchange.header("authorization")),
        ("/chat/completions", None)
    );
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_with_what_to_do() {
    let server = ScriptedServer::start().await;
    let (url, model) = (server.url(), model(&server));
    drop(server);
    let error = failure(ask(&model)).await;
    assert!(matches!(error, ModelError::Connect { .. }), "{error:?}");
    let message = error.to_string();
    assert!(
        message.contains(&url) && message.contains("start it") && message.contains("refused"),
        "{message}"
    );
}

#[tokio::test]
async fn a_redirect_is_not_followed_with_the_key() {
    let server = ScriptedServer::start().await;
    let elsewhere = ScriptedServer::start().await;
    let (answer, mut exchange) = asked(&server, &model(&server)).await;
    exchange
        .respond(307, [("location", elsewhere.url().as_str())])
        .await;
    exchange.end().await;
    let error = failure(answer).await;
    assert!(
        matches!(error, ModelError::Rejected(_)) && error.to_string().contains(&elsewhere.url()),
        "{error}"
    );
    assert!(elsewhere.next_connection().now_or_never().is_none());
}
