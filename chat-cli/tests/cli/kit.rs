//! A folder of its own for each test, the command in it, and the words of a model server.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use chat_conformance::Exchange;
use chat_core::{SessionId, TurnRecord};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    process::{Child, ChildStdout, Command},
};

/// Long enough for the busiest machine; whatever is waited for comes by itself.
const HANGS: Duration = Duration::from_secs(60);

/// A person's home: journals are in its `chat`, unless `CHAT_STORE` names another place.
pub(crate) struct Home {
    folder: tempfile::TempDir,
    store: Option<&'static str>,
}

/// Where journals are kept by default, and an SQLite database.
pub(crate) const STORES: [Option<&str>; 2] = [None, Some("chat.db")];

/// How a command ended, and what it said.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self::with_store(None)
    }

    /// A home whose journals are in this place of it.
    pub(crate) fn with_store(store: Option<&'static str>) -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            store,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.path().join("chat")
    }

    pub(crate) fn journal(&self, session: &str) -> PathBuf {
        self.store().join(format!("{session}.jsonl"))
    }

    /// The command without a terminal, an input or anything in its environment.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        self.command_of(env!("CARGO_BIN_EXE_chat"), args)
    }

    /// Another program of that kind, with as little around it.
    pub(crate) fn command_of<S: AsRef<OsStr>>(
        &self,
        program: impl AsRef<OsStr>,
        args: impl IntoIterator<Item = S>,
    ) -> Command {
        let mut command = Command::new(program);
        for name in [
            "OPENAI_API_KEY",
            "OPENAI_BASE_URL",
            "CHAT_MODEL",
            "CHAT_STORE",
        ] {
            command.env_remove(name);
        }
        if let Some(store) = self.store {
            command.env("CHAT_STORE", store);
        }
        command
            .args(args)
            .current_dir(self.path())
            .env("XDG_DATA_HOME", self.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    pub(crate) async fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Ended {
        end(self.command(args).spawn().unwrap()).await
    }

    /// Runs it with this text piped in.
    pub(crate) async fn pipe<S: AsRef<OsStr>>(
        &self,
        input: &str,
        args: impl IntoIterator<Item = S>,
    ) -> Ended {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input.as_bytes()).await.unwrap();
        drop(stdin);
        end(child).await
    }

    /// What `show --json` tells of a session's turns.
    pub(crate) async fn turns(&self, session: &str) -> Vec<TurnRecord> {
        let shown = self.run(["show", session, "--json"]).await;
        assert_eq!(shown.code, 0, "{}", shown.err);
        let mut shown: Value = serde_json::from_str(&shown.out).unwrap();
        assert_eq!(shown["id"], session);
        serde_json::from_value(shown["turns"].take()).unwrap()
    }

    /// The id of the one session there is.
    pub(crate) async fn only_session(&self) -> SessionId {
        let listed = self.run(["sessions", "--json"]).await;
        let lines: Vec<&str> = listed.out.lines().collect();
        assert_eq!(lines.len(), 1, "{}", listed.out);
        let session: Value = serde_json::from_str(lines[0]).unwrap();
        serde_json::from_value(session["id"].clone()).unwrap()
    }
}

/// Waits for the end of a command, and for all it said that nobody took yet.
pub(crate) async fn end(child: Child) -> Ended {
    let output = within(child.wait_with_output()).await.unwrap();
    Ended {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Fails a test that would hang; nothing is timed by it.
pub(crate) async fn within<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(HANGS, future)
        .await
        .expect("this should have come by itself")
}

/// Waits until standard output has said exactly this.
pub(crate) async fn says(stdout: &mut ChildStdout, text: &str) {
    let mut said = vec![0; text.len()];
    within(stdout.read_exact(&mut said)).await.unwrap();
    assert_eq!(String::from_utf8(said).unwrap(), text);
}

/// Sends a signal to a child, by its name and the child's own id.
#[cfg(unix)]
pub(crate) async fn signal(child: &Child, name: &str) {
    let pid = child.id().expect("it runs").to_string();
    let sent = Command::new("kill")
        .args(["-s", name, &pid])
        .status()
        .await
        .unwrap();
    assert!(sent.success());
}

pub(crate) fn delta(text: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {"content": text}}]})
}

pub(crate) fn finish(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

/// Answers as a model does, and ends.
pub(crate) async fn reply(mut exchange: Exchange, text: &str) {
    exchange.respond_events().await;
    exchange.event(delta(text)).await;
    exchange.event(finish("stop")).await;
    exchange.event("[DONE]").await;
    exchange.end().await;
}
