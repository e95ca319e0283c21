//! What differs from system to system: private files, links that are not followed, which file a file is. No policy.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use chat_core::StoreError;

#[cfg(unix)]
mod unix;
#[cfg(unix)]
use unix as this;

#[cfg(not(unix))]
mod portable;
#[cfg(not(unix))]
use portable as this;

pub(crate) use this::{FileId, file_id, may_read, names, path_id, rename_new};

/// What a file is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// What to do where a file to be created is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Existing {
    Open,
    Refuse,
}

/// Opens a plain file; `None` where it is not there. Links and other things are refused.
pub(crate) fn open(path: &Path, access: Access) -> Result<Option<File>, StoreError> {
    match this::open(path, access) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        opened => check_plain("open", path, opened).map(Some),
    }
}

/// Creates a plain file for writing, private to its owner. Links and other things at its place are refused.
pub(crate) fn create(path: &Path, existing: Existing) -> Result<File, StoreError> {
    check_plain("create", path, this::create(path, existing))
}

/// Creates a plain file where there is nothing, and says what the system says.
pub(crate) fn create_new(path: &Path) -> io::Result<File> {
    this::create(path, Existing::Refuse)
}

fn check_plain(
    action: &'static str,
    path: &Path,
    opened: io::Result<File>,
) -> Result<File, StoreError> {
    let io = |error| StoreError::from_io(action, path, error);
    let file = match opened {
        Ok(file) => file,
        Err(error) if this::is_link_error(&error) => {
            return Err(foreign(path, "a symbolic link, which is not followed"));
        }
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => {
            return Err(foreign(path, "a folder"));
        }
        Err(error) => return Err(io(error)),
    };
    if file.metadata().map_err(io)?.is_file() {
        Ok(file)
    } else {
        Err(foreign(path, "not a plain file"))
    }
}

/// Whether there is a folder. Links and other things at its place are refused.
pub(crate) fn is_folder(path: &Path) -> Result<bool, StoreError> {
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => Ok(true),
        Ok(found) if found.is_symlink() => {
            Err(foreign(path, "a symbolic link, which is not followed"))
        }
        Ok(_) => Err(foreign(path, "not a folder")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(StoreError::from_io("look at", path, error)),
    }
}

/// Creates a folder, private to its owner, where there is none. Links and other things at its place are refused.
pub(crate) fn make_folder(path: &Path) -> Result<(), StoreError> {
    if is_folder(path)? {
        return Ok(());
    }
    create_folder(path).map_err(|error| StoreError::from_io("create", path, error))?;
    is_folder(path).map(drop)
}

/// Creates a folder and those above it, private to their owner, each durable in the one above it.
pub(crate) fn create_folder(path: &Path) -> io::Result<()> {
    let is_missing = |folder: &&Path| {
        !folder.as_os_str().is_empty() && path_id(folder).is_ok_and(|found| found.is_none())
    };
    let missing: Vec<_> = path.ancestors().take_while(is_missing).collect();
    for folder in missing.into_iter().rev() {
        match this::create_folder(folder) {
            // Another process was faster.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => created?,
        }
        let above = match folder.parent() {
            Some(above) if !above.as_os_str().is_empty() => above,
            _ => Path::new("."),
        };
        sync_folder(above)?;
    }
    Ok(())
}

/// Makes names that were added to a folder or removed from it durable.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    #[cfg(test)]
    SYNCED.with_borrow_mut(|synced| synced.push(path.to_owned()));
    this::sync_folder(path)
}

#[cfg(test)]
thread_local! {
    /// Every folder that was synced.
    static SYNCED: std::cell::RefCell<Vec<PathBuf>> = const { std::cell::RefCell::new(Vec::new()) };
}

pub(crate) fn foreign(path: &Path, what: impl Into<Arc<str>>) -> StoreError {
    StoreError::Foreign {
        path: path.to_owned(),
        what: what.into(),
    }
}

/// Removes a file; one that is not there is removed already.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// A path with something put behind its last name.
pub(crate) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SqliteStore;

    #[test]
    fn s1_every_folder_that_open_makes_is_durable_in_the_one_above() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("a")).unwrap();
        let path = root.join("a/b/c/chat.db");
        SYNCED.take();
        drop(SqliteStore::open(&path).unwrap());
        let synced = SYNCED.take();
        // The folders b and c, that of the locks, and what was renamed out of it.
        let expected = ["a", "a/b", "a/b/c", "a/b/c", "a/b/c/chat.db-holds"];
        assert_eq!(synced, expected.map(|folder| root.join(folder)));
        drop(SqliteStore::open(&path).unwrap());
        assert!(SYNCED.take().is_empty(), "all of it was there");
    }
}
