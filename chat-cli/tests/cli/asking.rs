//! Questions and answers: streamed, piped, as JSON, in a session that goes on.

use chat_conformance::ScriptedServer;
use chat_core::{ChatEvent, TurnStatus};

use crate::kit::{Home, delta, end, finish, reply, says, within};

#[tokio::test]
async fn c_ask_prints_the_reply_as_it_is_written_and_exits_with_0() {
    let (home, server) = (Home::new(), ScriptedServer::start().await);
    let url = format!("{}/v1", server.url());
    let args = [
        "ask",
        "--base-url",
        &url,
        "--model",
        "m",
        "--instructions",
        "Be brief.",
        "What is a journal?",
    ];
    let mut child = home.command(args).spawn().unwrap();
    let mut exchange = within(server.next()).await;
    assert_eq!(exchange.path(), "/v1/chat/completions");
    assert_eq!(exchange.header("authorization"), None);
    let body = exchange.json();
    assert_eq!(body["model"], "m");
    let said: Vec<_> = body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| &message["content"])
        .collect();
    assert_eq!(said, ["Be brief.", "What is a journal?"]);

    exchange.respond_events().await;
    exchange.event(delta("A list")).await;
    let mut stdout = child.stdout.take().unwrap();
    says(&mut stdout, "A list").await;
    exchange.event(delta(" of entries.")).await;
    says(&mut stdout, " of entries.").await;
    exchange.event(finish("stop")).await;
    exchange.event("[DONE]").await;
    exchange.end().await;
    says(&mut stdout, "\n").await;
    let ended = end(child).await;
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
}

#[tokio::test]
async fn c_json_is_one_event_a_line_and_nothing_else() {
    let (home, server) = (Home::new(), ScriptedServer::start().await);
    let child = home
        .command(["ask", "--json", "hi", "--base-url", &server.url()])
        .spawn()
        .unwrap();
    reply(within(server.next()).await, "Hello\u{1b}[2J there").await;
    let ended = end(child).await;
    assert_eq!(ended.code, 0, "{}", ended.err);
    let events: Vec<ChatEvent> = ended
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(
        matches!(events.first(), Some(ChatEvent::TurnStart { .. })),
        "{events:?}"
    );
    let text: String = events
        .iter()
        .filter_map(|event| match event {
            ChatEvent::TextDelta { text, .. } => Some(&**text),
            _ => None,
        })
        .collect();
    assert_eq!(text, "Hello\u{1b}[2J there", "programs get every byte");
    let Some(ChatEvent::TurnEnd { turn, .. }) = events.last() else {
        panic!("{events:?}")
    };
    assert_eq!(turn.status, TurnStatus::Completed);
    assert_eq!(
        home.turns(home.only_session().await.as_str()).await,
        [(**turn).clone()]
    );
}

#[tokio::test]
async fn c_what_is_piped_in_is_the_input_without_its_last_line_break() {
    let home = Home::new();
    for args in [
        &["ask", "--responder", "echo"][..],
        &["--responder", "echo", "ask", "-"],
    ] {
        let ended = home.pipe("two\nlines\n", args).await;
        assert_eq!(
            (ended.code, ended.out.as_str()),
            (0, "two\nlines\n"),
            "{}",
            ended.err
        );
    }
}

#[tokio::test]
async fn c_a_conversation_without_a_terminal_answers_line_after_line_and_asks_nothing() {
    let home = Home::new();
    let ended = home
        .pipe(
            "one\n\n  \ntwo",
            ["--responder", "echo", "--session", "talk"],
        )
        .await;
    assert_eq!(
        (ended.code, ended.out.as_str(), ended.err.as_str()),
        (0, "one\ntwo\n", "")
    );
    let inputs: Vec<_> = home
        .turns("talk")
        .await
        .into_iter()
        .map(|turn| turn.input)
        .collect();
    assert_eq!(inputs, ["one".into(), "two".into()]);
    // Who says nothing leaves nothing behind.
    let ended = home.pipe("", ["--responder", "echo"]).await;
    assert_eq!((ended.code, ended.out.as_str()), (0, ""));
    assert_eq!(home.only_session().await.as_str(), "talk");
}

#[tokio::test]
async fn c_a_session_goes_on_by_its_id_or_the_beginning_of_it() {
    let (home, server) = (Home::new(), ScriptedServer::start().await);
    let url = server.url();
    let first = home.run(["ask", "My name is Ada.", "--base-url", &url]);
    let answered = async { reply(within(server.next()).await, "Hello Ada.").await };
    let (first, ()) = tokio::join!(first, answered);
    assert_eq!(first.code, 0, "{}", first.err);
    let session = home.only_session().await;
    let begun = &session.as_str()[..20];
    for (input, named) in [("And now?", session.as_str()), ("And then?", begun)] {
        let asked = home.run(["ask", input, "--session", named, "--base-url", &url]);
        let answered = async {
            let exchange = within(server.next()).await;
            let body = exchange.json();
            let said = body["messages"].as_array().unwrap().clone();
            reply(exchange, "Yes.").await;
            said
        };
        let (ended, said) = tokio::join!(asked, answered);
        assert_eq!(ended.code, 0, "{}", ended.err);
        assert_eq!(said[0]["content"], "My name is Ada.");
        assert_eq!(said[1]["content"], "Hello Ada.");
        assert_eq!(said.last().unwrap()["content"], input);
    }
    assert_eq!(home.turns(session.as_str()).await.len(), 3);
}

#[tokio::test]
async fn c_a_chosen_name_is_never_taken_for_the_beginning_of_another() {
    let home = Home::new();
    for name in ["work-2", "work-3", "work"] {
        let ended = home
            .run(["ask", name, "--responder", "echo", "--session", name])
            .await;
        assert_eq!(ended.code, 0, "{}", ended.err);
    }
    assert_eq!(home.turns("work").await.len(), 1);
    // Where nothing can be created, a beginning will do.
    let shown = home.run(["show", "work-"]).await;
    assert_eq!(shown.code, 2);
    assert!(
        shown.err.contains("work-2") && shown.err.contains("work-3"),
        "{}",
        shown.err
    );
    assert_eq!(home.run(["show", "work-2"]).await.code, 0);
}

#[tokio::test]
async fn c_a_reply_cut_by_its_limit_does_not_pass_for_whole() {
    let (home, server) = (Home::new(), ScriptedServer::start().await);
    let child = home
        .command(["ask", "hi", "--base-url", &server.url()])
        .spawn()
        .unwrap();
    let mut exchange = within(server.next()).await;
    exchange.respond_events().await;
    exchange.event(delta("Once upon a")).await;
    exchange.event(finish("length")).await;
    exchange.event("[DONE]").await;
    exchange.end().await;
    let ended = end(child).await;
    assert_eq!((ended.code, ended.out.as_str()), (0, "Once upon a\n"));
    assert!(ended.err.contains("the reply is cut"), "C47: {}", ended.err);
}

#[tokio::test]
async fn c_a_store_in_memory_leaves_nothing_behind() {
    let home = Home::new();
    let ended = home
        .run(["ask", "hi", "--responder", "echo", "--store", "memory:"])
        .await;
    assert_eq!((ended.code, ended.out.as_str()), (0, "hi\n"));
    assert!(!home.store().exists());
}
