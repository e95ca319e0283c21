//! One simulated process: the file system it sees, and the files it has open.

use std::{
    ffi::OsString, fmt::Debug, fs::TryLockError, io, path::Path, sync::MutexGuard, time::SystemTime,
};

use super::{
    fault::{Bug, Fault},
    inode::Inode,
    world::{Lock, NameChange, State, World},
};
use crate::system::{Access, Existing, File, FileSystem, Metadata, Names};

/// One process, as the file system it sees. Once it is killed, nothing that it does has an effect.
#[derive(Debug, Clone)]
pub(super) struct Process {
    pub(super) world: World,
    pub(super) id: u64,
}

/// How an operation is to go.
enum Course {
    Well,
    /// It is done, and said to have failed.
    FailDone,
    Short,
    Full,
    /// It is cut off in the middle by the end of the process.
    Killed,
    PowerLoss,
}

impl Process {
    pub(super) fn is_alive(&self) -> bool {
        self.world.state().alive.contains(&self.id)
    }

    pub(super) fn kill(&self) {
        self.world.state().kill(self.id);
    }

    /// Begins an operation other than a write or a sync.
    fn begin(&self, kind: &str, what: &dyn Debug) -> io::Result<(MutexGuard<'_, State>, bool)> {
        let (mut state, course) = self.course(kind, what)?;
        match course {
            Course::Well | Course::Short => Ok((state, false)),
            Course::FailDone => Ok((state, true)),
            Course::Full => Err(io::ErrorKind::StorageFull.into()),
            Course::Killed => {
                state.kill(self.id);
                Err(dead())
            }
            Course::PowerLoss => {
                state.lose_power();
                Err(dead())
            }
        }
    }

    fn course(&self, kind: &str, what: &dyn Debug) -> io::Result<(MutexGuard<'_, State>, Course)> {
        let mut guard = self.world.state();
        let state = &mut *guard;
        if !state.alive.contains(&self.id) {
            return Err(dead());
        }
        let fault = state.plan.fault(state.operations, kind, &mut state.rng);
        if let Some(trace) = &mut state.trace {
            let operation = state.operations;
            let fault = fault.map_or(String::new(), |fault| format!(" -> {fault:?}"));
            trace.push(format!(
                "  {operation}: {kind} {what:?} by {}{fault}",
                self.id
            ));
        }
        state.operations += 1;
        if state.failed_syncs > 0 && !state.keeps_pages && state.rng.u8(..16) == 0 {
            let shown = state
                .files
                .iter_mut()
                .filter_map(|file| file.evict().then_some(()));
            let shown = shown.count() as u64;
            state.counts.evictions += shown;
            state.counts.faults += shown;
        }
        let course = match fault {
            None => Course::Well,
            Some(fault) => {
                state.counts.faults += 1;
                match fault {
                    Fault::Fail => return Err(state.failure()),
                    Fault::FailDone => Course::FailDone,
                    Fault::Short => Course::Short,
                    Fault::Full => Course::Full,
                    Fault::Kill => Course::Killed,
                    Fault::PowerLoss => Course::PowerLoss,
                }
            }
        };
        Ok((guard, course))
    }

    fn file(&self, state: &mut State, file: usize) -> Box<dyn File> {
        Box::new(Open {
            process: self.clone(),
            file,
            number: state.take_number(),
        })
    }
}

fn dead() -> io::Error {
    io::Error::other("the process was killed")
}

/// An operation that was done, whatever is said of it.
fn done<T>(state: &mut State, failed: bool, answer: T) -> io::Result<T> {
    if failed {
        Err(state.failure())
    } else {
        Ok(answer)
    }
}

impl FileSystem for Process {
    fn open(&self, path: &Path, access: Access) -> io::Result<Box<dyn File>> {
        let (mut state, failed) = self.begin("open", &(path, access))?;
        let file = *state.names.get(path).ok_or(io::ErrorKind::NotFound)?;
        done(&mut state, failed, ())?;
        Ok(self.file(&mut state, file))
    }

    fn create(&self, path: &Path, existing: Existing) -> io::Result<Box<dyn File>> {
        let (mut state, failed) = self.begin("create", &path)?;
        let file = match state.names.get(path) {
            Some(_) if existing == Existing::Refuse => {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            Some(file) => *file,
            None => {
                let file = state.files.len();
                let inode = Inode::new(state.now());
                state.files.push(inode);
                state.change_name(NameChange::Add(path.to_owned(), file));
                file
            }
        };
        done(&mut state, failed, ())?;
        Ok(self.file(&mut state, file))
    }

    fn link(&self, file: &Path, name: &Path) -> io::Result<()> {
        let (mut state, failed) = self.begin("link", &(file, name))?;
        let file = *state.names.get(file).ok_or(io::ErrorKind::NotFound)?;
        if state.names.contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        state.change_name(NameChange::Add(name.to_owned(), file));
        done(&mut state, failed, ())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let (mut state, failed) = self.begin("rename", &(from, to))?;
        if !state.names.contains_key(from) {
            return Err(io::ErrorKind::NotFound.into());
        }
        state.change_name(NameChange::Rename(from.to_owned(), to.to_owned()));
        done(&mut state, failed, ())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let (mut state, failed) = self.begin("remove", &path)?;
        if !state.names.contains_key(path) {
            return Err(io::ErrorKind::NotFound.into());
        }
        state.change_name(NameChange::Remove(path.to_owned()));
        done(&mut state, failed, ())
    }

    fn look(&self, path: &Path) -> io::Result<Option<Metadata>> {
        let (mut state, failed) = self.begin("look at", &path)?;
        let found = state.names.get(path).map(|file| state.metadata(*file));
        let folder = state.folder_metadata(path);
        done(&mut state, failed, found.or(folder))
    }

    fn names(&self, folder: &Path) -> io::Result<Names> {
        let (mut state, failed) = self.begin("names", &folder)?;
        let names: Vec<io::Result<OsString>> = state
            .names
            .keys()
            .chain(state.folders.keys())
            .filter(|path| path.parent() == Some(folder))
            .filter_map(|path| Some(Ok(path.file_name()?.to_owned())))
            .collect();
        done(&mut state, failed, Box::new(names.into_iter()))
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        let (mut state, failed) = self.begin("create folder", &path)?;
        if state.folders.contains_key(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let now = state.now();
        state.folders.insert(path.to_owned(), now);
        done(&mut state, failed, ())
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        let (mut state, failed) = self.begin("sync folder", &path)?;
        if state.bug != Some(Bug::NoFolderSync) {
            state.sync_folder(path);
        }
        done(&mut state, failed, ())
    }

    fn now(&self) -> SystemTime {
        self.world.state().now()
    }

    fn boot(&self) -> Option<u128> {
        Some(self.world.state().counts.power_losses.into())
    }
}

/// An open file of a process.
#[derive(Debug)]
struct Open {
    process: Process,
    file: usize,
    number: u64,
}

impl Open {
    fn sync(&self, what: &'static str, skipped: Bug) -> io::Result<()> {
        let failed = match self.process.course(what, &self.file) {
            Ok((mut state, course)) => match course {
                Course::Well | Course::Short => {
                    if state.bug != Some(skipped) {
                        state.files[self.file].sync();
                    }
                    return Ok(());
                }
                Course::FailDone => {
                    state.files[self.file].sync();
                    return Err(state.failure());
                }
                Course::Killed => {
                    state.kill(self.process.id);
                    return Err(dead());
                }
                Course::PowerLoss => {
                    state.lose_power();
                    return Err(dead());
                }
                Course::Full => io::ErrorKind::StorageFull.into(),
            },
            Err(error) => error,
        };
        let mut guard = self.process.world.state();
        let state = &mut *guard;
        if state.alive.contains(&self.process.id) {
            state.failed_syncs += 1;
            state.files[self.file].fail_sync(&mut state.rng);
            if state.bug == Some(Bug::HiddenFailedSync) {
                return Ok(());
            }
        }
        Err(failed)
    }

    fn lock(&self, shared: bool) -> Result<(), TryLockError> {
        let what = if shared { "lock shared" } else { "lock" };
        let begun = self.process.begin(what, &self.file);
        let (mut state, failed) = begun.map_err(TryLockError::Error)?;
        let excluded = state.locks.iter().any(|lock| {
            lock.file == self.file && lock.by != self.number && !(lock.shared && shared)
        });
        if excluded && state.bug != Some(Bug::NoLocks) {
            return Err(TryLockError::WouldBlock);
        }
        if failed {
            return Err(TryLockError::Error(state.failure()));
        }
        state.locks.push(Lock {
            file: self.file,
            by: self.number,
            process: self.process.id,
            shared,
        });
        Ok(())
    }
}

impl File for Open {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let (mut state, failed) = self.process.begin("read", &(self.file, offset))?;
        let seen = state.files[self.file].seen();
        let from = usize::try_from(offset).unwrap().min(seen.len());
        let len = bytes.len().min(seen.len() - from);
        bytes[..len].copy_from_slice(&seen[from..from + len]);
        done(&mut state, failed, len)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let what = (self.file, offset, bytes.len());
        let (mut guard, course) = self.process.course("write", &what)?;
        let state = &mut *guard;
        if std::mem::take(&mut state.full) {
            state.counts.faults += 1;
            return Err(io::ErrorKind::StorageFull.into());
        }
        let offset = usize::try_from(offset).unwrap();
        let part = state.rng.usize(..=bytes.len());
        let now = state.now();
        let file = &mut state.files[self.file];
        match course {
            Course::Well | Course::FailDone => {
                let end = offset + bytes.len();
                let same = file.seen().get(offset..end) == Some(bytes);
                if !(same && state.bug == Some(Bug::NoRewrite)) {
                    file.write(offset, bytes, now);
                }
                done(state, matches!(course, Course::FailDone), bytes.len())
            }
            Course::Short | Course::Full => {
                file.write(offset, &bytes[..part], now);
                state.full = matches!(course, Course::Full);
                if state.bug == Some(Bug::HiddenShortWrite) {
                    state.full = false;
                    Ok(bytes.len())
                } else if part == 0 {
                    state.full = false;
                    Err(io::ErrorKind::StorageFull.into())
                } else {
                    Ok(part)
                }
            }
            Course::Killed => {
                file.write(offset, &bytes[..part], now);
                state.kill(self.process.id);
                Err(dead())
            }
            Course::PowerLoss => {
                file.write(offset, bytes, now);
                state.lose_power();
                Err(dead())
            }
        }
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let (mut state, failed) = self.process.begin("set length", &(self.file, len))?;
        if state.bug != Some(Bug::NoCut) {
            let now = state.now();
            state.files[self.file].set_len(usize::try_from(len).unwrap(), now);
        }
        done(&mut state, failed, ())
    }

    fn sync_data(&self) -> io::Result<()> {
        self.sync("sync data", Bug::NoDataSync)
    }

    fn sync_all(&self) -> io::Result<()> {
        self.sync("sync", Bug::NoFileSync)
    }

    fn metadata(&self) -> io::Result<Metadata> {
        let (mut state, failed) = self.process.begin("metadata", &(self.file))?;
        let found = state.metadata(self.file);
        done(&mut state, failed, found)
    }

    fn try_lock(&self) -> Result<(), TryLockError> {
        self.lock(false)
    }

    fn try_lock_shared(&self) -> Result<(), TryLockError> {
        self.lock(true)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let mut state = self.process.world.state();
        state.locks.retain(|lock| lock.by != self.number);
    }
}
