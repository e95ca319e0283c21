//! An answer as it comes, and when it is whole (M2, M3).

use chat_core::{FinishReason, ModelEvent, Usage};
use chat_responder_model::{ModelError, Settings};
use futures_util::StreamExt;

use crate::support::*;

#[tokio::test]
async fn m2_each_delta_is_an_event_as_soon_as_it_is_there() {
    let server = server().await;
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
    let server = server().await;
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
    let server = server().await;
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
    let server = server().await;
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
async fn m2_an_answer_is_read_whatever_its_content_type_says() {
    let server = server().await;
    for content_type in ["application/json", "text/plain", ""] {
        let (answer, mut exchange) = asked(&server, &model(&server)).await;
        exchange
            .respond(200, [("content-type", content_type)])
            .await;
        exchange.event(HI).await;
        exchange.event(STOP).await;
        exchange.end().await;
        assert_eq!(rest(answer).await, ("Hi".into(), None), "{content_type:?}");
    }
}
