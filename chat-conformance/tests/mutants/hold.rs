//! The locks of a machine: one holder for each session among all processes, in the order they came.

use std::collections::VecDeque;

use chat_core::SessionId;
use futures_util::FutureExt as _;
use tokio::{sync::oneshot, task::spawn_blocking};

use crate::{bug::Bug, disk::Disk};

/// Who has the hold on a session, and who waits for it.
#[derive(Default)]
pub(crate) struct Queue {
    holder: Option<u64>,
    waiting: VecDeque<(u64, oneshot::Sender<Hold>)>,
    /// Mutants only: processes of which someone gave up.
    gave_up: Vec<u64>,
}

impl Queue {
    pub(crate) fn is_held(&self) -> bool {
        self.holder.is_some()
    }

    pub(crate) fn is_held_by(&self, process: u64) -> bool {
        self.holder == Some(process)
    }

    /// Whether a process holds or waits.
    pub(crate) fn is_wanted_by(&self, process: u64) -> bool {
        let mut waiting = self.waiting.iter();
        self.is_held_by(process)
            || self.gave_up.contains(&process)
            || waiting.any(|(who, sender)| *who == process && !sender.is_closed())
    }
}

/// A process's hold on a session; dropped, it goes to whoever waited longest.
pub(crate) struct Hold {
    disk: Disk,
    process: u64,
    session: SessionId,
    bug: Option<Bug>,
    /// Handed on, or of no session any more.
    is_over: bool,
}

impl Hold {
    /// Waits for the hold; `None` where the session went while it was waited for.
    pub(crate) async fn take(
        disk: &Disk,
        process: u64,
        session: &SessionId,
        bug: Option<Bug>,
    ) -> Option<Self> {
        let hold = |is_over| Self {
            disk: disk.clone(),
            process,
            session: session.clone(),
            bug,
            is_over,
        };
        let turn = {
            let mut state = disk.lock();
            let queue = state.queues.entry(session.clone()).or_default();
            let free = match bug {
                Some(Bug::TwoHolders) => return Some(hold(true)),
                Some(Bug::TwoHoldersInTwoProcesses) => !queue.is_held_by(process),
                _ => !queue.is_held(),
            };
            if free {
                queue.holder = Some(process);
                return Some(hold(false));
            }
            let (sender, turn) = oneshot::channel();
            queue.waiting.push_back((process, sender));
            turn
        };
        if bug == Some(Bug::WaitsOnAThread) {
            let waiting = spawn_blocking(move || turn.blocking_recv().ok());
            return waiting.await.ok().flatten();
        }
        turn.map(Result::ok).await
    }

    /// Ends the queue of a session that is gone: whoever waits is told.
    pub(crate) fn end(mut self) {
        let queue = self.disk.lock().queues.remove(&self.session);
        self.is_over = true;
        if self.bug == Some(Bug::DeleteTellsNobodyWhoWaits) {
            // Nobody is woken.
            std::mem::forget(queue);
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let mut state = self.disk.lock();
        let Some(queue) = state.queues.get_mut(&self.session) else {
            return;
        };
        queue.holder = None;
        loop {
            let at_home = |(who, _): &(u64, _)| *who == self.process;
            let next = match self.bug {
                Some(Bug::LastComeFirstServed) => queue.waiting.pop_back(),
                Some(Bug::KeepsAHoldItsOwn) => {
                    let place = queue.waiting.iter().position(at_home).unwrap_or(0);
                    queue.waiting.remove(place)
                }
                _ => queue.waiting.pop_front(),
            };
            let Some((process, sender)) = next else {
                return;
            };
            let hold = Self {
                disk: self.disk.clone(),
                process,
                session: self.session.clone(),
                bug: self.bug,
                is_over: false,
            };
            match sender.send(hold) {
                Ok(()) => {
                    queue.holder = Some(process);
                    return;
                }
                // Whoever waited there has given up.
                Err(mut refused) => {
                    refused.is_over = true;
                    if self.bug == Some(Bug::CountsWhoGaveUpAsBusy) {
                        queue.gave_up.push(process);
                    }
                    if self.bug == Some(Bug::KeepsADroppedPlace) {
                        queue.holder = Some(process);
                        return;
                    }
                }
            }
        }
    }
}
