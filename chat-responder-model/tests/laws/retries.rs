//! When a request is sent again, and when not (M4); and which words of the server's an error keeps.

use std::{collections::BTreeSet, time::Duration};

use chat_core::{ModelEvent, Usage};
use chat_responder_model::{ModelError, OpenAiModel, Settings, TimeoutKind, Timeouts};
use futures_util::{FutureExt, StreamExt};

use crate::support::*;

fn retrying(server: &Server, max_retries: u32) -> OpenAiModel {
    endpoint(server).model("tiny").with_settings(Settings {
        max_retries,
        ..Settings::default()
    })
}

#[track_caller]
fn delay(event: ModelEvent, expected: u32) -> Duration {
    let ModelEvent::Retry {
        attempt, delay_ms, ..
    } = event
    else {
        panic!("a retry, not {event:?}")
    };
    assert_eq!(attempt, expected);
    Duration::from_millis(delay_ms)
}

#[tokio::test]
async fn m4_no_wait_is_honored_once_and_then_chosen() {
    let server = server().await;
    let (mut answer, mut exchange) = asked(&server, &retrying(&server, 2)).await;
    exchange.respond(429, [("retry-after", "0")]).await;
    exchange.end().await;
    assert_eq!(delay(event(&mut answer).await, 1), Duration::ZERO);
    let mut exchange = during(&mut answer, server.next()).await;
    exchange.respond(429, [("retry-after", "0")]).await;
    exchange.end().await;
    let chosen = delay(event(&mut answer).await, 2);
    assert!(chosen >= Duration::from_millis(500), "{chosen:?}");
    pass(&mut answer, chosen).await;
    during(&mut answer, server.next()).await;
}

#[tokio::test]
async fn m4_a_wait_is_read_in_every_form_servers_have_for_it() {
    let server = server().await;
    let model = retrying(&server, 1);
    for (headers, body, expected) in [
        (vec![("retry-after", "1.5")], "", 1500),
        (
            vec![("retry-after-ms", "250"), ("retry-after", "7")],
            "",
            250,
        ),
        (
            vec![("retry-after-ms", "NaN"), ("retry-after", "7")],
            "",
            7000,
        ),
        (
            vec![("retry-after-ms", "-1"), ("retry-after", "7")],
            "",
            7000,
        ),
        (
            vec![("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")],
            "",
            0,
        ),
        (
            vec![],
            r#"{"error":{"message":"no","details":[{"retryDelay":"3.5s"}]}}"#,
            3500,
        ),
    ] {
        let (mut answer, mut exchange) = asked(&server, &model).await;
        exchange.respond(429, headers.clone()).await;
        exchange.chunk(body).await;
        exchange.end().await;
        let waits = delay(event(&mut answer).await, 1);
        assert_eq!(waits, Duration::from_millis(expected), "{headers:?} {body}");
    }
}

#[tokio::test]
async fn m4_waits_of_its_own_choice_are_never_in_step() {
    let server = server().await;
    let model = retrying(&server, 1);
    let mut chosen = BTreeSet::new();
    for _ in 0..12 {
        let (mut answer, exchange) = asked(&server, &model).await;
        exchange.respond_whole(500, "text/plain", "no").await;
        chosen.insert(delay(event(&mut answer).await, 1));
    }
    let bounds = Duration::from_millis(250)..=Duration::from_millis(500);
    assert!(
        chosen.iter().all(|wait| bounds.contains(wait)),
        "{chosen:?}"
    );
    assert!(chosen.len() > 1, "{chosen:?}");
}

#[tokio::test]
async fn m4_no_retry_begins_that_the_total_would_end() {
    let server = server().await;
    let total = |seconds| {
        endpoint(&server)
            .timeouts(Timeouts {
                total: Some(Duration::from_secs(seconds)),
                ..Timeouts::default()
            })
            .model("tiny")
    };
    let (answer, mut exchange) = asked(&server, &total(30)).await;
    exchange.respond(429, [("retry-after", "40")]).await;
    exchange.end().await;
    assert_eq!(failure(answer).await.kind(), "rate-limited");

    let (mut answer, mut exchange) = asked(&server, &total(50)).await;
    exchange.respond(429, [("retry-after", "40")]).await;
    exchange.end().await;
    assert_eq!(delay(event(&mut answer).await, 1), Duration::from_secs(40));
}

#[tokio::test]
async fn m4_usage_is_no_output_that_keeps_from_trying_again() {
    let server = server().await;
    let (mut answer, mut exchange) = answering(&server, &retrying(&server, 1)).await;
    exchange
        .event(r#"{"choices":[{"delta":{"role":"assistant","content":""}}],"usage":{"prompt_tokens":5}}"#)
        .await;
    exchange
        .event(r#"{"error":{"message":"overloaded","code":503}}"#)
        .await;
    let usage = Usage {
        input_tokens: Some(5),
        ..Usage::default()
    };
    assert_eq!(event(&mut answer).await, ModelEvent::Usage(usage));
    let wait = delay(event(&mut answer).await, 1);
    pass(&mut answer, wait).await;
    let mut exchange = during(&mut answer, server.next()).await;
    exchange.respond_events().await;
    exchange.event(HI).await;
    exchange.event(STOP).await;
    exchange.end().await;
    assert_eq!(rest(answer).await, ("Hi".into(), None));
}

#[tokio::test]
async fn m4_an_error_of_any_kind_names_the_request() {
    let server = server().await;
    let model = model(&server);
    let headers = [
        ("content-type", "text/event-stream"),
        ("x-request-id", "req-77"),
    ];
    // Cut cleanly, or where it stands; no JSON; silent.
    for play in 0..4 {
        let (mut answer, mut exchange) = asked(&server, &model).await;
        exchange.respond(200, headers).await;
        exchange.event(HI).await;
        event(&mut answer).await;
        let mut open = None;
        match play {
            0 => exchange.end().await,
            1 => drop(exchange),
            2 => {
                exchange.event("nonsense").await;
            }
            _ => {
                tokio::time::pause();
                open = Some(exchange);
            }
        }
        let error = failure(answer).await;
        let request_id = match (play, &error) {
            (0 | 1, ModelError::Truncated { request_id, .. })
            | (2, ModelError::Protocol { request_id, .. })
            | (
                3,
                ModelError::Timeout {
                    which: TimeoutKind::BetweenChunks,
                    request_id,
                    ..
                },
            ) => request_id,
            _ => panic!("{play}: {error:?}"),
        };
        assert_eq!(request_id.as_deref(), Some("req-77"), "{play}");
        assert!(error.to_string().contains("(request req-77)"), "{error}");
        drop(open);
    }
}

#[tokio::test]
async fn m3_what_a_server_sends_for_ever_behind_the_finish_is_not_read_for_ever() {
    let server = server().await;
    let (mut answer, mut exchange) = answering(&server, &model(&server)).await;
    exchange.event(STOP).await;
    let usage = |tokens: u64| format!(r#"{{"choices":[],"usage":{{"prompt_tokens":{tokens}}}}}"#);
    let sent = async {
        tokio::time::pause();
        tokio::time::sleep(Duration::from_millis(1)).await;
    };
    during(&mut answer, sent).await;
    exchange.event(usage(1)).await;
    exchange.event(usage(2)).await;
    // The next piece is always there already, so that no timer is looked at.
    tokio::time::sleep(Duration::from_millis(1)).await;
    tokio::time::advance(Duration::from_secs(11)).await;
    let told = event(&mut answer).await;
    assert!(matches!(told, ModelEvent::Usage(_)), "{told:?}");
    tokio::time::sleep(Duration::from_millis(1)).await;
    let told = event(&mut answer).await;
    assert!(matches!(told, ModelEvent::Finish(_)), "{told:?}");
}

#[tokio::test]
async fn m3_text_behind_a_finish_reason_has_the_time_of_text() {
    let server = server().await;
    let (mut answer, mut exchange) = answering(&server, &model(&server)).await;
    exchange.event(STOP).await;
    exchange.event(HI).await;
    assert_eq!(event(&mut answer).await, ModelEvent::Text("Hi".into()));
    pass(&mut answer, Duration::from_secs(60)).await;
    assert!(answer.next().now_or_never().is_none(), "it goes on");
    exchange.event(HI).await;
    exchange.end().await;
    assert_eq!(rest(answer).await, ("Hi".into(), None));
}
