//! The hold on a session (law S5): an OS lock on a file beside the database, waited for as [`chat_core::hold`] says. No thread ever
//! waits for a lock. The files are named by the session's row, which is never used again: the file of a deleted session can't be
//! mistaken for another's.

use std::{
    fs::{File, TryLockError},
    io,
    path::PathBuf,
    sync::Arc,
};

use chat_core::{
    StoreError,
    hold::{self, Lock, Locks, Mode, Waiter},
};

use crate::{
    blocking::blocking,
    database::Database,
    system::{self, Access, Existing, FileId},
};

/// The queues of one store, which remembers nothing of sessions.
pub(crate) type Queues = hold::Queues<()>;

/// How many sessions that nobody wants have a queue before it is taken away.
pub(crate) const IDLE: usize = 64;

type Front = hold::Front<()>;

/// The hold. Dropping it lets go: the lock is the open file's, and goes with it, also when the process is killed.
#[derive(Debug)]
pub(crate) struct Hold {
    /// Dropped before the front: the lock is free before this store's next in line looks at it.
    lock: Locked,
    files: Arc<Files>,
    _front: Front,
}

/// The lock files of one session.
#[derive(Debug, Clone)]
struct Files {
    folder: PathBuf,
    row: i64,
}

/// A locked file.
#[derive(Debug)]
pub(crate) struct Locked {
    _file: File,
    id: FileId,
}

impl Hold {
    /// Whether the locked file is still the one at its path; where it is not, someone else may hold the session.
    pub(crate) fn is_ours(&self) -> bool {
        system::path_id(&self.files.path(Lock::Hold)).is_ok_and(|found| found == Some(self.lock.id))
    }

    /// Removes the lock files of a session that is gone. Who waits for them finds that out. One that can't be removed is in
    /// nobody's way.
    pub(crate) fn remove_files(&self) {
        for lock in Lock::ALL {
            let _ = system::remove(&self.files.path(lock));
        }
    }
}

/// Takes the hold on the session of a row, for the front of its queue. Dropping the future gives up the place.
pub(crate) async fn acquire(
    database: &Database,
    row: i64,
    front: Front,
) -> Result<Hold, StoreError> {
    let files = Arc::new(Files::new(database, row));
    let mut waiting = (Waiter::new(), front);
    loop {
        let locks = files.clone();
        // The front goes along: an attempt that is under way when this future is dropped ends before the next in line makes one.
        let attempt = move || Ok((waiting.0.attempt(&*locks)?, waiting));
        let (lock, (mut waiter, front)) = blocking(attempt).await?;
        if let Some(lock) = lock {
            return Ok(Hold {
                lock,
                files,
                _front: front,
            });
        }
        tokio::time::sleep(waiter.pause(fastrand::u32(..))).await;
        waiting = (waiter, front);
    }
}

/// Whether anyone has the hold on the session of a row, in any process.
pub(crate) fn is_held(database: &Database, row: i64) -> Result<bool, StoreError> {
    if !system::is_folder(&database.holds)? {
        return Ok(false);
    }
    let path = Files::new(database, row).path(Lock::Hold);
    let Some(lock) = system::open(&path, Access::Read)? else {
        return Ok(false);
    };
    // Shared: two who ask don't take each other for holders. One who wants the hold in this moment tries again in the next.
    match lock.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(StoreError::from_io("lock", path, error)),
    }
}

impl Files {
    fn new(database: &Database, row: i64) -> Self {
        Self {
            folder: database.holds.clone(),
            row,
        }
    }

    fn path(&self, lock: Lock) -> PathBuf {
        self.folder.join(format!("{}.{}", self.row, lock.name()))
    }
}

impl Locks for Files {
    type Guard = Locked;

    fn try_lock(&self, lock: Lock, mode: Mode) -> Result<Option<Locked>, StoreError> {
        let path = &self.path(lock);
        let io = |action| move |error| StoreError::from_io(action, path, error);
        // Nor is a link on the way to it followed.
        system::is_folder(&self.folder)?;
        // A file is removed only when its session is deleted, and then made again by those who wait: rarely twice in one moment.
        for _ in 0..8 {
            let file = match system::create(path, Existing::Open) {
                Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                    system::make_folder(&self.folder)?;
                    continue;
                }
                created => created?,
            };
            let locked = match mode {
                Mode::Alone => file.try_lock(),
                Mode::Shared => file.try_lock_shared(),
            };
            match locked {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(io("lock")(error)),
            }
            let id = system::file_id(&file).map_err(io("look at"))?;
            if system::path_id(path).map_err(io("look at"))? == Some(id) {
                return Ok(Some(Locked { _file: file, id }));
            }
        }
        Ok(None)
    }

    fn is_in_place(&self, lock: Lock, guard: &Locked) -> Result<bool, StoreError> {
        let path = self.path(lock);
        let found = system::path_id(&path);
        let found = found.map_err(|error| StoreError::from_io("look at", path, error))?;
        Ok(found == Some(guard.id))
    }
}
