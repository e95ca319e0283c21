//! Law M6: a key that a server repeats in every way it can is in nothing that we print or log.

use std::sync::{Mutex, MutexGuard, PoisonError};

use chat_conformance::ScriptedServer;
use chat_core::{LanguageModel, RecordedError, ResponderError};
use chat_responder_model::{ModelResponder, OpenAi, Settings};
use futures_util::StreamExt;

use crate::support::*;

/// Everything that was logged, at any level.
static LOGGED: Log = Log(Mutex::new(String::new()));

struct Log(Mutex<String>);

impl Log {
    fn lines(&self) -> MutexGuard<'_, String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl log::Log for Log {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }
    fn log(&self, record: &log::Record<'_>) {
        self.lines()
            .push_str(&format!("{} {}\n", record.target(), record.args()));
    }
    fn flush(&self) {}
}

const HEADER: &str = "canary-77aa01-header";

#[track_caller]
fn check(printed: &str) {
    assert!(!printed.contains("canary"), "{printed}");
}

/// Everything an error prints, and everything its causes print.
#[track_caller]
fn check_error(error: &ResponderError) {
    check(&format!(
        "{error} {error:?} {:?}",
        RecordedError::from(error)
    ));
    let mut cause = error
        .source()
        .map(|source| source as &dyn std::error::Error);
    assert!(cause.is_some(), "the typed error is kept");
    while let Some(error) = cause {
        check(&format!("{error} {error:?}"));
        cause = error.source();
    }
}

#[tokio::test]
async fn m6_no_key_is_printed_or_logged_even_where_the_server_repeats_it() {
    log::set_logger(&LOGGED).unwrap();
    log::set_max_level(log::LevelFilter::Trace);

    let server = ScriptedServer::start().await;
    let with_password = server
        .url()
        .replace("http://", "http://user:canary-password@");
    let endpoint = OpenAi::new(with_password).unwrap();
    let endpoint = endpoint
        .api_key(KEY)
        .unwrap()
        .header("x-token", format!("Basic {HEADER}"))
        .unwrap();
    let settings = Settings {
        provider_options: [("api_key".to_owned(), KEY.into())].into_iter().collect(),
        ..once()
    };
    let model = endpoint.clone().model("tiny").with_settings(settings);
    check(&format!("{endpoint:?} {model:?} {:?}", model.model()));
    check(&format!("{:?}", ModelResponder::new(model.clone())));

    let echo = format!("you sent {KEY} and Basic {HEADER}");
    let json = format!(r#"{{"error":{{"message":"{echo}","code":"{KEY}"}}}}"#);
    for status in [200, 307, 400, 401, 404, 429, 500] {
        for body in [
            echo.as_str(),
            &json,
            &json[..json.len() / 2],
            &json[..json.len() - 8],
            &KEY[..12],
        ] {
            let (mut answer, mut exchange) = asked(&server, &model).await;
            let headers = [
                ("x-request-id", KEY),
                ("location", HEADER),
                ("retry-after", KEY),
                ("content-type", KEY),
            ];
            let headers = headers
                .into_iter()
                .filter(|(name, _)| status == 307 || *name != "location");
            exchange.respond(status, headers).await;
            exchange.chunk(body).await;
            exchange.end().await;
            check_error(&answer.next().await.unwrap().unwrap_err());
        }
    }
    for events in [
        format!("data: {json}\n\n"),
        format!("data: {echo}\n\n"),
        format!("event: error\ndata: {echo}\n\n"),
    ] {
        let (mut answer, mut exchange) = answering(&server, &model).await;
        exchange.chunk(events).await;
        check_error(&answer.next().await.unwrap().unwrap_err());
    }
    for reason in [
        KEY.to_owned(),
        format!("{}{KEY}", "x".repeat(50)),
        HEADER.to_owned(),
    ] {
        let (mut answer, mut exchange) = answering(&server, &model).await;
        exchange
            .event(format!(r#"{{"choices":[{{"finish_reason":"{reason}"}}]}}"#))
            .await;
        exchange.event("[DONE]").await;
        check(&format!("{:?}", event(&mut answer).await));
    }
    drop(server);
    check_error(&ask(&model).next().await.unwrap().unwrap_err());

    let logged = LOGGED.lines();
    assert!(
        logged.contains("reqwest") || logged.contains("hyper"),
        "the log is connected"
    );
    check(&logged);
}
