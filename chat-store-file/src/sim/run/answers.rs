//! What one step does, and whether its answer is one that the model allows.

use chat_core::{Appended, Recovered, Salvaged, Seq, StoreError};

use super::{
    super::{
        client::Attempted,
        model::{Aside, Session, Trust, Wrong},
        world::Counts,
    },
    Run,
};

macro_rules! ensure {
    ($holds:expr, $($why:tt)*) => {
        if !$holds {
            return Err(format!($($why)*));
        }
    };
}

impl Run {
    pub(super) fn create(&mut self, client: usize, session: usize) -> Result<(), Wrong> {
        let before = self.world.counts();
        let model = &mut self.sessions[session];
        let entries: Vec<_> = (0..=self.rng.u64(..3))
            .map(|seq| model.issue(Seq(seq), &mut self.rng))
            .collect();
        let created = self.clients[client].create(&model.id, &entries);
        let (alive, went_wrong) = self.since(client, before);
        let promises = self.promises(client);
        let model = &mut self.sessions[session];
        let journal = Some(Session::numbers(&entries));
        match created {
            Ok(()) if alive => {
                ensure!(model.may_be_missing(), "created though it was there");
                model.is(journal, promises);
            }
            Err(StoreError::Taken { .. }) if alive => {
                ensure!(model.may_be_there(), "taken though it is not there");
            }
            Ok(()) | Err(_) => {
                ensure!(went_wrong, "no fault: {created:?}");
                if model.may_be_missing() {
                    model.may_be(journal);
                    model.promised &= promises;
                }
            }
        }
        Ok(())
    }

    pub(super) fn acquire(&mut self, client: usize, session: usize) -> Result<(), Wrong> {
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
                self.found(client, session, from, found, there, before)
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

    /// What `acquire` or `recover` gave is there, and durable from now on where that is promised.
    fn found(
        &mut self,
        client: usize,
        session: usize,
        from: usize,
        found: Recovered,
        there: Option<Vec<u8>>,
        before: Counts,
    ) -> Result<(), Wrong> {
        let Recovered { entries, torn } = found;
        let promises = self.promises(client);
        let model = &mut self.sessions[session];
        let journal = model.find(&entries, from)?;
        model.is(Some(journal), promises);
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

    pub(super) fn append(&mut self, client: usize, session: usize) -> Result<(), Wrong> {
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
        let promises = self.promises(client);
        let model = &mut self.sessions[session];
        model.promised &= promises;
        match answer {
            Appended::Written if alive => model.is(Some(longer), promises),
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
    pub(super) fn append_again(&mut self, client: usize, session: usize) -> Result<(), Wrong> {
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
            Ok(found) if alive => self.found(client, session, from, found, there, before)?,
            Err(error) if alive => ensure!(went_wrong, "no fault: {error}"),
            _ => {}
        }
        Ok(true)
    }

    pub(super) fn read(&mut self, client: usize, session: usize) -> Result<(), Wrong> {
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

    /// A list shows exactly what is there, as it is.
    pub(super) fn list(&mut self, client: usize) -> Result<(), Wrong> {
        let before = self.world.counts();
        let listed = self.clients[client].list(self.rng.usize(1..3));
        let (alive, went_wrong) = self.since(client, before);
        match listed {
            Ok(listed) if alive => {
                for model in &self.sessions {
                    let found = listed.iter().find(|summary| summary.id == model.id);
                    let turns = match found {
                        // A failure to look is said of the session that it is about, and may move it to a page that was
                        // shown before.
                        Some(summary) if summary.error.is_some() && went_wrong => continue,
                        None if went_wrong => continue,
                        found => found.map(|summary| summary.turns),
                    };
                    ensure!(
                        model.trust != Trust::Full || model.may_be_listed(turns),
                        "{} is listed with {turns:?} turns, and may be any of {:?}",
                        model.id,
                        model.states()
                    );
                }
            }
            Ok(_) => {}
            Err(error) => ensure!(went_wrong, "no fault: {error}"),
        }
        Ok(())
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

    pub(super) fn delete(&mut self, client: usize, session: usize) -> Result<(), Wrong> {
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
                model.is(None, true);
                model.asides.clear();
            }
            Err(StoreError::Missing { .. }) if alive => {
                ensure!(model.may_be_missing(), "it is missing");
                model.is(None, true);
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
    pub(super) fn check_asides(&self) -> Result<(), Wrong> {
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
