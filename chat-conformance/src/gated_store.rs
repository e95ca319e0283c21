//! A store around any store whose operations a test can hold back, fail, or lose the hold of: one race, made repeatable.
//! It keeps nothing of its own and never sleeps; what it does not fault is the inner store's.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chat_core::{
    Acquired, Appended, Capabilities, Entry, JournalPart, JournalWriter, ListRequest, Recovered,
    Salvaged, Seq, SessionId, SessionPage, Store, StoreError,
};
use futures_util::{
    FutureExt as _, StreamExt as _,
    future::{self, BoxFuture},
    stream::{self, BoxStream},
};
use tokio::sync::watch;

use crate::gate::{Fault, Gate, Op, Seen, Visit};

/// A store around a store, with a [`Gate`] in a test's hand. Clones are the same store.
///
/// An operation is counted, and stopped, when its future is first polled.
///
/// ```
/// use chat_conformance::{Fault, GatedStore, Op};
/// use chat_core::MemoryStore;
///
/// # let _ = async {
/// let (store, gate) = GatedStore::new(MemoryStore::new());
///
/// gate.next(Op::Append).answer(Fault::UnknownWritten);       // the next append: written, and nobody knows
/// gate.nth(Op::Acquire, 3).answer(Fault::NotWritten);        // the third acquire fails
///
/// let pause = gate.pause(Op::AppendLast);                    // the outcome waits before it is written ...
/// pause.reached().await;
/// pause.release();                                           // ... until now: or `pause.answer(Fault::Fenced)`
///
/// gate.reached(Op::Acquire, 1).await;                        // waits without polling or sleeping
/// gate.all_released().await;
/// assert_eq!(gate.count(Op::Append), 1);
/// # };
/// ```
#[derive(Debug)]
pub struct GatedStore<S> {
    inner: Arc<S>,
    gate: Gate,
}

impl<S> Clone for GatedStore<S> {
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
            gate: self.gate.clone(),
        }
    }
}

impl<S: Store> GatedStore<S> {
    /// A gate around a store: with nothing planned, everything passes.
    #[must_use]
    pub fn new(inner: S) -> (Self, Gate) {
        let gate = Gate::new();
        (
            Self {
                inner: Arc::new(inner),
                gate: gate.clone(),
            },
            gate,
        )
    }

    /// The store behind the gate: what is asked of it is not seen by the gate.
    #[must_use]
    pub fn inner(&self) -> &S {
        &self.inner
    }

    /// Sends an operation through the gate; `store` begins it.
    fn pass<T: Send + 'static>(
        &self,
        seen: Seen,
        store: impl FnOnce(&S) -> BoxFuture<'static, Result<T, StoreError>> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, StoreError>> {
        let Self { inner, gate } = self.clone();
        Box::pin(async move {
            let (op, session) = (seen.op, seen.session.clone());
            let error = |fault: Fault| fault.error(op, session.as_ref());
            let mut visit = gate.enter(seen);
            let done = match visit.before().await {
                None => store(&inner).await?,
                Some(fault @ Fault::UnknownWritten) => {
                    drop(store(&inner).await?);
                    return Err(error(fault));
                }
                Some(fault) => return Err(error(fault)),
            };
            match visit.after().await {
                None => Ok(done),
                Some(fault) => Err(error(fault)),
            }
        })
    }
}

impl Fault {
    /// The error of an operation that goes wrong in this way.
    fn error(self, op: Op, session: Option<&SessionId>) -> StoreError {
        match (self, session) {
            (Self::Fails(error), _) => error,
            (Self::Fenced, Some(session)) => StoreError::HoldLost {
                session: session.clone(),
            },
            (
                Self::NotWritten | Self::UnknownWritten | Self::UnknownNotWritten | Self::Fenced,
                _,
            ) => StoreError::backend(format!("the test failed this {op}")),
        }
    }
}

impl<S: Store> Store for GatedStore<S> {
    fn create(
        &self,
        session: &SessionId,
        entries: Vec<Entry>,
    ) -> BoxFuture<'static, Result<(), StoreError>> {
        let id = session.clone();
        self.pass(Seen::new(Op::Create, Some(session)), move |store| {
            store.create(&id, entries)
        })
    }

    fn read(
        &self,
        session: &SessionId,
        from: Seq,
    ) -> BoxStream<'static, Result<JournalPart, StoreError>> {
        let id = session.clone();
        let opened = self.pass(
            Seen::new(Op::Read, Some(session)).from(from),
            move |store| {
                let parts = store.read(&id, from);
                future::ready(Ok(parts)).boxed()
            },
        );
        stream::once(opened)
            .flat_map(|opened| match opened {
                Ok(parts) => parts,
                Err(error) => stream::once(future::ready(Err(error))).boxed(),
            })
            .boxed()
    }

    fn acquire(
        &self,
        session: &SessionId,
        from: Seq,
    ) -> BoxFuture<'static, Result<Acquired, StoreError>> {
        let (id, this) = (session.clone(), self.clone());
        self.pass(
            Seen::new(Op::Acquire, Some(session)).from(from),
            move |store| {
                let acquired = store.acquire(&id, from);
                Box::pin(async move { Ok(this.lend(id, acquired.await?)) })
            },
        )
    }

    fn list(&self, page: ListRequest) -> BoxFuture<'static, Result<SessionPage, StoreError>> {
        self.pass(Seen::new(Op::List, None), move |store| store.list(page))
    }

    fn delete(&self, session: &SessionId) -> BoxFuture<'static, Result<(), StoreError>> {
        let id = session.clone();
        self.pass(Seen::new(Op::Delete, Some(session)), move |store| {
            store.delete(&id)
        })
    }

    fn is_held(&self, session: &SessionId) -> BoxFuture<'static, Result<bool, StoreError>> {
        let id = session.clone();
        self.pass(Seen::new(Op::IsHeld, Some(session)), move |store| {
            store.is_held(&id)
        })
    }

    fn salvage(
        &self,
        session: &SessionId,
    ) -> BoxFuture<'static, Result<Vec<Salvaged>, StoreError>> {
        let id = session.clone();
        self.pass(Seen::new(Op::Salvage, Some(session)), move |store| {
            store.salvage(&id)
        })
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }
}

impl<S: Store> GatedStore<S> {
    fn lend(&self, session: SessionId, acquired: Acquired) -> Acquired {
        let hold = Arc::new(Hold {
            session,
            lost: watch::Sender::new(false),
            inner: Mutex::new(Inner {
                writer: Some(acquired.writer),
                unsure: false,
            }),
        });
        self.gate.lend(&hold);
        let writer = GatedWriter {
            store: self.clone(),
            hold: Some(hold),
            unknown: false,
        };
        Acquired {
            writer: Box::new(writer),
            ..acquired
        }
    }
}

/// What the gate and the writer share: the inner hold, which the gate can lose while the writer is busy.
pub(crate) struct Hold {
    session: SessionId,
    lost: watch::Sender<bool>,
    inner: Mutex<Inner>,
}

struct Inner {
    /// `None` while an operation has it, and for good once the hold is lost.
    writer: Option<Box<dyn JournalWriter>>,
    /// Whether the inner writer itself does not know what it wrote.
    unsure: bool,
}

impl Hold {
    pub(crate) fn session(&self) -> &SessionId {
        &self.session
    }

    /// Loses the hold: the inner writer is dropped, at once or when the write that has it ends.
    pub(crate) fn lose(&self) {
        self.lost.send_replace(true);
        let writer = self.inner().writer.take();
        drop(writer);
    }

    fn is_lost(&self) -> bool {
        *self.lost.borrow()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the inner writer for one operation; it comes back however that ends. `None` where the hold is lost.
    fn borrow_writer(&self) -> Option<Borrowed<'_>> {
        let writer = self.inner().writer.take()?;
        Some(Borrowed {
            hold: self,
            writer: Some(writer),
        })
    }
}

struct Borrowed<'a> {
    hold: &'a Hold,
    writer: Option<Box<dyn JournalWriter>>,
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        let mut inner = self.hold.inner();
        if !self.hold.is_lost() {
            inner.writer = self.writer.take();
        }
    }
}

struct GatedWriter<S> {
    store: GatedStore<S>,
    /// `None` only in the middle of being dropped.
    hold: Option<Arc<Hold>>,
    /// Whether only `recover` may come next.
    unknown: bool,
}

impl<S> Drop for GatedWriter<S> {
    fn drop(&mut self) {
        drop(self.hold.take());
        self.store.gate.take_back();
    }
}

impl<S: Store> GatedWriter<S> {
    fn hold(&self) -> &Hold {
        self.hold
            .as_deref()
            .expect("a writer has its hold until it is dropped")
    }

    async fn write(&mut self, op: Op, entry: Entry) -> Appended {
        let session = self.hold().session().clone();
        let mut visit = self
            .store
            .gate
            .enter(Seen::new(op, Some(&session)).entry(&entry));
        if self.unknown {
            let what = format!("{op} after an unknown write: recover first").into();
            return Appended::NotWritten(StoreError::Misuse { session, what });
        }
        // Unknown until answered: so a dropped future leaves it.
        self.unknown = true;
        let answer = self.write_through(&mut visit, op, entry).await;
        let answer = match visit.after().await {
            None => answer,
            Some(fault) => self.faulted(fault, op),
        };
        self.unknown = matches!(answer, Appended::Unknown(_));
        answer
    }

    async fn write_through(&self, visit: &mut Visit, op: Op, entry: Entry) -> Appended {
        match visit.before().await {
            None => self.ask(op, entry).await,
            // Not as the last one: an unknown answer must not let go of the hold.
            Some(fault @ Fault::UnknownWritten) => match self.ask(Op::Append, entry).await {
                Appended::Written => self.faulted(fault, op),
                other @ (Appended::NotWritten(_) | Appended::Unknown(_) | Appended::Fenced) => {
                    other
                }
            },
            Some(fault) => self.faulted(fault, op),
        }
    }

    async fn ask(&self, op: Op, entry: Entry) -> Appended {
        let hold = self.hold();
        let Some(mut borrowed) = hold.borrow_writer() else {
            return Appended::Fenced;
        };
        hold.inner().unsure = true;
        let writer = borrowed.writer.as_mut().expect("borrowed until dropped");
        let answer = if op == Op::AppendLast {
            writer.append_last(entry).await
        } else {
            writer.append(entry).await
        };
        hold.inner().unsure = matches!(answer, Appended::Unknown(_));
        answer
    }

    fn faulted(&self, fault: Fault, op: Op) -> Appended {
        match fault {
            Fault::NotWritten | Fault::Fails(_) => {
                Appended::NotWritten(fault.error(op, Some(self.hold().session())))
            }
            Fault::UnknownWritten | Fault::UnknownNotWritten => {
                Appended::Unknown(fault.error(op, Some(self.hold().session())))
            }
            Fault::Fenced => {
                self.hold().lose();
                Appended::Fenced
            }
        }
    }

    async fn recover_through(&self, from: Seq) -> Result<Recovered, StoreError> {
        let hold = self.hold();
        let session = hold.session().clone();
        let mut borrowed = hold.borrow_writer().ok_or(StoreError::HoldLost {
            session: session.clone(),
        })?;
        let unsure = hold.inner().unsure;
        if unsure {
            let writer = borrowed.writer.as_mut().expect("borrowed until dropped");
            let recovered = writer.recover(from).await?;
            hold.inner().unsure = false;
            return Ok(recovered);
        }
        // Only the gate called the write unknown; a strict inner writer refuses to recover from what it knows.
        let mut recovered = Recovered::default();
        let mut parts = self.store.inner.read(&session, from);
        while let Some(part) = parts.next().await {
            match part? {
                JournalPart::Entries(entries) => recovered.entries.extend(entries),
                JournalPart::Torn(torn) => recovered.torn = Some(torn),
            }
        }
        Ok(recovered)
    }
}

impl<S: Store> JournalWriter for GatedWriter<S> {
    fn append(&mut self, entry: Entry) -> BoxFuture<'_, Appended> {
        Box::pin(self.write(Op::Append, entry))
    }

    fn append_last(&mut self, entry: Entry) -> BoxFuture<'_, Appended> {
        Box::pin(self.write(Op::AppendLast, entry))
    }

    fn recover(&mut self, from: Seq) -> BoxFuture<'_, Result<Recovered, StoreError>> {
        Box::pin(async move {
            let session = self.hold().session().clone();
            let mut visit = self
                .store
                .gate
                .enter(Seen::new(Op::Recover, Some(&session)).from(from));
            let recovered = match visit.before().await {
                None => self.recover_through(from).await?,
                Some(fault) => {
                    if matches!(fault, Fault::Fenced) {
                        self.hold().lose();
                    }
                    return Err(fault.error(Op::Recover, Some(&session)));
                }
            };
            if let Some(fault) = visit.after().await {
                return Err(fault.error(Op::Recover, Some(&session)));
            }
            self.unknown = false;
            Ok(recovered)
        })
    }

    fn lost(&self) -> BoxFuture<'static, ()> {
        let hold = self.hold();
        let mut lost = hold.lost.subscribe();
        let inner = hold
            .inner()
            .writer
            .as_ref()
            .map_or_else(|| future::pending().boxed(), |writer| writer.lost());
        Box::pin(async move {
            let lost = async move {
                // A writer that is gone was not lost: its holder let go of it.
                if lost.wait_for(|lost| *lost).await.is_err() {
                    future::pending::<()>().await;
                }
            };
            future::select(Box::pin(lost), inner).await;
        })
    }
}
