//! A server that says no, in every form that servers have for it (M3, C43 to C45, C50).

use chat_responder_model::ModelError;

use crate::support::*;

#[tokio::test]
async fn c43_an_error_in_the_middle_keeps_what_the_server_said() {
    let server = server().await;
    let (answer, mut exchange) = answering(&server, &model(&server)).await;
    exchange.event(HI).await;
    exchange
        .event(r#"{"error":{"message":"the GPU fell off","code":503}}"#)
        .await;
    let (text, error) = rest(answer).await;
    let error = error.unwrap();
    assert_eq!((text.as_str(), error.kind()), ("Hi", "server"));
    let refusal = error.refusal().unwrap();
    assert_eq!((refusal.status, &*refusal.said), (503, "the GPU fell off"));
}

#[tokio::test]
async fn c44_status_200_with_an_error_body_is_an_error() {
    for (content_type, body) in [
        (
            "application/json",
            r#"{"error":{"message":"no such model","code":"model_not_found"}}"#,
        ),
        (
            "text/event-stream",
            r#"{"error":{"message":"no such model","code":"model_not_found"}}"#,
        ),
        (
            "text/plain",
            "{\"error\":\n{\"message\":\"no such model\",\"code\":\"model_not_found\"}}\n",
        ),
    ] {
        let error = refused(200, content_type, body).await;
        assert!(
            matches!(&error, ModelError::NotFound { model, .. } if &**model == "tiny"),
            "{error:?}"
        );
        assert_eq!(&*error.refusal().unwrap().said, "no such model");
    }
    for (content_type, body) in [
        ("text/html", "<html>Welcome</html>"),
        ("text/event-stream", "<html>Welcome</html>"),
        (
            "application/json",
            r#"{"choices":[{"message":{"content":"Hi"}}]}"#,
        ),
    ] {
        let error = refused(200, content_type, body).await;
        assert!(matches!(error, ModelError::Protocol { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn c45_status_and_message_are_kept_whatever_the_bodys_form() {
    for (status, content_type, body, kind, said) in [
        (429, "text/plain", "slow down", "rate-limited", "slow down"),
        (
            429,
            "application/json",
            r#"{"error":{"message":"slow down","code":1302}}"#,
            "rate-limited",
            "slow down",
        ),
        (
            422,
            "application/json",
            r#"{"detail":"bad field"}"#,
            "rejected",
            "bad field",
        ),
        (
            401,
            "application/json",
            r#"{"error":{"message":"no key","code":401}}"#,
            "authentication",
            "no key",
        ),
        (
            404,
            "text/html",
            "<h1>Not Found</h1>",
            "model-not-found",
            "<h1>Not Found</h1>",
        ),
        (500, "application/json", "", "server", ""),
        (
            502,
            "text/html",
            "<h1>Bad Gateway</h1>",
            "server",
            "<h1>Bad Gateway</h1>",
        ),
        (
            400,
            "application/json",
            r#"{"error":{"message":"maximum context length is 8"}}"#,
            "context-too-long",
            "maximum context length is 8",
        ),
    ] {
        let error = refused(status, content_type, body).await;
        assert_eq!(error.kind(), kind, "{body}");
        let refusal = error.refusal().unwrap();
        assert_eq!((refusal.status, &*refusal.said), (status, said), "{body}");
    }
}

#[tokio::test]
async fn c50_an_error_body_that_never_ends_keeps_its_status() {
    let server = server().await;
    let (answer, mut exchange) = asked(&server, &model(&server)).await;
    exchange
        .respond(
            500,
            [("content-type", "text/plain"), ("x-request-id", "req-7")],
        )
        .await;
    exchange.chunk("out of memory").await;
    tokio::time::pause();
    let error = failure(answer).await;
    let refusal = error.refusal().unwrap();
    assert_eq!(
        (
            refusal.status,
            &*refusal.said,
            refusal.request_id.as_deref()
        ),
        (500, "out of memory", Some("req-7"))
    );

    // One that is endless in size is read no further than it is shown.
    tokio::time::resume();
    let (answer, mut exchange) = asked(&server, &model(&server)).await;
    exchange
        .respond(500, [("content-type", "text/plain")])
        .await;
    let flood = async { while exchange.chunk([b'x'; 4096]).await {} };
    let (error, ()) = tokio::join!(failure(answer), flood);
    assert!(error.refusal().unwrap().said.len() <= chat_responder_model::MAX_SAID_BYTES);
}
