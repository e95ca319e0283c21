//! A person's seat at a real pseudo-terminal: what they type, and what they see.
#![cfg(unix)]

use std::{
    fs::File,
    io::{Read as _, Write as _},
    num::NonZeroU16,
    process::Stdio,
};

use chat_conformance::ScriptedServer;
use rustix::{
    fs::{Mode, OFlags, open},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};
use serde_json::{Value, json};
use tokio::{
    process::{Child, Command},
    sync::watch,
};

use crate::{
    kit::{Home, finish, within},
    programs::engineer,
};

/// What is asked before a tool that needs it runs.
pub(crate) const QUESTION: &str = "run it? y, N, or why not: ";

/// How high and wide the terminal is.
const LINES: NonZeroU16 = NonZeroU16::new(50).unwrap();
const COLUMNS: NonZeroU16 = NonZeroU16::new(120).unwrap();

/// The person's side: keys, and what the screen has shown so far.
pub(crate) struct Seat {
    keys: File,
    screen: watch::Receiver<String>,
    pub(crate) child: Child,
}

impl Seat {
    /// Runs a command whose three streams are one terminal.
    pub(crate) fn at(mut command: Command) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap();
        let size = Winsize {
            ws_row: LINES.get(),
            ws_col: COLUMNS.get(),
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&ours, size).unwrap();
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
    pub(crate) async fn types(&mut self, text: &str) {
        let (mut keys, text) = (self.keys.try_clone().unwrap(), text.to_owned());
        let typing = tokio::task::spawn_blocking(move || keys.write_all(text.as_bytes()));
        within(typing).await.unwrap().unwrap();
    }

    /// Waits until this has been shown so many times; gives all that was, as it was written.
    pub(crate) async fn sees(&mut self, text: &str, times: usize) -> String {
        let seen = self
            .screen
            .wait_for(|shown| shown.matches(text).count() >= times);
        let seen = within(seen).await.unwrap().clone();
        seen.replace("\r\n", "\n")
    }

    /// Waits for the end; gives the exit code and all that was shown, as it was written.
    pub(crate) async fn ends(mut self) -> (i32, String) {
        let code = within(self.child.wait()).await.unwrap().code().unwrap();
        within(async { while self.screen.changed().await.is_ok() {} }).await;
        let shown = self.screen.borrow().replace("\r\n", "\n");
        (code, shown)
    }
}

/// What is on the screen after all of this was written.
pub(crate) fn screen(written: &str) -> String {
    let mut terminal = vt100::Parser::new(LINES, COLUMNS, 0);
    terminal.process(written.replace('\n', "\r\n").as_bytes());
    assert!(
        !terminal.screen().hide_cursor(),
        "a killed process leaves it so"
    );
    terminal.screen().contents()
}

/// Someone at the example `engineer`, whose model is this server.
pub(crate) fn sit_down(home: &Home, server: &ScriptedServer, args: &[&str]) -> Seat {
    let mut command = engineer(home, args);
    command
        .env("TERM", "xterm")
        .env("OPENAI_BASE_URL", server.url())
        .env("CHAT_MODEL", "m");
    Seat::at(command)
}

/// The model wants to deploy to each of these. Gives what it was asked.
pub(crate) async fn deploys(server: &ScriptedServer, places: &[&str]) -> Value {
    let mut exchange = within(server.next()).await;
    let asked = exchange.json();
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
    asked
}
