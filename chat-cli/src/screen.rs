//! Standard output: replies and nothing else. On a terminal nothing that others wrote is obeyed; a pipe gets every byte.

use std::io::{ErrorKind, IsTerminal as _, Write};

use serde::Serialize;

use crate::{
    errors::Problem,
    render::{safe, safe_json},
};

/// Where replies go.
pub(crate) struct Screen {
    out: Box<dyn Write>,
    is_terminal: bool,
    /// Whether what comes next begins a line.
    at_line_start: bool,
    state: State,
}

enum State {
    Open,
    /// Nobody reads any more (`| head`): not our failure, and no reason to stop a turn.
    Left,
    Failed(std::io::Error),
}

impl Screen {
    /// This process's standard output.
    pub(crate) fn stdout() -> Self {
        let out = std::io::stdout();
        Self::of(out.is_terminal(), Box::new(out))
    }

    fn of(is_terminal: bool, out: Box<dyn Write>) -> Self {
        Self {
            out,
            is_terminal,
            at_line_start: true,
            state: State::Open,
        }
    }

    pub(crate) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Shows a piece of text at once.
    pub(crate) fn text(&mut self, text: &str) {
        let shown = if self.is_terminal {
            safe(text)
        } else {
            text.into()
        };
        if let Some(last) = shown.chars().next_back() {
            self.at_line_start = last == '\n';
            self.write(shown.as_bytes());
        }
    }

    /// Ends the line, where one is begun.
    pub(crate) fn end_line(&mut self) {
        if !self.at_line_start {
            self.text("\n");
        }
    }

    /// Shows a value as one line of JSON.
    pub(crate) fn json(&mut self, value: &impl Serialize) {
        match serde_json::to_string(value) {
            Ok(json) => {
                let shown = if self.is_terminal {
                    safe_json(&json)
                } else {
                    json.as_str().into()
                };
                self.write(format!("{shown}\n").as_bytes());
            }
            Err(error) => self.state = State::Failed(error.into()),
        }
    }

    /// What went wrong with writing.
    pub(crate) fn finish(&self) -> Result<(), Problem> {
        match &self.state {
            State::Open | State::Left => Ok(()),
            State::Failed(error) => {
                let said = format!("can't write to standard output: {error}");
                Err(Problem::failed(said)
                    .advise("what was recorded is in the journal all the same"))
            }
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        if !matches!(self.state, State::Open) {
            return;
        }
        let written = self.out.write_all(bytes).and_then(|()| self.out.flush());
        match written {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::BrokenPipe => self.state = State::Left,
            Err(error) => self.state = State::Failed(error),
        }
    }
}
