//! The file system of the machine, by the standard library. What differs from system to system is beside it.

use std::{
    fs::{self, TryLockError},
    io,
    path::Path,
};

use super::{Access, Existing, File, FileSystem, Kind, Metadata, Names, this};

/// The file system of the machine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Disk;

impl FileSystem for Disk {
    fn open(&self, path: &Path, access: Access) -> io::Result<Box<dyn File>> {
        Ok(Box::new(this::open(path, access)?))
    }

    fn create(&self, path: &Path, existing: Existing) -> io::Result<Box<dyn File>> {
        Ok(Box::new(this::create(path, existing)?))
    }

    fn link(&self, file: &Path, name: &Path) -> io::Result<()> {
        fs::hard_link(file, name)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn look(&self, path: &Path) -> io::Result<Option<Metadata>> {
        match fs::symlink_metadata(path) {
            Ok(found) => Ok(Some(metadata(&found))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn names(&self, folder: &Path) -> io::Result<Names> {
        let found = fs::read_dir(folder)?;
        Ok(Box::new(found.map(|found| Ok(found?.file_name()))))
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        this::create_folder(path)
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        this::sync_folder(path)
    }

    fn boot(&self) -> Option<u128> {
        // Linux only; elsewhere there is no such file.
        let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        u128::from_str_radix(&id.trim().replace('-', ""), 16).ok()
    }
}

impl File for fs::File {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        this::read_at(self, bytes, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        this::write_at(self, bytes, offset)
    }

    fn behind_hole(&self, offset: u64) -> io::Result<u64> {
        this::behind_hole(self, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        Self::set_len(self, len)
    }

    fn sync_data(&self) -> io::Result<()> {
        Self::sync_data(self)
    }

    fn sync_all(&self) -> io::Result<()> {
        Self::sync_all(self)
    }

    fn metadata(&self) -> io::Result<Metadata> {
        Ok(metadata(&Self::metadata(self)?))
    }

    fn try_lock(&self) -> Result<(), TryLockError> {
        Self::try_lock(self)
    }

    fn try_lock_shared(&self) -> Result<(), TryLockError> {
        Self::try_lock_shared(self)
    }
}

fn metadata(found: &fs::Metadata) -> Metadata {
    let kind = if found.is_file() {
        Kind::Plain
    } else if found.is_dir() {
        Kind::Folder
    } else if found.is_symlink() {
        Kind::Link
    } else {
        Kind::Other
    };
    Metadata {
        kind,
        id: this::file_id(found),
        len: found.len(),
        modified: found.modified().ok(),
        changed: this::changed(found),
    }
}
