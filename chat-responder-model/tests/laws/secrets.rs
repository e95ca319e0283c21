//! Law M6: a key that a server repeats in every way it can is in nothing that we print or log.

use std::{
    io,
    path::Path,
    sync::{Mutex, MutexGuard, Once, PoisonError},
};

use chat_conformance::ScriptedServer;
use chat_core::{LanguageModel, RecordedError, ResponderError};
use chat_responder_model::{ModelResponder, OpenAi, OpenAiModel, Settings};
use chat_runtime::Chat;
use chat_store_file::FileStore;
use futures_util::StreamExt;

use crate::support::*;

/// Everything that was logged, at any level, through `log` or `tracing`.
pub(crate) static LOGGED: Log = Log(Mutex::new(String::new()));
static CONNECTED: Once = Once::new();

pub(crate) struct Log(Mutex<String>);

impl Log {
    /// Connects it, for all tests of this program.
    pub(crate) fn connect() {
        CONNECTED.call_once(|| {
            log::set_logger(&LOGGED).unwrap();
            log::set_max_level(log::LevelFilter::Trace);
            let subscriber = tracing_subscriber::fmt()
                .with_max_level(tracing::Level::TRACE)
                .with_writer(|| &LOGGED)
                .finish();
            tracing::subscriber::set_global_default(subscriber).unwrap();
        });
    }

    pub(crate) fn lines(&self) -> MutexGuard<'_, String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl io::Write for &Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.lines().push_str(&String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
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
const QUERY: &str = "canary-40cd1b-query";

#[track_caller]
pub(crate) fn check(printed: &str) {
    assert!(!printed.contains("canary"), "{printed}");
}

/// Everything an error prints, and everything its causes print.
#[track_caller]
pub(crate) fn check_error(error: &ResponderError) {
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

/// An endpoint with a secret wherever one can be.
fn with_secrets(server: &ScriptedServer) -> OpenAi {
    let base = server
        .url()
        .replace("http://", "http://user:canary-password@");
    OpenAi::new(format!("{base}/v1?key={QUERY}"))
        .unwrap()
        .api_key(KEY)
        .unwrap()
        .header("x-token", format!("Basic {HEADER}"))
        .unwrap()
}

fn with_options(endpoint: OpenAi, max_retries: u32) -> OpenAiModel {
    endpoint.model("tiny").with_settings(Settings {
        max_retries,
        provider_options: [("api_key".to_owned(), KEY.into())].into_iter().collect(),
        ..Settings::default()
    })
}

#[tokio::test]
async fn m6_no_key_is_printed_or_logged_even_where_the_server_repeats_it() {
    Log::connect();
    let server = server().await;
    let endpoint = with_secrets(&server);
    let model = with_options(endpoint.clone(), 0);
    check(&format!("{endpoint:?} {model:?} {:?}", model.model()));
    check(&format!("{:?}", ModelResponder::new(model.clone())));

    let echo = format!("you sent {KEY} and Basic {HEADER} and {QUERY}");
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
    for library in ["reqwest", "hyper"] {
        assert!(
            logged.contains(library),
            "the log of {library} is connected"
        );
    }
    check(&logged);
}

#[tokio::test]
async fn m6_no_key_is_in_a_journal_or_in_what_a_turn_tells() {
    Log::connect();
    let folder = tempfile::tempdir().unwrap();
    let store = FileStore::open(folder.path()).unwrap();
    let server = server().await;
    let responder = ModelResponder::new(with_options(with_secrets(&server), 1));
    let session = Chat::new(responder, store).create_session().await.unwrap();

    let echo = format!("you sent {KEY} and {HEADER} and {QUERY}");
    let error = format!(r#"{{"error":{{"message":"{echo}","code":401}}}}"#);
    let finish = format!(r#"{{"choices":[{{"finish_reason":"{QUERY}"}}]}}"#);
    // Refused; failed in the middle; tried again and ended with a finish reason that repeats a key.
    for play in 0..3 {
        let turn = session.send("Hello");
        let events = turn.events().unwrap();
        let serving = async {
            let mut exchange = server.next().await;
            if play == 2 {
                exchange.respond(503, [("retry-after", "0")]).await;
                exchange.chunk(&echo).await;
                exchange.end().await;
                exchange = server.next().await;
            }
            if play == 0 {
                exchange.respond_whole(401, "text/plain", &echo).await;
                return;
            }
            exchange.respond_events().await;
            exchange.event(HI).await;
            exchange
                .event(if play == 1 { &error } else { &finish })
                .await;
            exchange.event("[DONE]").await;
            exchange.end().await;
        };
        let (told, ()) = tokio::join!(printed(events), serving);
        assert!(told.contains("TurnEnd"), "{told}");
        check(&told);
        let result = turn.result().await;
        assert_eq!(result.is_ok(), play == 2, "{result:?}");
        check(&format!("{result:?}"));
        if let Err(error) = result {
            check(&error.to_string());
        }
    }
    assert_eq!(session.turns().len(), 3);
    let written = all_files(folder.path());
    assert!(written.contains("Hello"), "the journal is there");
    check(&written);
    check(&LOGGED.lines());
}

/// All that is in the files of a folder, at any depth.
pub(crate) fn all_files(folder: &Path) -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            text.push_str(&all_files(&path));
        } else {
            text.push_str(&String::from_utf8_lossy(&std::fs::read(path).unwrap()));
        }
    }
    text
}
