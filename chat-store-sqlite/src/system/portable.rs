//! Systems other than Unix, by the standard library alone. On Windows a new file is private by the access list of the folder
//! it is made in, which a user's own folders are.

use std::{
    fs::{self, File, OpenOptions},
    io,
    path::Path,
    time::SystemTime,
};

use super::{Access, Existing};

/// Which file a file is, as far as the standard library can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileId {
    created: Option<SystemTime>,
}

impl FileId {
    fn of(metadata: &fs::Metadata) -> Self {
        Self {
            created: metadata.created().ok(),
        }
    }
}

pub(super) fn open(path: &Path, access: Access) -> io::Result<File> {
    refuse_link(path)?;
    OpenOptions::new()
        .read(true)
        .write(access == Access::Write)
        .open(path)
}

pub(super) fn create(path: &Path, existing: Existing) -> io::Result<File> {
    refuse_link(path)?;
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .create_new(existing == Existing::Refuse)
        .open(path)
}

/// There is no flag for it here: a link that is made right after this look is followed. Making links needs a privilege on Windows.
fn refuse_link(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_symlink() => {
            Err(io::Error::new(io::ErrorKind::InvalidInput, Link))
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

#[derive(Debug)]
struct Link;

impl std::fmt::Display for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a symbolic link")
    }
}

impl std::error::Error for Link {}

pub(super) fn is_link_error(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Link>())
}

pub(crate) fn file_id(file: &File) -> io::Result<FileId> {
    file.metadata().map(|metadata| FileId::of(&metadata))
}

/// How many names a file has, which the standard library can't tell.
pub(crate) fn names(_metadata: &fs::Metadata) -> u64 {
    1
}

/// Which file is at a path; `None` where there is none.
pub(crate) fn path_id(path: &Path) -> io::Result<Option<FileId>> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => Ok(Some(FileId::of(&metadata))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The standard library can't ask without opening a file.
pub(crate) fn may_read(_path: &Path) -> io::Result<()> {
    Ok(())
}

pub(super) fn create_folder(path: &Path) -> io::Result<()> {
    fs::create_dir(path)
}

/// Folders can't be synced here: the system journals its names itself.
pub(super) fn sync_folder(_path: &Path) -> io::Result<()> {
    Ok(())
}

/// Gives a file a name that nothing has yet.
pub(crate) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    if path_id(to)?.is_some() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    fs::rename(from, to)
}
