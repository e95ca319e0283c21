//! Several workers at one store, the log of what they said, and a look at what is there once they are all dead. Who kills them, and
//! how, is up to a section.

use std::{
    collections::{HashMap, HashSet},
    os::unix::process::ExitStatusExt as _,
    path::PathBuf,
    process::ExitStatus,
    time::Duration,
};

use chat_core::{Durability, SessionId, Store, StoreError};
use fastrand::Rng;
use rustix::process::Signal;

use super::{
    backend::Backend,
    crew::{Crew, Heard, Id},
    entries::Maker,
    findings::Findings,
    lab::{Lab, Outcome, failed},
    ledger::Ledger,
    lines::{Doing, Line, Note},
    seen,
    task::{Part, Task},
};

/// How many workers there are at any time.
pub(crate) const SLOTS: usize = 4;
/// How many turns of different sessions one worker takes at once.
pub(crate) const AT_ONCE: usize = 3;
/// Sessions that all workers write.
const SHARED: usize = 10;
/// A session with more entries is deleted and made anew at the next look, so that looking stays cheap.
const MANY: usize = 200;

/// The session that one place of one worker creates and deletes, and all others write.
pub(crate) fn own_session(slot: usize, at: usize) -> SessionId {
    session(&format!("own-{slot}-{at}"))
}

/// The session which one worker alone writes, to leave torn tails in it.
pub(crate) fn torn_session(slot: usize) -> SessionId {
    session(&format!("torn-{slot}"))
}

fn shared_session(at: usize) -> SessionId {
    session(&format!("shared-{at}"))
}

/// A session that any worker may write.
pub(crate) fn some_session(rng: &mut Rng) -> SessionId {
    if rng.u8(..4) == 0 {
        own_session(rng.usize(..SLOTS), rng.usize(..AT_ONCE))
    } else {
        shared_session(rng.usize(..SHARED))
    }
}

fn session(id: &str) -> SessionId {
    SessionId::parse(id).expect("the sessions of these tests have short plain ids")
}

/// How workers ended.
#[derive(Debug, Default)]
pub(crate) struct Deaths {
    /// Killed from outside.
    pub(crate) killed: usize,
    /// Killed by their own hand, and what they were doing.
    pub(crate) own: HashMap<Doing, usize>,
    /// Killed by their own hand while they acquired a session with a torn tail.
    pub(crate) recovering: usize,
}

pub(crate) struct Scene<'a> {
    lab: &'a Lab,
    backend: Backend,
    pub(crate) place: PathBuf,
    part: Part,
    pub(crate) rng: Rng,
    maker: Maker,
    crew: Crew,
    slots: [Option<Id>; SLOTS],
    /// Said that they die by their own hand now.
    dying: HashMap<Id, Doing>,
    torn: HashSet<SessionId>,
    killing: HashSet<Id>,
    pub(crate) ledger: Ledger,
    pub(crate) deaths: Deaths,
    /// What workers failed with.
    pub(crate) failures: Vec<String>,
    pub(crate) torn_tails: usize,
}

impl<'a> Scene<'a> {
    pub(crate) fn new(
        lab: &'a Lab,
        backend: Backend,
        part: Part,
        place: PathBuf,
        mut rng: Rng,
    ) -> Self {
        let maker = Maker::new(format!("m{}", rng.u64(..)), rng.fork());
        Self {
            lab,
            backend,
            place,
            part,
            rng,
            maker,
            crew: Crew::new(),
            slots: [None; SLOTS],
            dying: HashMap::new(),
            torn: HashSet::new(),
            killing: HashSet::new(),
            ledger: Ledger::default(),
            deaths: Deaths::default(),
            failures: Vec::new(),
            torn_tails: 0,
        }
    }

    /// Creates the sessions which all write.
    pub(crate) fn set_up(&mut self, durability: Durability) -> Outcome<()> {
        let sessions = (0..SHARED)
            .map(shared_session)
            .chain((0..SLOTS).map(torn_session));
        let store = self.backend.open(&self.place, durability)?;
        for session in sessions {
            self.create(&*store, &session)?;
        }
        Ok(())
    }

    fn create(&mut self, store: &dyn Store, session: &SessionId) -> Outcome<()> {
        let created = self.maker.created();
        let note = Note::of(session, created.id(), &created);
        let journal = note.journal.clone();
        self.ledger
            .hear(&Line::Creating(session.clone(), journal.clone()));
        self.ledger.hear(&Line::Intended(note.clone()));
        self.lab.block_on(store.create(session, vec![created]))??;
        self.ledger.hear(&Line::Created(session.clone(), journal));
        self.ledger.hear(&Line::Written(note));
        Ok(())
    }

    /// Puts a worker into every empty place.
    pub(crate) fn fill(&mut self, durability: impl Fn(&mut Rng) -> Durability) -> Outcome<()> {
        for slot in 0..SLOTS {
            if self.slots[slot].is_some() {
                continue;
            }
            let task = Task {
                part: self.part,
                backend: self.backend,
                durability: durability(&mut self.rng),
                place: self.place.clone(),
                seed: self.rng.u64(..),
                slot,
                count: 1_000_000,
                seconds: 120,
            };
            let id = self.crew.start(&task)?;
            self.crew.begin(id);
            self.slots[slot] = Some(id);
        }
        Ok(())
    }

    /// Kills one of them.
    pub(crate) fn kill_one(&mut self) {
        let alive: Vec<Id> = self.slots.iter().flatten().copied().collect();
        if let Some(id) = self.rng.choice(alive) {
            self.killing.insert(id);
            self.crew.kill(id);
        }
    }

    /// Hears them for so long, or until someone ends, or so many entries more are acknowledged.
    pub(crate) fn hear(&mut self, wait: Duration, acknowledged: Option<u64>) -> Outcome<()> {
        let time = self.lab.time(wait);
        let enough = acknowledged.map(|more| self.ledger.acknowledged + more);
        while let Some(left) = time.left() {
            match self.crew.hear(left)? {
                Some((id, heard)) => {
                    let ended = self.heard(id, heard);
                    if ended || enough.is_some_and(|enough| self.ledger.acknowledged >= enough) {
                        return Ok(());
                    }
                }
                None => return Ok(()),
            }
        }
        Ok(())
    }

    /// Hears all that was said by now, and waits for nothing.
    pub(crate) fn hear_what_was_said(&mut self) -> Outcome<()> {
        while let Some((id, heard)) = self.crew.hear(Duration::ZERO)? {
            self.heard(id, heard);
        }
        Ok(())
    }

    /// Kills all of them, and hears what they said to its end.
    pub(crate) fn kill_all(&mut self) -> Outcome<()> {
        self.killing.extend(self.slots.iter().flatten());
        self.crew.kill_all();
        let time = self.lab.time(Duration::from_secs(30));
        while !self.crew.is_empty() {
            let left = time.left().unwrap_or(Duration::from_secs(1));
            match self.crew.hear(left)? {
                Some((id, heard)) => {
                    self.heard(id, heard);
                }
                None => return failed("a killed worker does not end"),
            }
        }
        Ok(())
    }

    /// Takes in what one said; whether it was its end.
    fn heard(&mut self, id: Id, heard: Heard) -> bool {
        match heard {
            Heard::Line(line) => {
                self.ledger.hear(&line);
                match line {
                    Line::Dying(doing, session) => {
                        match doing {
                            Doing::Appending => {
                                self.torn.insert(session);
                            }
                            Doing::Acquiring if self.torn.contains(&session) => {
                                self.deaths.recovering += 1;
                            }
                            Doing::Acquiring | Doing::Creating | Doing::Deleting => {}
                        }
                        self.dying.insert(id, doing);
                    }
                    Line::Torn(session) => {
                        self.torn.remove(&session);
                        self.torn_tails += 1;
                    }
                    Line::Failed(kind, words) => self.failures.push(format!("{kind}: {words}")),
                    Line::Intended(_)
                    | Line::Written(_)
                    | Line::NotWritten(_)
                    | Line::Unknown(_)
                    | Line::Creating(..)
                    | Line::Created(..)
                    | Line::Deleting(_)
                    | Line::Deleted(_)
                    | Line::Turn
                    | Line::Said(_) => {}
                }
                false
            }
            Heard::End(status) => {
                self.ended(id, status);
                true
            }
        }
    }

    fn ended(&mut self, id: Id, status: ExitStatus) {
        for slot in &mut self.slots {
            if *slot == Some(id) {
                *slot = None;
            }
        }
        let by_signal = |signal: Signal| status.signal() == Some(signal.as_raw());
        let was_killed = by_signal(Signal::KILL) || by_signal(Signal::XFSZ);
        match self.dying.remove(&id) {
            Some(doing) if was_killed => *self.deaths.own.entry(doing).or_default() += 1,
            None if was_killed && self.killing.remove(&id) => self.deaths.killed += 1,
            Some(_) | None => self
                .failures
                .push(format!("a worker ended by itself, with {status}")),
        }
    }

    /// With everyone dead: what is there, held against what was said.
    pub(crate) fn judge(&mut self, durability: Durability) -> Outcome<Findings> {
        let store = self.backend.open(&self.place, durability)?;
        let expected = self.ledger.sessions();
        let seen = self.lab.block_on(seen::look(&*store, expected))??;
        self.torn_tails += seen.torn;
        self.torn.clear();
        let findings = self.ledger.judge(&seen);
        Ok(findings)
    }

    /// Deletes the longest sessions, and creates the shared ones among them anew.
    pub(crate) fn make_room(&mut self, durability: Durability) -> Outcome<()> {
        let store = self.backend.open(&self.place, durability)?;
        for session in self.ledger.longer_than(MANY) {
            self.ledger.hear(&Line::Deleting(session.clone()));
            match self.lab.block_on(store.delete(&session))? {
                Ok(()) | Err(StoreError::Missing { .. }) => {}
                Err(error) => return Err(error.into()),
            }
            self.ledger.hear(&Line::Deleted(session.clone()));
            let is_own =
                (0..SLOTS).any(|slot| (0..AT_ONCE).any(|at| own_session(slot, at) == session));
            if !is_own {
                self.create(&*store, &session)?;
            }
        }
        Ok(())
    }
}
