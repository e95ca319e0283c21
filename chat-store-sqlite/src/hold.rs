//! The hold on a session (law S5): an OS lock on a file beside the database, behind a second one, the turnstile, that keeps
//! processes from starving each other. No thread ever waits for a lock. The files are named by the session's row, which is
//! never used again: the file of a deleted session can't be mistaken for another's.

use std::{
    fs::{File, TryLockError},
    io,
    path::{Path, PathBuf},
};

use chat_core::StoreError;

use crate::{
    blocking::blocking,
    database::Database,
    patience::Backoff,
    queue::Front,
    system::{self, Access, Existing, FileId},
};

/// The hold. Dropping it lets go: the lock is the open file's, and goes with it, also when the process is killed.
#[derive(Debug)]
pub(crate) struct Hold {
    /// Dropped before the front: the lock is free before this store's next in line looks at it.
    lock: Locked,
    files: Files,
    _front: Front,
}

/// The lock files of one session.
#[derive(Debug, Clone)]
struct Files {
    folder: PathBuf,
    hold: PathBuf,
    turnstile: PathBuf,
}

/// A locked file.
#[derive(Debug)]
struct Locked {
    _file: File,
    id: FileId,
}

impl Hold {
    /// Whether the locked file is still the one at its path; where it is not, someone else may hold the session.
    pub(crate) fn is_ours(&self) -> bool {
        system::path_id(&self.files.hold).is_ok_and(|found| found == Some(self.lock.id))
    }

    /// Removes the lock files of a session that is gone. Who waits for them finds that out. One that can't be removed is in
    /// nobody's way.
    pub(crate) fn remove_files(&self) {
        let _ = system::remove(&self.files.turnstile);
        let _ = system::remove(&self.files.hold);
    }
}

/// Takes the hold on the session of a row, for the front of its queue. Dropping the future gives up the place.
pub(crate) async fn acquire(
    database: &Database,
    row: i64,
    front: Front,
) -> Result<Hold, StoreError> {
    let mut waiting = Waiting {
        files: Files::new(database, row),
        front,
        turnstile: None,
    };
    let mut backoff = Backoff::new();
    loop {
        let had_turn = waiting.turnstile.is_some();
        match blocking(move || waiting.attempt()).await? {
            Attempt::Held(hold) => return Ok(hold),
            Attempt::Again(again) => waiting = again,
        }
        if !had_turn && waiting.turnstile.is_some() {
            // Only the holder is before us now.
            backoff = Backoff::new();
        }
        tokio::time::sleep(backoff.next()).await;
    }
}

/// Whether anyone has the hold on the session of a row, in any process.
pub(crate) fn is_held(database: &Database, row: i64) -> Result<bool, StoreError> {
    if !system::is_folder(&database.holds)? {
        return Ok(false);
    }
    let path = Files::new(database, row).hold;
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
        let folder = database.holds.clone();
        let (hold, turnstile) = (
            folder.join(format!("{row}.hold")),
            folder.join(format!("{row}.turn")),
        );
        Self {
            folder,
            hold,
            turnstile,
        }
    }

    /// Locks a file, created where it is not there; `None` where another has it.
    fn try_lock(&self, path: &Path) -> Result<Option<Locked>, StoreError> {
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
            match file.try_lock() {
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
}

/// One waiter, between two attempts.
struct Waiting {
    files: Files,
    front: Front,
    /// Locked once this waiter is the next one of all processes.
    turnstile: Option<Locked>,
}

enum Attempt {
    Held(Hold),
    Again(Waiting),
}

impl Waiting {
    fn attempt(mut self) -> Result<Attempt, StoreError> {
        if self.turnstile.is_none() {
            self.turnstile = self.files.try_lock(&self.files.turnstile)?;
        }
        if self.turnstile.is_none() {
            return Ok(Attempt::Again(self));
        }
        let Some(lock) = self.files.try_lock(&self.files.hold)? else {
            return Ok(Attempt::Again(self));
        };
        // The turnstile is free again when this returns.
        Ok(Attempt::Held(Hold {
            lock,
            files: self.files,
            _front: self.front,
        }))
    }
}
