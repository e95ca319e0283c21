//! A program with a responder of its own, at the terminal: the example `engineer` as a user has it.

use chat_conformance::ScriptedServer;
use chat_core::TurnStatus;
use tokio::process::Command;

use crate::{
    kit::{Home, delta, end, finish, reply, within},
    seat::deploys,
};

/// Beside the command, where cargo builds examples.
pub(crate) fn engineer(home: &Home, args: &[&str]) -> Command {
    let chat = std::path::Path::new(env!("CARGO_BIN_EXE_chat"));
    let name = format!("examples/engineer{}", std::env::consts::EXE_SUFFIX);
    let program = chat.with_file_name(name);
    assert!(
        program.exists(),
        "build it first: cargo build --workspace --example engineer"
    );
    home.command_of(program, args)
}

#[tokio::test]
async fn c_a_program_without_a_model_says_what_to_set_and_still_shows_what_there_is() {
    let home = Home::new();
    let asked = end(engineer(&home, &["ask", "hi"]).spawn().unwrap()).await;
    assert_eq!((asked.code, asked.out.as_str()), (2, ""));
    let said: Vec<_> = asked.err.lines().collect();
    assert_eq!(said.len(), 2, "{}", asked.err);
    assert!(said[0].starts_with("engineer: there is nobody to ask: set OPENAI_API_KEY"));
    assert!(
        said[1].starts_with("          or name a server"),
        "{}",
        said[1]
    );
    let listed = end(engineer(&home, &["sessions"]).spawn().unwrap()).await;
    assert_eq!((listed.code, listed.err.as_str()), (0, ""));
    let unknown = end(engineer(&home, &["ask", "hi", "--model", "m"])
        .spawn()
        .unwrap())
    .await;
    assert_eq!(unknown.code, 2);
    assert!(unknown.err.contains("--model"), "{}", unknown.err);
}

#[tokio::test]
async fn c_a_program_denies_what_nobody_can_be_asked_and_keeps_its_own_journals() {
    let (home, server) = (Home::new(), ScriptedServer::start().await);
    let mut command = engineer(&home, &["ask", "Deploy.", "--session", "s"]);
    command
        .env("OPENAI_BASE_URL", server.url())
        .env("CHAT_MODEL", "m");
    let child = command.spawn().unwrap();
    assert_eq!(deploys(&server, &["prod"]).await["model"], "m");
    let exchange = within(server.next()).await;
    let told = exchange.json()["messages"]
        .as_array()
        .unwrap()
        .last()
        .unwrap()
        .clone();
    assert_eq!(told["role"], "tool");
    assert!(
        told["content"]
            .as_str()
            .unwrap()
            .contains("nobody can be asked")
    );
    reply(exchange, "It was not deployed.").await;
    let ended = end(child).await;
    assert_eq!(
        (ended.code, ended.out.as_str()),
        (0, "It was not deployed.\n")
    );
    assert!(
        ended
            .err
            .contains("\nengineer: deploy wants to run, and is denied: "),
        "{}",
        ended.err
    );
    assert!(home.path().join("engineer/s.jsonl").exists());
    assert!(!home.store().exists());
}

#[tokio::test]
async fn t9_a_program_proposes_itself_to_answer_a_turn_again() {
    let (home, server) = (Home::new(), ScriptedServer::start().await);
    let on_server = |args: &[&str]| {
        let mut command = engineer(&home, args);
        command.env("OPENAI_BASE_URL", server.url());
        command.spawn().unwrap()
    };
    let child = on_server(&["ask", "Deploy.", "--session", "s"]);
    let mut exchange = within(server.next()).await;
    exchange.respond_events().await;
    exchange.event(delta("It is")).await;
    exchange.end().await;
    let failed = end(child).await;
    assert_eq!(failed.code, 1);
    assert!(
        failed.err.contains("\nengineer: the turn failed: "),
        "{}",
        failed.err
    );
    assert!(
        failed.err.contains("answer it again: engineer retry s "),
        "{}",
        failed.err
    );

    let child = on_server(&["retry", "s"]);
    reply(within(server.next()).await, "It is deployed.").await;
    assert_eq!(end(child).await.out, "It is deployed.\n");
    let shown = end(engineer(&home, &["show", "s", "--json"]).spawn().unwrap()).await;
    let shown: serde_json::Value = serde_json::from_str(&shown.out).unwrap();
    let turns: Vec<chat_core::TurnRecord> = serde_json::from_value(shown["turns"].clone()).unwrap();
    let status: Vec<_> = turns.iter().map(|turn| turn.status).collect();
    assert_eq!(status, [TurnStatus::Failed, TurnStatus::Completed]);
    assert_eq!(
        turns[1].metadata.responder.as_ref().unwrap().id.as_deref(),
        Some("engineer")
    );
}

#[tokio::test]
async fn w8_a_run_as_json_is_not_told_whole_for_each_piece_of_its_text() {
    const WORDS: usize = 2_000;
    let (home, server) = (Home::new(), ScriptedServer::start().await);
    let mut command = engineer(&home, &["ask", "Tell.", "--json"]);
    command.env("OPENAI_BASE_URL", server.url());
    let child = command.spawn().unwrap();
    let mut exchange = within(server.next()).await;
    let writing = async {
        exchange.respond_events().await;
        for _ in 0..WORDS {
            exchange.event(delta("word ")).await;
        }
        exchange.event(finish("stop")).await;
        exchange.event("[DONE]").await;
        exchange.end().await;
    };
    let (ended, ()) = tokio::join!(end(child), writing);
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(ended.out.len() < 150 * WORDS, "{} bytes", ended.out.len());
    let events = ended.out.lines();
    let events: Vec<serde_json::Value> = events
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let last = events.iter().rfind(|event| event["type"] == "run-update");
    let nodes = last.unwrap()["tree"].as_array().unwrap();
    assert!(
        nodes.iter().all(|node| node["status"] == "done"),
        "{nodes:?}"
    );
    let step = nodes.iter().find(|node| node["id"] == "reply").unwrap();
    assert_eq!(step["output"].as_str().unwrap(), "word ".repeat(WORDS));
}

#[tokio::test]
async fn c_a_program_tells_its_version_and_what_it_reads_of_the_environment() {
    let home = Home::new();
    let version = end(engineer(&home, &["--version"]).spawn().unwrap()).await;
    assert_eq!(version.code, 0, "{}", version.err);
    assert!(
        version.out.starts_with("engineer (chat-cli "),
        "{}",
        version.out
    );
    let help = end(engineer(&home, &["--help"]).spawn().unwrap()).await;
    assert!(
        help.out.contains("  CHAT_MODEL       The model"),
        "{}",
        help.out
    );
}
