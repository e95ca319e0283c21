//! Lines of standard input. A terminal's are read only where one is asked for, others on a thread of their own: a read that
//! never ends must not keep the command from ending.

use std::{
    io::{BufRead as _, Error},
    time::Duration,
};

use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};

#[cfg(unix)]
use crate::terminal::Terminal;

/// How many lines of a pipe are read ahead of who takes them.
const AHEAD: usize = 64;

/// How long nothing may come before a question is asked. What is pasted, or typed by a key that is held, comes in pieces: where
/// one of them is forgotten the next one follows. Longer than a held key's pause, and too short to be noticed.
const QUIET: Duration = Duration::from_millis(100);

/// The lines of standard input.
#[derive(Debug)]
pub(crate) struct Keyboard {
    lines: Lines,
    /// When it will have been quiet for long enough, while that is waited for.
    quiet_at: Option<Instant>,
}

#[derive(Debug)]
enum Lines {
    #[cfg(unix)]
    Terminal(Terminal),
    /// Those that a thread reads.
    Read(mpsc::Receiver<Result<String, Error>>),
}

impl Keyboard {
    /// The lines of this process's standard input, which is a terminal or is not.
    pub(crate) fn open(is_terminal: bool) -> Self {
        #[cfg(unix)]
        if is_terminal {
            return Self::reading(Lines::Terminal(Terminal::open()));
        }
        #[cfg(not(unix))]
        let _ = is_terminal;
        let (sender, lines) = mpsc::channel(AHEAD);
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().lines() {
                let failed = line.is_err();
                if sender.blocking_send(line).is_err() || failed {
                    return;
                }
            }
        });
        Self::reading(Lines::Read(lines))
    }

    /// Lines that a test types.
    #[cfg(test)]
    pub(crate) fn of(lines: mpsc::Receiver<Result<String, Error>>) -> Self {
        Self::reading(Lines::Read(lines))
    }

    fn reading(lines: Lines) -> Self {
        Self {
            lines,
            quiet_at: None,
        }
    }

    /// The next line, without its end; `None` at the end of input. Cancel-safe.
    pub(crate) async fn line(&mut self) -> Option<Result<String, Error>> {
        match &mut self.lines {
            #[cfg(unix)]
            Lines::Terminal(terminal) => terminal.line().await,
            Lines::Read(lines) => lines.recv().await,
        }
    }

    /// A line that was typed before it was asked for.
    pub(crate) fn ahead(&mut self) -> Option<Result<String, Error>> {
        match &mut self.lines {
            #[cfg(unix)]
            Lines::Terminal(terminal) => terminal.ahead(),
            Lines::Read(lines) => lines.try_recv().ok(),
        }
    }

    /// Forgets what is typed before a question is asked, which is no answer to it: returns once nothing has come for a moment.
    /// To be called right before the question is shown. Cancel-safe: what was waited for already counts.
    pub(crate) async fn forget_ahead(&mut self) {
        loop {
            let quiet_at = *self.quiet_at.get_or_insert_with(|| Instant::now() + QUIET);
            let goes_on = tokio::select! {
                biased;
                goes_on = self.lines.forget_next() => goes_on,
                () = sleep_until(quiet_at) => false,
            };
            self.quiet_at = None;
            if !goes_on {
                return self.lines.forget();
            }
        }
    }
}

impl Lines {
    /// Waits for input and forgets it; false where no more can come. Cancel-safe.
    async fn forget_next(&mut self) -> bool {
        match self {
            #[cfg(unix)]
            Self::Terminal(terminal) => terminal.forget_next().await,
            Self::Read(lines) => lines.recv().await.is_some(),
        }
    }

    /// Forgets what is there.
    fn forget(&mut self) {
        match self {
            #[cfg(unix)]
            Self::Terminal(terminal) => terminal.forget(),
            Self::Read(lines) => while lines.try_recv().is_ok() {},
        }
    }
}
