//! `cargo xtask demo`: two questions to a model, and the journal that came of them. It asks through the `chat` command, as
//! a user would, and has no way of its own into a session. Without a server named in the environment it runs a small one
//! here, which ends with it.

mod local_model;
mod server;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use self::local_model::LocalModel;
pub(crate) use self::local_model::Unavailable;
use self::server::Server;
use crate::process;
use crate::programs;
use crate::workspace::Workspace;

const QUESTION: &str = "What is a journal, in one sentence?";
const FOLLOW_UP: &str = "Give me one reason to keep one.";

/// Two questions to the server that the environment names, else to a model of our own.
pub(crate) fn run(workspace: &Workspace, question: Option<&str>) -> Result<()> {
    let question = question.unwrap_or(QUESTION);
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if !is_set("OPENAI_BASE_URL") && !is_set("OPENAI_API_KEY") {
        return with_local_model(workspace, question);
    }
    Conversation {
        workspace,
        chat: programs::program(workspace, &["--package", "chat-cli"], "chat")?,
        server: None,
    }
    .hold(question)
}

/// The demo's own question to a model of our own, whatever the environment names.
pub(crate) fn once(workspace: &Workspace) -> Result<()> {
    with_local_model(workspace, QUESTION)
}

fn with_local_model(workspace: &Workspace, question: &str) -> Result<()> {
    let model = LocalModel::fetch(&directory(workspace))?;
    // Before the server, which would wait for it.
    let chat = programs::program(workspace, &["--package", "chat-cli"], "chat")?;
    let server = start_server(workspace, &model)?;
    Conversation {
        workspace,
        chat,
        server: Some(&server),
    }
    .hold(question)
}

/// The model responder against our own model's server, and against a router of the same program.
pub(crate) fn check_responder(workspace: &Workspace) -> Result<()> {
    let model = LocalModel::fetch(&directory(workspace))?;
    // Before the servers, which would wait for it.
    let checks = programs::example(workspace, "real_server")?;
    let server = start_server(workspace, &model)?;
    let router = Server::start_router(&model, &directory(workspace).join("router.log"))?;
    process::run(
        Command::new(checks)
            .args([server.base_url(), router.base_url()])
            .arg(server_log(workspace)),
    )
}

/// Our own model's server alone, until Ctrl-C or the end of standard input. The one line on stdout is its base URL; how to point
/// something at it is said on stderr.
pub(crate) fn serve(workspace: &Workspace) -> Result<()> {
    let model = LocalModel::fetch(&directory(workspace))?;
    let server = start_server(workspace, &model)?;
    println!("{}", server.base_url());
    eprintln!(
        "\nIn another terminal, for all that asks a model:\n\
         \n  export OPENAI_BASE_URL={} CHAT_MODEL={}\
         \n  cargo run --package chat-cli -- ask \"What is a journal?\"\
         \n  cargo run --example draft_and_review -- ask \"What is a journal?\"\
         \n  cargo run --example engineer\n\
         \nCtrl-C or the end of standard input stops the server.",
        server.base_url(),
        LocalModel::NAME
    );
    std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink())?;
    Ok(())
}

fn start_server(workspace: &Workspace, model: &LocalModel) -> Result<Server> {
    let template = workspace.root.join("assets/chatml-json-tools.jinja");
    Server::start(model, &template, &server_log(workspace))
}

fn server_log(workspace: &Workspace) -> PathBuf {
    directory(workspace).join("server.log")
}

fn directory(workspace: &Workspace) -> PathBuf {
    workspace.target.join("demo")
}

struct Conversation<'a> {
    workspace: &'a Workspace,
    /// The command.
    chat: PathBuf,
    /// `None`: the one that the environment names to `chat`.
    server: Option<&'a Server>,
}

impl Conversation<'_> {
    fn hold(&self, question: &str) -> Result<()> {
        self.ask(&["ask", question])?;
        let session = newest_session(&process::stdout(&mut self.chat(&["sessions", "--json"]))?)?;
        self.ask(&["ask", "--session", &session, FOLLOW_UP])?;

        println!("\nThe conversation, as its journal tells it:\n\n$ chat show {session}");
        process::run(&mut self.chat(&["show", &session]))?;

        let journal = self.journal(&session)?;
        println!(
            "\nThe journal itself, two entries a turn:\n\n$ cat {}",
            self.workspace.relative(&journal).display()
        );
        let text = std::fs::read_to_string(&journal)?;
        print!("{text}");
        let completed = text
            .lines()
            .filter(|line| line.contains("\"turn.completed\""))
            .count();
        ensure!(
            completed == 2,
            "both turns should stand in the journal as completed, {completed} did"
        );
        Ok(())
    }

    fn ask(&self, args: &[&str]) -> Result<()> {
        let words: Vec<String> = args.iter().map(|word| process::quoted(word)).collect();
        println!("\n$ chat {}", words.join(" "));
        process::run(self.chat(args).stdin(Stdio::null()))
    }

    fn chat(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.chat);
        let (subcommand, rest) = args.split_at(1);
        command
            .args(subcommand)
            .arg("--store")
            .arg(format!("file:{}", self.store().display()));
        if let (Some(server), "ask") = (self.server, subcommand[0]) {
            // A key is for the server it was given for.
            command.env_remove("OPENAI_API_KEY");
            command.args(["--base-url", server.base_url(), "--model", LocalModel::NAME]);
        }
        command.args(rest);
        command
    }

    fn store(&self) -> PathBuf {
        directory(self.workspace).join("chat")
    }

    fn journal(&self, session: &str) -> Result<PathBuf> {
        let is_its = |path: &Path| path.file_stem().is_some_and(|stem| stem == session);
        let files =
            std::fs::read_dir(self.store())?.filter_map(|file| file.ok().map(|file| file.path()));
        let mut journals =
            files.filter(|path| path.extension().is_some_and(|end| end == "jsonl") && is_its(path));
        journals
            .next()
            .with_context(|| format!("{} holds no journal of {session}", self.store().display()))
    }
}

/// The first line's id: `chat sessions` begins with the newest activity.
fn newest_session(lines: &str) -> Result<String> {
    let first = lines
        .lines()
        .next()
        .context("the question left no session behind")?;
    let session: Value =
        serde_json::from_str(first).context("`chat sessions --json` printed no JSON")?;
    Ok(session["id"]
        .as_str()
        .context("`chat sessions --json` printed a session without an id")?
        .to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_session_is_the_first_line() {
        assert_eq!(
            newest_session("{\"id\":\"01b\"}\n{\"id\":\"01a\"}\n").unwrap(),
            "01b"
        );
        assert!(newest_session("").is_err());
        assert!(newest_session("{}").is_err());
    }
}
