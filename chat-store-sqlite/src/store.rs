//! The store: a database, who is queued for which of its sessions, and the thread that writes. Reading is blocking work on
//! tokio's pool.

use std::{path::Path, sync::Arc};

use chat_core::{
    Acquired, Appended, Capabilities, Durability, Entry, HoldRelease, JournalPart, ListRequest,
    Salvaged, Seq, SessionId, SessionPage, Store, StoreError,
};
use futures_util::future::{BoxFuture, try_join};
use futures_util::stream::BoxStream;

use crate::{
    blocking::blocking,
    change::{Change, Held},
    commit::Committer,
    database::Database,
    hold::{self, Hold, IDLE, Queues},
    journal::Journal,
    list,
    reading::{self, Reading},
    salvage, setup,
    writer::SqliteWriter,
};

/// A store in one SQLite database. Clones are the same store.
///
/// Its futures have to be polled within a tokio runtime whose time driver is enabled. Any number of processes, and any number of
/// stores in one process, may open the same database: a session has one holder among all of them. Dropping the last clone (and
/// the last writer) waits for the write under way and for the database to be closed.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("chat.db");
/// use chat_core::{ListRequest, Store};
/// use chat_store_sqlite::SqliteStore;
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let store = SqliteStore::open(&path)?;
/// assert!(store.list(ListRequest::default()).await?.sessions.is_empty());
/// # Ok::<(), chat_core::StoreError>(())
/// # }).unwrap();
/// ```
#[derive(Debug, Clone)]
pub struct SqliteStore {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) database: Arc<Database>,
    pub(crate) committer: Committer,
    queues: Queues,
}

/// How a [`SqliteStore`] is to be opened.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// use chat_core::{Durability, Store};
/// use chat_store_sqlite::SqliteStore;
///
/// let store = SqliteStore::options().durability(Durability::Os).open(folder.path().join("chat.db"))?;
/// assert_eq!(store.capabilities().durability, Durability::Os);
/// # Ok::<(), chat_core::StoreError>(())
/// ```
#[derive(Debug, Clone, Default)]
#[must_use = "nothing is opened before `open`"]
pub struct SqliteStoreOptions {
    durability: Durability,
}

impl SqliteStoreOptions {
    /// What "durable" is to mean. [`Durability::Full`] unless set. There is no SQLite store in memory: [`Durability::Memory`] is
    /// refused by [`open`](Self::open).
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Opens the database at a path, which is made where there is none (it and its folder readable by their owner only). Blocks for
    /// as long as that takes. The path is always a file's: `:memory:` and URIs have no meaning here.
    ///
    /// # Errors
    /// [`StoreError::Foreign`] where something else stands there: another program's database, any other file, a link.
    /// [`StoreError::NewerFormat`] where a newer program made it. Both leave it untouched. [`StoreError::Backend`] on a file system
    /// where it would not be safe; else what the system said.
    pub fn open(self, path: impl AsRef<Path>) -> Result<SqliteStore, StoreError> {
        let durability = match self.durability {
            durability @ (Durability::Full | Durability::Os) => durability,
            Durability::Memory => {
                return Err(StoreError::backend(
                    "a SQLite store writes to a disk; use MemoryStore to keep sessions in memory",
                ));
            }
        };
        let database = Arc::new(setup::open(path.as_ref(), durability)?);
        let committer = Committer::start(database.clone())
            .map_err(|error| StoreError::from_io("start a thread for", &database.path, error))?;
        Ok(SqliteStore {
            inner: Arc::new(Inner {
                database,
                committer,
                queues: Queues::new(IDLE),
            }),
        })
    }
}

impl SqliteStore {
    /// Opens the database at a path with [`Durability::Full`]: short for [`options`](Self::options) and
    /// [`open`](SqliteStoreOptions::open).
    ///
    /// # Errors
    /// See [`SqliteStoreOptions::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::options().open(path)
    }

    /// Options to open a store with.
    pub fn options() -> SqliteStoreOptions {
        SqliteStoreOptions::default()
    }

    /// The database, as an absolute path whose folder is no link.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.inner.database.path
    }
}

impl Inner {
    /// Which row a session is now.
    async fn find(&self, session: &SessionId) -> Result<Journal, StoreError> {
        let (database, session) = (self.database.clone(), session.clone());
        blocking(move || Ok(reading::find(&database, &session)?.1)).await
    }

    /// Makes sure that a session which is held now is still the one that was waited for, and reads on from a place, where all of
    /// it is known to be durable. `None` where that is not known.
    async fn look(
        &self,
        hold: Hold,
        journal: Journal,
        read: Option<(Seq, Sure)>,
    ) -> Result<(Held, Option<Vec<Entry>>), StoreError> {
        let database = self.database.clone();
        blocking(move || {
            let reading = match Reading::begin(database, &journal.session) {
                Ok(reading) if reading.journal.row == journal.row => reading,
                // The lock files may be new ones, and nobody else will remove them.
                Ok(_) | Err(StoreError::Missing { .. }) => {
                    hold.remove_files();
                    return Err(journal.missing());
                }
                Err(error) => return Err(error),
            };
            let entries = match read {
                Some((from, Sure::Made)) => Some(reading.rest(from)?),
                Some((from, Sure::IfSynced)) if reading.is_synced()? => Some(reading.rest(from)?),
                Some((_, Sure::IfSynced)) | None => None,
            };
            Ok((Held { hold, journal }, entries))
        })
        .await
    }

    async fn acquire(
        self: Arc<Self>,
        session: SessionId,
        from: Seq,
    ) -> Result<Acquired, StoreError> {
        // Side by side: the place in the queue is taken at once, and the session that is waited for is the one there is now.
        let place = async { Ok(self.queues.wait(&session).await) };
        let ((front, interest), journal) = try_join(place, self.find(&session)).await?;
        let hold = hold::acquire(&self.database, journal.row, front).await?;
        let sure = match self.database.durability {
            _ if !self.committer.is_sure() => None,
            Durability::Full => Some((from, Sure::IfSynced)),
            Durability::Os | Durability::Memory => Some((from, Sure::Made)),
        };
        let (held, entries) = match self.look(hold, journal, sure).await? {
            (held, Some(entries)) => (held, entries),
            (Held { hold, journal }, None) => {
                let sure = self.committer.make_sure().await;
                sure.map_err(|error| self.database.or_lost(&session, error))?;
                let made = Some((from, Sure::Made));
                let (held, entries) = self.look(hold, journal, made).await?;
                (held, entries.unwrap_or_default())
            }
        };
        Ok(Acquired {
            writer: Box::new(SqliteWriter::new(self, held, interest)),
            entries,
            torn: None,
        })
    }

    async fn delete(self: Arc<Self>, session: SessionId) -> Result<(), StoreError> {
        let place = async {
            let front = self.queues.wait_unwanted(&session).await;
            front.ok_or_else(|| StoreError::Busy {
                session: session.clone(),
            })
        };
        let (front, journal) = try_join(place, self.find(&session)).await?;
        let hold = hold::acquire(&self.database, journal.row, front).await?;
        let (held, _) = self.look(hold, journal, None).await?;
        self.settle(Change::Delete { held }).await
    }

    /// Makes a change that is no append.
    async fn settle(&self, change: Change) -> Result<(), StoreError> {
        let session = change.session().cloned();
        match (self.committer.write(change).await.0, session) {
            (Appended::Written, _) => Ok(()),
            (Appended::NotWritten(error) | Appended::Unknown(error), _) => Err(error),
            (Appended::Fenced, Some(session)) => Err(StoreError::HoldLost { session }),
            (Appended::Fenced, None) => {
                unreachable!("only a hold can be lost, and it is a session's")
            }
        }
    }
}

/// What is known of the entries before they are read.
#[derive(Debug, Clone, Copy)]
enum Sure {
    /// All of them are as durable as this store makes them.
    Made,
    /// The same, if the last one was written by a store that syncs.
    IfSynced,
}

impl Store for SqliteStore {
    fn create(
        &self,
        session: &SessionId,
        entries: Vec<Entry>,
    ) -> BoxFuture<'static, Result<(), StoreError>> {
        let (inner, session) = (self.inner.clone(), session.clone());
        Box::pin(async move {
            let change = blocking(move || Change::create(session, &entries)).await?;
            inner.settle(change).await
        })
    }

    fn read(
        &self,
        session: &SessionId,
        from: Seq,
    ) -> BoxStream<'static, Result<JournalPart, StoreError>> {
        reading::stream(self.inner.database.clone(), session.clone(), from)
    }

    fn acquire(
        &self,
        session: &SessionId,
        from: Seq,
    ) -> BoxFuture<'static, Result<Acquired, StoreError>> {
        Box::pin(self.inner.clone().acquire(session.clone(), from))
    }

    fn list(&self, page: ListRequest) -> BoxFuture<'static, Result<SessionPage, StoreError>> {
        let database = self.inner.database.clone();
        Box::pin(blocking(move || list::page(&database, &page)))
    }

    fn delete(&self, session: &SessionId) -> BoxFuture<'static, Result<(), StoreError>> {
        Box::pin(self.inner.clone().delete(session.clone()))
    }

    fn is_held(&self, session: &SessionId) -> BoxFuture<'static, Result<bool, StoreError>> {
        let (database, session) = (self.inner.database.clone(), session.clone());
        Box::pin(blocking(move || {
            let (_, journal) = reading::find(&database, &session)?;
            hold::is_held(&database, journal.row)
        }))
    }

    fn salvage(
        &self,
        session: &SessionId,
    ) -> BoxFuture<'static, Result<Vec<Salvaged>, StoreError>> {
        let (database, session) = (self.inner.database.clone(), session.clone());
        Box::pin(blocking(move || salvage::salvage(&database, &session)))
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::persistent(self.inner.database.durability, HoldRelease::AtOnce)
    }
}
