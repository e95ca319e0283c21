//! How long a model call waits, and how often it tries (M1, M4).

use std::time::Duration;

use chat_core::ModelEvent;
use chat_responder_model::{ModelError, OpenAi, Settings, TimeoutKind, Timeouts};
use futures_util::FutureExt;

use crate::support::*;

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
    let server = server().await;
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
    let server = server().await;
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
async fn m4_a_request_is_sent_again_before_its_first_output_and_each_time_is_told() {
    let server = server().await;
    let model = endpoint(&server).model("tiny").with_settings(Settings {
        max_retries: 3,
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

    // A server that is not ready yet says when it will be, too.
    pass(&mut answer, Duration::from_secs(20)).await;
    let mut exchange = during(&mut answer, server.next()).await;
    exchange.respond(503, [("retry-after", "7")]).await;
    exchange.end().await;
    let ModelEvent::Retry {
        attempt: 2,
        delay_ms: 7000,
        ..
    } = event(&mut answer).await
    else {
        panic!("a retry")
    };

    // The third try fails inside its answer, before any output; its wait is ours to choose.
    pass(&mut answer, Duration::from_secs(7)).await;
    let mut exchange = during(&mut answer, server.next()).await;
    exchange.respond_events().await;
    exchange
        .event(r#"{"error":{"message":"overloaded"}}"#)
        .await;
    let ModelEvent::Retry {
        attempt: 3,
        delay_ms: delay @ 1000..=2000,
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
    let server = server().await;
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
    assert_eq!(error.kind(), "rate-limited");
    let asked_for = error.refusal().unwrap().retry_after;
    assert_eq!(asked_for, Some(Duration::from_secs(3600)));

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
