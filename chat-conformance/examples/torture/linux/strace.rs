//! A worker under strace: which system calls it makes, and what becomes of it when some of them fail. Reads strace's own lines; what they
//! mean is up to a section.

use std::{collections::HashMap, path::Path, process::Command};

use super::{
    crew::Crew,
    lab::{Lab, Outcome, Time, Unproved, system},
    lines::Line,
    task::Task,
};

/// What a worker said, and the calls it made.
pub(crate) struct Traced {
    pub(crate) lines: Vec<Line>,
    pub(crate) calls: Vec<Call>,
}

/// One system call, from the line where it begins; or how one ended that was told of in two.
#[derive(Debug)]
pub(crate) struct Call {
    /// Its name; empty where this is the end of one.
    pub(crate) name: String,
    /// The file which it is about, where it is about one.
    pub(crate) file: Option<String>,
    /// Its line as strace writes it.
    pub(crate) text: String,
}

impl Call {
    /// Reads `PID NAME(FD<FILE>, ...`, which another thread's call may cut into that and `PID <... NAME resumed>...`.
    fn parse(line: &str, unfinished: &mut HashMap<String, Option<String>>) -> Self {
        let (pid, text) = line.split_once(' ').unwrap_or_default();
        let text = text.trim_start();
        if text.starts_with("<... ") {
            return Self {
                name: String::new(),
                file: unfinished.remove(pid).flatten(),
                text: text.to_owned(),
            };
        }
        let (name, rest) = text.split_once('(').unwrap_or_default();
        let file = rest
            .split_once('<')
            .filter(|(fd, _)| fd.bytes().all(|b| b.is_ascii_digit()))
            .and_then(|(_, rest)| rest.split_once('>'))
            .map(|(file, _)| file.to_owned());
        if text.ends_with("<unfinished ...>") {
            unfinished.insert(pid.to_owned(), file.clone());
        }
        Self {
            name: name.to_owned(),
            file,
            text: text.to_owned(),
        }
    }

    pub(crate) fn is_sync(&self) -> bool {
        matches!(&*self.name, "fsync" | "fdatasync" | "sync_file_range")
    }

    pub(crate) fn is_write(&self) -> bool {
        matches!(
            &*self.name,
            "write" | "pwrite64" | "writev" | "pwritev" | "pwritev2"
        )
    }

    pub(crate) fn was_injected(&self) -> bool {
        self.text.contains("(INJECTED)")
    }

    /// What a worker says by it, where it is a line of its output.
    pub(crate) fn said(&self) -> Option<&str> {
        let is_output = self.name == "write" && self.text.starts_with("write(1<");
        let (_, said) = self.text.split_once(", \"").filter(|_| is_output)?;
        said.split(['"', '\\']).next()
    }
}

const CALLS: &str = "trace=write,pwrite64,writev,pwritev,pwritev2,fsync,fdatasync,sync_file_range";

/// Runs a worker to its end; some calls fail as strace is told.
pub(crate) fn run(lab: &Lab, task: &Task, time: &Time, inject: Option<&str>) -> Outcome<Traced> {
    let folder = lab.empty_folder()?;
    let log = folder.path().join("calls");
    let program = Crew::program()?;
    let mut command = Command::new("strace");
    command.args(options(&log));
    if let Some(inject) = inject {
        command.args(["-e", inject]);
    }
    command.arg(program);
    let lines = Crew::run(command, task, time)?;
    let text = String::from_utf8_lossy(&std::fs::read(&log)?).into_owned();
    let mut unfinished = HashMap::new();
    let calls = text
        .lines()
        .map(|line| Call::parse(line, &mut unfinished))
        .collect();
    Ok(Traced { lines, calls })
}

fn options(log: &Path) -> [std::ffi::OsString; 7] {
    [
        "-f".into(),
        "-qq".into(),
        "-y".into(),
        "-e".into(),
        CALLS.into(),
        "-o".into(),
        log.into(),
    ]
}

/// Whether strace can run here at all.
pub(crate) fn check() -> Outcome<()> {
    match system("strace", ["-qq", "-o", "/dev/null", "true"]) {
        Ok(_) => Ok(()),
        Err(why) => Err(Unproved::Skipped(why)),
    }
}
