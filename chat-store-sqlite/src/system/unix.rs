//! Unix: modes, `O_NOFOLLOW`, device and inode.

use std::{
    fs::{DirBuilder, File, Metadata, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::Path,
};

use rustix::{fs::OFlags, io::Errno};

use super::{Access, Existing};

/// Which file a file is, whatever it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileId {
    device: u64,
    inode: u64,
}

pub(super) fn open(path: &Path, access: Access) -> io::Result<File> {
    options().write(access == Access::Write).open(path)
}

pub(super) fn create(path: &Path, existing: Existing) -> io::Result<File> {
    options()
        .write(true)
        .create(true)
        .create_new(existing == Existing::Refuse)
        .mode(0o600)
        .open(path)
}

fn options() -> OpenOptions {
    // Close-on-exec is the standard library's own default. Without O_NONBLOCK a pipe of that name would block for ever; plain
    // files don't know the flag.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(flags.bits().cast_signed());
    options
}

pub(super) fn is_link_error(error: &io::Error) -> bool {
    // Linux and macOS say ELOOP, FreeBSD EMLINK.
    [Errno::LOOP, Errno::MLINK]
        .iter()
        .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

pub(crate) fn file_id(file: &File) -> io::Result<FileId> {
    let metadata = file.metadata()?;
    Ok(FileId {
        device: metadata.dev(),
        inode: metadata.ino(),
    })
}

/// How many names a file has.
pub(crate) fn names(metadata: &Metadata) -> u64 {
    metadata.nlink()
}

/// Which file is at a path; `None` where there is none.
pub(crate) fn path_id(path: &Path) -> io::Result<Option<FileId>> {
    match std::fs::symlink_metadata(path) {
        Ok(metadata) => Ok(Some(FileId {
            device: metadata.dev(),
            inode: metadata.ino(),
        })),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether a file may be read, as the system says without opening it; one that is not there, too.
pub(crate) fn may_read(path: &Path) -> io::Result<()> {
    match rustix::fs::access(path, rustix::fs::Access::READ_OK) {
        Err(Errno::NOENT) => Ok(()),
        asked => Ok(asked?),
    }
}

pub(super) fn create_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Gives a file a name that nothing has yet.
pub(crate) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            // The file system can't say so: the look below has to do.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            renamed => return renamed.map_err(io::Error::from),
        }
    }
    if path_id(to)?.is_some() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    std::fs::rename(from, to)
}
