//! Taking away marks, which are lock files: where a session has one, its journal may have been written since it was indexed. They
//! are set by whoever creates or holds a session, and never taken from under anyone who has it locked.

use std::{fs::TryLockError, path::Path};

use chat_core::StoreError;

use super::row::Row;
use crate::{
    hold,
    name::Paths,
    system::{Access, File, FileSystem},
};

/// Takes a session's mark away, where nobody has its files locked and its journal is still as its row says. Whether it is gone.
pub(crate) fn clear(paths: &Paths, row: &Row) -> Result<bool, StoreError> {
    let files = &*paths.folder.files;
    let (turnstile, lock) = (paths.turnstile(), paths.lock());
    let io = |error| StoreError::from_io("look at", paths.journal(), error);
    // In the order of those who want the hold, and both kept until both are removed: who opened one of them before locks a file
    // that has no name any more, finds that out, and looks again.
    let turn = share(files, &turnstile)?;
    let mark = share(files, &lock)?;
    match (&turn, &mark) {
        (Share::Refused, _) | (_, Share::Refused) => return Ok(false),
        (_, Share::Gone) => return Ok(true),
        (Share::Ours(_) | Share::Gone, Share::Ours(_)) => {}
    }
    let found = files.look(&paths.journal()).map_err(io)?;
    if !found.is_some_and(|found| row.is_true_of(&found)) {
        return Ok(false);
    }
    // The mark goes last: killed in between, it is still there.
    for path in [&turnstile, &lock] {
        let removed = files.remove_if_there(path);
        removed.map_err(|error| StoreError::from_io("remove", path, error))?;
    }
    Ok(true)
}

/// A lock beside others who only look, such as those who ask whether a session is held.
enum Share {
    Ours(#[expect(dead_code, reason = "kept for its lock")] Box<dyn File>),
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
