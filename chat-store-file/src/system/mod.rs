//! The little that the store asks of a file system, as a trait: the disk's own is one, a simulated one whose faults can be chosen
//! is another. No policy but what is refused: links, and whatever is no plain file.

use std::{
    error::Error,
    ffi::OsString,
    fmt,
    fs::TryLockError,
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use chat_core::StoreError;

mod disk;
#[cfg(test)]
pub(crate) mod watched;

#[cfg(unix)]
mod unix;
#[cfg(unix)]
use unix as this;

#[cfg(not(unix))]
mod portable;
#[cfg(not(unix))]
use portable as this;

pub(crate) use disk::Disk;

/// A file system. Every access of a store to its files goes through one; all of it blocks.
pub(crate) trait FileSystem: Send + Sync + fmt::Debug {
    /// Opens a file that is there. A link is [refused](link_refused).
    fn open(&self, path: &Path, access: Access) -> io::Result<Box<dyn File>>;

    /// Creates a file for reading and writing, private to its owner. A link at its place is [refused](link_refused).
    fn create(&self, path: &Path, existing: Existing) -> io::Result<Box<dyn File>>;

    /// Gives a file one more name; refuses a taken one.
    fn link(&self, file: &Path, name: &Path) -> io::Result<()>;

    /// Gives a file another name, which is taken from whatever has it.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a name, and the file with its last one.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// What is at a path, links not followed; `None` where nothing is.
    fn look(&self, path: &Path) -> io::Result<Option<Metadata>>;

    /// The names in a folder, in no order.
    fn names(&self, folder: &Path) -> io::Result<Names>;

    /// Creates a folder, private to its owner. Those above it have to be there.
    fn create_folder(&self, path: &Path) -> io::Result<()>;

    /// Makes durable which names a folder has.
    fn sync_folder(&self, path: &Path) -> io::Result<()>;

    /// What time it is by the clock that files are stamped with.
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    /// Which start of the machine this is: what was written since then and not made durable is still there. `None` where the
    /// system doesn't tell.
    fn boot(&self) -> Option<u128> {
        None
    }
}

/// An open file. Dropping it lets go of its lock.
pub(crate) trait File: Send + Sync + fmt::Debug {
    /// Reads at an offset: as much as the system gives at once.
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes at an offset: as much as the system takes at once.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;

    /// Where the next byte is, from an offset on, that may be another than a NUL in a hole; the offset itself where the system
    /// doesn't tell.
    fn behind_hole(&self, offset: u64) -> io::Result<u64> {
        Ok(offset)
    }

    /// Cuts the file off, or lengthens it with NULs.
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// Makes what was written durable, and the length with it.
    fn sync_data(&self) -> io::Result<()>;

    /// Makes all that there is of the file durable.
    fn sync_all(&self) -> io::Result<()>;

    fn metadata(&self) -> io::Result<Metadata>;

    /// Locks the file for this open one alone.
    fn try_lock(&self) -> Result<(), TryLockError>;

    /// Locks the file beside others who share it.
    fn try_lock_shared(&self) -> Result<(), TryLockError>;
}

pub(crate) type Names = Box<dyn Iterator<Item = io::Result<OsString>>>;

/// A folder of some file system.
#[derive(Debug, Clone)]
pub(crate) struct Folder {
    pub(crate) files: Arc<dyn FileSystem>,
    pub(crate) path: PathBuf,
}

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

/// What a file system says of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Metadata {
    pub(crate) kind: Kind,
    pub(crate) id: FileId,
    pub(crate) len: u64,
    /// `None` where the system doesn't tell.
    pub(crate) modified: Option<SystemTime>,
    /// When anything about it was last changed, which no program can set. `None` where the system doesn't tell.
    pub(crate) changed: Option<SystemTime>,
}

/// What is found at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Plain,
    Folder,
    Link,
    Other,
}

/// Which file a file is, whatever it is called, as far as the system tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct FileId {
    pub(crate) device: u64,
    pub(crate) file: u64,
}

/// The error of opening a link.
pub(crate) fn link_refused() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, Link)
}

#[derive(Debug)]
struct Link;

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a symbolic link")
    }
}

impl Error for Link {}

impl dyn FileSystem + '_ {
    /// Opens a plain file; `None` where it is not there. Links and other things are refused.
    pub(crate) fn open_plain(
        &self,
        path: &Path,
        access: Access,
    ) -> Result<Option<Box<dyn File>>, StoreError> {
        match self.open(path, access) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            opened => check_plain("open", path, opened).map(Some),
        }
    }

    /// Creates a plain file for writing. Links and other things at its place are refused.
    pub(crate) fn create_plain(
        &self,
        path: &Path,
        existing: Existing,
    ) -> Result<Box<dyn File>, StoreError> {
        check_plain("create", path, self.create(path, existing))
    }

    /// Removes a file; one that is not there is removed already.
    pub(crate) fn remove_if_there(&self, path: &Path) -> io::Result<()> {
        match self.remove(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Which file is at a path; `None` where there is none.
    pub(crate) fn id_at(&self, path: &Path) -> io::Result<Option<FileId>> {
        Ok(self.look(path)?.map(|found| found.id))
    }
}

fn check_plain(
    action: &'static str,
    path: &Path,
    opened: io::Result<Box<dyn File>>,
) -> Result<Box<dyn File>, StoreError> {
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.get_ref().is_some_and(|inner| inner.is::<Link>()) => {
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
    match metadata.kind {
        Kind::Plain => Ok(file),
        Kind::Folder | Kind::Link | Kind::Other => Err(foreign(path, "not a plain file")),
    }
}

pub(crate) fn foreign(path: &Path, what: impl Into<Arc<str>>) -> StoreError {
    StoreError::Foreign {
        path: path.to_owned(),
        what: what.into(),
    }
}
