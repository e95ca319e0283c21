//! Where a person sits: what replies are shown on, whether anyone can be asked, and how the command goes on after this call.

use std::io::{Error, IsTerminal as _, Write};

use chat_core::one_line;

use crate::{again::Again, errors::Problem, exit::Exit, keyboard::Keyboard, screen::Screen};

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
    notes: Box<dyn Write>,
    notes_are_read: bool,
}

impl Desk {
    /// The desk of this process.
    pub(crate) fn of_this_process(again: Again, json: bool) -> Self {
        let notes = std::io::stderr();
        Self {
            screen: Screen::stdout(),
            json,
            again,
            someone_is_here: std::io::stdin().is_terminal() && notes.is_terminal(),
            keyboard: None,
            is_asking: false,
            notes_are_read: notes.is_terminal(),
            notes: Box::new(notes),
        }
    }

    /// A desk in a test, where someone types these lines or nobody is.
    #[cfg(test)]
    pub(crate) fn of(keyboard: Option<Keyboard>, notes: impl Write + 'static) -> Self {
        Self {
            screen: Screen::of(false, Box::new(std::io::sink())),
            json: false,
            again: Again::plain("chat"),
            someone_is_here: keyboard.is_some(),
            keyboard,
            is_asking: false,
            notes: Box::new(notes),
            notes_are_read: false,
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
        // Where standard error is gone there is nobody to tell.
        let _ = writeln!(self.notes, "{}", one_line(text));
    }

    /// Says something of the command's own, behind its name.
    pub(crate) fn report(&mut self, text: &str) {
        self.note(&format!("{}: {text}", self.again.program()));
    }

    /// Asks on standard error; the answer is typed on the same line.
    pub(crate) fn ask(&mut self, question: &str) {
        self.leave_line();
        let _ = write!(self.notes, "{} ", one_line(question)).and_then(|()| self.notes.flush());
        self.is_asking = true;
    }

    /// Tells what went wrong, and says how the command ends.
    pub(crate) fn tell(&mut self, problem: &Problem) -> Exit {
        self.leave_line();
        let _ = self.notes.write_all(problem.text(&self.again).as_bytes());
        problem.exit()
    }

    /// Says something that only someone in front of a terminal has use for.
    pub(crate) fn hint(&mut self, text: &str) {
        if self.notes_are_read {
            self.note(text);
        }
    }

    /// A question's line is ended, and one that a reply has begun where both go to the same terminal.
    fn leave_line(&mut self) {
        if std::mem::take(&mut self.is_asking) {
            let _ = writeln!(self.notes);
        }
        if self.screen.is_terminal() {
            self.screen.end_line();
        }
    }
}
