//! What stops in the middle: Ctrl-C, a reader who leaves, a kill. Nothing asked is lost.
#![cfg(unix)]

use chat_conformance::{Exchange, ScriptedServer};
use chat_core::TurnStatus;
use tokio::process::Child;

use crate::kit::{Home, STORES, delta, end, finish, reply, says, signal, within};

/// A question in session `s` whose answer has begun with `text`.
async fn begun(home: &Home, server: &ScriptedServer, text: &str) -> (Child, Exchange) {
    let args = [
        "ask",
        "What is a journal?",
        "--session",
        "s",
        "--base-url",
        &server.url(),
    ];
    let child = home.command(args).spawn().unwrap();
    let mut exchange = within(server.next()).await;
    exchange.respond_events().await;
    exchange.event(delta(text)).await;
    (child, exchange)
}

#[tokio::test]
async fn c_ctrl_c_cancels_the_turn_which_is_recorded_and_exits_with_130() {
    let (home, server) = (Home::new(), ScriptedServer::start().await);
    let (mut child, mut exchange) = begun(&home, &server, "A list").await;
    says(child.stdout.as_mut().unwrap(), "A list").await;
    signal(&child, "INT").await;
    within(exchange.closed()).await;
    let ended = end(child).await;
    assert_eq!((ended.code, ended.out.as_str()), (130, "\n"));
    assert!(
        ended
            .err
            .contains("canceled with Ctrl-C\n      answer it again: chat retry s "),
        "{}",
        ended.err
    );
    let turns = home.turns("s").await;
    assert_eq!(turns[0].status, TurnStatus::Canceled);
    assert_eq!(turns[0].reason.as_deref(), Some("canceled with Ctrl-C"));
    assert_eq!(turns[0].output, None, "T7");
}

#[tokio::test]
async fn c_a_second_ctrl_c_quits_at_once_though_nobody_reads() {
    let (home, server) = (Home::new(), ScriptedServer::start().await);
    // More than a pipe holds: once it has begun to print, the command waits for its reader.
    let (mut child, mut exchange) = begun(&home, &server, &"x".repeat(1 << 20)).await;
    says(child.stdout.as_mut().unwrap(), "x").await;
    signal(&child, "INT").await;
    within(exchange.closed()).await;
    signal(&child, "INT").await;
    let status = within(child.wait()).await.unwrap();
    assert_eq!(status.code(), Some(130));
    let status = home.turns("s").await[0].status;
    assert!(status.can_retry(), "{status}");
}

#[tokio::test]
async fn t10_an_answer_killed_in_the_middle_is_interrupted_and_is_answered_again() {
    for store in STORES {
        killed_in_the_middle(Home::with_store(store)).await;
    }
}

async fn killed_in_the_middle(home: Home) {
    let server = ScriptedServer::start().await;
    let (mut child, exchange) = begun(&home, &server, "A list").await;
    says(child.stdout.as_mut().unwrap(), "A list").await;
    within(child.kill()).await.unwrap();
    drop(exchange);

    let shown = home.run(["show", "s"]).await;
    let interrupted = home.turns("s").await.remove(0);
    assert_eq!(interrupted.status, TurnStatus::Interrupted);
    let hint = format!("answer it again: chat retry s {}\n", interrupted.id);
    assert!(
        shown.out.contains("\ninterrupted") && shown.out.ends_with(&hint),
        "{}",
        shown.out
    );

    let url = server.url();
    let retried = home.run(["retry", "s", "--base-url", &url]);
    let answered = async {
        let exchange = within(server.next()).await;
        let body = exchange.json();
        reply(exchange, "A list of entries.").await;
        body
    };
    let (retried, body) = tokio::join!(retried, answered);
    assert_eq!(
        (retried.code, retried.out.as_str()),
        (0, "A list of entries.\n"),
        "{}",
        retried.err
    );
    let said = body["messages"].as_array().unwrap();
    assert_eq!(said.len(), 1, "T7: what was cut off is in no context");
    let turns = home.turns("s").await;
    assert_eq!(turns[0], interrupted, "T9: the original keeps its entries");
    assert_eq!(turns[1].retry_of.as_ref(), Some(&interrupted.id));
    assert_eq!(turns[1].status, TurnStatus::Completed);
    // It is answered now.
    let again = home.run(["retry", "s", "--base-url", &url]).await;
    assert_eq!(again.code, 1);
    assert!(again.err.contains("nothing to retry"), "{}", again.err);
}

#[tokio::test]
async fn c_a_reader_who_leaves_stops_the_printing_and_not_the_turn() {
    let (home, server) = (Home::new(), ScriptedServer::start().await);
    let (mut child, mut exchange) = begun(&home, &server, "A list").await;
    let mut stdout = child.stdout.take().unwrap();
    says(&mut stdout, "A list").await;
    drop(stdout);
    exchange.event(delta(" of")).await;
    exchange.event(delta(" entries.")).await;
    exchange.event(finish("stop")).await;
    exchange.event("[DONE]").await;
    exchange.end().await;
    let ended = end(child).await;
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    let turns = home.turns("s").await;
    assert_eq!(turns[0].output.as_deref(), Some("A list of entries."));
}

#[tokio::test]
async fn s5_a_session_answered_by_another_process_is_waited_for() {
    for store in STORES {
        answered_by_another(Home::with_store(store)).await;
    }
}

async fn answered_by_another(home: Home) {
    let server = ScriptedServer::start().await;
    let (first, mut exchange) = begun(&home, &server, "One").await;
    let shown = home.run(["show", "s"]).await;
    assert!(
        shown.out.ends_with("being answered by another process\n"),
        "{}",
        shown.out
    );
    let mut second = home
        .command(["ask", "And then?", "--session", "s", "--responder", "echo"])
        .spawn()
        .unwrap();
    let mut notes = second.stderr.take().unwrap();
    let waits = "chat: another process answers in this session; waiting for it\n";
    let mut said = vec![0; waits.len()];
    within(tokio::io::AsyncReadExt::read_exact(&mut notes, &mut said))
        .await
        .unwrap();
    assert_eq!(String::from_utf8(said).unwrap(), waits);
    exchange.event(finish("stop")).await;
    exchange.event("[DONE]").await;
    exchange.end().await;
    assert_eq!(end(first).await.code, 0);
    let second = end(second).await;
    assert_eq!((second.code, second.out.as_str()), (0, "And then?\n"));
    assert_eq!(home.turns("s").await.len(), 2);
}
