//! What all handles of one session share: the machine behind one lock, and whoever carries out what it decides.
//!
//! The lock is never held across an await or a caller's code. Whoever calls the machine drains it under the lock: what only
//! changes what handles read is applied there, in order; tasks to be woken, spawned or stopped are so once the lock is free.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use chat_core::{
    ContextPolicy, NewTurn, NotAccepted, Responder, ResponderError, SessionId, SessionMachine,
    SteerError, SteerId, Store, StoreError, Timestamp, Transcript, TurnId,
};
use tokio::{
    runtime::Handle,
    sync::{Notify, oneshot},
};

use crate::{
    environment::Environment,
    outputs::{After, Locked},
    turn_state::TurnState,
};

/// What became of a steer.
pub(crate) type SteerResult = Result<(), SteerError>;

/// What the parts of a chat share.
pub(crate) struct Services {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) responder: Arc<dyn Responder>,
    pub(crate) context: ContextPolicy,
    pub(crate) environment: Arc<dyn Environment>,
}

/// One open session.
pub(crate) struct Shared {
    pub(crate) id: SessionId,
    pub(crate) services: Arc<Services>,
    pub(crate) runtime: Handle,
    locked: Mutex<Locked>,
    /// Wakes the driver.
    pub(crate) work: Notify,
    /// Tells that a hold was let go, or that the driver has stopped.
    pub(crate) let_go: Notify,
}

impl Shared {
    pub(crate) fn new(
        id: SessionId,
        services: Arc<Services>,
        runtime: Handle,
        transcript: Transcript,
    ) -> Arc<Self> {
        let machine = SessionMachine::new(id.clone(), services.responder.info(), transcript);
        Arc::new(Self {
            id,
            services,
            runtime,
            locked: Mutex::new(Locked {
                machine,
                turns: BTreeMap::new(),
                steers: BTreeMap::new(),
                next_steer: 0,
                commands: VecDeque::new(),
                driving: false,
                gone: false,
                deleted: false,
                execution: None,
            }),
            work: Notify::new(),
            let_go: Notify::new(),
        })
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Locked> {
        // The machine does not panic; were it to, what it holds is still the best there is.
        self.locked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the machine something, and does what it decides.
    pub(crate) fn tell<T>(
        self: &Arc<Self>,
        tell: impl FnOnce(&mut SessionMachine, Timestamp) -> T,
    ) -> T {
        let now = self.services.environment.now();
        let mut after = After::default();
        let told = {
            let mut locked = self.lock();
            let told = tell(&mut locked.machine, now);
            locked.drain(&mut after);
            told
        };
        self.carry_out(after);
        told
    }

    /// Queues a turn, and gives what its handles read.
    ///
    /// Everything told of a turn is told by its id. One that is taken is refused under another, or two turns' handles would wait
    /// for what is told once.
    pub(crate) fn send(self: &Arc<Self>, mut turn: NewTurn) -> Arc<TurnState> {
        let mut after = After::default();
        let state = {
            let mut locked = self.lock();
            let given = turn.id.clone();
            let mut is_unique = turn.accepted_id != turn.outcome_id;
            for copy in 2_u64.. {
                if !locked.has_turn(&turn.id) {
                    break;
                }
                is_unique = false;
                turn.id =
                    TurnId::parse(format!("{given}-{copy}")).expect("an id and a number are an id");
            }
            let state = TurnState::new(&turn);
            locked.turns.insert(turn.id.clone(), state.clone());
            if is_unique {
                locked.machine.send(turn);
            } else {
                locked
                    .machine
                    .refuse_turn(turn, NotAccepted::IdTaken(given));
            }
            locked.drain(&mut after);
            state
        };
        self.carry_out(after);
        state
    }

    /// Keeps a failure that the machine is about to be told of, for as long as the turn has not settled.
    pub(crate) fn keep(&self, turn: &TurnId, failure: &ResponderError) {
        let state = self.lock().turns.get(turn).cloned();
        if let Some(state) = state {
            state.keep(failure);
        }
    }

    /// Offers input to a turn; the receiver is told what became of it.
    pub(crate) fn steer(
        self: &Arc<Self>,
        turn: Option<&TurnId>,
        input: Arc<str>,
    ) -> oneshot::Receiver<SteerResult> {
        let entry_id = self.unique();
        let (sender, receiver) = oneshot::channel();
        let mut after = After::default();
        {
            let mut locked = self.lock();
            let ticket = SteerId(locked.next_steer);
            locked.next_steer += 1;
            locked.steers.insert(ticket, sender);
            locked.machine.steer(
                turn,
                chat_core::NewSteer {
                    ticket,
                    input,
                    entry_id,
                },
            );
            locked.drain(&mut after);
        }
        self.carry_out(after);
        receiver
    }

    /// A new id.
    pub(crate) fn unique<Id: for<'a> TryFrom<&'a str, Error = chat_core::IdError>>(&self) -> Id {
        let text = crate::environment::id_text(self.services.environment.unique());
        Id::try_from(&text).expect("a ULID's 26 letters and digits are an id")
    }

    /// Whether no turn is under way, no hold is held, and no driver is left to let go of one.
    pub(crate) fn is_stopped(&self) -> bool {
        let locked = self.lock();
        locked.machine.is_idle() && !locked.driving
    }

    /// Whether its runtime or its journal is gone, so that what is of its id now is to be opened anew.
    pub(crate) fn is_over(&self) -> bool {
        let locked = self.lock();
        locked.gone || locked.deleted || locked.machine.is_replaced()
    }

    /// Its journal was deleted: handles that are left get *missing*, whoever takes the id now (law S7).
    pub(crate) fn set_deleted(&self) {
        self.lock().deleted = true;
    }

    /// # Errors
    /// [`StoreError::Missing`] where its journal was deleted.
    pub(crate) fn check_there(&self) -> Result<(), StoreError> {
        if self.lock().deleted {
            return Err(StoreError::Missing {
                session: self.id.clone(),
            });
        }
        Ok(())
    }

    /// Waits until no turn is under way and no hold is held.
    pub(crate) async fn until_stopped(&self) {
        self.until(Self::is_stopped).await;
    }

    /// Waits until a hold that no turn needs any more is let go: whoever asks the store who holds the session then hears of
    /// others.
    pub(crate) async fn until_let_go(&self) {
        self.until(|shared| {
            let locked = shared.lock();
            !(locked.machine.is_idle() && locked.driving)
        })
        .await;
    }

    async fn until(&self, so: impl Fn(&Self) -> bool) {
        loop {
            // Created before the look, so that what happens in between is not missed.
            let let_go = self.let_go.notified();
            if so(self) {
                return;
            }
            let_go.await;
        }
    }
}
