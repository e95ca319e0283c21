//! A file system that keeps a log of what is asked of another one, and refuses what a test tells it to. For tests.

use std::{
    fs::TryLockError,
    io,
    path::Path,
    sync::{Arc, Mutex, MutexGuard},
    time::SystemTime,
};

use super::{Access, Existing, File, FileSystem, Metadata, Names};

/// Watches another file system. Clones are the same one.
#[derive(Debug, Clone)]
pub(crate) struct Watched {
    files: Arc<dyn FileSystem>,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Debug, Default)]
struct Seen {
    /// How many bytes the disk still has room for.
    room: Option<usize>,
    fail_sync: bool,
    done: Done,
}

/// What was asked since the last look.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) bytes_read: usize,
    pub(crate) reads: usize,
    /// Whatever changes something or waits for the device, in order.
    pub(crate) changes: Vec<Change>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Write { offset: u64, bytes: usize },
    SetLen(u64),
    Sync,
    Create,
    Link,
    Rename,
    Remove,
    CreateFolder,
    SyncFolder,
}

impl Watched {
    pub(crate) fn new(files: Arc<dyn FileSystem>) -> Self {
        Self {
            files,
            seen: Arc::default(),
        }
    }

    pub(crate) fn set_room(&self, room: Option<usize>) {
        self.seen().room = room;
    }

    pub(crate) fn fail_next_sync(&self) {
        self.seen().fail_sync = true;
    }

    pub(crate) fn take_done(&self) -> Done {
        std::mem::take(&mut self.seen().done)
    }

    fn change(&self, change: Change) {
        self.seen().done.changes.push(change);
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap()
    }

    fn file(&self, file: Box<dyn File>) -> Box<dyn File> {
        Box::new(WatchedFile {
            file,
            by: self.clone(),
        })
    }
}

impl FileSystem for Watched {
    fn open(&self, path: &Path, access: Access) -> io::Result<Box<dyn File>> {
        Ok(self.file(self.files.open(path, access)?))
    }

    fn create(&self, path: &Path, existing: Existing) -> io::Result<Box<dyn File>> {
        self.change(Change::Create);
        Ok(self.file(self.files.create(path, existing)?))
    }

    fn link(&self, file: &Path, name: &Path) -> io::Result<()> {
        self.change(Change::Link);
        self.files.link(file, name)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.change(Change::Rename);
        self.files.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.change(Change::Remove);
        self.files.remove(path)
    }

    fn look(&self, path: &Path) -> io::Result<Option<Metadata>> {
        self.files.look(path)
    }

    fn names(&self, folder: &Path) -> io::Result<Names> {
        self.files.names(folder)
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        self.change(Change::CreateFolder);
        self.files.create_folder(path)
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        self.change(Change::SyncFolder);
        self.files.sync_folder(path)
    }

    fn now(&self) -> SystemTime {
        self.files.now()
    }

    fn boot(&self) -> Option<u128> {
        self.files.boot()
    }
}

#[derive(Debug)]
struct WatchedFile {
    file: Box<dyn File>,
    by: Watched,
}

impl WatchedFile {
    fn on_sync(&self) -> io::Result<()> {
        self.by.change(Change::Sync);
        if std::mem::take(&mut self.by.seen().fail_sync) {
            Err(io::Error::other("the disk failed"))
        } else {
            Ok(())
        }
    }
}

impl File for WatchedFile {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let read = self.file.read_at(bytes, offset)?;
        let mut seen = self.by.seen();
        seen.done.bytes_read += read;
        seen.done.reads += 1;
        Ok(read)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let mut seen = self.by.seen();
        let taken = seen.room.map_or(bytes.len(), |room| room.min(bytes.len()));
        if taken == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        seen.room = seen.room.map(|room| room - taken);
        seen.done.changes.push(Change::Write {
            offset,
            bytes: taken,
        });
        drop(seen);
        self.file.write_at(&bytes[..taken], offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.by.change(Change::SetLen(len));
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.on_sync()?;
        self.file.sync_data()
    }

    fn sync_all(&self) -> io::Result<()> {
        self.on_sync()?;
        self.file.sync_all()
    }

    fn metadata(&self) -> io::Result<Metadata> {
        self.file.metadata()
    }

    fn try_lock(&self) -> Result<(), TryLockError> {
        self.file.try_lock()
    }

    fn try_lock_shared(&self) -> Result<(), TryLockError> {
        self.file.try_lock_shared()
    }
}
