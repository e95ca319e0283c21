//! The hold on a session (law S5): an OS lock on a file beside its journal, waited for as [`chat_core::hold`] says. No thread ever
//! waits for a lock.

use std::{fs::TryLockError, io, path::Path};

use chat_core::{
    StoreError,
    hold::{self, Lock, Locks, Mode, Waiter},
};

use crate::{
    blocking::blocking,
    name::Paths,
    system::{Access, Existing, File, FileSystem},
    tail::Past,
};

/// The front of a session's queue in this store, and what the store remembers of the journal.
pub(crate) type Front = hold::Front<Past>;

/// The sessions of one store: who is queued here, and where each journal was last known to end.
pub(crate) type Sessions = hold::Queues<Past>;

/// How many idle sessions are remembered before all of them are forgotten; a forgotten one is read in full once more.
pub(crate) const REMEMBERED: usize = 1 << 16;

/// The hold. Dropping it lets go: the lock is the open file's, and goes with it, also when the process is killed.
#[derive(Debug)]
pub(crate) struct Hold {
    lock: Box<dyn File>,
}

impl Hold {
    /// The hold on a session that is about to be there: who wants it waits, and its lock file is there before it. `None` where
    /// someone has it, such as a delete that is ending.
    pub(crate) fn before_creating(paths: &Paths) -> Result<Option<Self>, StoreError> {
        let lock = try_lock(&*paths.folder.files, &paths.lock())?;
        Ok(lock.map(|lock| Self { lock }))
    }

    /// Whether the locked file is still the one at its path; where it is not, someone else may hold the session.
    pub(crate) fn is_ours(&self, paths: &Paths) -> Result<bool, StoreError> {
        let path = paths.lock();
        is_at(&*paths.folder.files, &*self.lock, &path)
            .map_err(|error| StoreError::from_io("look at", path, error))
    }

    /// Removes the lock files of a session that is gone. Who waits for them finds that out, and looks again.
    pub(crate) fn remove_files(&self, paths: &Paths) -> io::Result<()> {
        let files = &paths.folder.files;
        let mut all = Lock::ALL.into_iter();
        all.try_for_each(|lock| files.remove_if_there(&paths.lock_of(lock)))
    }
}

impl Locks for Paths {
    type Guard = Box<dyn File>;

    fn try_lock(&self, lock: Lock, mode: Mode) -> Result<Option<Box<dyn File>>, StoreError> {
        try_lock_as(&*self.folder.files, &self.lock_of(lock), mode)
    }

    fn is_in_place(&self, lock: Lock, guard: &Box<dyn File>) -> Result<bool, StoreError> {
        let path = self.lock_of(lock);
        is_at(&*self.folder.files, &**guard, &path)
            .map_err(|error| StoreError::from_io("look at", path, error))
    }
}

/// Takes the hold for the front of a queue, then runs `then` on the same blocking thread. Dropping the future gives up the place; a
/// `then` that has begun ends first, and lets go of whatever it returns.
///
/// `then` gets `None` where there is no such session.
pub(crate) async fn acquire<T: Send + 'static>(
    paths: Paths,
    front: Front,
    then: impl FnOnce(Option<Hold>, Front) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let mut waiting = Waiting::new(paths, front, then);
    loop {
        match blocking(move || waiting.attempt()).await? {
            Attempt::Done(done) => return Ok(done),
            Attempt::Again(again) => waiting = again,
        }
        tokio::time::sleep(waiting.waiter.pause(fastrand::u32(..))).await;
    }
}

/// One waiter, between two attempts.
pub(crate) struct Waiting<F> {
    paths: Paths,
    front: Front,
    then: F,
    waiter: Waiter<Box<dyn File>>,
}

pub(crate) enum Attempt<T, F> {
    Done(T),
    /// Another has the hold, or was here first.
    Again(Waiting<F>),
}

impl<F> Waiting<F> {
    pub(crate) fn new(paths: Paths, front: Front, then: F) -> Self {
        Self {
            paths,
            front,
            then,
            waiter: Waiter::new(),
        }
    }

    pub(crate) fn attempt<T>(mut self) -> Result<Attempt<T, F>, StoreError>
    where
        F: FnOnce(Option<Hold>, Front) -> Result<T, StoreError>,
    {
        if !self.journal_exists()? {
            return (self.then)(None, self.front).map(Attempt::Done);
        }
        let Some(lock) = self.waiter.attempt(&self.paths)? else {
            return Ok(Attempt::Again(self));
        };
        let hold = Hold { lock };
        if !self.journal_exists()? {
            // Deleted in the meantime: the files locked now may be new ones, and nobody else will remove them.
            let _ = hold.remove_files(&self.paths);
            return (self.then)(None, self.front).map(Attempt::Done);
        }
        (self.then)(Some(hold), self.front).map(Attempt::Done)
    }

    fn journal_exists(&self) -> Result<bool, StoreError> {
        let path = self.paths.journal();
        match self.paths.folder.files.id_at(&path) {
            Ok(id) => Ok(id.is_some()),
            Err(error) => Err(StoreError::from_io("look at", path, error)),
        }
    }
}

/// Whether anyone has the hold, in any process.
pub(crate) fn is_held(paths: &Paths) -> Result<bool, StoreError> {
    let path = paths.lock();
    let Some(lock) = paths.folder.files.open_plain(&path, Access::Read)? else {
        return Ok(false);
    };
    // Shared: two who ask don't take each other for holders. One who wants the hold in this moment tries again in the next.
    match lock.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(StoreError::from_io("lock", path, error)),
    }
}

/// Locks the file at a path for its owner alone, created where it is not there; `None` where another has it.
pub(crate) fn try_lock(
    files: &dyn FileSystem,
    path: &Path,
) -> Result<Option<Box<dyn File>>, StoreError> {
    try_lock_as(files, path, Mode::Alone)
}

fn try_lock_as(
    files: &dyn FileSystem,
    path: &Path,
    mode: Mode,
) -> Result<Option<Box<dyn File>>, StoreError> {
    // A file is replaced only where its session is deleted, or was left alone for long: twice in one moment is not seen.
    for _ in 0..8 {
        let file = files.create_plain(path, Existing::Open)?;
        let locked = match mode {
            Mode::Alone => file.try_lock(),
            Mode::Shared => file.try_lock_shared(),
        };
        match locked {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => {
                return Err(StoreError::from_io("lock", path, error));
            }
        }
        if is_at(files, &*file, path)
            .map_err(|error| StoreError::from_io("look at", path, error))?
        {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

/// Whether a file is still the one at a path.
pub(crate) fn is_at(files: &dyn FileSystem, file: &dyn File, path: &Path) -> io::Result<bool> {
    Ok(files.id_at(path)? == Some(file.metadata()?.id))
}
