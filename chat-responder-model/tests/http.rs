//! The laws of the model (M1 to M5) over a real connection to a scripted server.

mod support;

use std::time::{Duration, Instant};

use chat_conformance::ScriptedServer;
use chat_core::{FinishReason, ModelEvent, Usage};
use chat_responder_model::{ModelError, OpenAi, Settings, TimeoutKind, Timeouts};
use futures_util::{FutureExt, StreamExt};
use support::*;

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
async fn m2_each_delta_is_an_event_as_soon_as_it_is_there() {
    let server = ScriptedServer::start().await;
    let (mut answer, mut exchange) = answering(&server, &model(&server)).await;
    exchange.event(HI).await;
    assert_eq!(event(&mut answer).await, ModelEvent::Text("Hi".into()));
    exchange
        .event(r#"{"choices":[{"delta":{"reasoning_content":"hm"}}]}"#)
        .await;
    assert!(matches!(
        event(&mut answer).await,
        ModelEvent::Reasoning { .. }
    ));
    exchange.event(HI.replace("Hi", " there")).await;
    assert_eq!(event(&mut answer).await, ModelEvent::Text(" there".into()));
    exchange.event(STOP).await;
    exchange
        .event(r#"{"choices":[],"usage":{"prompt_tokens":3}}"#)
        .await;
    let usage = Usage {
        input_tokens: Some(3),
        ..Usage::default()
    };
    assert_eq!(event(&mut answer).await, ModelEvent::Usage(usage));
    exchange.event("[DONE]").await;
    assert_eq!(
        event(&mut answer).await,
        ModelEvent::Finish(FinishReason::Stop)
    );
    assert!(answer.next().await.is_none());
}

#[tokio::test]
async fn m3_a_stream_cut_off_is_no_answer() {
    let server = ScriptedServer::start().await;
    let model = model(&server);
    // Ended cleanly; and broken in the middle of a chunk.
    for clean in [true, false] {
        let (answer, mut exchange) = answering(&server, &model).await;
        exchange.event(HI).await;
        if clean {
            exchange.end().await;
        } else {
            exchange.raw("ff\r\ndata").await;
            drop(exchange);
        }
        let (text, error) = rest(answer).await;
        assert_eq!(text, "Hi");
        assert!(
            matches!(error, Some(ModelError::Truncated { .. })),
            "{error:?}"
        );
    }
    // Closed before any answer.
    let (answer, exchange) = asked(&server, &model).await;
    drop(exchange);
    let error = failure(answer).await;
    assert!(matches!(error, ModelError::Truncated { .. }), "{error:?}");
}

#[tokio::test]
async fn m3_a_finish_reason_is_enough_whatever_happens_after() {
    let server = ScriptedServer::start().await;
    let (mut answer, mut exchange) = answering(&server, &model(&server)).await;
    exchange.event(STOP).await;
    // The piece is read; the connection breaks where only the usage is missing.
    let piece = during(&mut answer, async { exchange.raw("ff\r\n").await }).await;
    assert!(piece);
    drop(exchange);
    assert_eq!(
        event(&mut answer).await,
        ModelEvent::Finish(FinishReason::Stop)
    );

    let (mut answer, mut exchange) = answering(&server, &model(&server)).await;
    exchange.event(STOP).await;
    tokio::time::pause();
    assert_eq!(
        event(&mut answer).await,
        ModelEvent::Finish(FinishReason::Stop),
        "the server never ends its body"
    );
}

#[tokio::test]
async fn m3_done_alone_is_an_answer_only_where_the_caller_says_so() {
    let server = ScriptedServer::start().await;
    for done_suffices in [false, true] {
        let model = model(&server).with_settings(Settings {
            done_suffices,
            ..once()
        });
        let (answer, mut exchange) = answering(&server, &model).await;
        exchange.event(HI).await;
        exchange.event("[DONE]").await;
        let (text, error) = rest(answer).await;
        assert_eq!((text.as_str(), error.is_none()), ("Hi", done_suffices));
        assert!(error.is_none_or(|error| error.to_string().contains("done_suffices")));
    }
}

#[tokio::test]
async fn c43_an_error_in_the_middle_keeps_what_the_server_said() {
    let server = ScriptedServer::start().await;
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
    let server = ScriptedServer::start().await;
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

#[tokio::test]
async fn m1_each_wait_has_its_own_timeout() {
    let second = |seconds| Some(Duration::from_secs(seconds));
    let none = Timeouts {
        connect: None,
        first_chunk: None,
        between_chunks: None,
        total: None,
    };
    let check = |error: ModelError, expected: TimeoutKind| {
        assert!(
            matches!(error, ModelError::Timeout { which, .. } if which == expected),
            "{error:?}"
        );
    };

    // A TLS server that never says hello.
    let server = ScriptedServer::start().await;
    let silent = OpenAi::new(format!("https://{}", server.address())).unwrap();
    let silent = silent
        .timeouts(Timeouts {
            connect: second(3),
            ..none
        })
        .model("tiny")
        .with_settings(once());
    let mut answer = ask(&silent);
    let connection = during(&mut answer, server.next_connection()).await;
    tokio::time::pause();
    check(failure(answer).await, TimeoutKind::Connect);
    drop(connection);

    // No head; a head and no body; a body that stops; one that never ends.
    tokio::time::resume();
    let model = with_timeouts(
        &server,
        Timeouts {
            first_chunk: second(3),
            ..none
        },
    );
    let (answer, _exchange) = asked(&server, &model).await;
    tokio::time::pause();
    check(failure(answer).await, TimeoutKind::FirstChunk);

    tokio::time::resume();
    let (answer, _exchange) = answering(&server, &model).await;
    tokio::time::pause();
    check(failure(answer).await, TimeoutKind::FirstChunk);

    tokio::time::resume();
    let model = with_timeouts(
        &server,
        Timeouts {
            between_chunks: second(3),
            ..none
        },
    );
    let (mut answer, mut exchange) = answering(&server, &model).await;
    exchange.event(HI).await;
    event(&mut answer).await;
    tokio::time::pause();
    check(failure(answer).await, TimeoutKind::BetweenChunks);

    tokio::time::resume();
    let model = with_timeouts(
        &server,
        Timeouts {
            total: second(3),
            ..none
        },
    );
    let (mut answer, mut exchange) = answering(&server, &model).await;
    exchange.event(HI).await;
    event(&mut answer).await;
    tokio::time::pause();
    check(failure(answer).await, TimeoutKind::Total);
}

#[tokio::test]
async fn m1_the_total_ends_an_answer_that_never_stops_coming() {
    let server = ScriptedServer::start().await;
    let total = Duration::from_secs(3);
    let model = with_timeouts(
        &server,
        Timeouts {
            total: Some(total),
            ..Timeouts::default()
        },
    );
    let (mut answer, mut exchange) = answering(&server, &model).await;
    exchange.event(HI).await;
    event(&mut answer).await;
    tokio::time::pause();
    exchange.event(HI).await;
    tokio::time::advance(total).await;
    let error = failure(answer).await;
    assert!(
        matches!(
            error,
            ModelError::Timeout {
                which: TimeoutKind::Total,
                ..
            }
        ),
        "{error:?}"
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

#[tokio::test]
async fn m4_a_request_is_sent_again_before_its_first_output_and_each_time_is_told() {
    let server = ScriptedServer::start().await;
    let model = endpoint(&server).model("tiny").with_settings(Settings {
        max_retries: 2,
        ..Settings::default()
    });
    let (mut answer, mut exchange) = asked(&server, &model).await;
    exchange.respond(429, [("retry-after", "20")]).await;
    exchange.end().await;
    let ModelEvent::Retry {
        attempt: 1,
        delay_ms: 20_000,
        error,
    } = event(&mut answer).await
    else {
        panic!("a retry")
    };
    assert_eq!(
        (&*error.kind, error.retryable),
        ("rate-limited", Some(true))
    );

    // The second try fails inside its answer, before any output; its wait is ours to choose.
    pass(&mut answer, Duration::from_secs(20)).await;
    let mut exchange = during(&mut answer, server.next()).await;
    exchange.respond_events().await;
    exchange
        .event(r#"{"error":{"message":"overloaded"}}"#)
        .await;
    let ModelEvent::Retry {
        attempt: 2,
        delay_ms: delay @ 500..=1000,
        ..
    } = event(&mut answer).await
    else {
        panic!("a retry")
    };

    pass(&mut answer, Duration::from_millis(delay)).await;
    let mut exchange = during(&mut answer, server.next()).await;
    exchange.respond_events().await;
    exchange.event(HI).await;
    exchange.event(STOP).await;
    exchange.event("[DONE]").await;
    assert_eq!(rest(answer).await, ("Hi".into(), None));
}

#[tokio::test]
async fn m4_no_retry_after_output_nor_beyond_the_bounds() {
    let server = ScriptedServer::start().await;
    let model = endpoint(&server).model("tiny").with_settings(Settings {
        max_retries: 1,
        ..Settings::default()
    });

    // After output.
    let (mut answer, mut exchange) = answering(&server, &model).await;
    exchange.event(HI).await;
    event(&mut answer).await;
    exchange.end().await;
    assert!(matches!(
        failure(answer).await,
        ModelError::Truncated { .. }
    ));

    // What would fail again.
    let (answer, exchange) = asked(&server, &model).await;
    let (error, ()) = tokio::join!(
        failure(answer),
        exchange.respond_whole(401, "text/plain", "no")
    );
    assert_eq!(error.kind(), "authentication");

    // A wait above the cap: the error says how long.
    let (answer, mut exchange) = asked(&server, &model).await;
    exchange.respond(429, [("retry-after", "3600")]).await;
    exchange.end().await;
    let error = failure(answer).await;
    assert!(
        matches!(error, ModelError::RateLimited { retry_after: Some(wait), .. } if wait.as_secs() == 3600),
        "{error:?}"
    );

    // More than the bound.
    let (mut answer, exchange) = asked(&server, &model).await;
    exchange.respond_whole(500, "text/plain", "no").await;
    let ModelEvent::Retry {
        attempt: 1,
        delay_ms: delay,
        ..
    } = event(&mut answer).await
    else {
        panic!("a retry")
    };
    pass(&mut answer, Duration::from_millis(delay)).await;
    let exchange = during(&mut answer, server.next()).await;
    exchange.respond_whole(500, "text/plain", "still no").await;
    assert_eq!(&*failure(answer).await.refusal().unwrap().said, "still no");
    assert!(server.next_connection().now_or_never().is_none());
}

#[tokio::test]
async fn m5_cancel_closes_the_connection_within_50_ms() {
    let server = ScriptedServer::start().await;
    let model = model(&server);
    // Before the head, before the body, and in the middle of it.
    for stage in 0..3 {
        let (mut answer, mut exchange) = asked(&server, &model).await;
        if stage > 0 {
            exchange.respond_events().await;
        }
        if stage > 1 {
            exchange.event(HI).await;
            event(&mut answer).await;
        }
        let canceled = Instant::now();
        drop(answer);
        exchange.closed().await;
        let took = canceled.elapsed();
        assert!(
            took < Duration::from_millis(50),
            "stage {stage} took {took:?}"
        );
    }
}

#[tokio::test]
async fn m5_c46_a_reader_that_pauses_stops_the_server() {
    const CHUNK: usize = 64 * 1024;
    const CHUNKS: usize = 512;
    let server = ScriptedServer::start().await;
    let (mut answer, mut exchange) = answering(&server, &model(&server)).await;
    exchange.event(HI).await;
    event(&mut answer).await;

    // The reader pauses; the server sends as fast as it is taken.
    let piece = "x".repeat(CHUNK);
    let (sent, watched) = tokio::sync::watch::channel(0_usize);
    let flood = tokio::spawn(async move {
        let chunk = HI.replace("Hi", &piece);
        for count in 1..=CHUNKS {
            exchange.event(&chunk).await;
            sent.send_replace(count);
        }
        exchange.event(STOP).await;
        exchange.event("[DONE]").await;
    });
    // A paused clock moves on only when nothing else can. Once nothing more was taken, all buffers between the two are full.
    tokio::time::pause();
    let mut before = 0;
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let taken = *watched.borrow();
        if taken == std::mem::replace(&mut before, taken) && taken > 0 {
            break;
        }
    }
    tokio::time::resume();
    let held = before * CHUNK;
    assert!(
        held < 16 * 1024 * 1024,
        "{held} bytes of {} were taken without a reader",
        CHUNK * CHUNKS
    );

    // What was held back is not lost.
    let (text, error) = rest(answer).await;
    assert_eq!((text.len(), error), (CHUNK * CHUNKS, None));
    flood.await.unwrap();
}
