//! A run: what some processes do to some sessions while things go wrong, and a check after every step.

use chat_core::{Appended, Durability, Recovered, Salvaged, Seq, StoreError};
use fastrand::Rng;

use super::{
    client::{Attempted, Client},
    fault::{Bug, Fault, Plan},
    model::{Aside, Session, Trust, Wrong},
    world::{Counts, World},
};

/// Some processes and some sessions.
pub(super) struct Run {
    pub(super) world: World,
    rng: Rng,
    durability: Durability,
    clients: Vec<Client>,
    sessions: Vec<Session>,
}

/// What a process does next with a session.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    Create,
    Acquire,
    Append,
    AppendAgain,
    Release,
    Read,
    Delete,
    Kill,
    PowerLoss,
}

macro_rules! ensure {
    ($holds:expr, $($why:tt)*) => {
        if !$holds {
            return Err(format!($($why)*));
        }
    };
}

impl Run {
    pub(super) fn new(seed: u64, durability: Durability, plan: Plan, bug: Option<Bug>) -> Self {
        // The store's own random names.
        fastrand::seed(seed);
        Self {
            world: World::new(seed, plan, bug),
            rng: Rng::with_seed(!seed),
            durability,
            clients: Vec::new(),
            sessions: Vec::new(),
        }
    }

    /// A run that is made up from its seed.
    pub(super) fn of_seed(seed: u64, bug: Option<Bug>) -> Self {
        let mut rng = Rng::with_seed(seed);
        let durability = if rng.u8(..4) == 0 {
            Durability::Os
        } else {
            Durability::Full
        };
        let mut faults = Fault::ALL.to_vec();
        faults.retain(|_| rng.bool());
        let plan = Plan::OneIn(rng.u32(8..60), faults);
        Self::new(seed, durability, plan, bug)
    }

    /// Random steps, then a look at what came of them.
    pub(super) fn play(&mut self) -> Result<(), Wrong> {
        let (clients, sessions) = (self.rng.usize(1..=2), self.rng.usize(1..=2));
        self.set_up(clients, sessions);
        for _ in 0..self.rng.usize(4..24) {
            let (client, session) = (self.rng.usize(..clients), self.rng.usize(..sessions));
            let step = self.choose(client, session);
            self.step(client, session, step)?;
        }
        self.finish()
    }

    pub(super) fn set_up(&mut self, clients: usize, sessions: usize) {
        for _ in 0..clients {
            self.clients.push(Client::new(&self.world, self.durability));
        }
        for name in ["a", "b"].into_iter().take(sessions) {
            self.sessions.push(Session::new(name));
        }
    }

    fn choose(&mut self, client: usize, session: usize) -> Step {
        match (self.rng.u8(..32), self.holds(client, session)) {
            (0, _) => Step::Kill,
            (1, _) => Step::PowerLoss,
            (2..4, _) => Step::Read,
            (4..6, false) => Step::Delete,
            (6..9, false) => Step::Create,
            (4..7, true) => Step::Release,
            (7..9, true) => Step::AppendAgain,
            (_, true) => Step::Append,
            (_, false) if self.sessions[session].may_be_there() => Step::Acquire,
            (_, false) => Step::Create,
        }
    }

    pub(super) fn step(&mut self, client: usize, session: usize, step: Step) -> Result<(), Wrong> {
        if self.sessions[session].trust == Trust::None {
            return Ok(());
        }
        self.world
            .note(|| format!("{step:?} of {session} by process {client}"));
        let before = self.world.counts();
        match step {
            Step::Create => self.create(client, session)?,
            Step::Acquire => self.acquire(client, session)?,
            Step::Append => self.append(client, session)?,
            Step::AppendAgain => self.append_again(client, session)?,
            Step::Release => {
                self.clients[client]
                    .writers
                    .remove(&self.sessions[session].id);
            }
            Step::Read => self.read(client, session)?,
            Step::Delete => self.delete(client, session)?,
            Step::Kill => self.clients[client].process.kill(),
            Step::PowerLoss => self.world.lose_power(),
        }
        self.take_stock(before)
    }

    /// After each step: processes that died are started anew, and a loss of power leaves what was promised.
    fn take_stock(&mut self, before: Counts) -> Result<(), Wrong> {
        for client in &mut self.clients {
            if !client.process.is_alive() {
                *client = Client::new(&self.world, self.durability);
            }
        }
        if self.world.counts().power_losses > before.power_losses {
            for session in &mut self.sessions {
                session.lose_power(self.durability == Durability::Full);
            }
            if self.durability == Durability::Full {
                self.check_asides()?;
            }
        }
        Ok(())
    }

    /// Everything that was promised is there, and can be gone on with, once nothing goes wrong any more.
    pub(super) fn finish(&mut self) -> Result<(), Wrong> {
        self.world.note(|| "the end".into());
        self.world.set_plan(Plan::NEVER);
        let before = self.world.counts();
        if self.rng.bool() {
            self.world.lose_power();
        } else {
            self.clients.iter().for_each(|client| client.process.kill());
        }
        self.take_stock(before)?;
        for session in 0..self.sessions.len() {
            self.step(0, session, Step::Read)?;
            self.step(0, session, Step::Acquire)?;
            if self.holds(0, session) {
                self.step(0, session, Step::Append)?;
                self.step(0, session, Step::Release)?;
                self.step(0, session, Step::PowerLoss)?;
                self.step(0, session, Step::Acquire)?;
                self.step(0, session, Step::Release)?;
            }
            if self.sessions[session].trust == Trust::Full {
                if !self.sessions[session].may_be_there() {
                    self.step(0, session, Step::Create)?;
                }
                self.step(0, session, Step::Delete)?;
            }
        }
        Ok(())
    }

    pub(super) fn holds(&self, client: usize, session: usize) -> bool {
        let id = &self.sessions[session].id;
        self.clients[client].writers.contains_key(id)
    }

    fn held_elsewhere(&self, client: usize, session: usize) -> bool {
        (0..self.clients.len()).any(|other| other != client && self.holds(other, session))
    }

    /// Whether a process is alive, so that what it was answered counts, and whether something went wrong since.
    fn since(&self, client: usize, before: Counts) -> (bool, bool) {
        let went_wrong = self.world.counts().faults > before.faults;
        (self.clients[client].process.is_alive(), went_wrong)
    }

    fn create(&mut self, client: usize, session: usize) -> Result<(), Wrong> {
        let before = self.world.counts();
        let model = &mut self.sessions[session];
        let entries: Vec<_> = (0..=self.rng.u64(..3))
            .map(|seq| model.issue(Seq(seq), &mut self.rng))
            .collect();
        let created = self.clients[client].create(&model.id, &entries);
        let (alive, went_wrong) = self.since(client, before);
        let model = &mut self.sessions[session];
        let journal = Some(Session::numbers(&entries));
        match created {
            Ok(()) if alive => {
                ensure!(model.may_be_missing(), "created though it was there");
                model.is(journal);
            }
            Err(StoreError::Taken { .. }) if alive => {
                ensure!(model.may_be_there(), "taken though it is not there");
            }
            Ok(()) | Err(_) => {
                ensure!(went_wrong, "no fault: {created:?}");
                if model.may_be_missing() {
                    model.may_be(journal);
                }
            }
        }
        Ok(())
    }

    fn acquire(&mut self, client: usize, session: usize) -> Result<(), Wrong> {
        if self.holds(client, session) {
            return Ok(());
        }
        let before = self.world.counts();
        let model = &self.sessions[session];
        let from = self.rng.usize(..=model.common());
        let path = self.clients[client].paths(&model.id).journal();
        let there = self.world.seen(&path);
        let acquired = self.clients[client].acquire(&model.id, Seq(from as u64));
        let (alive, went_wrong) = self.since(client, before);
        if !alive {
            return Ok(());
        }
        match acquired {
            Ok(Attempted::HeldElsewhere) => {
                ensure!(self.held_elsewhere(client, session), "nobody else holds it");
                Ok(())
            }
            Ok(Attempted::Done(found)) => {
                ensure!(!self.held_elsewhere(client, session), "two holders");
                self.found(session, from, found, there, before)
            }
            Err(StoreError::Missing { .. }) => {
                let model = &mut self.sessions[session];
                ensure!(model.may_be_missing(), "it is missing");
                model.is_missing_now();
                Ok(())
            }
            Err(StoreError::Damaged(damage)) => {
                let trust = self.sessions[session].trust;
                ensure!(trust == Trust::Little, "damaged: {damage}");
                self.salvage(client, session)
            }
            Err(error) => {
                ensure!(went_wrong, "no fault: {error}");
                Ok(())
            }
        }
    }

    /// What `acquire` or `recover` gave is durable from now on.
    fn found(
        &mut self,
        session: usize,
        from: usize,
        found: Recovered,
        there: Option<Vec<u8>>,
        before: Counts,
    ) -> Result<(), Wrong> {
        let Recovered { entries, torn } = found;
        let model = &mut self.sessions[session];
        let journal = model.find(&entries, from)?;
        model.is(Some(journal));
        let Some(torn) = torn else { return Ok(()) };
        let path = torn.set_aside.ok_or("a torn tail was not set aside")?;
        let bytes = self
            .world
            .seen(&path)
            .ok_or("a torn tail was put nowhere")?;
        ensure!(
            bytes.len() as u64 == torn.bytes,
            "a torn tail was set aside in part"
        );
        // Where pages were read again in between, what was there before says nothing.
        if self.world.counts().evictions == before.evictions {
            let there = there.ok_or("a torn tail of nothing")?;
            let end = there
                .iter()
                .rposition(|b| *b == b'\n')
                .map_or(0, |at| at + 1);
            ensure!(there[end..] == bytes, "another tail was set aside");
        }
        model.asides.push(Aside { path, bytes });
        Ok(())
    }

    fn append(&mut self, client: usize, session: usize) -> Result<(), Wrong> {
        if !self.holds(client, session) {
            return Ok(());
        }
        if self.recover_first(client, session)? {
            return Ok(());
        }
        let before = self.world.counts();
        let model = &mut self.sessions[session];
        let mut longer = model.known().to_vec();
        let entry = model.issue(Seq(longer.len() as u64), &mut self.rng);
        longer.extend(Session::numbers(std::slice::from_ref(&entry)));
        let id = &self.sessions[session].id;
        let writer = self.clients[client].writers.get_mut(id);
        let answer = writer.expect("it is held").append(&entry);
        let (alive, went_wrong) = self.since(client, before);
        let model = &mut self.sessions[session];
        match answer {
            Appended::Written if alive => model.is(Some(longer)),
            Appended::NotWritten(error) if alive => ensure!(went_wrong, "no fault: {error}"),
            Appended::Unknown(error) if alive => {
                ensure!(went_wrong, "no fault: {error}");
                model.may_be(Some(longer));
            }
            Appended::Fenced if alive => return Err("fenced".into()),
            _ => model.may_be(Some(longer)),
        }
        Ok(())
    }

    /// An entry that is there already, sent again, is written once.
    fn append_again(&mut self, client: usize, session: usize) -> Result<(), Wrong> {
        if !self.holds(client, session) || self.recover_first(client, session)? {
            return Ok(());
        }
        let before = self.world.counts();
        let model = &self.sessions[session];
        let known = model.known();
        let entry = model.entry(known[self.rng.usize(..known.len())]).clone();
        let writer = self.clients[client].writers.get_mut(&model.id);
        let answer = writer.expect("it is held").append(&entry);
        let (alive, went_wrong) = self.since(client, before);
        let sound = matches!(answer, Appended::Written) || !alive || went_wrong;
        ensure!(sound, "no fault: {answer:?}");
        Ok(())
    }

    /// After an unknown write a writer only recovers.
    fn recover_first(&mut self, client: usize, session: usize) -> Result<bool, Wrong> {
        let before = self.world.counts();
        let model = &self.sessions[session];
        let from = self.rng.usize(..=model.common());
        let path = self.clients[client].paths(&model.id).journal();
        let there = self.world.seen(&path);
        let writer = self.clients[client].writers.get_mut(&model.id);
        let writer = writer.expect("it is held");
        if !writer.unknown {
            return Ok(false);
        }
        let recovered = writer.recover(Seq(from as u64));
        let (alive, went_wrong) = self.since(client, before);
        match recovered {
            Ok(found) if alive => self.found(session, from, found, there, before)?,
            Err(error) if alive => ensure!(went_wrong, "no fault: {error}"),
            _ => {}
        }
        Ok(true)
    }

    fn read(&mut self, client: usize, session: usize) -> Result<(), Wrong> {
        let before = self.world.counts();
        let model = &self.sessions[session];
        let from = self.rng.usize(..=model.common());
        let read = self.clients[client].read(&model.id, Seq(from as u64));
        let (alive, went_wrong) = self.since(client, before);
        if !alive {
            return Ok(());
        }
        match read.error {
            None => model.find(&read.entries, from).map(|_| ()),
            Some(StoreError::Missing { .. }) => {
                ensure!(model.may_be_missing(), "it is missing");
                Ok(())
            }
            Some(StoreError::Damaged(damage)) => {
                ensure!(model.trust == Trust::Little, "damaged: {damage}");
                Ok(())
            }
            Some(error) => {
                ensure!(went_wrong, "no fault: {error}");
                Ok(())
            }
        }
    }

    /// Of a damaged journal nothing is given that was not written.
    fn salvage(&mut self, client: usize, session: usize) -> Result<(), Wrong> {
        let model = &mut self.sessions[session];
        if let Ok(pieces) = self.clients[client].salvage(&model.id) {
            for piece in pieces {
                if let Salvaged::Entry(entry) = piece {
                    let seq = usize::try_from(entry.seq().0).unwrap_or(usize::MAX);
                    model.find(&[entry], seq)?;
                }
            }
        }
        model.trust = Trust::None;
        Ok(())
    }

    fn delete(&mut self, client: usize, session: usize) -> Result<(), Wrong> {
        if self.holds(client, session) {
            return Ok(());
        }
        let before = self.world.counts();
        let deleted = self.clients[client].delete(&self.sessions[session].id);
        let (alive, went_wrong) = self.since(client, before);
        let elsewhere = self.held_elsewhere(client, session);
        let model = &mut self.sessions[session];
        match deleted {
            Ok(Attempted::HeldElsewhere) if alive => ensure!(elsewhere, "nobody else holds it"),
            Ok(Attempted::Done(())) if alive => {
                ensure!(!elsewhere, "deleted under its holder");
                ensure!(model.may_be_there(), "deleted though it was not there");
                model.is(None);
                model.asides.clear();
            }
            Err(StoreError::Missing { .. }) if alive => {
                ensure!(model.may_be_missing(), "it is missing");
                model.is(None);
                model.asides.clear();
            }
            _ => {
                ensure!(went_wrong, "no fault: {deleted:?}");
                if !elsewhere {
                    model.may_be(None);
                    model.asides.clear();
                }
            }
        }
        Ok(())
    }

    /// What was set aside is still there, or still in the journal to be set aside again.
    fn check_asides(&self) -> Result<(), Wrong> {
        for session in &self.sessions {
            let journal = self.clients[0].paths(&session.id).journal();
            for Aside { path, bytes } in &session.asides {
                let kept = self.world.seen(path).as_ref() == Some(bytes)
                    || self
                        .world
                        .seen(&journal)
                        .is_some_and(|all| all.ends_with(bytes));
                ensure!(kept, "{} is gone or changed", path.display());
            }
        }
        Ok(())
    }
}
