//! The store: a folder, and who is queued for which of its sessions. Each operation is one piece of blocking work on tokio's
//! pool; nothing runs in between.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use chat_core::{
    Acquired, Capabilities, Durability, Entry, HoldRelease, JournalPart, ListRequest, Recovered,
    Salvaged, Seq, SessionId, SessionPage, Store, StoreError, hold::Backoff,
};
use futures_util::{
    future::BoxFuture,
    stream::{self, BoxStream, StreamExt as _},
};

use crate::{
    blocking::blocking,
    create::{self, Created},
    delete,
    hold::{self, Hold, REMEMBERED, Sessions},
    index::Index,
    list,
    name::Paths,
    reading, salvage,
    system::{self, Disk, FileSystem, Folder, Kind},
    writer::{FileWriter, Held},
};

/// A store of one JSONL file per session in a folder. Clones are the same store.
///
/// Its futures have to be polled within a tokio runtime whose time driver is enabled. Any number of processes, and any number
/// of stores in one process, may open the same folder: a session has one holder among all of them.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// # let folder = folder.path().join(".chat");
/// use chat_core::{ListRequest, Store};
/// use chat_store_file::FileStore;
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let store = FileStore::open(&folder)?;
/// assert!(store.list(ListRequest::default()).await?.sessions.is_empty());
/// # Ok::<(), chat_core::StoreError>(())
/// # }).unwrap();
/// ```
#[derive(Debug, Clone)]
pub struct FileStore {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    folder: Folder,
    durability: Durability,
    sessions: Sessions,
    index: Arc<tokio::sync::Mutex<Index>>,
    /// Whether the folder was made ready for new sessions.
    is_prepared: AtomicBool,
}

/// How a [`FileStore`] is to be opened.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// use chat_core::{Durability, Store};
/// use chat_store_file::FileStore;
///
/// let store = FileStore::options().durability(Durability::Os).open(folder.path())?;
/// assert_eq!(store.capabilities().durability, Durability::Os);
/// # Ok::<(), chat_core::StoreError>(())
/// ```
#[derive(Debug, Clone, Default)]
#[must_use = "nothing is opened before `open`"]
pub struct FileStoreOptions {
    durability: Durability,
}

impl FileStoreOptions {
    /// What "durable" is to mean. [`Durability::Full`] unless set. There is no file store in memory: [`Durability::Memory`] is
    /// refused by [`open`](Self::open).
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Opens the store in a folder, which is created where it is not there (readable by its owner only). Reads nothing in it.
    ///
    /// # Errors
    /// [`StoreError::Foreign`] where something else than a folder stands there, a link to one among them; else what the system
    /// said.
    pub fn open(self, folder: impl AsRef<Path>) -> Result<FileStore, StoreError> {
        self.open_on(Arc::new(Disk), folder.as_ref())
    }

    fn open_on(self, files: Arc<dyn FileSystem>, path: &Path) -> Result<FileStore, StoreError> {
        let durability = match self.durability {
            durability @ (Durability::Full | Durability::Os) => durability,
            Durability::Memory => {
                return Err(StoreError::backend(
                    "a file store writes to a disk; use MemoryStore to keep sessions in memory",
                ));
            }
        };
        let io = |action| move |error| StoreError::from_io(action, path, error);
        // Absolute, so that the store stays where it is when the process changes its folder.
        let path = &std::path::absolute(path).map_err(io("open"))?;
        match files
            .look(path)
            .map_err(io("open"))?
            .map(|found| found.kind)
        {
            Some(Kind::Folder) => {}
            Some(Kind::Link) => {
                return Err(system::foreign(
                    path,
                    "a symbolic link; open the folder it leads to",
                ));
            }
            Some(Kind::Plain | Kind::Other) => return Err(system::foreign(path, "not a folder")),
            None => create_folder(&*files, path, durability).map_err(io("create"))?,
        }
        let path = path.clone();
        Ok(FileStore {
            inner: Arc::new(Inner {
                folder: Folder { files, path },
                durability,
                sessions: Sessions::new(REMEMBERED),
                index: Arc::default(),
                is_prepared: AtomicBool::new(false),
            }),
        })
    }
}

impl Inner {
    /// What a store does before it creates its first session, and one that creates none never does: whoever made the folder
    /// may have been killed before its name was durable, and others may have left what they were writing.
    fn prepare_folder(&self) -> Result<(), StoreError> {
        if self.is_prepared.load(Ordering::Relaxed) {
            return Ok(());
        }
        let Folder { files, path } = &self.folder;
        if let (Durability::Full, Some(above)) = (self.durability, path.parent()) {
            match files.sync_folder(above) {
                // Not ours to open: then we did not make the folder either.
                Err(error) if error.kind() != io::ErrorKind::PermissionDenied => {
                    return Err(StoreError::from_io("sync", above, error));
                }
                Ok(()) | Err(_) => {}
            }
        }
        // What is left is in nobody's way.
        let _ = create::clean_up(&self.folder);
        self.is_prepared.store(true, Ordering::Relaxed);
        Ok(())
    }
}

/// Creates a folder and those above it, each durable before there is anything in it.
fn create_folder(files: &dyn FileSystem, path: &Path, durability: Durability) -> io::Result<()> {
    let above = path.parent().unwrap_or(path);
    let created = match files.create_folder(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && above != path => {
            create_folder(files, above, durability)?;
            files.create_folder(path)
        }
        created => created,
    };
    match created {
        // Another process was first; what it made is what is wanted.
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        Ok(()) | Err(_) => {}
    }
    match durability {
        Durability::Full => files.sync_folder(above),
        Durability::Os | Durability::Memory => Ok(()),
    }
}

impl FileStore {
    /// Opens the store in a folder with [`Durability::Full`]: short for [`options`](Self::options) and
    /// [`open`](FileStoreOptions::open).
    ///
    /// # Errors
    /// See [`FileStoreOptions::open`].
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::options().open(folder)
    }

    /// Options to open a store with.
    pub fn options() -> FileStoreOptions {
        FileStoreOptions::default()
    }

    /// The folder, as an absolute path.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.inner.folder.path
    }

    /// Where a session's journal is, whether or not there is one.
    #[must_use]
    pub fn journal_path(&self, session: &SessionId) -> PathBuf {
        self.paths(session).journal()
    }

    fn paths(&self, session: &SessionId) -> Paths {
        Paths::new(&self.inner.folder, session)
    }
}

impl Store for FileStore {
    fn create(
        &self,
        session: &SessionId,
        entries: Vec<Entry>,
    ) -> BoxFuture<'static, Result<(), StoreError>> {
        let (session, paths, inner) = (session.clone(), self.paths(session), self.inner.clone());
        let entries: Arc<[Entry]> = entries.into();
        Box::pin(async move {
            let mut backoff = Backoff::new();
            loop {
                let (session, paths, inner) = (session.clone(), paths.clone(), inner.clone());
                let entries = entries.clone();
                let attempt = move || {
                    inner.prepare_folder()?;
                    create::create(&session, &paths, inner.durability, &entries)
                };
                match blocking(attempt).await? {
                    Created::Done => return Ok(()),
                    Created::Again => tokio::time::sleep(backoff.next(fastrand::u32(..))).await,
                }
            }
        })
    }

    fn read(
        &self,
        session: &SessionId,
        from: Seq,
    ) -> BoxStream<'static, Result<JournalPart, StoreError>> {
        let (session, paths, inner) = (session.clone(), self.paths(session), self.inner.clone());
        // What is known of the journal is asked when reading begins.
        stream::once(async move {
            let known = inner
                .sessions
                .remembered(&session, |past| past.tail.clone())
                .flatten();
            reading::stream(reading::Request {
                session,
                paths,
                from,
                known,
            })
        })
        .flatten()
        .boxed()
    }

    fn acquire(
        &self,
        session: &SessionId,
        from: Seq,
    ) -> BoxFuture<'static, Result<Acquired, StoreError>> {
        let (session, paths, inner) = (session.clone(), self.paths(session), self.inner.clone());
        Box::pin(async move {
            let (front, interest) = inner.sessions.wait(&session).await;
            let durability = inner.durability;
            let open = {
                let paths = paths.clone();
                let session = session.clone();
                move |hold: Option<Hold>, front: hold::Front| {
                    Held::open(session, paths, durability, hold, front, from)
                }
            };
            match hold::acquire(paths, front, open).await {
                Ok((held, Recovered { entries, torn })) => {
                    let writer = Box::new(FileWriter::new(held, interest));
                    Ok(Acquired {
                        writer,
                        entries,
                        torn,
                    })
                }
                Err(error) => {
                    drop(interest);
                    inner.sessions.forget(&session);
                    Err(error)
                }
            }
        })
    }

    fn list(&self, page: ListRequest) -> BoxFuture<'static, Result<SessionPage, StoreError>> {
        let inner = self.inner.clone();
        Box::pin(async move {
            // Awaited, so that those who wait for one another's list don't take the threads that holders need.
            let mut index = inner.index.clone().lock_owned().await;
            blocking(move || list::page(&mut index, &inner.folder, &page)).await
        })
    }

    fn delete(&self, session: &SessionId) -> BoxFuture<'static, Result<(), StoreError>> {
        let (session, paths, inner) = (session.clone(), self.paths(session), self.inner.clone());
        Box::pin(async move {
            let Some(front) = inner.sessions.wait_unwanted(&session).await else {
                return Err(StoreError::Busy { session });
            };
            let removed = async {
                // Two steps: an attempt that is under way when this future is dropped must not end in a delete.
                let (hold, mut front) =
                    hold::acquire(paths.clone(), front, |hold, front| Ok((hold, front))).await?;
                let session = session.clone();
                blocking(move || delete::delete(&session, &paths, hold, &mut front)).await
            }
            .await;
            inner.sessions.forget(&session);
            removed
        })
    }

    fn is_held(&self, session: &SessionId) -> BoxFuture<'static, Result<bool, StoreError>> {
        let (session, paths) = (session.clone(), self.paths(session));
        Box::pin(blocking(move || {
            if hold::is_held(&paths)? {
                return Ok(true);
            }
            let path = paths.journal();
            match paths.folder.files.id_at(&path) {
                Ok(Some(_)) => Ok(false),
                Ok(None) => Err(StoreError::Missing { session }),
                Err(error) => Err(StoreError::from_io("look at", path, error)),
            }
        }))
    }

    fn salvage(
        &self,
        session: &SessionId,
    ) -> BoxFuture<'static, Result<Vec<Salvaged>, StoreError>> {
        let (session, paths) = (session.clone(), self.paths(session));
        Box::pin(blocking(move || salvage::salvage(&session, &paths)))
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::persistent(self.inner.durability, HoldRelease::AtOnce)
    }
}

#[cfg(test)]
mod tests;
