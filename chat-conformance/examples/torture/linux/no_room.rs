//! What a full disk and a limit on the size of files have in common, as seen by who watches: one worker to its end, what it met, and the
//! store held against what it said.

use std::{fmt, path::Path, process::Command, time::Duration};

use chat_core::{Durability, SessionId};

use super::{
    backend::Backend,
    crew::Crew,
    entries::Maker,
    lab::{Lab, Outcome, Unproved},
    ledger::Ledger,
    lines::{Line, Note},
    seen,
    task::{Part, Task},
    worker::no_room::{CUT, NOT_CREATED, REFUSED, ROOM, SESSION},
};

/// The longest that it may last.
const LIMIT: Duration = Duration::from_secs(120);

/// How its appends and creates went.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// A part was written.
    pub(crate) cut: usize,
    /// Nothing was.
    pub(crate) refused: usize,
    /// All of it was.
    room: usize,
    pub(crate) not_created: usize,
    entries: usize,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} appends unknown, {} refused, {} had room after all; {} creates refused whole; {} entries, 0 lost",
            self.cut, self.refused, self.room, self.not_created, self.entries
        )
    }
}

pub(crate) fn task(
    lab: &Lab,
    backend: Backend,
    part: Part,
    place: &Path,
    durability: Durability,
) -> Task {
    Task {
        part,
        backend,
        durability,
        place: place.to_owned(),
        seed: lab.rng(part.word(), backend).u64(..),
        slot: 0,
        count: if lab.is_long() { 50 } else { 10 },
        seconds: LIMIT.as_secs(),
    }
}

pub(crate) fn run(lab: &Lab, task: &Task, command: Command) -> Outcome<Counts> {
    let session = SessionId::parse(SESSION).expect("it is a plain word");
    let mut ledger = Ledger::default();
    create(lab, task, &session, &mut ledger)?;
    let mut counts = Counts::default();
    for line in Crew::run(command, task, &lab.time(LIMIT))? {
        ledger.hear(&line);
        if let Line::Said(word) = &line {
            match word.as_str() {
                CUT => counts.cut += 1,
                REFUSED => counts.refused += 1,
                ROOM => counts.room += 1,
                NOT_CREATED => counts.not_created += 1,
                _ => {}
            }
        }
    }
    let store = task.backend.open(&task.place, task.durability)?;
    let seen = lab.block_on(seen::look(&*store, ledger.sessions()))??;
    let findings = ledger.judge(&seen);
    counts.entries = findings.entries;
    findings.sound().map_err(Unproved::Failed)?;
    Ok(counts)
}

/// Creates a session with its first entry alone.
pub(crate) fn create(
    lab: &Lab,
    task: &Task,
    session: &SessionId,
    ledger: &mut Ledger,
) -> Outcome<()> {
    let store = task.backend.open(&task.place, task.durability)?;
    let mut maker = Maker::new(format!("c-{session}-"), fastrand::Rng::with_seed(task.seed));
    let created = maker.created();
    let note = Note::of(session, created.id(), &created);
    lab.block_on(store.create(session, vec![created]))??;
    ledger.hear(&Line::Creating(session.clone(), note.journal.clone()));
    ledger.hear(&Line::Created(session.clone(), note.journal.clone()));
    ledger.hear(&Line::Written(note));
    Ok(())
}
