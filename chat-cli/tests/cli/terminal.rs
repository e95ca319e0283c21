//! A person at a terminal, here a real pseudo-terminal: what they are asked, and which typed lines are answers.
#![cfg(unix)]

use std::{
    fs::File,
    io::{Read as _, Write as _},
    process::Stdio,
};

use chat_conformance::{Exchange, ScriptedServer};
use rustix::{
    fs::{Mode, OFlags, open},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
};
use serde_json::{Value, json};
use tokio::{
    process::{Child, Command},
    sync::watch,
};

use crate::{
    kit::{Home, finish, reply, signal, within},
    programs::engineer,
};

const QUESTION: &str = "run it? y, N, or why not: ";

/// The person's side: keys, and what the screen has shown so far.
struct Seat {
    keys: File,
    screen: watch::Receiver<String>,
    child: Child,
}

impl Seat {
    /// Runs a command whose three streams are one terminal.
    fn at(mut command: Command) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap();
        let theirs = open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        let stream = || Stdio::from(theirs.try_clone().unwrap());
        command.stdin(stream()).stdout(stream()).stderr(stream());
        let child = command.spawn().unwrap();

        let keys = File::from(ours);
        let (shown, screen) = watch::channel(String::new());
        let mut read = keys.try_clone().unwrap();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // Fails once nobody has the other side any more.
            while let Ok(count @ 1..) = read.read(&mut bytes) {
                let piece = String::from_utf8_lossy(&bytes[..count]);
                shown.send_modify(|shown| shown.push_str(&piece));
            }
        });
        Self {
            keys,
            screen,
            child,
        }
    }

    /// Types this at once.
    async fn types(&mut self, text: &str) {
        let (mut keys, text) = (self.keys.try_clone().unwrap(), text.to_owned());
        let typing = tokio::task::spawn_blocking(move || keys.write_all(text.as_bytes()));
        within(typing).await.unwrap().unwrap();
    }

    /// Waits until this has been shown so many times.
    async fn sees(&mut self, text: &str, times: usize) -> String {
        let seen = self
            .screen
            .wait_for(|shown| shown.matches(text).count() >= times);
        let seen = within(seen).await.unwrap().clone();
        seen.replace("\r\n", "\n")
    }

    /// Waits for the end; gives the exit code and all that was shown.
    async fn ends(mut self) -> (i32, String) {
        let code = within(self.child.wait()).await.unwrap().code().unwrap();
        within(async { while self.screen.changed().await.is_ok() {} }).await;
        let shown = self.screen.borrow().replace("\r\n", "\n");
        (code, shown)
    }
}

/// Someone at the example `engineer`, whose model is this server.
fn sit_down(home: &Home, server: &ScriptedServer, args: &[&str]) -> Seat {
    let mut command = engineer(home, args);
    command
        .env("OPENAI_BASE_URL", server.url())
        .env("CHAT_MODEL", "m");
    Seat::at(command)
}

/// The model wants to deploy to each of these.
async fn deploys(server: &ScriptedServer, places: &[&str]) {
    let mut exchange = within(server.next()).await;
    exchange.respond_events().await;
    for (index, place) in places.iter().enumerate() {
        let arguments = json!({"environment": place}).to_string();
        let call = json!([{"index": index, "id": format!("c{index}"), "type": "function",
            "function": {"name": "deploy", "arguments": arguments}}]);
        exchange
            .event(json!({"choices": [{"index": 0, "delta": {"tool_calls": call}}]}))
            .await;
    }
    exchange.event(finish("tool_calls")).await;
    exchange.event("[DONE]").await;
    exchange.end().await;
}

/// What the model is told of its calls, in their order.
fn results(exchange: &Exchange, calls: usize) -> Vec<Value> {
    let messages = exchange.json()["messages"].as_array().unwrap().clone();
    let results = messages[messages.len() - calls..].iter();
    results
        .map(|message| serde_json::from_str(message["content"].as_str().unwrap()).unwrap())
        .collect()
}

#[tokio::test]
async fn w3_a_line_typed_before_its_question_answers_nothing() {
    let pasted = "y\n".repeat(20_000);
    // Two lines at once; more than a terminal holds; and the beginning of a line, whose end comes with the second question.
    for (ahead, then) in [("y\ny\n", "n\n"), (pasted.as_str(), "n\n"), ("y\ny", "\n")] {
        let (home, server) = (Home::new(), ScriptedServer::start().await);
        let mut seat = sit_down(&home, &server, &["ask", "Deploy twice."]);
        deploys(&server, &["staging", "prod"]).await;
        seat.sees(QUESTION, 1).await;
        seat.types(ahead).await;
        seat.sees(QUESTION, 2).await;
        seat.types(then).await;
        let exchange = within(server.next()).await;
        let told = results(&exchange, 2);
        assert_eq!(told[0]["deployed"], "staging");
        assert!(
            told[1]["error"].as_str().unwrap().contains("denied"),
            "{told:?}"
        );
        reply(exchange, "Half of it.").await;
        let (code, shown) = seat.ends().await;
        assert_eq!(code, 0, "{shown}");
        assert_eq!(shown.matches(QUESTION).count(), 2, "{shown}");
    }
}

#[tokio::test]
async fn w3_a_line_typed_ahead_is_a_turn_and_no_answer() {
    let (home, server) = (Home::new(), ScriptedServer::start().await);
    let mut seat = sit_down(&home, &server, &[]);
    seat.sees("> ", 1).await;
    seat.types("Deploy.\ny\n").await;
    deploys(&server, &["prod"]).await;
    seat.sees(QUESTION, 1).await;
    seat.types("yes please\n").await;
    let shown = seat.sees(QUESTION, 2).await;
    assert!(
        shown.contains("engineer: that is no plain yes: "),
        "{shown}"
    );
    seat.types("No\n").await;
    let exchange = within(server.next()).await;
    assert!(results(&exchange, 1)[0]["error"].is_string());
    // Typed while the reply is written.
    seat.types("And now?\n").await;
    reply(exchange, "It was not deployed.").await;
    let exchange = within(server.next()).await;
    let messages = exchange.json()["messages"].as_array().unwrap().clone();
    assert_eq!(messages.last().unwrap()["content"], "And now?");
    reply(exchange, "Still not.").await;
    seat.sees("Still not.", 1).await;
    seat.types("\u{4}").await;
    let (code, shown) = seat.ends().await;
    assert_eq!(code, 0, "{shown}");
    assert!(
        shown.contains("\n> \ncontinue with: engineer --session "),
        "{shown}"
    );
}

#[tokio::test]
async fn c_ctrl_d_at_a_question_denies_it_and_leaves() {
    let (home, server) = (Home::new(), ScriptedServer::start().await);
    let mut seat = sit_down(&home, &server, &[]);
    seat.sees("> ", 1).await;
    seat.types("Deploy.\n").await;
    deploys(&server, &["prod"]).await;
    seat.sees(QUESTION, 1).await;
    seat.types("\u{4}").await;
    let exchange = within(server.next()).await;
    assert!(
        results(&exchange, 1)[0]["error"]
            .as_str()
            .unwrap()
            .contains("nobody answered")
    );
    reply(exchange, "It was not deployed.").await;
    let (code, shown) = seat.ends().await;
    assert_eq!(code, 0, "{shown}");
    let end = shown.split_once(QUESTION).unwrap().1;
    assert!(
        end.starts_with("\nIt was not deployed.\ncontinue with: engineer --session "),
        "{shown}"
    );
}

#[tokio::test]
async fn c_ctrl_c_at_a_question_ends_its_line_and_cancels_the_turn() {
    let (home, server) = (Home::new(), ScriptedServer::start().await);
    let mut seat = sit_down(&home, &server, &["ask", "Deploy.", "--session", "s"]);
    deploys(&server, &["prod"]).await;
    seat.sees(QUESTION, 1).await;
    signal(&seat.child, "INT").await;
    let (code, shown) = seat.ends().await;
    assert_eq!(code, 130, "{shown}");
    let end = shown.split_once(QUESTION).unwrap().1;
    assert!(
        end.starts_with("\n(no longer asked)\nengineer: "),
        "{shown}"
    );
    assert!(
        end.contains("answer it again: engineer retry s "),
        "{shown}"
    );
}
