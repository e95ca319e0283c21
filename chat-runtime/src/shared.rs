//! What all handles of one session share: the machine behind one lock, and whoever carries out what it decides.
//!
//! The lock is never held across an await or a caller's code. Whoever calls the machine drains it under the lock: what only
//! changes what handles read is applied there, in order; tasks to be woken, spawned or stopped are so once the lock is free.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Waker,
};

use chat_core::{
    ChatEvent, ContextPolicy, Entry, Output, Responder, ResponderError, Seq, SessionId,
    SessionMachine, Start, SteerError, SteerId, Store, StoreError, Timestamp, Transcript,
    TurnError, TurnId, TurnReply,
};
use tokio::{
    runtime::Handle,
    sync::{Notify, oneshot},
    task::AbortHandle,
};
use tokio_util::sync::CancellationToken;

use crate::{
    answer::Answer,
    driver,
    environment::Environment,
    events::Log,
    execution::{self, Inbox, Request},
    quietly::quietly,
};

/// What became of a steer.
pub(crate) type SteerResult = Result<(), SteerError>;

/// What a turn's handles read and wait for.
#[derive(Debug)]
pub(crate) struct TurnState {
    pub(crate) id: TurnId,
    pub(crate) accepted: Answer<Result<(), TurnError>>,
    pub(crate) result: Answer<Result<TurnReply, TurnError>>,
    pub(crate) log: Arc<Log>,
    /// What the machine has of the caller's own, kept until the turn has settled: the machine lets go of it under the lock, where
    /// it must not be the last to do so.
    kept: Mutex<Kept>,
}

/// Values that run caller's code when they are dropped.
#[derive(Debug, Default)]
struct Kept {
    _context: Option<ContextPolicy>,
    failures: Vec<ResponderError>,
}

impl TurnState {
    fn new(turn: &chat_core::NewTurn) -> Arc<Self> {
        Arc::new(Self {
            id: turn.id.clone(),
            accepted: Answer::new(),
            result: Answer::new(),
            log: Arc::default(),
            kept: Mutex::new(Kept {
                _context: turn.context.clone(),
                failures: Vec::new(),
            }),
        })
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // Nothing that can panic runs under this lock.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

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
    runtime: Handle,
    locked: Mutex<Locked>,
    /// Wakes the driver.
    pub(crate) work: Notify,
    /// Tells that a hold was let go, or that the driver has stopped.
    pub(crate) let_go: Notify,
}

/// What the lock guards.
pub(crate) struct Locked {
    pub(crate) machine: SessionMachine,
    /// The turns that have not settled.
    turns: BTreeMap<TurnId, Arc<TurnState>>,
    steers: BTreeMap<SteerId, oneshot::Sender<SteerResult>>,
    next_steer: u64,
    /// What the driver is to do, in order.
    pub(crate) commands: VecDeque<Command>,
    /// Whether there is a driver.
    pub(crate) driving: bool,
    /// Whether the runtime that drove it is gone: nothing comes of this session any more.
    pub(crate) gone: bool,
    /// Whether its journal was deleted: one that is created under its id is another session's.
    deleted: bool,
    execution: Option<Running>,
}

/// What the driver is to do.
pub(crate) enum Command {
    Acquire { from: Seq },
    GiveUpAcquire,
    Release,
    Append { entry: Box<Entry>, last: bool },
    Recover { from: Seq },
}

/// The execution under way.
struct Running {
    turn: TurnId,
    cancel: CancellationToken,
    inbox: Arc<Inbox>,
    task: Option<AbortHandle>,
}

/// What is to be done once the lock is free, in this order.
#[derive(Default)]
struct After {
    signals: Vec<CancellationToken>,
    aborts: Vec<AbortHandle>,
    inboxes: Vec<Arc<Inbox>>,
    start: Option<(Box<Start>, CancellationToken, Arc<Inbox>)>,
    drive: Option<Drive>,
    wakers: Vec<Waker>,
    steered: Vec<(oneshot::Sender<SteerResult>, SteerResult)>,
    /// Where no handle is left, errors of the caller's own are dropped with them.
    settled: Vec<Arc<TurnState>>,
}

#[derive(Clone, Copy)]
enum Drive {
    Spawn,
    Wake,
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
    pub(crate) fn send(self: &Arc<Self>, turn: chat_core::NewTurn) -> Arc<TurnState> {
        let state = TurnState::new(&turn);
        let mut after = After::default();
        {
            let mut locked = self.lock();
            locked.turns.insert(turn.id.clone(), state.clone());
            locked.machine.send(turn);
            locked.drain(&mut after);
        }
        self.carry_out(after);
        state
    }

    /// Keeps a failure that the machine is about to be told of, for as long as the turn has not settled.
    pub(crate) fn keep(&self, turn: &TurnId, failure: &ResponderError) {
        let state = self.lock().turns.get(turn).cloned();
        if let Some(state) = state {
            state.kept().failures.push(failure.clone());
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
        locked.gone || locked.deleted
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

    fn carry_out(self: &Arc<Self>, after: After) {
        let After {
            signals,
            aborts,
            inboxes,
            start,
            drive,
            wakers,
            steered,
            settled,
        } = after;
        for signal in signals {
            quietly(|| signal.cancel());
        }
        for abort in aborts {
            abort.abort();
        }
        for inbox in inboxes {
            inbox.wake();
        }
        if let Some((start, cancel, inbox)) = start {
            self.spawn_execution(*start, cancel, inbox);
        }
        match drive {
            Some(Drive::Spawn) => drop(
                self.runtime
                    .spawn(driver::drive(driver::Guard::new(self.clone()))),
            ),
            Some(Drive::Wake) => self.work.notify_one(),
            None => {}
        }
        for waker in wakers {
            quietly(|| waker.wake());
        }
        for (sender, result) in steered {
            // Whoever sent it may have gone: what became of it is in the journal or nowhere.
            quietly(|| drop(sender.send(result)));
        }
        for state in settled {
            quietly(|| drop(state));
        }
    }

    fn spawn_execution(
        self: &Arc<Self>,
        start: Start,
        cancel: CancellationToken,
        inbox: Arc<Inbox>,
    ) {
        let turn = start.turn_id.clone();
        let task = self
            .runtime
            .spawn(execution::execute(self.clone(), start, cancel, inbox))
            .abort_handle();
        let mut locked = self.lock();
        match locked
            .execution
            .as_mut()
            .filter(|running| running.turn == turn)
        {
            Some(running) => running.task = Some(task),
            // It was abandoned before it began.
            None => {
                drop(locked);
                task.abort();
            }
        }
    }
}

impl Locked {
    /// Applies what the machine decided, in order; what must wait for the lock to be free is put aside.
    fn drain(&mut self, after: &mut After) {
        while let Some(output) = self.machine.poll_output() {
            match output {
                Output::Emit { turn, event } => self.show(after, &turn, event),
                Output::Accepted { turn, result } => {
                    if let Some(state) = self.turns.get(&turn) {
                        after.wakers.extend(state.accepted.give(result));
                    }
                }
                Output::Settle { turn, result } => {
                    if let Some(state) = self.turns.remove(&turn) {
                        after.wakers.extend(state.result.give(*result));
                        after.settled.push(state);
                    }
                    self.execution.take_if(|running| running.turn == turn);
                }
                Output::Steered { ticket, result } => {
                    after
                        .steered
                        .extend(self.steers.remove(&ticket).map(|sender| (sender, result)));
                }
                Output::Respond(start) => {
                    let (cancel, inbox) = (CancellationToken::new(), Arc::new(Inbox::default()));
                    self.execution = Some(Running {
                        turn: start.turn_id.clone(),
                        cancel: cancel.clone(),
                        inbox: inbox.clone(),
                        task: None,
                    });
                    after.start = Some((start, cancel, inbox));
                }
                Output::Signal(turn) => after
                    .signals
                    .extend(self.running(&turn).map(|running| running.cancel.clone())),
                Output::Abandon(turn) => {
                    if let Some(running) = self.execution.take_if(|running| running.turn == turn) {
                        after.aborts.extend(running.task);
                        after.start.take_if(|(start, ..)| start.turn_id == turn);
                    }
                }
                Output::Answer {
                    turn,
                    request,
                    decision,
                } => {
                    self.ask(after, &turn, Request::Answer { request, decision });
                }
                Output::OfferSteer {
                    turn,
                    ticket,
                    input,
                } => self.ask(after, &turn, Request::Steer { ticket, input }),
                Output::WithdrawSteer { turn, ticket } => {
                    self.ask(after, &turn, Request::WithdrawSteer(ticket))
                }
                Output::Acquire { from } => self.command(after, Command::Acquire { from }),
                Output::GiveUpAcquire => self.command(after, Command::GiveUpAcquire),
                Output::Release => self.command(after, Command::Release),
                Output::Append { entry, last } => {
                    self.command(after, Command::Append { entry, last })
                }
                Output::Recover { from } => self.command(after, Command::Recover { from }),
            }
        }
    }

    /// Adds an event to its turn's log, and those right behind it: many deltas cost one lock and one wake.
    fn show(&mut self, after: &mut After, turn: &TurnId, event: ChatEvent) {
        let Some(state) = self.turns.get(turn) else {
            return;
        };
        let mut reading = state.log.lock();
        let mut waker = reading.push(event);
        while let Some(event) = self.machine.poll_event(turn) {
            let next = reading.push(event);
            waker = waker.or(next);
        }
        after.wakers.extend(waker);
    }

    fn running(&self, turn: &TurnId) -> Option<&Running> {
        self.execution
            .as_ref()
            .filter(|running| running.turn == *turn)
    }

    fn ask(&self, after: &mut After, turn: &TurnId, request: Request) {
        if let Some(running) = self.running(turn) {
            running.inbox.put(request);
            after.inboxes.push(running.inbox.clone());
        }
    }

    fn command(&mut self, after: &mut After, command: Command) {
        self.commands.push_back(command);
        let spawn = !std::mem::replace(&mut self.driving, true);
        match after.drive {
            Some(Drive::Spawn) => {}
            Some(Drive::Wake) | None => {
                after.drive = Some(if spawn { Drive::Spawn } else { Drive::Wake })
            }
        }
    }
}
