//! Standard error: what is told to a person, and below it the rows of what runs, drawn in place. All that the command says there
//! goes through here, so that nothing is ever written into the rows. No mode of the terminal is changed and its cursor never
//! hidden: a process that is killed leaves a terminal that can be used. So Enter, where nobody asked for it, goes one line down, and
//! one line of the rows stays.

use std::{
    fmt::Write as _,
    io::{self, IsTerminal as _, Write},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Standard error, shared by all who write there.
#[derive(Clone)]
pub(crate) struct Notes {
    paper: Arc<Mutex<Paper>>,
    is_terminal: bool,
}

struct Paper {
    out: Box<dyn Write + Send>,
    /// The lines that stand drawn; the cursor is at the start of the line below them.
    drawn: Vec<String>,
    size: fn() -> Option<Size>,
}

/// How much a terminal shows at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) columns: usize,
    pub(crate) lines: usize,
}

/// What a terminal that does not tell has at least.
const SMALL: Size = Size {
    columns: 80,
    lines: 24,
};

impl Notes {
    /// This process's standard error.
    pub(crate) fn stderr() -> Self {
        let out = io::stderr();
        let is_terminal = out.is_terminal();
        Self::on(Box::new(out), is_terminal, || {
            let (columns, lines) = terminal_size::terminal_size_of(io::stderr())?;
            Some(Size {
                columns: columns.0.into(),
                lines: lines.0.into(),
            })
        })
    }

    /// Notes that a test reads.
    #[cfg(test)]
    pub(crate) fn of(out: impl Write + Send + 'static) -> Self {
        Self::on(Box::new(out), false, || None)
    }

    /// A terminal that a test looks at.
    #[cfg(test)]
    pub(crate) fn terminal(out: impl Write + Send + 'static, size: fn() -> Option<Size>) -> Self {
        Self::on(Box::new(out), true, size)
    }

    fn on(out: Box<dyn Write + Send>, is_terminal: bool, size: fn() -> Option<Size>) -> Self {
        let paper = Paper {
            out,
            drawn: Vec::new(),
            size,
        };
        Self {
            paper: Arc::new(Mutex::new(paper)),
            is_terminal,
        }
    }

    pub(crate) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    pub(crate) fn size(&self) -> Size {
        (self.lock().size)().unwrap_or(SMALL)
    }

    /// Says this where the rows stood.
    pub(crate) fn say(&self, text: &str) {
        let mut paper = self.lock();
        let erased = paper.erased();
        paper.put(&format!("{erased}{text}"));
    }

    /// Draws these lines in the place of those that are drawn. Each has to be narrower than the terminal, and all of them lower.
    pub(crate) fn draw(&self, lines: Vec<String>) {
        let mut paper = self.lock();
        if paper.drawn == lines {
            return;
        }
        // Each line is written over what stands there, and then what is left of that goes: nothing flickers.
        let mut text = to_first(paper.drawn.len());
        for line in &lines {
            let _ = writeln!(text, "{line}\u{1b}[K");
        }
        text.push_str("\u{1b}[J");
        paper.drawn = lines;
        paper.put(&text);
    }

    /// Takes the rows away.
    pub(crate) fn erase(&self) {
        let mut paper = self.lock();
        let erased = paper.erased();
        if !erased.is_empty() {
            paper.put(&erased);
        }
    }

    /// Whether rows stand there.
    pub(crate) fn is_drawn(&self) -> bool {
        !self.lock().drawn.is_empty()
    }

    /// Leaves a terminal at the start of a line, without rows; for one who quits in the middle of anything.
    pub(crate) fn leave(&self) {
        // Who has the lock may be writing to a terminal that takes nothing: that is not waited for.
        if let (true, Ok(mut paper)) = (self.is_terminal, self.paper.try_lock()) {
            let erased = paper.erased();
            paper.put(&format!("{erased}\n"));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Paper> {
        // Nothing is left half done under this lock that a later write could not mend.
        self.paper.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Paper {
    /// What takes away the rows that stand, which count as gone from now on.
    fn erased(&mut self) -> String {
        match std::mem::take(&mut self.drawn).len() {
            0 => String::new(),
            lines => to_first(lines) + "\u{1b}[J",
        }
    }

    fn put(&mut self, text: &str) {
        // Where standard error is gone there is nobody to tell.
        let written = self.out.write_all(text.as_bytes());
        let _ = written.and_then(|()| self.out.flush());
    }
}

/// What libraries warn of comes this way.
impl Write for Notes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut paper = self.lock();
        let erased = paper.erased();
        paper.out.write_all(erased.as_bytes())?;
        paper.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.lock().out.flush()
    }
}

/// From the line below so many to the start of the first of them. A terminal that was made narrower may have broken them into more
/// lines, of which some then stay: that is better than to take a line which is not ours.
fn to_first(lines: usize) -> String {
    match lines {
        0 => "\r".to_owned(),
        _ => format!("\u{1b}[{lines}A\r"),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::num::NonZeroU16;

    use super::*;

    /// A terminal in memory: what both streams of a process write, and what then is on its screen.
    #[derive(Clone)]
    pub(crate) struct Glass {
        terminal: Arc<Mutex<vt100::Parser>>,
        writes: Arc<Mutex<usize>>,
    }

    impl Glass {
        pub(crate) fn new(lines: u16, columns: u16) -> Self {
            let size = |size| NonZeroU16::new(size).unwrap();
            let terminal = vt100::Parser::new(size(lines), size(columns), 0);
            Self {
                terminal: Arc::new(Mutex::new(terminal)),
                writes: Arc::default(),
            }
        }

        /// The screen, without what is empty at its end.
        pub(crate) fn shows(&self) -> String {
            let terminal = self.terminal.lock().unwrap();
            assert!(!terminal.screen().hide_cursor());
            let contents = terminal.screen().contents();
            contents.trim_end().to_owned()
        }

        pub(crate) fn cursor(&self) -> (u16, u16) {
            self.terminal.lock().unwrap().screen().cursor_position()
        }

        /// How often something was written.
        pub(crate) fn writes(&self) -> usize {
            *self.writes.lock().unwrap()
        }
    }

    impl Write for Glass {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            *self.writes.lock().unwrap() += 1;
            // As the system does on the way to a terminal.
            let text = String::from_utf8(bytes.to_vec()).unwrap();
            let mut terminal = self.terminal.lock().unwrap();
            terminal.process(text.replace('\n', "\r\n").as_bytes());
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn lines(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|line| (*line).to_owned()).collect()
    }

    #[test]
    fn c_rows_are_drawn_in_place_and_make_room_for_what_is_said() {
        let glass = Glass::new(6, 20);
        let notes = Notes::terminal(glass.clone(), || None);
        notes.say("before\n");
        for (drawn, shown) in [
            (&["one", "two"][..], "before\none\ntwo"),
            (&["one and more"], "before\none and more"),
            (&["o", "t"], "before\no\nt"),
            (&[], "before"),
            (&["one", "two", "three"], "before\none\ntwo\nthree"),
        ] {
            notes.draw(lines(drawn));
            assert_eq!(glass.shows(), shown);
            assert_eq!(notes.is_drawn(), !drawn.is_empty());
        }
        notes.say("said\n");
        assert_eq!(glass.shows(), "before\nsaid");
        notes.draw(lines(&["one"]));
        // As a library's warning comes.
        notes.clone().write_all(b"warned\n").unwrap();
        assert_eq!(glass.shows(), "before\nsaid\nwarned");
        notes.draw(lines(&["one"]));
        notes.erase();
        assert_eq!(glass.shows(), "before\nsaid\nwarned");
        assert_eq!(glass.cursor(), (3, 0));
    }

    #[test]
    fn c_what_scrolled_up_is_not_written_over() {
        let glass = Glass::new(4, 20);
        let notes = Notes::terminal(glass.clone(), || None);
        notes.say("a\nb\nc\n");
        notes.draw(lines(&["one", "two"]));
        assert_eq!(glass.shows(), "c\none\ntwo");
        notes.draw(lines(&["1", "2"]));
        assert_eq!(glass.shows(), "c\n1\n2");
        notes.erase();
        assert_eq!(glass.shows(), "c");
    }

    #[test]
    fn c_rows_that_stay_the_same_are_not_drawn_again() {
        let glass = Glass::new(4, 20);
        let notes = Notes::terminal(glass.clone(), || None);
        for drawn in [&["one"][..], &["one"], &[], &[]] {
            notes.draw(lines(drawn));
            notes.draw(lines(drawn));
        }
        notes.erase();
        assert_eq!(glass.writes(), 2);
    }

    #[test]
    fn c_who_quits_leaves_a_terminal_at_the_start_of_a_line_and_a_pipe_as_it_is() {
        let glass = Glass::new(4, 20);
        let notes = Notes::terminal(glass.clone(), || None);
        notes.draw(lines(&["one"]));
        notes.leave();
        assert_eq!((&*glass.shows(), glass.cursor()), ("", (1, 0)));
        let glass = Glass::new(4, 20);
        Notes::of(glass.clone()).leave();
        assert_eq!(glass.writes(), 0);
        // Nobody waits for who writes.
        let notes = Notes::terminal(glass.clone(), || None);
        let _writing = notes.lock();
        notes.clone().leave();
        assert_eq!(glass.writes(), 0);
    }

    /// What is gone.
    struct Gone;

    impl Write for Gone {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
    }

    #[test]
    fn c_a_standard_error_that_is_gone_fails_nothing() {
        let notes = Notes::terminal(Gone, || None);
        notes.say("said\n");
        notes.draw(lines(&["one"]));
        notes.erase();
        notes.leave();
    }
}
