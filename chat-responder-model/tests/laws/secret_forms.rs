//! Law M6: wherever a secret is kept and in whatever form it comes back, it is in nothing that we print or write.

use chat_core::{ModelEvent, ResponderError};
use chat_responder_model::{ModelResponder, OpenAi, Settings};
use chat_runtime::Chat;
use chat_store_file::FileStore;
use futures_util::StreamExt;
use serde_json::{Map, Value, json};

use crate::{
    secrets::{LOGGED, Log, all_files, check, check_error},
    support::*,
};

/// What a server says with these words, to a model of this base URL (`{}` is the server's own) and with these options.
async fn told(base: &str, options: Value, words: &str) -> ResponderError {
    let server = server().await;
    let options: Map<String, Value> = options.as_object().cloned().unwrap_or_default();
    let model = OpenAi::new(base.replace("{}", &server.address().to_string()))
        .unwrap()
        .model("tiny")
        .with_settings(Settings {
            provider_options: options,
            ..once()
        });
    check(&format!("{model:?}"));
    let (mut answer, exchange) = asked(&server, &model).await;
    let words = words.replace("{path}", exchange.path());
    let sent = exchange.header("authorization").unwrap_or_default();
    let words = words.replace("{sent}", sent.split_whitespace().last().unwrap_or_default());
    exchange.respond_whole(401, "text/plain", &words).await;
    answer.next().await.unwrap().unwrap_err()
}

#[tokio::test]
async fn m6_a_secret_is_known_in_every_form_in_which_it_can_come_back() {
    Log::connect();
    let plain = "http://{}/v1";
    let none = || Value::Null;
    let key = || json!({"api_key": "canary-option-999", "nested": {"auth": {"token": "canary-nested-1"}}});
    for (base, options, words) in [
        (plain, key(), "the key canary-option-999 is no good"),
        (plain, key(), "the token canary-nested-1 is no good"),
        (
            "http://{}/v1?deploy=canary%2Bquery%3D1",
            none(),
            "no such path {path}",
        ),
        (
            "http://{}/v1?deploy=canary%2Bquery%3D1",
            none(),
            "no such deployment canary+query=1",
        ),
        // A key that is all of a pair.
        (
            "http://{}/v1?canary%2Dbare&api-version=1",
            none(),
            "no such path {path}",
        ),
        (
            "http://{}/v1?canary%2Dbare&api-version=1",
            none(),
            "the key canary-bare is no good",
        ),
        (
            "http://us%40er:canary%40pass@{}/v1",
            none(),
            "canary%40pass is wrong",
        ),
        (
            "http://us%40er:canary%40pass@{}/v1",
            none(),
            "canary@pass is wrong",
        ),
        (
            "http://canary%2Duser@{}/v1",
            none(),
            "unknown user canary%2Duser",
        ),
        (
            "http://canary%2Duser@{}/v1",
            none(),
            "unknown user canary-user",
        ),
    ] {
        check_error(&told(base, options, words).await);
    }
    // A query that encodes more than it must, as it was written.
    let error = told(
        "http://{}/v1?deploy=%6Bey%2Dof%2Dmine",
        none(),
        "no such path {path}",
    )
    .await;
    assert!(!error.message().contains("%6Bey"), "{}", error.message());
    // The login as it is sent.
    for login in ["us%40er:pass%40word", "token-of-a-user"] {
        let error = told(&format!("http://{login}@{{}}/v1"), none(), "you are {sent}").await;
        let message = error.message();
        assert!(message.contains("you are ["), "{message}");
    }
    check(&LOGGED.lines());
}

#[tokio::test]
async fn m6_each_part_of_a_header_or_a_key_is_known_for_a_secret() {
    Log::connect();
    let login = data_encoding::BASE64.encode(b"user:canary-pass-1");
    for (name, value, words) in [
        ("", "Bearer canary-token-1", "canary-token-1 is no key"),
        (
            "cookie",
            "session=canary-cookie-1; other=1",
            "unknown session canary-cookie-1",
        ),
        ("x-key", "canary,of;k", "no canary,of;k"),
        (
            "authorization",
            "Token token=\"canary-token-2\", a=1",
            "unknown token canary-token-2",
        ),
        (
            "authorization",
            &format!("basic {login}"),
            "the password canary-pass-1 is wrong",
        ),
        (
            "authorization",
            &format!("Basic {login}"),
            "nobody is user:canary-pass-1",
        ),
    ] {
        let server = server().await;
        let endpoint = OpenAi::new(server.url()).unwrap();
        let endpoint = match name {
            "" => endpoint.api_key(value),
            name => endpoint.header(name, value),
        };
        let model = endpoint.unwrap().model("tiny").with_settings(once());
        let (mut answer, exchange) = asked(&server, &model).await;
        exchange.respond_whole(401, "text/plain", words).await;
        check_error(&answer.next().await.unwrap().unwrap_err());
    }
    check(&LOGGED.lines());
}

#[tokio::test]
async fn m6_a_key_as_the_name_or_id_of_a_call_is_in_no_event_and_in_no_journal() {
    Log::connect();
    let server = server().await;
    let call = |id: &str, name: &str| {
        let call = json!({"index": 0, "id": id, "function": {"name": name, "arguments": "{}"}});
        json!({"choices": [{"delta": {"tool_calls": [call]}}]})
    };
    let plays = [
        vec![call(KEY, KEY)],
        vec![call("a", &format!("get_{KEY}"))],
        // In pieces, of which one is all of it.
        vec![
            json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "a"}]}}]}),
            call("a", KEY),
        ],
        vec![json!({"choices": [{"delta": {"function_call": {"name": KEY}}}]})],
        // So far behind that a part of it is all that is kept.
        vec![call(
            &format!("{}{KEY}", "i".repeat(240)),
            &format!("{}{KEY}", "n".repeat(240)),
        )],
    ];
    for play in &plays {
        let (answer, mut exchange) = answering(&server, &model(&server)).await;
        for chunk in play {
            exchange.event(chunk).await;
        }
        exchange.event(STOP).await;
        exchange.end().await;
        let events: Vec<_> = answer.map(|event| event.unwrap()).collect().await;
        assert!(
            events
                .iter()
                .any(|event| matches!(event, ModelEvent::ToolCall { .. })),
            "{events:?}"
        );
        check(&format!("{events:?}"));
    }

    let folder = tempfile::tempdir().unwrap();
    let store = FileStore::open(folder.path()).unwrap();
    let chat = Chat::new(ModelResponder::new(model(&server)), store);
    let session = chat.create_session().await.unwrap();
    for play in &plays {
        let turn = session.send("Hello");
        let events = turn.events().unwrap();
        let serving = async {
            let mut exchange = server.next().await;
            exchange.respond_events().await;
            for chunk in play {
                exchange.event(chunk).await;
            }
            exchange.end().await;
        };
        let (told, ()) = tokio::join!(printed(events), serving);
        assert!(told.contains("TurnEnd"), "{told}");
        check(&told);
        let error = turn.result().await.unwrap_err();
        check(&format!("{error} {error:?}"));
        assert!(error.to_string().contains("called a tool"), "{error}");
    }
    let written = all_files(folder.path());
    assert!(written.contains("called a tool"), "{written}");
    check(&written);
    check(&LOGGED.lines());
}
