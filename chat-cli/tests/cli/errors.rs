//! What goes wrong is said in two lines: what happened and where, then what to do. Nothing asked is lost, no key is shown.

use chat_conformance::ScriptedServer;
use chat_core::TurnStatus;
use tokio::net::TcpListener;

use crate::kit::{Ended, Home, end, within};

const KEY: &str = "canary-4f9c2a7e1b";

fn said(ended: &Ended) -> Vec<&str> {
    assert_eq!(ended.out, "", "errors are on standard error");
    ended.err.lines().collect()
}

#[tokio::test]
async fn c_an_unknown_session_is_named() {
    let home = Home::new();
    for args in [
        &["show", "nope"][..],
        &["retry", "nope", "--responder", "echo"],
    ] {
        let ended = home.run(args).await;
        assert_eq!(ended.code, 1);
        assert_eq!(
            said(&ended),
            [
                "chat: there is no session nope",
                "      see which there are: chat sessions"
            ]
        );
    }
}

#[tokio::test]
async fn c_an_id_that_could_leave_the_folder_is_a_usage_error() {
    let home = Home::new();
    for args in [
        &["ask", "hi", "--responder", "echo", "--session", "../x"][..],
        &["--session", "../x", "--responder", "echo"],
        &["show", "../x"],
        &["retry", "../x"],
        &["retry", "x", "../t"],
    ] {
        let ended = home.run(args).await;
        assert_eq!(ended.code, 2, "C32 {args:?}: {}", ended.err);
        assert!(ended.err.contains("an id can't hold '/'"), "{}", ended.err);
    }
    assert!(!home.path().join("x.jsonl").exists());
}

#[tokio::test]
async fn c_what_makes_no_sense_is_a_usage_error() {
    let home = Home::new();
    for (args, why) in [
        (&["ask", ""][..], "the input is empty"),
        (&["ask", "-"], "the input is empty"),
        (&["ask"], "the input is empty"),
        (&["--session", "s", "sessions"], "--session"),
        (
            &["ask", "hi", "--store", "fil:here"],
            "a store is a PATH, file:DIR, sqlite:FILE or memory:",
        ),
        (&["ask", "hi", "--base-url", "localhost"], "base URL"),
        (&["frobnicate"], "frobnicate"),
    ] {
        let mut command = home.command(args);
        let ended = end(command.env("OPENAI_API_KEY", KEY).spawn().unwrap()).await;
        assert_eq!(ended.code, 2, "{args:?}: {}", ended.err);
        assert!(ended.err.contains(why), "{args:?}: {}", ended.err);
    }
}

#[tokio::test]
async fn c_with_nobody_to_ask_the_three_ways_are_said() {
    let home = Home::new();
    for args in [&["ask", "hi"][..], &[]] {
        let ended = home.run(args).await;
        assert_eq!(ended.code, 2);
        let said = said(&ended);
        assert_eq!(said.len(), 3, "{}", ended.err);
        assert!(said[0].contains("OPENAI_API_KEY"), "{}", said[0]);
        assert!(said[1].contains("--base-url"), "{}", said[1]);
        assert!(said[2].contains("--responder echo"), "{}", said[2]);
    }
    // Reading asks nobody.
    assert_eq!(home.run(["sessions"]).await.code, 0);
}

#[tokio::test]
async fn s7_a_folder_that_can_not_be_written_is_named() {
    let home = Home::new();
    let file = home.path().join("file");
    std::fs::write(&file, "mine").unwrap();
    for folder in [file.clone(), file.join("sub")] {
        let store = format!("file:{}", folder.display());
        let ended = home
            .run(["ask", "hi", "--responder", "echo", "--store", &store])
            .await;
        assert_eq!(ended.code, 1);
        let said = said(&ended);
        assert_eq!(said.len(), 2, "{}", ended.err);
        assert!(
            said[0].contains(&folder.display().to_string()),
            "{}",
            said[0]
        );
        assert!(said[1].contains("--store PATH"), "{}", said[1]);
    }
    assert_eq!(std::fs::read(&file).unwrap(), b"mine");
}

#[tokio::test]
async fn c_a_server_that_is_not_there_is_named_and_the_input_is_kept() {
    let home = Home::new();
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", gone.local_addr().unwrap());
    drop(gone);
    let ended = home
        .run(["ask", "hi", "--session", "s", "--base-url", &url])
        .await;
    assert_eq!(ended.code, 1);
    let turns = home.turns("s").await;
    let said = said(&ended);
    let [.., what, advice] = said.as_slice() else {
        panic!("{}", ended.err)
    };
    assert!(
        what.starts_with("chat: the turn failed: no server can be reached at"),
        "{what}"
    );
    assert!(what.contains(&url), "{what}");
    assert_eq!(
        *advice,
        format!(
            "      nothing is lost, answer it again: chat retry s {}",
            turns[0].id
        )
    );
    assert_eq!(turns[0].status, TurnStatus::Failed);
    assert_eq!(&*turns[0].input, "hi");
    let again = home.run(["retry", "s", "--responder", "echo"]).await;
    assert_eq!(
        (again.code, again.out.as_str()),
        (0, "hi\n"),
        "{}",
        again.err
    );
}

#[tokio::test]
async fn m6_a_wrong_key_is_said_and_never_shown() {
    let (home, server) = (Home::new(), ScriptedServer::start().await);
    let mut command = home.command(["ask", "hi", "--session", "s"]);
    command
        .env("OPENAI_API_KEY", KEY)
        .env("OPENAI_BASE_URL", server.url());
    let child = command.spawn().unwrap();
    let exchange = within(server.next()).await;
    assert_eq!(
        exchange.header("authorization"),
        Some(&*format!("Bearer {KEY}"))
    );
    let body = format!(
        r#"{{"error":{{"message":"Incorrect API key provided: {KEY}.","code":"invalid_api_key"}}}}"#
    );
    exchange.respond_whole(401, "application/json", body).await;
    let ended = end(child).await;
    assert_eq!(ended.code, 1);
    let said = said(&ended);
    assert_eq!(said.len(), 2, "{}", ended.err);
    assert!(
        said[0].contains("the API key was refused (status 401"),
        "{}",
        said[0]
    );
    assert!(said[1].contains("chat retry s "), "{}", said[1]);
    let journal = std::fs::read_to_string(home.journal("s")).unwrap();
    for shown in [&ended.err, &journal, &home.run(["show", "s"]).await.out] {
        assert!(!shown.contains(KEY), "{shown}");
    }
}

#[tokio::test]
async fn c_an_unknown_model_is_named() {
    let (home, server) = (Home::new(), ScriptedServer::start().await);
    let args = [
        "ask",
        "hi",
        "--session",
        "s",
        "--model",
        "nope-9",
        "--base-url",
        &server.url(),
        "--json",
    ];
    let child = home.command(args).spawn().unwrap();
    let body = r#"{"error":{"message":"The model `nope-9` does not exist","type":"invalid_request_error"}}"#;
    within(server.next())
        .await
        .respond_whole(404, "application/json", body)
        .await;
    let ended = end(child).await;
    assert_eq!(ended.code, 1);
    assert!(
        ended
            .err
            .starts_with("chat: the turn failed: the server does not know the model nope-9"),
        "{}",
        ended.err
    );
    assert!(ended.err.contains("does not exist"), "{}", ended.err);
    assert!(
        ended
            .out
            .lines()
            .last()
            .unwrap()
            .contains(r#""type":"turn-end""#),
        "{}",
        ended.out
    );
}

#[tokio::test]
async fn t9_what_can_not_be_retried_is_refused_by_name() {
    let home = Home::new();
    home.run(["ask", "hi", "--responder", "echo", "--session", "s"])
        .await;
    let turn = home.turns("s").await[0].id.clone();
    for (turn, why) in [
        (turn.as_str(), "completed"),
        ("nope", "there is no turn nope"),
    ] {
        let ended = home.run(["retry", "s", turn, "--responder", "echo"]).await;
        assert_eq!(ended.code, 1);
        let said = said(&ended);
        assert!(said[0].contains(why), "{}", said[0]);
        assert_eq!(said[1], "      see the session's turns: chat show s");
    }
    assert_eq!(home.turns("s").await.len(), 1);
}
