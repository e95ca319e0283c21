//! Standard output: replies and nothing else. On a terminal nothing that others wrote is obeyed; a pipe gets every byte.

use std::io::{ErrorKind, IsTerminal as _, Write};

use chat_core::harmless;
use serde::Serialize;

use crate::{errors::Problem, render::safe_json};

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

    pub(crate) fn of(is_terminal: bool, out: Box<dyn Write>) -> Self {
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

    /// Whether a line is begun, behind which the cursor stands.
    pub(crate) fn is_in_line(&self) -> bool {
        !self.at_line_start
    }

    /// Shows a piece of text at once.
    pub(crate) fn text(&mut self, text: &str) {
        let shown = if self.is_terminal {
            harmless(text)
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
            Ok(json) => self.line_of_json(&json),
            Err(error) => self.state = State::Failed(error.into()),
        }
    }

    /// Shows JSON text, which is one line.
    pub(crate) fn line_of_json(&mut self, json: &str) {
        let shown = if self.is_terminal {
            safe_json(json)
        } else {
            json.into()
        };
        self.write(format!("{shown}\n").as_bytes());
    }

    /// What went wrong with writing.
    pub(crate) fn finish(&self) -> Result<(), Problem> {
        match &self.state {
            State::Open | State::Left => Ok(()),
            State::Failed(error) => {
                let said = format!("can't write to standard output: {error}");
                Err(Problem::failed(said)
                    .advise("what stands there is not whole; nothing in the store is lost"))
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

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::{Arc, Mutex};

    use tokio::sync::Notify;

    use super::*;

    /// Keeps what is written, or fails.
    #[derive(Clone, Default)]
    pub(crate) struct Paper {
        written: Arc<Mutex<Vec<u8>>>,
        changed: Arc<Notify>,
        fails_with: Option<ErrorKind>,
    }

    impl Write for Paper {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            match self.fails_with {
                Some(kind) => Err(kind.into()),
                None => {
                    self.changed.notify_one();
                    self.written.lock().unwrap().write(bytes)
                }
            }
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    impl Paper {
        /// Waits until it ends so.
        pub(crate) async fn until(&self, end: &str) {
            while !self.text().ends_with(end) {
                self.changed.notified().await;
            }
        }

        pub(crate) fn text(&self) -> String {
            String::from_utf8(self.written.lock().unwrap().clone()).unwrap()
        }
    }

    #[test]
    fn c_a_terminal_obeys_nothing_that_others_wrote_and_a_pipe_gets_every_byte() {
        for (is_terminal, shown) in [(true, "a␛[2J\n"), (false, "a\u{1b}[2J\n")] {
            let paper = Paper::default();
            let mut screen = Screen::of(is_terminal, Box::new(paper.clone()));
            screen.text("a\u{1b}[2J");
            screen.end_line();
            screen.end_line();
            assert_eq!(paper.text(), shown);
        }
    }

    #[test]
    fn c_json_on_a_terminal_is_the_same_json() {
        let paper = Paper::default();
        let mut screen = Screen::of(true, Box::new(paper.clone()));
        screen.json(&"\u{9b}");
        screen.line_of_json("{\"text\":\"\u{202e}\"}");
        assert_eq!(paper.text(), "\"\\u009b\"\n{\"text\":\"\\u202e\"}\n");
    }

    #[test]
    fn c_a_reader_that_left_is_no_failure_and_a_full_disk_is() {
        for (kind, is_failure) in [
            (ErrorKind::BrokenPipe, false),
            (ErrorKind::StorageFull, true),
        ] {
            let paper = Paper {
                fails_with: Some(kind),
                ..Paper::default()
            };
            let mut screen = Screen::of(false, Box::new(paper));
            screen.text("a");
            screen.text("b");
            assert_eq!(screen.finish().is_err(), is_failure, "{kind}");
        }
    }
}
