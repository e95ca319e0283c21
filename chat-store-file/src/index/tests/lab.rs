//! The disk, with a clock and a start of the machine that a test sets, with an end to what may be changed, and with places where
//! something else happens first.

use std::{
    fmt,
    fs::TryLockError,
    io,
    path::Path,
    sync::{Arc, Mutex, MutexGuard},
    time::{Duration, SystemTime},
};

use crate::system::{Access, Disk, Existing, File, FileSystem, Metadata, Names};

/// Clones are the same one.
#[derive(Clone, Default)]
pub(super) struct Lab(Arc<Mutex<Set>>);

#[derive(Default)]
struct Set {
    ahead: Duration,
    boot: Option<u128>,
    changes_left: Option<usize>,
    changes: usize,
    journals_opened: usize,
    looks: usize,
    hides_changed: bool,
    first: Option<First>,
}

struct First {
    asked: Asked,
    /// How the path ends.
    ending: &'static str,
    what: Box<dyn FnOnce() -> io::Result<()> + Send>,
}

/// What something else can happen before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    Lock,
    Link,
    Remove,
    Names,
    Rename,
    Look,
    Open,
}

impl fmt::Debug for Lab {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lab")
    }
}

impl Lab {
    /// A machine that knows its start, and a clock so far ahead that all that was written is settled.
    pub(super) fn settled() -> Self {
        let lab = Self::default();
        lab.set().ahead = Duration::from_secs(3600);
        lab.boot(Some(1));
        lab
    }

    pub(super) fn set_ahead(&self, ahead: Duration) {
        self.set().ahead = ahead;
    }

    pub(super) fn boot(&self, boot: Option<u128>) {
        self.set().boot = boot;
    }

    /// As on systems that don't tell when a file was changed otherwise than by a write: tests can't set that time.
    pub(super) fn hide_changed(&self) {
        self.set().hides_changed = true;
    }

    /// After so many changes each one fails, as those of a process that was killed never come.
    pub(super) fn allow_changes(&self, changes: Option<usize>) {
        self.set().changes_left = changes;
    }

    /// How many changes there were, journals were opened, and files looked at, since this was asked last.
    pub(super) fn take_counts(&self) -> (usize, usize, usize) {
        let mut set = self.set();
        let counts = (set.changes, set.journals_opened, set.looks);
        (set.changes, set.journals_opened, set.looks) = (0, 0, 0);
        counts
    }

    /// Once, before this is done to a file whose name ends so.
    pub(super) fn before(
        &self,
        asked: Asked,
        ending: &'static str,
        what: impl FnOnce() + Send + 'static,
    ) {
        let what = Box::new(move || {
            what();
            Ok(())
        });
        self.set().first = Some(First {
            asked,
            ending,
            what,
        });
    }

    /// Once, an error instead of this.
    pub(super) fn fail(&self, asked: Asked, ending: &'static str) {
        let what = Box::new(|| Err(io::Error::other("too many open files")));
        self.set().first = Some(First {
            asked,
            ending,
            what,
        });
    }

    /// Whether what was to happen first has happened.
    pub(super) fn is_used_up(&self) -> bool {
        self.set().first.is_none()
    }

    fn set(&self) -> MutexGuard<'_, Set> {
        self.0.lock().unwrap()
    }

    fn asked(&self, asked: Asked, path: &Path) -> io::Result<()> {
        let mut set = self.set();
        let first = set.first.take_if(|first| {
            first.asked == asked && path.to_string_lossy().ends_with(first.ending)
        });
        drop(set);
        first.map_or(Ok(()), |first| (first.what)())
    }

    fn change(&self) -> io::Result<()> {
        let mut set = self.set();
        match &mut set.changes_left {
            Some(0) => return Err(io::ErrorKind::ReadOnlyFilesystem.into()),
            Some(left) => *left -= 1,
            None => {}
        }
        set.changes += 1;
        Ok(())
    }

    fn tell(&self, found: Metadata) -> Metadata {
        let changed = found.changed.filter(|_| !self.set().hides_changed);
        Metadata { changed, ..found }
    }

    fn file(&self, path: &Path, file: Box<dyn File>) -> Box<dyn File> {
        Box::new(LabFile {
            lab: self.clone(),
            path: path.to_owned(),
            file,
        })
    }
}

impl FileSystem for Lab {
    fn open(&self, path: &Path, access: Access) -> io::Result<Box<dyn File>> {
        self.asked(Asked::Open, path)?;
        if path.extension().is_some_and(|ending| ending == "jsonl") {
            self.set().journals_opened += 1;
        }
        Ok(self.file(path, Disk.open(path, access)?))
    }

    fn create(&self, path: &Path, existing: Existing) -> io::Result<Box<dyn File>> {
        self.change()?;
        Ok(self.file(path, Disk.create(path, existing)?))
    }

    fn link(&self, file: &Path, name: &Path) -> io::Result<()> {
        self.asked(Asked::Link, name)?;
        self.change()?;
        Disk.link(file, name)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.asked(Asked::Rename, to)?;
        self.change()?;
        Disk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.asked(Asked::Remove, path)?;
        self.change()?;
        Disk.remove(path)
    }

    fn look(&self, path: &Path) -> io::Result<Option<Metadata>> {
        self.asked(Asked::Look, path)?;
        self.set().looks += 1;
        Ok(Disk.look(path)?.map(|found| self.tell(found)))
    }

    fn names(&self, folder: &Path) -> io::Result<Names> {
        self.asked(Asked::Names, folder)?;
        Disk.names(folder)
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        self.change()?;
        Disk.create_folder(path)
    }

    fn sync_folder(&self, _path: &Path) -> io::Result<()> {
        unreachable!("a list waits for no device")
    }

    fn now(&self) -> SystemTime {
        SystemTime::now() + self.set().ahead
    }

    fn boot(&self) -> Option<u128> {
        self.set().boot
    }
}

#[derive(Debug)]
struct LabFile {
    lab: Lab,
    path: std::path::PathBuf,
    file: Box<dyn File>,
}

impl File for LabFile {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(bytes, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.lab.change()?;
        self.file.write_at(bytes, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.lab.change()?;
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        unreachable!("a list waits for no device")
    }

    fn sync_all(&self) -> io::Result<()> {
        unreachable!("a list waits for no device")
    }

    fn metadata(&self) -> io::Result<Metadata> {
        Ok(self.lab.tell(self.file.metadata()?))
    }

    fn try_lock(&self) -> Result<(), TryLockError> {
        let asked = self.lab.asked(Asked::Lock, &self.path);
        asked.map_err(TryLockError::Error)?;
        self.file.try_lock()
    }

    fn try_lock_shared(&self) -> Result<(), TryLockError> {
        let asked = self.lab.asked(Asked::Lock, &self.path);
        asked.map_err(TryLockError::Error)?;
        self.file.try_lock_shared()
    }
}
