//! Lines of standard input, read on a thread of their own: a read that never ends must not keep the command from ending.

use std::io::{BufRead as _, Error};

use tokio::sync::mpsc;

/// How many lines are read ahead of who takes them.
const AHEAD: usize = 64;

/// The lines of standard input.
#[derive(Debug)]
pub(crate) struct Keyboard(mpsc::Receiver<Result<String, Error>>);

impl Keyboard {
    /// Begins to read.
    pub(crate) fn open() -> Self {
        let (sender, lines) = mpsc::channel(AHEAD);
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().lines() {
                let failed = line.is_err();
                if sender.blocking_send(line).is_err() || failed {
                    return;
                }
            }
        });
        Self(lines)
    }

    /// Lines that a test types.
    #[cfg(test)]
    pub(crate) fn of(lines: mpsc::Receiver<Result<String, Error>>) -> Self {
        Self(lines)
    }

    /// The next line, without its end; `None` at the end of input. Cancel-safe.
    pub(crate) async fn line(&mut self) -> Option<Result<String, Error>> {
        self.0.recv().await
    }

    /// A line that was typed before it was asked for.
    pub(crate) fn ahead(&mut self) -> Option<Result<String, Error>> {
        self.0.try_recv().ok()
    }

    /// Forgets what was typed before a question was asked: it is no answer to it.
    pub(crate) fn forget_ahead(&mut self) {
        while self.ahead().is_some() {}
    }
}
