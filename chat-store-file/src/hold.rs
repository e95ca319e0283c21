//! The hold on a session (law S5): an OS lock on a file beside its journal, behind a second one, the turnstile, that keeps
//! processes from starving each other, behind a queue within this store. No thread ever waits for a lock.

use std::{
    collections::HashMap,
    fs::TryLockError,
    io,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use chat_core::{SessionId, StoreError};
use tokio::sync::OwnedMutexGuard;

use crate::{
    blocking::blocking,
    name::Paths,
    system::{Access, Existing, File, FileSystem},
    tail::{Past, Tail},
};

/// The front of a session's queue in this store, and what the store remembers of the journal.
pub(crate) type Front = OwnedMutexGuard<Past>;

/// How many idle sessions are remembered before all of them are forgotten; a forgotten one is read in full once more.
const REMEMBERED: usize = 1 << 16;

/// The sessions of one store: who is queued here, and where each journal was last known to end.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    sessions: Mutex<HashMap<SessionId, Session>>,
}

/// One session as this store knows it.
#[derive(Debug, Clone, Default)]
struct Session {
    /// The queue for the hold: tokio's mutex is first come, first served.
    queue: Arc<tokio::sync::Mutex<Past>>,
    interest: Interest,
}

/// Kept by everyone who waits for the hold or has it, so that a delete is refused (law S7). It is dropped with the future or
/// writer in the caller's hand, while the work behind those may take a moment more to let go of the queue.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interest(Arc<()>);

impl Session {
    /// Whether only the map has it, and it is nothing that has to be remembered.
    fn is_forgettable(&self) -> bool {
        let is_idle = Arc::strong_count(&self.queue) == 1 && !self.is_wanted();
        is_idle && self.queue.try_lock().is_ok_and(|past| !past.is_doubted)
    }

    fn is_wanted(&self) -> bool {
        Arc::strong_count(&self.interest.0) > 1
    }
}

impl Sessions {
    /// Takes a place in a session's queue and waits for its front. Dropping the future gives up the place.
    pub(crate) async fn queue(&self, session: &SessionId) -> (Front, Interest) {
        let Session { queue, interest } = self.known(session, Session::clone);
        (queue.lock_owned().await, interest)
    }

    /// The front of a queue that is empty, for tests that drive what blocks themselves.
    #[cfg(test)]
    pub(crate) fn front(&self, session: &SessionId) -> Option<(Front, Interest)> {
        let Session { queue, interest } = self.known(session, Session::clone);
        Some((queue.try_lock_owned().ok()?, interest))
    }

    /// Waits for the front of a queue that nobody of this store wants; `None` where someone does.
    pub(crate) async fn queue_unwanted(&self, session: &SessionId) -> Option<Front> {
        let queue = self.known(session, |known| {
            (!known.is_wanted()).then(|| known.queue.clone())
        })?;
        Some(queue.lock_owned().await)
    }

    /// Where a journal was last known to end, unless its holder is at it.
    pub(crate) fn tail(&self, session: &SessionId) -> Option<Tail> {
        let queue = self.lock().get(session)?.queue.clone();
        queue.try_lock().ok()?.tail.clone()
    }

    /// Forgets a session that is not there or can't be held, unless someone else still waits to be told so.
    pub(crate) fn forget(&self, session: &SessionId) {
        let mut sessions = self.lock();
        if sessions.get(session).is_some_and(Session::is_forgettable) {
            sessions.remove(session);
        }
    }

    fn known<T>(&self, session: &SessionId, look: impl FnOnce(&Session) -> T) -> T {
        let mut sessions = self.lock();
        if sessions.len() >= REMEMBERED && !sessions.contains_key(session) {
            sessions.retain(|_, session| !session.is_forgettable());
        }
        look(sessions.entry(session.clone()).or_default())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Session>> {
        // Nothing that is done under the lock can leave it half done.
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

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
        files.remove_if_there(&paths.turnstile())?;
        files.remove_if_there(&paths.lock())
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
    let mut backoff = Backoff::new();
    loop {
        let had_turn = waiting.turnstile.is_some();
        match blocking(move || waiting.attempt()).await? {
            Attempt::Done(done) => return Ok(done),
            Attempt::Again(again) => waiting = again,
        }
        if !had_turn && waiting.turnstile.is_some() {
            // Only the holder is before us now.
            backoff = Backoff::new();
        }
        tokio::time::sleep(backoff.next()).await;
    }
}

/// One waiter, between two attempts.
pub(crate) struct Waiting<F> {
    paths: Paths,
    front: Front,
    then: F,
    /// Locked once this waiter is the next one of all processes.
    turnstile: Option<Box<dyn File>>,
}

pub(crate) enum Attempt<T, F> {
    Done(T),
    /// Another has the hold, or is next.
    Again(Waiting<F>),
}

impl<F> Waiting<F> {
    pub(crate) fn new(paths: Paths, front: Front, then: F) -> Self {
        Self {
            paths,
            front,
            then,
            turnstile: None,
        }
    }

    pub(crate) fn attempt<T>(mut self) -> Result<Attempt<T, F>, StoreError>
    where
        F: FnOnce(Option<Hold>, Front) -> Result<T, StoreError>,
    {
        if !self.journal_exists()? {
            return (self.then)(None, self.front).map(Attempt::Done);
        }
        if self.turnstile.is_none() {
            self.turnstile = try_lock(&*self.paths.folder.files, &self.paths.turnstile())?;
        }
        let Some(_turnstile) = &self.turnstile else {
            return Ok(Attempt::Again(self));
        };
        let Some(lock) = try_lock(&*self.paths.folder.files, &self.paths.lock())? else {
            return Ok(Attempt::Again(self));
        };
        let hold = Hold { lock };
        if !self.journal_exists()? {
            // Deleted in the meantime: the files locked now may be new ones, and nobody else will remove them.
            let _ = hold.remove_files(&self.paths);
            return (self.then)(None, self.front).map(Attempt::Done);
        }
        drop(self.turnstile.take());
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

/// Locks the file at a path, created where it is not there; `None` where another has it.
pub(crate) fn try_lock(
    files: &dyn FileSystem,
    path: &Path,
) -> Result<Option<Box<dyn File>>, StoreError> {
    // A file is replaced only where its session is deleted, or was left alone for long: twice in one moment is not seen.
    for _ in 0..8 {
        let file = files.create_plain(path, Existing::Open)?;
        match file.try_lock() {
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

/// Waits that grow, each a little random so that two waiters don't keep meeting.
pub(crate) struct Backoff {
    next: Duration,
}

impl Backoff {
    const CAP: Duration = Duration::from_millis(25);

    pub(crate) fn new() -> Self {
        Self {
            next: Duration::from_millis(1),
        }
    }

    pub(crate) fn next(&mut self) -> Duration {
        let wait = self.next.mul_f64(0.5 + fastrand::f64() / 2.0);
        self.next = (self.next * 2).min(Self::CAP);
        wait
    }
}
