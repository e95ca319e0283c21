//! What the machine decided, done: what only changes what handles read at once and in order, under the session's lock; tasks to be
//! woken, spawned or stopped, and whatever may run caller's code, once it is free.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    task::Waker,
};

use chat_core::{ChatEvent, Entry, Output, Seq, SessionMachine, Start, SteerId, TurnId};
use tokio::{sync::oneshot, task::AbortHandle};
use tokio_util::sync::CancellationToken;

use crate::{
    driver,
    execution::{self, Inbox, Request},
    quietly::quietly,
    shared::{Shared, SteerResult},
    turn_state::TurnState,
};

/// What the lock guards.
pub(crate) struct Locked {
    pub(crate) machine: SessionMachine,
    /// The turns that have not settled.
    pub(crate) turns: BTreeMap<TurnId, Arc<TurnState>>,
    pub(crate) steers: BTreeMap<SteerId, oneshot::Sender<SteerResult>>,
    pub(crate) next_steer: u64,
    /// What the driver is to do, in order.
    pub(crate) commands: VecDeque<Command>,
    /// Whether there is a driver.
    pub(crate) driving: bool,
    /// Whether the runtime that drove it is gone: nothing comes of this session any more.
    pub(crate) gone: bool,
    /// Whether its journal was deleted: one that is created under its id is another session's.
    pub(crate) deleted: bool,
    pub(crate) execution: Option<Running>,
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
pub(crate) struct Running {
    turn: TurnId,
    cancel: CancellationToken,
    inbox: Arc<Inbox>,
    task: Option<AbortHandle>,
}

/// What is to be done once the lock is free, in this order.
#[derive(Default)]
pub(crate) struct After {
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
    /// Does what had to wait for the lock.
    pub(crate) fn carry_out(self: &Arc<Self>, after: After) {
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
    /// Whether a turn of this id waits, runs or is in the journal.
    pub(crate) fn has_turn(&self, id: &TurnId) -> bool {
        self.turns.contains_key(id) || self.machine.transcript().turn(id).is_some()
    }

    /// Applies what the machine decided, in order; what must wait for the lock to be free is put aside.
    pub(crate) fn drain(&mut self, after: &mut After) {
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
