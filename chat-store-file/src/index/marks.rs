//! Taking away marks, which are lock files: where a session has one, its journal may have been written since it was indexed. They
//! are set by whoever creates or holds a session, and never taken from under anyone who has it locked.

use std::{fs::TryLockError, path::Path};

use chat_core::{StoreError, hold::Lock};

use super::row::Row;
use crate::{
    hold,
    name::Paths,
    system::{Access, File, FileSystem},
};

/// Takes a session's mark away, where nobody has its files locked and its journal is still as its row says. Whether it is gone.
///
/// Sound by the session's own files alone, whoever else is at it and whatever became of the index's lock.
pub(crate) fn clear(paths: &Paths, row: &Row) -> Result<bool, StoreError> {
    let files = &*paths.folder.files;
    let (turnstile, lock) = (paths.turnstile(), paths.lock());
    let io = |error| StoreError::from_io("look at", paths.journal(), error);
    if files.id_at(&lock).map_err(io)?.is_none() {
        return Ok(true);
    }
    // In the order of those who want the hold, and for itself: one at a time, and none while another is next. The lock is shared,
    // so that nobody is taken for a holder.
    let Some(turn) = hold::try_lock(files, &turnstile)? else {
        return Ok(false);
    };
    let _mark = match share(files, &lock)? {
        Share::Ours(mark) => mark,
        Share::Refused => return Ok(false),
        Share::Gone => return Ok(true),
    };
    // Only a holder takes a turnstile away from under its owner, at a delete: from here on there can't be one.
    if !hold::is_at(files, &*turn, &turnstile).map_err(io)? {
        return Ok(false);
    }
    let found = files.look(&paths.journal()).map_err(io)?;
    if !found.is_some_and(|found| row.is_true_of(&found)) {
        return Ok(false);
    }
    // The turnstile goes last, and nothing is done behind it: until then nobody comes near a new lock. Killed in between, it is
    // what the next holder finds.
    let rooms = Lock::ALL
        .into_iter()
        .filter(|lock| matches!(lock, Lock::Room(_)));
    for path in rooms
        .map(|room| paths.lock_of(room))
        .chain([lock, turnstile])
    {
        let removed = files.remove_if_there(&path);
        removed.map_err(|error| StoreError::from_io("remove", &path, error))?;
    }
    Ok(true)
}

/// A lock beside others who only look, such as those who ask whether a session is held.
enum Share {
    Ours(Box<dyn File>),
    /// Another has it for itself, or the file was replaced in this moment.
    Refused,
    Gone,
}

fn share(files: &dyn FileSystem, path: &Path) -> Result<Share, StoreError> {
    let Some(file) = files.open_plain(path, Access::Read)? else {
        return Ok(Share::Gone);
    };
    match file.try_lock_shared() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(Share::Refused),
        Err(TryLockError::Error(error)) => return Err(StoreError::from_io("lock", path, error)),
    }
    match hold::is_at(files, &*file, path) {
        Ok(true) => Ok(Share::Ours(file)),
        Ok(false) => Ok(Share::Refused),
        Err(error) => Err(StoreError::from_io("look at", path, error)),
    }
}
