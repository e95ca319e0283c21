//! Another process in a test, and the laws that need one: the test binary again, run as its test `the_other_process` with a part to
//! play. It is told things on its input and answers on its output, a line at a time, so that nobody ever sleeps to wait for it.
//!
//! # Proving a store that other processes may open
//! A [`StorePlace`] and one line, at the root of a test file of its own. Each law becomes a `#[test]`, beside the one which plays
//! the other process:
//!
//! ```
//! // tests/processes.rs
//! use std::{path::{Path, PathBuf}, sync::Arc};
//!
//! use chat_conformance::process::StorePlace;
//! use chat_core::{SessionId, Store, StoreError};
//! # mod my_store {
//! #     use chat_core::StoreError;
//! #     pub struct MyStore;
//! #     impl MyStore {
//! #         pub fn open(_: &std::path::Path) -> Result<chat_core::MemoryStore, StoreError> { Ok(Default::default()) }
//! #     }
//! # }
//! use my_store::MyStore;
//!
//! struct Mine;
//!
//! impl StorePlace for Mine {
//!     fn place(&self, folder: &Path) -> PathBuf {
//!         folder.join("my.store")
//!     }
//!     fn open(&self, place: &Path) -> Result<Arc<dyn Store>, StoreError> {
//!         Ok(Arc::new(MyStore::open(place)?))
//!     }
//!     fn grows(&self, place: &Path, _: &SessionId) -> PathBuf {
//!         place.to_owned()
//!     }
//! }
//!
//! chat_conformance::process_laws!(Mine);
//! ```
//!
//! # A part of one's own
//! ```no_run
//! use chat_conformance::process::{self, OtherProcess};
//!
//! #[test]
//! # fn hidden() {}
//! fn the_other_process() {
//!     let Some(part) = process::part() else { return };
//!     // ... opens `part.place`, and plays what `part.name` says
//!     process::say("held");
//!     process::listen();
//! }
//!
//! #[test]
//! # fn hidden_too() {}
//! fn what_it_held_is_free_once_it_is_killed() {
//!     # let place = std::path::Path::new("place");
//!     let mut other = OtherProcess::start("hold", place);
//!     other.says("held");
//!     other.kill();
//! }
//! ```

#[cfg(unix)]
mod full_disk;
mod laws;
mod parts;

use std::{
    env,
    fs::File,
    io::{self, BufRead as _, BufReader, Lines, Read as _, Seek as _, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::Arc,
};

use chat_core::{SessionId, Store, StoreError};

pub use laws::check_process_law;
pub use parts::play;

const PART: &str = "CHAT_CONFORMANCE_PART";
const PLACE: &str = "CHAT_CONFORMANCE_PLACE";

/// What an answer begins with: the test harness prints lines of its own in between.
const MARK: &str = "the other process: ";

/// Where stores of one kind stand, and how one is opened there by any process.
pub trait StorePlace: Send + Sync + 'static {
    /// Where a store stands in a folder of its own, which is there and empty.
    fn place(&self, folder: &Path) -> PathBuf;

    /// Opens the store at a place, which may not be there yet, nor the folders above it.
    ///
    /// # Errors
    /// As the store's own.
    fn open(&self, place: &Path) -> Result<Arc<dyn Store>, StoreError>;

    /// The file that an append to a session writes to: a limit on its size is how a disk is full.
    fn grows(&self, place: &Path, session: &SessionId) -> PathBuf;

    /// Leaves at a place what a process does that is killed while it makes the store there. Nothing unless said otherwise.
    fn begin(&self, place: &Path) {
        let _ = place;
    }
}

/// Names every law of processes once, for the table and for the tests that [`process_laws!`](crate::process_laws) makes.
#[doc(hidden)]
#[macro_export]
macro_rules! __each_process_law {
    ([$($then:tt)*] $($args:tt)*) => {
        $($then)*! {
            [$($args)*]
            s2_what_a_killed_writer_acknowledged_is_there_and_the_next_append_is_sound
            s5_c23_two_processes_write_one_session_one_turn_at_a_time
            s5_c24_a_killed_holders_hold_is_free_at_once
            s7_c25_c34_a_full_disk_is_a_typed_error_and_sound_again_when_there_is_room
            s7_c29_many_tasks_of_many_processes_meet_no_busy_store
            s7_c29_eight_processes_open_a_store_for_the_first_time_at_once
        }
    };
}

/// Makes one `#[test]` of every law of processes, and `the_other_process`. The expression is a
/// [`StorePlace`](crate::process::StorePlace), made anew for each. It stands at the root of a test file: another process finds its
/// test there.
#[macro_export]
macro_rules! process_laws {
    ($place:expr) => {
        #[test]
        fn the_other_process() {
            $crate::process::play(&$place);
        }
        $crate::__each_process_law!([$crate::__process_law_tests] $place);
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __process_law_tests {
    ([$place:expr] $($law:ident)*) => {
        $(#[test]
        fn $law() {
            $crate::process::check_process_law(stringify!($law), &$place);
        })*
    };
}

/// A process that plays a part. Dropped, it is killed.
#[derive(Debug)]
pub struct OtherProcess {
    child: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
    /// What it prints on standard error: told where it fails.
    errors: File,
}

impl OtherProcess {
    /// Starts one that plays a part at a place.
    ///
    /// # Panics
    /// Where it can't be started.
    #[must_use]
    pub fn start(part: &str, place: &Path) -> Self {
        Self::start_by(Command::new(program()), part, place)
    }

    /// As [`start`](Self::start), by a command that ends where the program's arguments begin: as someone else, or by another program.
    ///
    /// # Panics
    /// Where it can't be started.
    #[must_use]
    pub fn start_by(mut command: Command, part: &str, place: &Path) -> Self {
        let errors = tempfile::tempfile().expect("there is a place for temporary files");
        let for_child = errors.try_clone().expect("a file can be open twice");
        let mut child = command
            .args(["--exact", "the_other_process", "--nocapture"])
            .env(PART, part)
            .env(PLACE, place)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(for_child)
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?} can't be started: {error}"));
        let input = child.stdin.take();
        let output = child.stdout.take().expect("it was asked to be a pipe");
        Self {
            child,
            input,
            output: BufReader::new(output).lines(),
            errors,
        }
    }

    /// Tells it a line.
    ///
    /// # Panics
    /// Where it has ended.
    pub fn tell(&mut self, what: &str) {
        let input = self.input.as_mut().expect("it was asked to be a pipe");
        writeln!(input, "{what}").expect("the other process listens");
    }

    /// Waits for its next answer.
    ///
    /// # Panics
    /// Where it ends instead.
    pub fn answer(&mut self) -> String {
        let mut lines = self.output.by_ref().map_while(Result::ok);
        let answer = lines.find_map(|line| Some(line.split_once(MARK)?.1.to_owned()));
        answer.unwrap_or_else(|| self.failed("does not go on"))
    }

    /// Waits for its next answer, which has to be this one.
    ///
    /// # Panics
    /// Where it is another, or none.
    pub fn says(&mut self, what: &str) {
        assert_eq!(self.answer(), what);
    }

    /// Kills it, as nothing can be done about, and waits until it is gone.
    pub fn kill(&mut self) {
        // One that has ended already is gone as well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Tells it that nothing more comes, and waits for its good end.
    ///
    /// # Panics
    /// Where its test failed.
    pub fn end(mut self) {
        drop(self.input.take());
        let status = self.child.wait().expect("it is a child of this process");
        if !status.success() {
            self.failed("does not end well");
        }
    }

    fn failed(&mut self, what: &str) -> ! {
        let mut words = String::new();
        // Where they can't be read, it is wrong all the same.
        let _ = self.errors.rewind();
        let _ = self.errors.read_to_string(&mut words);
        panic!("the other process {what}: {words}");
    }
}

impl Drop for OtherProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

/// This very program, to be run again.
///
/// # Panics
/// Where the system can't tell it.
#[must_use]
pub fn program() -> PathBuf {
    env::current_exe().expect("the system knows which program runs")
}

/// What another process was started for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// What it is to do.
    pub name: String,
    /// Where.
    pub place: PathBuf,
}

/// The part that this process has to play; `None` where it is no other process but the one that runs the tests.
#[must_use]
pub fn part() -> Option<Part> {
    Some(Part {
        name: env::var(PART).ok()?,
        place: env::var_os(PLACE)?.into(),
    })
}

/// Answers the process that started this one.
///
/// # Panics
/// Where nobody hears it any more.
pub fn say(what: &str) {
    // One write for the whole line. The harness may be in the middle of one of its own.
    let line = format!("\n{MARK}{what}\n");
    let mut output = io::stdout().lock();
    let said = output.write_all(line.as_bytes());
    said.and_then(|()| output.flush())
        .expect("someone hears it");
}

/// Waits for the next line that this process is told; empty once nothing more comes.
///
/// # Panics
/// Where it can't be read.
pub fn listen() -> String {
    let mut line = String::new();
    let read = io::stdin().read_line(&mut line);
    read.expect("what is told is text");
    line.trim().to_owned()
}
