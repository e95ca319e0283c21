//! A person at a terminal, here a real pseudo-terminal: what they are asked, and which typed lines are answers.
#![cfg(unix)]

use chat_conformance::{Exchange, ScriptedServer};
use serde_json::Value;

use crate::{
    kit::{Home, reply, signal, within},
    seat::{QUESTION, deploys, screen, sit_down},
};

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
        screen(&shown).contains("\n> \ncontinue with: engineer --session "),
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
    let shown = screen(&shown);
    let end = shown.split_once(QUESTION).unwrap().1;
    assert!(
        end.starts_with("\nIt was not deployed.\n✓ 1 step, 2 model calls"),
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
    let shown = screen(&shown);
    let end = shown.split_once(QUESTION).unwrap().1;
    assert!(
        end.starts_with("\n(no longer asked)\n■ canceled after 1 step, 1 model call"),
        "{shown}"
    );
    assert!(
        end.contains("answer it again: engineer retry s "),
        "{shown}"
    );
}
