//! Another process: the test binary again, as its test `the_other_process` with a part to play.
#![allow(dead_code, reason = "each test file uses some of it")]

use std::{
    env,
    io::{BufRead as _, BufReader, Lines, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

const PART: &str = "CHAT_STORE_SQLITE_TEST_PART";
const PLACE: &str = "CHAT_STORE_SQLITE_TEST_PLACE";

/// A process that plays a part. It is told things on its input and answers on its output, a line at a time.
pub(crate) struct Other {
    pub(crate) child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Other {
    pub(crate) fn start(part: &str, path: &Path) -> Self {
        Self::spawn(Command::new(env::current_exe().unwrap()), part, path)
    }

    pub(crate) fn spawn(mut command: Command, part: &str, path: &Path) -> Self {
        let mut child = command
            .args(["--exact", "the_other_process", "--nocapture"])
            .env(PART, part)
            .env(PLACE, path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        Self {
            child,
            input,
            output,
        }
    }

    pub(crate) fn tell(&mut self, what: &str) {
        writeln!(self.input, "{what}").unwrap();
    }

    /// Its next answer. The test harness prints lines of its own in between.
    pub(crate) fn answer(&mut self) -> String {
        let lines = self.output.by_ref().map(|line| line.unwrap());
        let mut answers =
            lines.filter_map(|line| Some(line.split_once("the other: ")?.1.to_owned()));
        answers.next().expect("the other process goes on")
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn end(mut self) {
        drop(self.input);
        assert!(self.child.wait().unwrap().success());
    }
}

#[expect(clippy::print_stdout, reason = "its output is how it answers")]
pub(crate) fn say(what: &str) {
    println!("\nthe other: {what}");
}

pub(crate) fn listen() -> String {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    line.trim().to_owned()
}

/// The part this process has to play, and the database to play it with; `None` where it is no other process.
pub(crate) fn part() -> Option<(String, PathBuf)> {
    Some((env::var(PART).ok()?, env::var_os(PLACE)?.into()))
}

pub(crate) fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chat.db");
    (folder, path)
}
