//! A disk that tells what was written from what was synced, and that several stores can have open. It knows nothing of entries.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use chat_conformance::Harm;
use chat_core::SessionId;

use crate::hold::Queue;

/// A disk of one journal per session. Clones are the same disk.
#[derive(Clone, Default)]
pub(crate) struct Disk(Arc<Mutex<State>>);

type Journals = BTreeMap<SessionId, Vec<u8>>;

/// All that one machine has: what is on its disk, and what dies with its power.
#[derive(Default)]
pub(crate) struct State {
    /// What every process sees.
    written: Journals,
    /// What a loss of power leaves.
    synced: Journals,
    /// Torn tails, out of the way of every journal.
    aside: Vec<Vec<u8>>,
    pub(crate) queues: BTreeMap<SessionId, Queue>,
    pub(crate) processes: u64,
    /// Mutants only: writes that go on when nobody waits for them any more, and sessions which a list forgot to forget.
    pub(crate) late: Journals,
    pub(crate) ghosts: Vec<SessionId>,
    pub(crate) creations: Vec<SessionId>,
}

impl Disk {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn read(&self, session: &SessionId) -> Option<Vec<u8>> {
        self.lock().written.get(session).cloned()
    }

    pub(crate) fn sessions(&self) -> Vec<SessionId> {
        self.lock().written.keys().cloned().collect()
    }

    /// Writes a whole journal, as by a rename; false where there is one.
    pub(crate) fn create(&self, session: &SessionId, bytes: Vec<u8>) -> bool {
        let mut state = self.lock();
        let is_free = !state.written.contains_key(session);
        if is_free {
            state.written.insert(session.clone(), bytes);
            state.creations.push(session.clone());
        }
        is_free
    }

    pub(crate) fn append(&self, session: &SessionId, bytes: &[u8]) {
        let mut state = self.lock();
        let late = state.late.remove(session).unwrap_or_default();
        if let Some(journal) = state.written.get_mut(session) {
            journal.extend(late);
            journal.extend(bytes);
        }
    }

    /// Mutants only: what lands when the next write does.
    pub(crate) fn append_late(&self, session: &SessionId, bytes: &[u8]) {
        let mut state = self.lock();
        let late = state.late.entry(session.clone()).or_default();
        late.extend(bytes);
    }

    /// Makes durable what is written of a session, or that it is gone.
    pub(crate) fn sync(&self, session: &SessionId) {
        let mut state = self.lock();
        match state.written.get(session).cloned() {
            Some(bytes) => drop(state.synced.insert(session.clone(), bytes)),
            None => drop(state.synced.remove(session)),
        }
    }

    /// Puts what is behind a place aside, and cuts it off.
    pub(crate) fn set_aside(&self, session: &SessionId, from: usize) {
        let mut state = self.lock();
        let tail = state.written.get_mut(session).map(|b| b.split_off(from));
        state.aside.extend(tail);
    }

    pub(crate) fn remove(&self, session: &SessionId) {
        let mut state = self.lock();
        state.written.remove(session);
        state.ghosts.push(session.clone());
    }

    /// The disk of the same machine, started again after its power was lost.
    pub(crate) fn after_power_loss(&self) -> Self {
        let state = self.lock();
        Self(Arc::new(Mutex::new(State {
            written: state.synced.clone(),
            synced: state.synced.clone(),
            aside: state.aside.clone(),
            ..State::default()
        })))
    }

    /// Harm reaches what is durable, too.
    pub(crate) fn harm(&self, session: &SessionId, harm: Harm) -> bool {
        let State {
            written, synced, ..
        } = &mut *self.lock();
        [written, synced]
            .into_iter()
            .filter_map(|journals| journals.get_mut(session))
            .all(|journal| harm.to_lines(journal))
    }
}
