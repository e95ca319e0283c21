//! Where a person sits: what replies are shown on, whether anyone can be asked, and how the command goes on after this call.

use std::io::{Error, IsTerminal as _};

use chat_core::one_line;
use chat_trace::ProjectOptions;

use crate::{
    again::Again, errors::Problem, exit::Exit, keyboard::Keyboard, notes::Notes, screen::Screen,
};

/// One person's side of the command.
pub(crate) struct Desk {
    pub(crate) screen: Screen,
    /// Whether standard output is for a program.
    pub(crate) json: bool,
    pub(crate) again: Again,
    /// Whether someone can be asked: standard input and standard error are a terminal.
    pub(crate) someone_is_here: bool,
    keyboard: Option<Keyboard>,
    /// Whether the cursor stands behind a question, whose answer is typed there.
    is_asking: bool,
    /// Standard error.
    pub(crate) notes: Notes,
    /// How a run's rows are shown there.
    pub(crate) rows: Rows,
    /// How they are made.
    pub(crate) trace: ProjectOptions,
}

/// How a run's rows are shown on standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rows {
    /// Not at all: standard output tells a program all of it.
    None,
    /// In lines that stay, as things begin and end.
    Said,
    /// In place.
    Drawn,
}

impl Rows {
    /// How this process shows them there.
    fn on(notes: &Notes, json: bool) -> Self {
        let term = std::env::var("TERM").unwrap_or_default();
        // A console of Windows obeys escapes only in a mode that someone switched to, and we switch none.
        let can_draw = cfg!(not(windows)) && !matches!(&*term, "" | "dumb");
        match (json, notes.is_terminal() && can_draw) {
            (true, _) => Self::None,
            (false, false) => Self::Said,
            (false, true) => Self::Drawn,
        }
    }
}

impl Desk {
    /// The desk of this process.
    pub(crate) fn of_this_process(again: Again, notes: Notes, json: bool) -> Self {
        Self {
            screen: Screen::stdout(),
            json,
            again,
            someone_is_here: std::io::stdin().is_terminal() && notes.is_terminal(),
            keyboard: None,
            is_asking: false,
            rows: Rows::on(&notes, json),
            notes,
            trace: ProjectOptions::default(),
        }
    }

    /// A desk in a test, where someone types these lines or nobody is.
    #[cfg(test)]
    pub(crate) fn of(
        keyboard: Option<Keyboard>,
        notes: impl std::io::Write + Send + 'static,
    ) -> Self {
        Self {
            screen: Screen::of(false, Box::new(std::io::sink())),
            json: false,
            again: Again::plain("chat"),
            someone_is_here: keyboard.is_some(),
            keyboard,
            is_asking: false,
            notes: Notes::of(notes),
            rows: Rows::Said,
            trace: ProjectOptions::default(),
        }
    }

    /// The lines that are typed or piped in; a pipe is read from the first call on.
    pub(crate) fn keyboard(&mut self) -> &mut Keyboard {
        self.keyboard
            .get_or_insert_with(|| Keyboard::open(std::io::stdin().is_terminal()))
    }

    /// The next line; `None` at the end of input. Cancel-safe.
    pub(crate) async fn line(&mut self) -> Option<Result<String, Error>> {
        let line = self.keyboard().line().await;
        match &line {
            // Who types a line ends it on the screen too.
            Some(Ok(_)) => self.is_asking = false,
            Some(Err(_)) | None => self.leave_line(),
        }
        line
    }

    /// Says something on standard error, on a line of its own.
    pub(crate) fn note(&mut self, text: &str) {
        self.leave_line();
        self.notes.say(&format!("{}\n", one_line(text)));
    }

    /// Says something of the command's own, behind its name.
    pub(crate) fn report(&mut self, text: &str) {
        self.note(&format!("{}: {text}", self.again.program()));
    }

    /// Asks on standard error; the answer is typed on the same line.
    pub(crate) fn ask(&mut self, question: &str) {
        self.leave_line();
        self.notes.say(&format!("{} ", one_line(question)));
        self.is_asking = true;
    }

    /// Tells what went wrong, and says how the command ends.
    pub(crate) fn tell(&mut self, problem: &Problem) -> Exit {
        self.leave_line();
        self.notes.say(&problem.text(&self.again));
        problem.exit()
    }

    /// Says something that only someone in front of a terminal has use for.
    pub(crate) fn hint(&mut self, text: &str) {
        if self.notes.is_terminal() {
            self.note(text);
        }
    }

    /// Shows a piece of the reply.
    pub(crate) fn reply(&mut self, text: &str) {
        if self.screen.is_terminal() {
            // Rows are below what was said last.
            self.notes.erase();
        }
        self.screen.text(text);
    }

    /// Whether lines on standard error break none that a reply or a question has begun on the same terminal.
    pub(crate) fn is_free(&self) -> bool {
        let in_reply = self.screen.is_terminal() && self.screen.is_in_line();
        !self.notes.is_terminal() || !self.is_asking && !in_reply
    }

    /// A question's line is ended, and one that a reply has begun where both go to the same terminal.
    fn leave_line(&mut self) {
        if std::mem::take(&mut self.is_asking) {
            self.notes.say("\n");
        }
        if self.screen.is_terminal() {
            self.screen.end_line();
        }
    }
}
