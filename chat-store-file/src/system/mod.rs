//! What differs from system to system: private files, links that are not followed, which file a file is. No policy.

use std::{fs::File, io, path::Path, sync::Arc};

use chat_core::StoreError;

#[cfg(unix)]
mod unix;
#[cfg(unix)]
use unix as this;

#[cfg(not(unix))]
mod portable;
#[cfg(not(unix))]
use portable as this;

pub(crate) use this::{FileId, create_folder, file_id, path_id, sync_folder};

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

fn check_plain(
    action: &'static str,
    path: &Path,
    opened: io::Result<File>,
) -> Result<File, StoreError> {
    let file = match opened {
        Ok(file) => file,
        Err(error) if this::is_link_error(&error) => {
            return Err(foreign(path, "a symbolic link, which is not followed"));
        }
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => {
            return Err(foreign(path, "a folder"));
        }
        Err(error) => return Err(StoreError::from_io(action, path, error)),
    };
    let metadata = file
        .metadata()
        .map_err(|error| StoreError::from_io(action, path, error))?;
    if metadata.is_file() {
        Ok(file)
    } else {
        Err(foreign(path, "not a plain file"))
    }
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

/// Reads at an offset: as much as the system gives at once.
pub(crate) fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    let read = this::read_at(file, bytes, offset)?;
    #[cfg(test)]
    faults::on_read(read);
    Ok(read)
}

/// Writes at an offset: as much as the system takes at once.
pub(crate) fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    #[cfg(test)]
    let bytes = faults::on_write(bytes, offset)?;
    this::write_at(file, bytes, offset)
}

/// Makes what was written durable.
pub(crate) fn sync_data(file: &File) -> io::Result<()> {
    #[cfg(test)]
    faults::on_sync()?;
    file.sync_data()
}

/// Failures that a disk can't be asked for, of what this thread does next.
#[cfg(test)]
pub(crate) mod faults {
    use std::{cell::RefCell, io};

    /// What this thread wrote and synced since it was last asked.
    #[derive(Debug, Default, PartialEq, Eq)]
    pub(crate) struct Done {
        pub(crate) bytes_read: usize,
        pub(crate) writes: Vec<(u64, usize)>,
        pub(crate) syncs: usize,
    }

    #[derive(Default)]
    struct Planned {
        /// How many bytes the disk still has room for.
        room: Option<usize>,
        fail_sync: bool,
        done: Done,
    }

    thread_local!(static PLANNED: RefCell<Planned> = RefCell::default());

    pub(crate) fn set_room(room: Option<usize>) {
        PLANNED.with_borrow_mut(|planned| planned.room = room);
    }

    pub(crate) fn fail_next_sync() {
        PLANNED.with_borrow_mut(|planned| planned.fail_sync = true);
    }

    pub(crate) fn take_done() -> Done {
        PLANNED.with_borrow_mut(|planned| std::mem::take(&mut planned.done))
    }

    pub(super) fn on_read(bytes: usize) {
        PLANNED.with_borrow_mut(|planned| planned.done.bytes_read += bytes);
    }

    pub(super) fn on_write(bytes: &[u8], offset: u64) -> io::Result<&[u8]> {
        PLANNED.with_borrow_mut(|planned| {
            let taken = planned
                .room
                .map_or(bytes.len(), |room| room.min(bytes.len()));
            if taken == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            planned.room = planned.room.map(|room| room - taken);
            planned.done.writes.push((offset, taken));
            Ok(&bytes[..taken])
        })
    }

    pub(super) fn on_sync() -> io::Result<()> {
        PLANNED.with_borrow_mut(|planned| {
            planned.done.syncs += 1;
            if std::mem::take(&mut planned.fail_sync) {
                Err(io::Error::other("the disk failed"))
            } else {
                Ok(())
            }
        })
    }
}
