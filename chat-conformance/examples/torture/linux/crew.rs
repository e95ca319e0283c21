//! The worker processes: started, heard, killed, buried. All of them are dead and their output is read to its end before anyone judges
//! what they did.

use std::{
    collections::HashMap,
    io::{self, BufReader, Write as _},
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError, Sender},
    time::Duration,
};

use super::{
    lab::{Outcome, Time, Unproved, failed},
    lines::Line,
    task::Task,
};

/// One worker among all that a crew ever had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Id(usize);

/// What comes from a worker.
#[derive(Debug)]
pub(crate) enum Heard {
    Line(Line),
    /// Its output came to its end, and so did the worker.
    End(ExitStatus),
}

pub(crate) struct Crew {
    workers: HashMap<Id, Worker>,
    started: usize,
    sender: Sender<(Id, Option<Line>)>,
    receiver: Receiver<(Id, Option<Line>)>,
}

struct Worker {
    child: Child,
    input: ChildStdin,
}

impl Crew {
    pub(crate) fn new() -> Self {
        let (sender, receiver) = mpsc::channel();
        Self {
            workers: HashMap::new(),
            started: 0,
            sender,
            receiver,
        }
    }

    /// This program again, to be run as it is or by another.
    pub(crate) fn program() -> io::Result<std::path::PathBuf> {
        std::env::current_exe()
    }

    pub(crate) fn start(&mut self, task: &Task) -> Outcome<Id> {
        self.start_by(Command::new(Self::program()?), task)
    }

    /// Starts a worker by a command which ends where its arguments begin.
    pub(crate) fn start_by(&mut self, mut command: Command, task: &Task) -> Outcome<Id> {
        let mut child = command
            .args(task.to_args())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            unreachable!("both were asked to be pipes")
        };
        let id = Id(self.started);
        self.started += 1;
        let sender = self.sender.clone();
        std::thread::spawn(move || {
            for line in whole_lines(BufReader::new(output)) {
                // Nobody hears it once the crew is gone.
                let _ = sender.send((id, Some(line)));
            }
            let _ = sender.send((id, None));
        });
        self.workers.insert(id, Worker { child, input });
        Ok(id)
    }

    /// Tells a worker to begin.
    pub(crate) fn begin(&mut self, id: Id) {
        if let Some(worker) = self.workers.get_mut(&id) {
            // One that is dead already says so by the end of its output.
            let _ = worker.input.write_all(b"begin\n");
        }
    }

    /// Kills a worker, as nothing can be done about.
    pub(crate) fn kill(&mut self, id: Id) {
        if let Some(worker) = self.workers.get_mut(&id) {
            let _ = worker.child.kill();
        }
    }

    pub(crate) fn kill_all(&mut self) {
        for worker in self.workers.values_mut() {
            let _ = worker.child.kill();
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.workers.is_empty()
    }

    /// The next thing any of them says; `None` where none does for so long.
    pub(crate) fn hear(&mut self, wait: Duration) -> Outcome<Option<(Id, Heard)>> {
        let (id, line) = match self.receiver.recv_timeout(wait) {
            Ok(heard) => heard,
            Err(RecvTimeoutError::Timeout) => return Ok(None),
            Err(RecvTimeoutError::Disconnected) => unreachable!("the crew has a sender itself"),
        };
        match line {
            Some(line) => Ok(Some((id, Heard::Line(line)))),
            None => {
                let mut worker = self.workers.remove(&id).expect("a worker ends once");
                Ok(Some((id, Heard::End(worker.child.wait()?))))
            }
        }
    }

    /// Hears one worker to its end: all of its lines, and how it ended.
    pub(crate) fn hear_out(
        &mut self,
        id: Id,
        time: &Time,
        mut each: impl FnMut(&Line) -> Outcome<()>,
    ) -> Outcome<ExitStatus> {
        loop {
            time.check()?;
            match self.hear(Duration::from_millis(100))? {
                Some((of, Heard::Line(line))) if of == id => each(&line)?,
                Some((of, Heard::End(status))) if of == id => return Ok(status),
                Some(_) | None => {}
            }
        }
    }

    /// Runs a worker to its end: its lines. A failure that it tells of, or a bad end, is an error.
    pub(crate) fn run(command: Command, task: &Task, time: &Time) -> Outcome<Vec<Line>> {
        let mut crew = Self::new();
        let id = crew.start_by(command, task)?;
        crew.begin(id);
        let mut lines = Vec::new();
        let status = crew.hear_out(id, time, |line| {
            lines.push(line.clone());
            Ok(())
        })?;
        let told = lines.iter().find_map(|line| match line {
            Line::Failed(kind, words) => Some(format!("{kind}: {words}")),
            _ => None,
        });
        match told {
            Some(words) if !status.success() => failed(words),
            None if !status.success() => failed(format!("a worker ended with {status}")),
            Some(_) | None => Ok(lines),
        }
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        for worker in self.workers.values_mut() {
            let _ = worker.child.kill();
            let _ = worker.child.wait();
        }
    }
}

/// Lines up to the last one that was said to its end.
fn whole_lines(mut output: impl io::BufRead) -> impl Iterator<Item = Line> {
    std::iter::from_fn(move || {
        let mut line = String::new();
        match output.read_line(&mut line) {
            Ok(1..) => {}
            Ok(0) | Err(_) => return None,
        }
        let line = line.strip_suffix('\n')?;
        Some(
            Line::parse(line)
                .unwrap_or_else(|| Line::Failed("worker".to_owned(), format!("it said {line:?}"))),
        )
    })
}

/// A failure that a worker told of.
pub(crate) fn told(kind: &str, words: &str) -> Unproved {
    Unproved::Failed(format!("a worker failed: {kind}: {words}"))
}
