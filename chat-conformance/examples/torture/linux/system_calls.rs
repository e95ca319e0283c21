//! What an append costs, in system calls: one write and one sync for the file store, less than that for many sessions at once where a
//! store commits them together. Counts, never time.

use std::time::Duration;

use chat_core::Durability;

use super::{
    backend::Backend,
    lab::{Lab, Outcome, ensure, failed},
    ledger::Ledger,
    no_room::create,
    strace::{self, Traced},
    task::{Part, Task},
    worker::appends::{BEGIN, END, SESSIONS, name},
};

const LIMIT: Duration = Duration::from_secs(60);
const APPENDS: usize = 200;
const TURNS: usize = 25;
const MANY: usize = 10 * SESSIONS;

pub(crate) fn run(lab: &Lab, backend: Backend) -> Outcome {
    strace::check()?;
    let alone = count(lab, backend, Part::Appends, APPENDS)?;
    let turns = count(lab, backend, Part::OwnTurns, TURNS)?;
    let many = count(lab, backend, Part::ManyAppends, MANY)?;
    match backend {
        Backend::File => {
            for (counts, entries) in [(alone, APPENDS), (turns, 2 * TURNS), (many, MANY)] {
                ensure((counts.writes, counts.syncs) == (entries, entries), || {
                    format!("{entries} appends made {counts}")
                })?;
            }
        }
        Backend::Sqlite => {
            // A write for each page; a checkpoint syncs now and then, too.
            ensure(alone.syncs <= APPENDS + APPENDS / 10, || {
                format!("{APPENDS} appends made {alone}")
            })?;
            ensure(many.syncs * 2 <= MANY, || {
                format!(
                    "{MANY} appends in {SESSIONS} sessions at once made {many}: they are not committed together"
                )
            })?;
        }
    }
    Ok(format!(
        "{APPENDS} appends: {alone}; {TURNS} turns of 2: {turns}; {MANY} in {SESSIONS} sessions at once: {many}"
    ))
}

/// Calls on files of the store.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    writes: usize,
    syncs: usize,
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} writes and {} syncs", self.writes, self.syncs)
    }
}

fn count(lab: &Lab, backend: Backend, part: Part, entries: usize) -> Outcome<Counts> {
    let folder = lab.empty_folder()?;
    let task = Task {
        part,
        backend,
        durability: Durability::Full,
        place: backend.place(folder.path()),
        seed: lab.rng(part.word(), backend).u64(..),
        slot: 0,
        count: entries,
        seconds: LIMIT.as_secs(),
    };
    for at in 0..SESSIONS {
        create(lab, &task, &name(at), &mut Ledger::default())?;
    }
    let Traced { calls, .. } = strace::run(lab, &task, &lab.time(LIMIT), None)?;
    let says = |what: &str| {
        let line = format!("said {what}");
        calls.iter().position(|call| call.said() == Some(&line))
    };
    let (Some(begin), Some(end)) = (says(BEGIN), says(END)) else {
        return failed("the worker did not say where it began and ended");
    };
    let of_the_store = folder.path().to_string_lossy().into_owned();
    let mut counts = Counts::default();
    for call in &calls[begin..end] {
        if call
            .file
            .as_ref()
            .is_some_and(|file| file.starts_with(&of_the_store))
        {
            counts.writes += usize::from(call.is_write());
            counts.syncs += usize::from(call.is_sync());
        }
    }
    Ok(counts)
}
