//! A store in memory, stricter than the real ones: what they let slip in a test, this one refuses.
//!
//! No runtime: waiting for a hold is a future that any executor can poll. Entries are kept as the text the codec writes, so that
//! what can't be written and read back can't hide here.

mod hold;
mod journals;
#[cfg(test)]
mod tests;
mod writer;

use std::{
    cmp::Reverse,
    ops::Bound,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures_core::{future::BoxFuture, stream::BoxStream};
use futures_util::{FutureExt, StreamExt, stream};

use self::{
    journals::{Journals, Lines, Standing},
    writer::Writer,
};
use crate::{
    Acquired, Capabilities, Cursor, Entry, JournalPart, ListRequest, Salvaged, Seq, SessionId,
    SessionPage, Store, StoreError, Timestamp,
};

/// How many entries a read gives at once.
const BATCH: usize = 256;

/// A store in memory. Clones share it; it is gone with the last of them. A hold is handed to whoever waited longest.
///
/// Reading and acquiring cost what they return, and a write costs its entry, however long the journal is. Entries that break a
/// rule are refused with [`StoreError::Misuse`]: a place that is taken or leaves a gap, an id that is used twice, anything but
/// [`recover`](crate::JournalWriter::recover) after an append whose end is unknown.
#[derive(Debug, Clone, Default)]
pub struct MemoryStore(Arc<Mutex<Journals>>);

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, Journals> {
        // A change is whole or not begun: nothing under this lock stops half-way, so poison says nothing.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A journal's lines as they now stand. Shared, so that nothing is read under the lock.
    fn lines(&self, session: &SessionId) -> Result<Lines, StoreError> {
        Ok(self.lock().journal(session)?.lines.clone())
    }
}

impl Store for MemoryStore {
    fn create(
        &self,
        session: &SessionId,
        entries: Vec<Entry>,
    ) -> BoxFuture<'static, Result<(), StoreError>> {
        let (store, session) = (self.clone(), session.clone());
        async move { store.lock().create(&session, &entries) }.boxed()
    }

    fn read(
        &self,
        session: &SessionId,
        from: Seq,
    ) -> BoxStream<'static, Result<JournalPart, StoreError>> {
        let (store, session) = (self.clone(), session.clone());
        // What is there when the reading begins; a writer is not waited for, and not followed.
        let begin = async move {
            match store.lines(&session) {
                Ok(lines) => stream::iter(lines.places(from).step_by(BATCH))
                    .map(move |first| {
                        let batch = lines.entries(&session, first, BATCH)?;
                        Ok(JournalPart::Entries(batch))
                    })
                    .boxed(),
                Err(error) => stream::iter([Err(error)]).boxed(),
            }
        };
        begin.flatten_stream().boxed()
    }

    fn acquire(
        &self,
        session: &SessionId,
        from: Seq,
    ) -> BoxFuture<'static, Result<Acquired, StoreError>> {
        let (store, session) = (self.clone(), session.clone());
        async move {
            let hold = store.hold(&session).await?;
            let entries = store.lines(&session)?.entries_from(&session, from)?;
            Ok(Acquired {
                writer: Box::new(Writer::new(hold)),
                entries,
                torn: None,
            })
        }
        .boxed()
    }

    fn list(&self, page: ListRequest) -> BoxFuture<'static, Result<SessionPage, StoreError>> {
        let store = self.clone();
        async move {
            let after = match &page.after {
                Some(cursor) => Bound::Excluded(parse_cursor(cursor)?),
                None => Bound::Unbounded,
            };
            let (sessions, next) = store.lock().page(after, page.limit.max(1));
            let next =
                next.map(|(Reverse(at), id)| Cursor(format!("{}.{id}", at.as_millis()).into()));
            Ok(SessionPage { sessions, next })
        }
        .boxed()
    }

    fn delete(&self, session: &SessionId) -> BoxFuture<'static, Result<(), StoreError>> {
        let (store, session) = (self.clone(), session.clone());
        async move { store.lock().delete(&session) }.boxed()
    }

    fn is_held(&self, session: &SessionId) -> BoxFuture<'static, Result<bool, StoreError>> {
        let (store, session) = (self.clone(), session.clone());
        async move { Ok(store.lock().journal(&session)?.queue.is_held()) }.boxed()
    }

    fn salvage(
        &self,
        session: &SessionId,
    ) -> BoxFuture<'static, Result<Vec<Salvaged>, StoreError>> {
        let (store, session) = (self.clone(), session.clone());
        async move {
            let entries = store.lines(&session)?.entries_from(&session, Seq::ZERO)?;
            Ok(entries.into_iter().map(Salvaged::Entry).collect())
        }
        .boxed()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::in_memory()
    }
}

fn parse_cursor(cursor: &Cursor) -> Result<Standing, StoreError> {
    let parse = |text: &str| {
        let (at, id) = text.split_once('.')?;
        let at = Timestamp::from_millis(at.parse().ok()?).ok()?;
        Some((Reverse(at), SessionId::parse(id).ok()?))
    };
    parse(&cursor.0)
        .ok_or_else(|| StoreError::backend(format!("{:?} is no cursor of this store", cursor.0)))
}
