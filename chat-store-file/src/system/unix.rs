//! Unix: modes, `O_NOFOLLOW`, device and inode.

use std::{
    fs::{DirBuilder, File, Metadata, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt as _, FileExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rustix::{fs::OFlags, io::Errno};

use super::{Access, Existing, FileId, link_refused};

pub(super) fn open(path: &Path, access: Access) -> io::Result<File> {
    let mut options = options();
    options.write(access == Access::Write);
    options.open(path).map_err(named)
}

pub(super) fn create(path: &Path, existing: Existing) -> io::Result<File> {
    let mut options = options();
    options.write(true).create(true).mode(0o600);
    options.create_new(existing == Existing::Refuse);
    options.open(path).map_err(named)
}

fn options() -> OpenOptions {
    // Close-on-exec is the standard library's own default. Without O_NONBLOCK a pipe of a journal's name would block for ever;
    // plain files don't know the flag.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(flags.bits().cast_signed());
    options
}

fn named(error: io::Error) -> io::Error {
    // Linux and macOS say ELOOP, FreeBSD EMLINK.
    let is_link = [Errno::LOOP, Errno::MLINK]
        .iter()
        .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()));
    if is_link { link_refused() } else { error }
}

pub(super) fn file_id(metadata: &Metadata) -> FileId {
    FileId {
        device: metadata.dev(),
        file: metadata.ino(),
    }
}

pub(super) fn changed(metadata: &Metadata) -> Option<SystemTime> {
    let (secs, nanos) = (metadata.ctime(), metadata.ctime_nsec());
    UNIX_EPOCH
        .checked_add(Duration::from_secs(secs.try_into().ok()?))?
        .checked_add(Duration::from_nanos(nanos.try_into().ok()?))
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
pub(super) fn behind_hole(file: &File, offset: u64) -> io::Result<u64> {
    // The cursor that this moves is nobody's: all else is done at an offset.
    match rustix::fs::seek(file, rustix::fs::SeekFrom::Data(offset)) {
        Ok(data) => Ok(data),
        // None is left.
        Err(Errno::NXIO) => Ok(file.metadata()?.len().max(offset)),
        Err(Errno::INVAL | Errno::NOTSUP) => Ok(offset),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
pub(super) fn behind_hole(_file: &File, offset: u64) -> io::Result<u64> {
    Ok(offset)
}

pub(super) fn create_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

pub(super) fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    file.write_at(bytes, offset)
}

pub(super) fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    file.read_at(bytes, offset)
}
