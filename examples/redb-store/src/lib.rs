//! An example of a store of one's own: sessions in one file of redb, an embedded database, for one process. It is complete, and as
//! small as that can honestly be.
//!
//! `tests/laws.rs` proves it with one line, and `tests/power.rs` over a disk that loses its power. The comments here say which law of the contract asked for what; the rest of the
//! store is what anyone would write. What this store does not claim, its capabilities say, and the suite reports it so: other
//! processes can't open it.

mod rows;
mod writer;

use std::{
    collections::HashMap,
    fs::File,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use chat_core::{
    Acquired, Capabilities, Durability, Entry, HoldRelease, JournalPart, ListRequest, Salvaged,
    Seq, SessionId, SessionPage, Store, StoreError,
};
use futures_util::{
    FutureExt as _, StreamExt as _,
    future::BoxFuture,
    stream::{self, BoxStream},
};
use redb::{Builder, Database, StorageBackend, backends::FileBackend};
use tokio::sync::{Mutex as Queue, OwnedMutexGuard};
use writer::Writer;

/// How many entries a reader is given at once.
const BATCH: usize = 256;

/// A store in one file of redb. Clones are the same store.
#[derive(Clone)]
pub struct RedbStore {
    db: Arc<Database>,
    path: PathBuf,
    /// Who holds which session, and who waits for it. A queue is never taken out again: one who waited for a session that was
    /// deleted and made anew must not hold it beside another.
    queues: Arc<Mutex<HashMap<SessionId, Arc<Queue<()>>>>>,
}

/// The hold on a session. It is free when the last clone is dropped: a write that nobody waits for any more keeps one until it
/// has ended (S2).
type Hold = Arc<OwnedMutexGuard<()>>;

impl RedbStore {
    /// Opens the store in a file, which is made where it is not there.
    ///
    /// # Errors
    /// What redb says, that another process has it open among it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref().to_owned();
        // S4: what people said is for its owner's eyes.
        let file = private_file(&path).map_err(|e| StoreError::from_io("open", &path, e))?;
        let file = FileBackend::new(file).map_err(|error| rows::backend(&path, error))?;
        Self::open_on(file, path)
    }

    /// Opens the store on a backend of redb's: how a test gives it a disk that loses its power. `path` is what errors name.
    ///
    /// # Errors
    /// What redb says.
    pub fn open_on(
        backend: impl StorageBackend,
        path: impl Into<PathBuf>,
    ) -> Result<Self, StoreError> {
        let path = path.into();
        let db = Builder::new().create_with_backend(backend);
        let db = db.map_err(|error| rows::backend(&path, error))?;
        Ok(Self {
            db: Arc::new(db),
            path,
            queues: Arc::default(),
        })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Copies the whole store into another file, while no write is under way.
    ///
    /// # Errors
    /// What redb or the system says.
    pub fn back_up(&self, to: impl AsRef<Path>) -> Result<(), StoreError> {
        let (db, path) = (&self.db, &self.path);
        let quiet = db.begin_write().map_err(|e| rows::backend(path, e))?;
        std::fs::copy(path, to).map_err(|error| StoreError::from_io("copy", path, error))?;
        quiet.abort().map_err(|error| rows::backend(path, error))
    }

    fn queue(&self, session: &SessionId) -> Arc<Queue<()>> {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.entry(session.clone()).or_default().clone()
    }

    /// Runs work on the database where it may block.
    fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, StoreError> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, StoreError>> {
        let store = self.clone();
        async move {
            let done = tokio::task::spawn_blocking(move || work(&store)).await;
            done.unwrap_or_else(|error| Err(StoreError::backend(error.to_string())))
        }
        .boxed()
    }
}

impl Store for RedbStore {
    fn create(
        &self,
        session: &SessionId,
        entries: Vec<Entry>,
    ) -> BoxFuture<'static, Result<(), StoreError>> {
        let session = session.clone();
        self.blocking(move |store| rows::create(store, &session, &entries))
    }

    fn read(
        &self,
        session: &SessionId,
        from: Seq,
    ) -> BoxStream<'static, Result<JournalPart, StoreError>> {
        let (store, session) = (self.clone(), session.clone());
        // A reader sees the database as it was when it began, and never waits for a writer (S5). Batches, so that a long journal
        // is never whole in memory (C27). The stream ends behind its first error: `None` is nowhere to go on from.
        stream::unfold(Some((None, from)), move |at| {
            let (store, session) = (store.clone(), session.clone());
            async move {
                let (snapshot, from) = at?;
                let batch = store.blocking(move |store| {
                    let snapshot = match snapshot {
                        Some(snapshot) => snapshot,
                        None => rows::snapshot(store, &session)?,
                    };
                    let read = rows::read(store, &snapshot, &session, from, BATCH);
                    Ok((read, snapshot))
                });
                match batch.await {
                    Err(error) => Some((Err(error), None)),
                    Ok((read, snapshot)) => match (read.entries.last(), read.error) {
                        (None, None) => None,
                        (None, Some(error)) => Some((Err(error), None)),
                        // An error is told of behind the entries before it: reading goes on right where it is (S3).
                        (Some(last), _) => {
                            let next = Some((Some(snapshot), last.seq().next()));
                            Some((Ok(JournalPart::Entries(read.entries)), next))
                        }
                    },
                }
            }
        })
        .boxed()
    }

    fn acquire(
        &self,
        session: &SessionId,
        from: Seq,
    ) -> BoxFuture<'static, Result<Acquired, StoreError>> {
        let (store, session) = (self.clone(), session.clone());
        async move {
            // tokio's mutex is first come, first served, and a dropped waiter gives up its place (S5).
            let hold: Hold = Arc::new(store.queue(&session).lock_owned().await);
            let (kept, named) = (hold.clone(), session.clone());
            let found = store.blocking(move |store| {
                let _kept = kept;
                // Who waited for a session that was deleted meanwhile is told here that it is missing (S7).
                let snapshot = rows::snapshot(store, &named)?;
                let entries = rows::read(store, &snapshot, &named, from, usize::MAX).all()?;
                Ok((entries, rows::next(store, &snapshot, &named)?))
            });
            let (entries, next) = found.await?;
            // What redb shows is committed, and what is committed is synced: nothing to make sure of (S2), and never a torn tail.
            Ok(Acquired {
                writer: Box::new(Writer::new(store, session, hold, next)),
                entries,
                torn: None,
            })
        }
        .boxed()
    }

    fn list(&self, page: ListRequest) -> BoxFuture<'static, Result<SessionPage, StoreError>> {
        self.blocking(move |store| rows::page(store, &page))
    }

    fn delete(&self, session: &SessionId) -> BoxFuture<'static, Result<(), StoreError>> {
        let session = session.clone();
        // S7: refused while someone holds the session. Where someone waits, someone holds: tokio's mutex hands the hold on.
        let hold = self.queue(&session).try_lock_owned();
        self.blocking(move |store| match hold {
            Ok(_hold) => rows::delete(store, &session),
            Err(_) => Err(StoreError::Busy { session }),
        })
    }

    fn is_held(&self, session: &SessionId) -> BoxFuture<'static, Result<bool, StoreError>> {
        let session = session.clone();
        self.blocking(move |store| {
            rows::snapshot(store, &session)?;
            Ok(store.queue(&session).try_lock_owned().is_err())
        })
    }

    fn salvage(
        &self,
        session: &SessionId,
    ) -> BoxFuture<'static, Result<Vec<Salvaged>, StoreError>> {
        let session = session.clone();
        self.blocking(move |store| rows::salvage(store, &session))
    }

    fn capabilities(&self) -> Capabilities {
        // Whatever is not claimed here is not asked of the store, and the suite says so.
        Capabilities::persistent(Durability::Full, HoldRelease::WithProcess).with_shared(false)
    }
}

fn private_file(path: &Path) -> std::io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
