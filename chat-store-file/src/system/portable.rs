//! Systems other than Unix, by the standard library alone. On Windows a new file is private by the access list of the folder
//! it is made in, which a user's own folders are.

use std::{
    fs::{self, File, OpenOptions},
    io,
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use super::{Access, Existing, FileId, link_refused};

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
        Ok(metadata) if metadata.is_symlink() => Err(link_refused()),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// The standard library tells no more of a file than when it was made.
pub(super) fn file_id(metadata: &fs::Metadata) -> FileId {
    let created = metadata
        .created()
        .ok()
        .and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    FileId {
        device: 0,
        file: created.map_or(0, |since| {
            u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
        }),
    }
}

/// The standard library doesn't tell.
pub(super) fn changed(_metadata: &fs::Metadata) -> Option<SystemTime> {
    None
}

/// The standard library doesn't tell.
pub(super) fn behind_hole(_file: &File, offset: u64) -> io::Result<u64> {
    Ok(offset)
}

pub(super) fn create_folder(path: &Path) -> io::Result<()> {
    fs::create_dir(path)
}

/// Folders can't be synced here: the system journals its names itself.
pub(super) fn sync_folder(_path: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(windows)]
pub(super) fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_write(file, bytes, offset)
}

#[cfg(windows)]
pub(super) fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, bytes, offset)
}

#[cfg(not(windows))]
pub(super) fn write_at(mut file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    use io::{Seek as _, Write as _};
    file.seek(io::SeekFrom::Start(offset))?;
    file.write(bytes)
}

#[cfg(not(windows))]
pub(super) fn read_at(mut file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    use io::{Read as _, Seek as _};
    file.seek(io::SeekFrom::Start(offset))?;
    file.read(bytes)
}
