//! What reaches the server, and what is told where nothing does (M1).

use chat_core::{LanguageModel, Message, ModelRequest, Role};
use chat_responder_model::{ModelError, OpenAi};
use futures_util::{FutureExt, StreamExt};
use serde_json::json;
use tokio::io::AsyncReadExt;

use crate::{parts::parts, support::*};

#[tokio::test]
async fn m1_the_request_is_a_streamed_chat_completion_with_key_and_headers() {
    let server = server().await;
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
    let server = server().await;
    let model = OpenAi::new(server.url()).unwrap().model("tiny");
    let (_answer, exchange) = asked(&server, &model).await;
    assert_eq!(
        (exchange.path(), exchange.header("authorization")),
        ("/chat/completions", None)
    );
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_with_what_to_do() {
    let server = server().await;
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
    let (server, elsewhere) = (server().await, server().await);
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

#[tokio::test]
async fn m1_a_header_of_the_callers_own_takes_the_place_of_ours() {
    let server = server().await;
    let own = [
        ("accept", "application/json"),
        ("content-type", "application/json; charset=utf-8"),
        ("accept-encoding", "gzip"),
    ];
    let mut endpoint = endpoint(&server);
    for (name, value) in own {
        endpoint = endpoint.header(name, value).unwrap();
    }
    let mut answer = ask(&endpoint.model("tiny"));
    let mut connection = during(&mut answer, server.next_connection()).await;
    let mut head = Vec::new();
    while !head.windows(4).any(|bytes| bytes == b"\r\n\r\n") {
        let read = during(&mut answer, connection.read_buf(&mut head)).await;
        assert!(read.unwrap() > 0, "a whole head");
    }
    let head = String::from_utf8(head).unwrap().to_lowercase();
    for (name, value) in own {
        let lines: Vec<_> = head
            .lines()
            .filter_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
            .collect();
        assert_eq!(lines, [value], "{head}");
    }
}

#[tokio::test]
async fn c49_reasoning_goes_back_under_the_name_it_came_by() {
    let server = server().await;
    let model = model(&server);
    for (name, other) in [
        ("reasoning", "reasoning_content"),
        ("reasoning_content", "reasoning"),
    ] {
        let (answer, mut exchange) = answering(&server, &model).await;
        for text in ["so ", "it is"] {
            exchange
                .event(json!({"choices": [{"delta": {name: text}}]}))
                .await;
        }
        let call = json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}});
        exchange
            .event(json!({"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}))
            .await;
        exchange.end().await;
        let events: Vec<_> = answer.map(|event| event.unwrap()).collect().await;
        let said = Message {
            role: Role::Assistant,
            parts: parts(&events),
        };
        let mut answer = model.stream(ModelRequest {
            messages: vec![Message::user("Hello"), said],
            ..ModelRequest::default()
        });
        let exchange = during(&mut answer, server.next()).await;
        let sent = &exchange.json()["messages"][1];
        assert_eq!(
            (&sent[name], &sent[other]),
            (&json!("so it is"), &json!(null))
        );
    }
}
