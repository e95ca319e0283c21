//! The writing side of a store, as the rest of it sees it: a thread that is sent changes and answers each. It ends with its store.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread::JoinHandle,
};

use chat_core::{Appended, StoreError};
use tokio::sync::oneshot;

use crate::{change::Change, database::Database};
use arrivals::Arrivals;

mod arrivals;
mod sure;
mod thread;

/// The writing side of a store. Dropping it ends the thread, once what is under way is done.
#[derive(Debug)]
pub(crate) struct Committer {
    /// `None` while it is being dropped.
    orders: Option<mpsc::Sender<Order>>,
    thread: Option<JoinHandle<()>>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Whether all that can be read is known to be durable, as far as this store can tell.
    sure: AtomicBool,
    /// Nobody waits for an answer any more.
    closing: AtomicBool,
    #[cfg(test)]
    faults: tests::Faults,
}

enum Order {
    Write(Write),
    MakeSure(oneshot::Sender<Result<(), StoreError>>),
}

struct Write {
    change: Change,
    answer: oneshot::Sender<(Appended, Change)>,
}

impl Committer {
    pub(crate) fn start(database: Arc<Database>) -> io::Result<Self> {
        let (orders, received) = mpsc::channel();
        let shared = Arc::new(Shared::default());
        let thread = thread::Thread::new(database, shared.clone(), Arrivals::new(received));
        let thread = std::thread::Builder::new()
            .name("chat-store-sqlite".into())
            .spawn(move || thread.run())?;
        Ok(Self {
            orders: Some(orders),
            thread: Some(thread),
            shared,
        })
    }

    /// Makes a change. It comes back with the answer, except where the thread is gone.
    ///
    /// Dropping the future does not stop it.
    pub(crate) async fn write(&self, change: Change) -> (Appended, Option<Change>) {
        let (answer, answered) = oneshot::channel();
        if let Err(error) = self.send(Order::Write(Write { change, answer })) {
            return (Appended::NotWritten(error), None);
        }
        match answered.await {
            Ok((answer, change)) => (answer, Some(change)),
            Err(_) => (Appended::Unknown(gone()), None),
        }
    }

    /// Whether all that can be read is durable already, so that nobody need ask.
    pub(crate) fn is_sure(&self) -> bool {
        self.shared.sure.load(Ordering::Acquire)
    }

    /// Makes all that can be read durable.
    pub(crate) async fn make_sure(&self) -> Result<(), StoreError> {
        let (answer, answered) = oneshot::channel();
        self.send(Order::MakeSure(answer))?;
        answered.await.unwrap_or_else(|_| Err(gone()))
    }

    fn send(&self, order: Order) -> Result<(), StoreError> {
        let orders = self.orders.as_ref().ok_or_else(gone)?;
        orders.send(order).map_err(|_| gone())
    }
}

fn gone() -> StoreError {
    StoreError::backend("the SQLite store's thread is gone; please report it")
}

impl Drop for Committer {
    fn drop(&mut self) {
        self.shared.closing.store(true, Ordering::Release);
        drop(self.orders.take());
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != std::thread::current().id()
        {
            // A panic in there was told to whoever waited for an answer.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests;
