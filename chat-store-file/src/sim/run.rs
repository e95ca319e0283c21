//! A run: what some processes do to some sessions while things go wrong, and a check after every step.

use chat_core::Durability;
use fastrand::Rng;

use super::{
    client::Client,
    fault::{Bug, Fault, Plan},
    model::{Session, Trust, Wrong},
    world::{Counts, World},
};

mod answers;

/// Some processes and some sessions.
pub(super) struct Run {
    pub(super) world: World,
    rng: Rng,
    /// Of each process.
    durability: [Durability; 2],
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
    List,
    Delete,
    Kill,
    PowerLoss,
}

impl Run {
    pub(super) fn new(seed: u64, durability: Durability, plan: Plan, bug: Option<Bug>) -> Self {
        // The store's own random names.
        fastrand::seed(seed);
        Self {
            world: World::new(seed, plan, bug),
            rng: Rng::with_seed(!seed),
            durability: [durability; 2],
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

    /// Likewise, of a process that makes durable what it writes and one that doesn't.
    pub(super) fn mixed_of_seed(seed: u64, bug: Option<Bug>) -> Self {
        let plan = match seed % 2 {
            0 => Plan::OneIn(30, Fault::ALL.to_vec()),
            // Nobody is killed, so that what a process knows of its failures is put to use.
            _ => Plan::OneIn(12, vec![Fault::Fail]),
        };
        let mut run = Self::new(seed, Durability::Full, plan, bug);
        run.durability = [Durability::Full, Durability::Os];
        // What a failed sync has lost may be there until the power fails: what is not durable is not promised to live longer, and
        // is not promised to be seen to go.
        run.world.keep_pages();
        run
    }

    /// Random steps, then a look at what came of them.
    pub(super) fn play(&mut self) -> Result<(), Wrong> {
        let clients = if self.is_mixed() {
            2
        } else {
            self.rng.usize(1..=2)
        };
        let sessions = self.rng.usize(1..=2);
        self.set_up(clients, sessions);
        for _ in 0..self.rng.usize(4..24) {
            let (client, session) = (self.rng.usize(..clients), self.rng.usize(..sessions));
            let step = self.choose(client, session);
            self.step(client, session, step)?;
        }
        self.finish()
    }

    pub(super) fn set_up(&mut self, clients: usize, sessions: usize) {
        for durability in self.durability.into_iter().take(clients) {
            self.clients.push(Client::new(&self.world, durability));
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
            (30..32, _) => Step::List,
            (4..6, false) => Step::Delete,
            (6..9, false) => Step::Create,
            (4..7, true) => Step::Release,
            (7..9, true) => Step::AppendAgain,
            // There is only something to see where the hold passes to and fro.
            (9..16, true) if self.is_mixed() => Step::Release,
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
            Step::List => self.list(client)?,
            Step::Delete => self.delete(client, session)?,
            Step::Kill => self.clients[client].process.kill(),
            Step::PowerLoss => self.world.lose_power(),
        }
        self.take_stock(before)
    }

    /// After each step: processes that died are started anew, and a loss of power leaves what was promised.
    fn take_stock(&mut self, before: Counts) -> Result<(), Wrong> {
        let lost_power = self.world.counts().power_losses > before.power_losses;
        if lost_power {
            self.sessions.iter_mut().for_each(Session::lose_power);
        }
        let is_mixed = self.is_mixed();
        for (client, durability) in self.clients.iter_mut().zip(self.durability) {
            if client.process.is_alive() {
                continue;
            }
            *client = Client::new(&self.world, durability);
            if is_mixed && !lost_power && self.world.has_failed_sync() {
                self.sessions
                    .iter_mut()
                    .for_each(|session| session.unsure = true);
            }
        }
        if lost_power && self.durability == [Durability::Full; 2] {
            self.check_asides()?;
        }
        Ok(())
    }

    /// Everything that was promised is there, and can be gone on with, once nothing goes wrong any more.
    pub(super) fn finish(&mut self) -> Result<(), Wrong> {
        self.world.note(|| "the end".into());
        self.world.set_plan(Plan::NEVER);
        let before = self.world.counts();
        if self.rng.bool() || self.is_mixed() {
            self.world.lose_power();
        } else {
            self.clients.iter().for_each(|client| client.process.kill());
        }
        self.take_stock(before)?;
        for session in 0..self.sessions.len() {
            self.step(0, session, Step::List)?;
            self.step(0, session, Step::Read)?;
            self.step(0, session, Step::Acquire)?;
            if self.holds(0, session) {
                self.step(0, session, Step::Append)?;
                self.step(0, session, Step::List)?;
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

    fn is_mixed(&self) -> bool {
        self.durability[0] != self.durability[1]
    }

    /// Whether what a process is answered is to survive a loss of power.
    fn promises(&self, client: usize) -> bool {
        self.durability[client] == Durability::Full
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
}
