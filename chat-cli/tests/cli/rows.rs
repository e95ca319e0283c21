//! The rows of a run, as who runs the example `engineer` has them: on a terminal, in a pipe, not at all.

use chat_conformance::ScriptedServer;
use serde_json::json;

use crate::{
    kit::{Ended, Home, delta, end, finish, reply, within},
    programs::engineer,
};

/// What comes of a turn whose model wants to deploy with these arguments, where nobody can be asked.
async fn deployed(home: &Home, server: &ScriptedServer, args: &[&str], arguments: &str) -> Ended {
    let mut command = engineer(home, args);
    command
        .env("OPENAI_BASE_URL", server.url())
        .env("OPENAI_API_KEY", KEY)
        .env("CHAT_MODEL", "m");
    let child = command.spawn().unwrap();
    let mut exchange = within(server.next()).await;
    exchange.respond_events().await;
    let call = json!([{"index": 0, "id": "c1", "type": "function",
        "function": {"name": "deploy", "arguments": arguments}}]);
    let call = json!({"choices": [{"index": 0, "delta": {"tool_calls": call}}]});
    exchange.event(call).await;
    exchange.event(finish("tool_calls")).await;
    exchange.event("[DONE]").await;
    exchange.end().await;
    let mut exchange = within(server.next()).await;
    exchange.respond_events().await;
    exchange.event(delta("It was")).await;
    exchange.event(delta(" not deployed.")).await;
    exchange.event(finish("stop")).await;
    let usage = json!({"prompt_tokens": 1_400, "completion_tokens": 31, "total_tokens": 1_431});
    exchange.event(json!({"choices": [], "usage": usage})).await;
    exchange.event("[DONE]").await;
    exchange.end().await;
    end(child).await
}

/// A key of no form that could be told from a word's.
const KEY: &str = "open-sesame-please";

/// A line without how long it took, and what stands behind that.
fn timeless(line: &str) -> &str {
    let without = line.rsplit_once(" · ").or_else(|| line.split_once(", "));
    without.map_or(line, |(line, _)| line)
}

#[tokio::test]
async fn c_a_pipe_gets_a_plain_line_of_each_thing_that_begins_and_ends() {
    let (home, server) = (Home::new(), ScriptedServer::start().await);
    let arguments = r#"{"environment":"prod"}"#;
    let ended = deployed(&home, &server, &["ask", "Deploy."], arguments).await;
    assert_eq!(ended.out, "It was not deployed.\n");
    let said: Vec<_> = ended.err.lines().map(timeless).collect();
    let (denials, said): (Vec<_>, Vec<_>) = said
        .into_iter()
        .partition(|line| line.starts_with("engineer: deploy wants to run"));
    assert_eq!(denials.len(), 1, "{}", ended.err);
    assert_eq!(
        said,
        [
            "Running reply",
            "  Asking m",
            "  m answered",
            "  deploy denied: a person denied this call: nobody can be asked: there is no terminal",
            "  Asking m",
            "  m answered",
            "reply done",
            "1 step, 2 model calls · 1,431 tokens"
        ],
        "{}",
        ended.err
    );
    assert!(!ended.err.contains('\u{1b}'), "{}", ended.err);
}

#[tokio::test]
async fn c_json_is_told_all_and_standard_error_nothing() {
    let (home, server) = (Home::new(), ScriptedServer::start().await);
    let args = ["ask", "Deploy.", "--json"];
    let arguments = r#"{"environment":"prod"}"#;
    let ended = deployed(&home, &server, &args, arguments).await;
    let said: Vec<_> = ended.err.lines().collect();
    assert_eq!(said.len(), 1, "{}", ended.err);
    assert!(said[0].starts_with("engineer: deploy wants to run, and is denied: "));
    assert!(ended.out.contains(r#""type":"run-update""#));
}

#[tokio::test]
async fn c66_a_key_is_in_no_line_of_what_went_wrong() {
    let (home, server) = (Home::new(), ScriptedServer::start().await);
    let arguments = json!({"environment": [KEY]}).to_string();
    let ended = deployed(&home, &server, &["ask", "Deploy."], &arguments).await;
    let failed = ended
        .err
        .lines()
        .find(|line| line.contains("deploy failed"));
    let failed = failed.unwrap_or_else(|| panic!("{}", ended.err));
    assert!(failed.contains("is not of type"), "{failed}");
    assert!(!ended.err.contains(KEY), "{}", ended.err);
}

#[cfg(unix)]
mod on_a_terminal {
    use super::*;
    use crate::{
        kit::signal,
        seat::{QUESTION, Seat, deploys, screen, sit_down},
    };

    #[tokio::test]
    async fn c_rows_stand_while_a_run_goes_on_and_one_line_of_them_stays() {
        let (home, server) = (Home::new(), ScriptedServer::start().await);
        let mut seat = sit_down(&home, &server, &["ask", "Deploy."]);
        let shown = screen(&seat.sees("Asking m", 1).await);
        let rows: Vec<_> = shown.lines().collect();
        assert!(rows[0].ends_with(" Running reply"), "{shown}");
        assert!(
            rows[1].starts_with("  ") && rows[1].ends_with(" Asking m"),
            "{shown}"
        );
        deploys(&server, &["prod"]).await;
        let shown = screen(&seat.sees(QUESTION, 1).await);
        let asked =
            format!("step reply wants to run deploy with {{\"environment\":\"prod\"}}\n{QUESTION}");
        assert_eq!(shown.trim_end(), asked.trim_end());
        seat.types("y\n").await;
        let exchange = within(server.next()).await;
        let shown = screen(&seat.sees("deploy done", 1).await);
        let asked = format!("{asked}y\n");
        assert!(shown.starts_with(&asked), "{shown}");
        assert!(shown.contains("\n  ✓ deploy done  "), "{shown}");
        reply(exchange, "It is\ndeployed.").await;
        let (code, shown) = seat.ends().await;
        let shown = screen(&shown);
        assert_eq!(code, 0, "{shown}");
        let (end, hint) = shown.split_once("\ncontinue with: ").unwrap();
        assert_eq!(
            timeless(end),
            format!("{asked}It is\ndeployed.\n✓ 1 step, 2 model calls, 1 tool call"),
            "{hint}"
        );
    }

    #[tokio::test]
    async fn c_ctrl_c_takes_the_rows_away_and_leaves_one_line() {
        let (home, server) = (Home::new(), ScriptedServer::start().await);
        let mut seat = sit_down(&home, &server, &["ask", "Deploy.", "--session", "s"]);
        let exchange = within(server.next()).await;
        seat.sees("Asking m", 1).await;
        signal(&seat.child, "INT").await;
        let (code, shown) = seat.ends().await;
        drop(exchange);
        let shown = screen(&shown);
        assert_eq!(code, 130, "{shown}");
        let lines: Vec<_> = shown.lines().collect();
        assert_eq!(timeless(lines[0]), "■ canceled after 1 step, 1 model call");
        assert!(lines[1].starts_with("engineer: "), "{shown}");
        assert!(!shown.contains("Running"), "{shown}");
    }

    #[tokio::test]
    async fn c_a_terminal_that_knows_no_escapes_gets_none() {
        let (home, server) = (Home::new(), ScriptedServer::start().await);
        let mut command = engineer(&home, &["ask", "Tell."]);
        command
            .env("TERM", "dumb")
            .env("OPENAI_BASE_URL", server.url())
            .env("CHAT_MODEL", "m");
        let seat = Seat::at(command);
        reply(within(server.next()).await, "Once.").await;
        let (code, shown) = seat.ends().await;
        assert_eq!(code, 0, "{shown}");
        assert!(!shown.contains('\u{1b}'), "{shown}");
        assert!(shown.starts_with("Running reply\n  Asking m\n"), "{shown}");
        assert!(shown.contains("\n1 step, 1 model call · "), "{shown}");
    }

    #[tokio::test]
    async fn c66_a_key_is_in_no_row() {
        let (home, server) = (Home::new(), ScriptedServer::start().await);
        let mut command = engineer(&home, &["ask", "Deploy."]);
        command
            .env("TERM", "xterm")
            .env("OPENAI_BASE_URL", server.url())
            .env("OPENAI_API_KEY", KEY)
            .env("CHAT_MODEL", "m");
        let mut seat = Seat::at(command);
        deploys(&server, &[KEY]).await;
        // Who is asked is shown what would run.
        let shown = seat.sees(QUESTION, 1).await;
        assert_eq!(shown.matches(KEY).count(), 1, "{shown}");
        seat.types("y\n").await;
        let exchange = within(server.next()).await;
        let shown = seat.sees("deploy done", 1).await;
        let row = screen(&shown);
        let row = row.lines().find(|line| line.contains("deploy done"));
        assert!(row.unwrap().contains("environment"), "{row:?}");
        reply(exchange, "It is deployed.").await;
        let (_, shown) = seat.ends().await;
        assert_eq!(shown.matches(KEY).count(), 1, "{shown}");
    }
}
