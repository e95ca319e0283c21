//! The gate of a [`GatedStore`](crate::GatedStore): what a test has planned for which operation, and what it has seen.
//! It decides nothing by itself: an operation nothing is planned for passes.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Weak},
};

use chat_core::{Entry, Seq, SessionId, StoreError};
use tokio::sync::watch;

use crate::gated_store::Hold;

/// The kinds of operation a store is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Op {
    /// `Store::create`.
    Create,
    /// `Store::read`, counted when its stream is first polled.
    Read,
    /// `Store::acquire`.
    Acquire,
    /// `Store::list`.
    List,
    /// `Store::delete`.
    Delete,
    /// `Store::is_held`.
    IsHeld,
    /// `Store::salvage`.
    Salvage,
    /// `JournalWriter::append`.
    Append,
    /// `JournalWriter::append_last`.
    AppendLast,
    /// `JournalWriter::recover`.
    Recover,
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// How a planned operation goes wrong. The words are those of a write; what each means for any other operation is beside it.
#[derive(Debug, Clone)]
pub enum Fault {
    /// Nothing is written and the answer says so. Any other operation fails, with nothing done.
    NotWritten,
    /// As [`Fault::NotWritten`], with an error of the test's own.
    Fails(StoreError),
    /// It is written, and the answer is `Unknown`. Any other operation is done, and fails all the same.
    UnknownWritten,
    /// Nothing is written, and the answer is `Unknown`. Any other operation fails, with nothing done.
    UnknownNotWritten,
    /// Nothing is written: the hold is lost, and free for another. Any other operation fails with `HoldLost`.
    Fenced,
}

/// One operation as it reached the gate.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// What was asked.
    pub op: Op,
    /// The session, where the operation has one.
    pub session: Option<SessionId>,
    /// The entry to be written, where one was.
    pub entry: Option<Entry>,
    /// The place to read from, where there was one.
    pub from: Option<Seq>,
}

impl Seen {
    pub(crate) fn new(op: Op, session: Option<&SessionId>) -> Self {
        Self {
            op,
            session: session.cloned(),
            entry: None,
            from: None,
        }
    }

    pub(crate) fn from(mut self, from: Seq) -> Self {
        self.from = Some(from);
        self
    }

    pub(crate) fn entry(mut self, entry: &Entry) -> Self {
        self.entry = Some(entry.clone());
        self
    }
}

/// A test's side of a [`GatedStore`](crate::GatedStore). Clones are the same gate.
#[derive(Clone)]
pub struct Gate {
    state: Arc<watch::Sender<State>>,
}

#[derive(Default)]
struct State {
    plans: BTreeMap<(Op, usize), Planned>,
    seen: Vec<Seen>,
    holds: Vec<Weak<Hold>>,
}

enum Planned {
    Answer(Fault),
    /// Waits before the store is asked.
    Before(Arc<watch::Sender<Phase>>),
    /// Waits with the store's answer in hand.
    After(Arc<watch::Sender<Phase>>),
}

impl State {
    fn count(&self, op: Op) -> usize {
        self.seen.iter().filter(|seen| seen.op == op).count()
    }
}

impl Gate {
    pub(crate) fn new() -> Self {
        Self {
            state: Arc::new(watch::Sender::new(State::default())),
        }
    }

    /// Plans the next operation of a kind which nothing is planned for yet: calling it twice plans the next two.
    #[must_use = "nothing is planned before `answer`, `pause` or `pause_answer`"]
    pub fn next(&self, op: Op) -> Plan<'_> {
        let state = self.state.borrow();
        let first = state.count(op) + 1;
        let nth = (first..)
            .find(|nth| !state.plans.contains_key(&(op, *nth)))
            .unwrap_or(first);
        Plan {
            gate: self,
            op,
            nth,
        }
    }

    /// Plans the nth operation of a kind, counted from 1 since the store was made.
    ///
    /// # Panics
    /// Where that one has been reached or is planned already: the test is not about what it seems to be.
    #[must_use = "nothing is planned before `answer`, `pause` or `pause_answer`"]
    pub fn nth(&self, op: Op, nth: usize) -> Plan<'_> {
        let state = self.state.borrow();
        assert!(
            nth > state.count(op),
            "{op} number {nth} has been reached already"
        );
        assert!(
            !state.plans.contains_key(&(op, nth)),
            "{op} number {nth} is planned already"
        );
        Plan {
            gate: self,
            op,
            nth,
        }
    }

    /// Short for `next(op).pause()`.
    #[must_use = "dropping a pause releases it"]
    pub fn pause(&self, op: Op) -> Pause {
        self.next(op).pause()
    }

    /// Loses the holds of a session now, as if a lease had run out and another process had taken it: `lost()` resolves, and
    /// what is written from now on is `Fenced`. A write the store has been asked for already ends as it ends (law T13).
    pub fn lose_hold(&self, session: &SessionId) {
        let holds: Vec<_> = self
            .state
            .borrow()
            .holds
            .iter()
            .filter_map(Weak::upgrade)
            .collect();
        holds
            .iter()
            .filter(|hold| hold.session() == session)
            .for_each(|hold| hold.lose());
        drop(holds);
        self.take_back();
    }

    /// All operations that reached the gate, in order.
    #[must_use]
    pub fn seen(&self) -> Vec<Seen> {
        self.state.borrow().seen.clone()
    }

    /// How many operations of a kind reached the gate.
    #[must_use]
    pub fn count(&self, op: Op) -> usize {
        self.state.borrow().count(op)
    }

    /// How many holds are out: writers that were lent and not dropped yet.
    #[must_use]
    pub fn holds(&self) -> usize {
        self.state.borrow().live_holds()
    }

    /// Waits until so many operations of a kind have reached the gate since the store was made. Cancel-safe.
    pub async fn reached(&self, op: Op, count: usize) {
        self.until(|state| state.count(op) >= count).await;
    }

    /// Waits until no hold is out. Cancel-safe.
    pub async fn all_released(&self) {
        self.until(|state| state.live_holds() == 0).await;
    }

    async fn until(&self, done: impl FnMut(&State) -> bool) {
        // The sender lives in `self`: there is no closed channel to report.
        let _ = self.state.subscribe().wait_for(done).await;
    }

    /// Records an operation and takes what is planned for it.
    pub(crate) fn enter(&self, seen: Seen) -> Visit {
        let mut planned = None;
        self.state.send_modify(|state| {
            let nth = state.count(seen.op) + 1;
            planned = state.plans.remove(&(seen.op, nth));
            state.seen.push(seen);
        });
        Visit { planned }
    }

    pub(crate) fn lend(&self, hold: &Arc<Hold>) {
        self.state
            .send_modify(|state| state.holds.push(Arc::downgrade(hold)));
    }

    /// Called once a hold is gone.
    pub(crate) fn take_back(&self) {
        self.state
            .send_modify(|state| state.holds.retain(|hold| hold.strong_count() > 0));
    }
}

impl State {
    fn live_holds(&self) -> usize {
        self.holds
            .iter()
            .filter(|hold| hold.strong_count() > 0)
            .count()
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate")
            .field("seen", &self.state.borrow().seen)
            .finish_non_exhaustive()
    }
}

/// One operation to come, chosen by [`Gate::next`] or [`Gate::nth`]: say what happens to it.
pub struct Plan<'a> {
    gate: &'a Gate,
    op: Op,
    nth: usize,
}

impl Plan<'_> {
    /// It goes wrong in this way, at once.
    pub fn answer(self, fault: Fault) {
        self.set(Planned::Answer(fault));
    }

    /// It waits before the store is asked, until the test lets it go.
    #[must_use = "dropping a pause releases it"]
    pub fn pause(self) -> Pause {
        self.wait(Planned::Before)
    }

    /// The store does it, and the answer waits until the test lets it go.
    #[must_use = "dropping a pause releases it"]
    pub fn pause_answer(self) -> Pause {
        self.wait(Planned::After)
    }

    fn wait(self, planned: fn(Arc<watch::Sender<Phase>>) -> Planned) -> Pause {
        let phase = Arc::new(watch::Sender::new(Phase::Coming));
        self.set(planned(phase.clone()));
        Pause { phase }
    }

    fn set(self, planned: Planned) {
        self.gate.state.send_modify(|state| {
            state.plans.insert((self.op, self.nth), planned);
        });
    }
}

impl fmt::Debug for Plan<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan")
            .field("op", &self.op)
            .field("nth", &self.nth)
            .finish_non_exhaustive()
    }
}

#[derive(Debug)]
enum Phase {
    Coming,
    Reached,
    /// Let go; `None` to go on as if nothing had been planned.
    Released(Option<Fault>),
    GivenUp,
}

/// An operation that waits at the gate. Dropping it lets the operation go, so that a test that failed hangs nobody.
#[derive(Debug)]
pub struct Pause {
    phase: Arc<watch::Sender<Phase>>,
}

impl Pause {
    /// Waits until the operation is there. Cancel-safe.
    ///
    /// # Panics
    /// Where its future was dropped before the test let it go.
    pub async fn reached(&self) {
        let mut phase = self.phase.subscribe();
        if let Ok(phase) = phase
            .wait_for(|phase| !matches!(phase, Phase::Coming))
            .await
        {
            assert!(
                !matches!(*phase, Phase::GivenUp),
                "the paused operation's future was dropped"
            );
        }
    }

    /// Waits until the operation's future has been dropped at the gate. Cancel-safe.
    pub async fn given_up(&self) {
        let _ = self
            .phase
            .subscribe()
            .wait_for(|phase| matches!(phase, Phase::GivenUp))
            .await;
    }

    /// Whether the operation waits at the gate now.
    #[must_use]
    pub fn is_reached(&self) -> bool {
        matches!(*self.phase.borrow(), Phase::Reached)
    }

    /// Lets it go on. Let go before it is there, it will not wait.
    pub fn release(self) {
        // Dropping does it.
    }

    /// Lets it go wrong. Where it waits with its answer ([`Plan::pause_answer`]), the store has done it, and only the answer
    /// changes.
    pub fn answer(self, fault: Fault) {
        self.let_go(Some(fault));
    }

    fn let_go(&self, fault: Option<Fault>) {
        self.phase.send_if_modified(|phase| match phase {
            Phase::Coming | Phase::Reached => {
                *phase = Phase::Released(fault);
                true
            }
            Phase::Released(_) | Phase::GivenUp => false,
        });
    }
}

impl Drop for Pause {
    fn drop(&mut self) {
        self.let_go(None);
    }
}

/// One operation on its way through the gate.
pub(crate) struct Visit {
    planned: Option<Planned>,
}

impl Visit {
    /// Waits where that is planned; gives the fault that is planned instead of the operation.
    pub(crate) async fn before(&mut self) -> Option<Fault> {
        match self.planned.take() {
            Some(Planned::Answer(fault)) => Some(fault),
            Some(Planned::Before(phase)) => wait(&phase).await,
            after @ (Some(Planned::After(_)) | None) => {
                self.planned = after;
                None
            }
        }
    }

    /// Waits with the answer where that is planned; gives the fault that is planned instead of it.
    pub(crate) async fn after(self) -> Option<Fault> {
        match self.planned {
            Some(Planned::After(phase)) => wait(&phase).await,
            Some(Planned::Answer(_) | Planned::Before(_)) | None => None,
        }
    }
}

async fn wait(phase: &watch::Sender<Phase>) -> Option<Fault> {
    /// Tells the test when the waiting future is dropped.
    struct Waiting<'a>(&'a watch::Sender<Phase>);
    impl Drop for Waiting<'_> {
        fn drop(&mut self) {
            self.0.send_if_modified(|phase| match phase {
                Phase::Coming | Phase::Reached => {
                    *phase = Phase::GivenUp;
                    true
                }
                Phase::Released(_) | Phase::GivenUp => false,
            });
        }
    }

    let waiting = Waiting(phase);
    let mut changes = phase.subscribe();
    phase.send_if_modified(|phase| {
        let coming = matches!(phase, Phase::Coming);
        if coming {
            *phase = Phase::Reached;
        }
        coming
    });
    let fault = match changes
        .wait_for(|phase| matches!(phase, Phase::Released(_)))
        .await
        .as_deref()
    {
        Ok(Phase::Released(fault)) => fault.clone(),
        Ok(Phase::Coming | Phase::Reached | Phase::GivenUp) | Err(_) => None,
    };
    drop(waiting);
    fault
}
