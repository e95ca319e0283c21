//! The task that awaits the store for a session: hold, writes, recovery, and the loss of the hold. It runs no caller's code
//! but the store's, and exists only while a turn is queued or under way.

use std::{any::Any, panic::AssertUnwindSafe, sync::Arc};

use chat_core::{Acquired, Appended, JournalWriter, Seq, StoreError};
use futures_core::future::BoxFuture;
use futures_util::FutureExt;

use crate::{outputs::Command, quietly::quietly, shared::Shared};

/// Ends every turn of the session, should the runtime drop the driver before its work is done (law T5).
pub(crate) struct Guard {
    shared: Arc<Shared>,
    armed: bool,
}

impl Guard {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            armed: true,
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if self.armed {
            self.shared.tell(|machine, now| machine.abandon(now));
            // What the machine still asked for is for nobody.
            let mut locked = self.shared.lock();
            locked.commands.clear();
            locked.driving = false;
            locked.gone = true;
        }
        self.shared.let_go.notify_waiters();
    }
}

/// The hold, and the news that it is lost.
struct Hold {
    writer: Box<dyn JournalWriter>,
    lost: Option<BoxFuture<'static, ()>>,
}

/// Lets go of the hold.
fn let_go(hold: &mut Option<Hold>) {
    if let Some(Hold { writer, lost }) = hold.take() {
        quietly(|| drop(lost));
        quietly(|| drop(writer));
    }
}

/// What the driver does next.
enum Next {
    Command(Command),
    HoldLost,
    Stop,
}

/// Carries out a session's commands until there is none left and no hold is held.
pub(crate) async fn drive(mut guard: Guard) {
    let shared = guard.shared.clone();
    let mut hold: Option<Hold> = None;
    loop {
        match next(&shared, hold.as_mut()).await {
            Next::Command(Command::Acquire { from }) => hold = acquire(&shared, from).await,
            // The acquire it was meant for has been answered.
            Next::Command(Command::GiveUpAcquire) => {}
            Next::Command(Command::Release) => let_go(&mut hold),
            Next::Command(Command::Append { entry, last }) => {
                let result = match &mut hold {
                    Some(Hold { writer, lost }) => {
                        let write = async {
                            if last {
                                writer.append_last(*entry).await
                            } else {
                                writer.append(*entry).await
                            }
                        };
                        watched(&shared, lost, write)
                            .await
                            .unwrap_or_else(|panic| Appended::Unknown(panicked(&*panic)))
                    }
                    None => Appended::Fenced,
                };
                if last && matches!(result, Appended::Written) {
                    let_go(&mut hold);
                }
                shared.tell(|machine, now| machine.handle_appended(now, result));
            }
            Next::Command(Command::Recover { from }) => {
                let result = match &mut hold {
                    Some(Hold { writer, lost }) => {
                        watched(&shared, lost, async { writer.recover(from).await })
                            .await
                            .unwrap_or_else(|panic| Err(panicked(&*panic)))
                    }
                    None => Err(StoreError::HoldLost {
                        session: shared.id.clone(),
                    }),
                };
                let result = result.map(|recovered| {
                    if let Some(torn) = &recovered.torn {
                        tracing::warn!(session = %shared.id, bytes = torn.bytes, "a torn tail was set aside");
                    }
                    recovered.entries
                });
                shared.tell(|machine, now| machine.handle_recovered(now, result));
            }
            Next::HoldLost => {
                tracing::warn!(session = %shared.id, "the hold was lost");
                shared.tell(|machine, now| machine.handle_hold_lost(now));
            }
            Next::Stop => break,
        }
        if hold.is_none() {
            shared.let_go.notify_waiters();
        }
    }
    guard.armed = false;
}

/// Waits for the next command, or for the hold to be lost. Without either, the driver stops: the one that is needed next is
/// spawned anew.
async fn next(shared: &Arc<Shared>, mut hold: Option<&mut Hold>) -> Next {
    loop {
        {
            let mut locked = shared.lock();
            if let Some(command) = locked.commands.pop_front() {
                return Next::Command(command);
            }
            if hold.is_none() {
                locked.driving = false;
                return Next::Stop;
            }
        }
        let lost = hold.as_mut().and_then(|hold| hold.lost.as_mut());
        tokio::select! {
            () = shared.work.notified() => {}
            () = until_lost(lost) => {
                if let Some(hold) = &mut hold {
                    hold.lost = None;
                }
                return Next::HoldLost;
            }
        }
    }
}

async fn until_lost(lost: Option<&mut BoxFuture<'static, ()>>) {
    match lost {
        Some(lost) => lost.await,
        None => std::future::pending().await,
    }
}

/// Waits for the hold, unless the machine gives it up. Answers the machine in any case.
async fn acquire(shared: &Arc<Shared>, from: Seq) -> Option<Hold> {
    let acquire = AssertUnwindSafe(async {
        shared.check_there()?;
        let acquired = shared.services.store.acquire(&shared.id, from).await?;
        // Who can't be told of the loss any more has to take it for lost.
        let lost = AssertUnwindSafe(acquired.writer.lost())
            .catch_unwind()
            .map(drop)
            .boxed();
        Ok((acquired, lost))
    })
    .catch_unwind();
    let mut acquire = Box::pin(acquire);
    let result = tokio::select! {
        biased;
        () = given_up(shared) => Err(StoreError::backend("the hold is no longer wanted")),
        result = &mut acquire => result.unwrap_or_else(|panic| Err(panicked(&*panic))),
    };
    quietly(|| drop(acquire));
    match result {
        Ok((
            Acquired {
                writer,
                entries,
                torn,
            },
            lost,
        )) => {
            if let Some(torn) = torn {
                tracing::warn!(session = %shared.id, bytes = torn.bytes, "a torn tail was set aside");
            }
            shared.tell(|machine, now| machine.handle_acquired(now, Ok(entries)));
            Some(Hold {
                writer,
                lost: Some(lost),
            })
        }
        Err(error) => {
            shared.tell(|machine, now| machine.handle_acquired(now, Err(error)));
            None
        }
    }
}

/// Resolves when the machine gives up the acquire that is under way.
async fn given_up(shared: &Arc<Shared>) {
    loop {
        if shared
            .lock()
            .commands
            .pop_front_if(|command| matches!(command, Command::GiveUpAcquire))
            .is_some()
        {
            return;
        }
        shared.work.notified().await;
    }
}

/// Awaits a write, and tells the machine at once should the hold be lost meanwhile.
async fn watched<T>(
    shared: &Arc<Shared>,
    lost: &mut Option<BoxFuture<'static, ()>>,
    write: impl Future<Output = T>,
) -> Result<T, Box<dyn Any + Send>> {
    let mut write = std::pin::pin!(AssertUnwindSafe(write).catch_unwind());
    loop {
        tokio::select! {
            biased;
            result = &mut write => return result,
            () = until_lost(lost.as_mut()) => {
                *lost = None;
                shared.tell(|machine, now| machine.handle_hold_lost(now));
            }
        }
    }
}

fn panicked(payload: &(dyn Any + Send)) -> StoreError {
    let said = payload
        .downcast_ref::<&str>()
        .copied()
        .or(payload.downcast_ref::<String>().map(String::as_str));
    StoreError::backend(format!(
        "the store panicked: {}",
        said.unwrap_or("no message")
    ))
}
