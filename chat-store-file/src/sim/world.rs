//! The simulated machine: one disk, the processes that run on it, and what goes wrong. The same seed does the same again.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use fastrand::Rng;

use super::{
    fault::{Bug, Plan},
    inode::Inode,
    process::Process,
};
use crate::system::{FileId, Kind, Metadata};

/// The machine. Clones are the same one.
#[derive(Debug, Clone)]
pub(super) struct World {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) rng: Rng,
    pub(super) plan: Plan,
    pub(super) bug: Option<Bug>,
    pub(super) operations: u64,
    pub(super) counts: Counts,
    pub(super) files: Vec<Inode>,
    /// The folders, and when their names changed last.
    pub(super) folders: BTreeMap<PathBuf, SystemTime>,
    pub(super) names: BTreeMap<PathBuf, usize>,
    pub(super) durable_names: BTreeMap<PathBuf, usize>,
    /// What was done to names since the last sync of the folder, in order.
    pub(super) pending_names: Vec<NameChange>,
    pub(super) alive: BTreeSet<u64>,
    pub(super) locks: Vec<Lock>,
    /// The number of the next process or open file.
    pub(super) next: u64,
    /// The next write finds the disk full.
    pub(super) full: bool,
    pub(super) failed_syncs: u64,
    /// Whether pages are let go of only when the power fails.
    pub(super) keeps_pages: bool,
    /// What was done, where someone wants to see it.
    pub(super) trace: Option<Vec<String>>,
}

/// What happened so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) faults: u64,
    pub(super) power_losses: u64,
    pub(super) evictions: u64,
}

#[derive(Debug)]
pub(super) enum NameChange {
    Add(PathBuf, usize),
    Remove(PathBuf),
    Rename(PathBuf, PathBuf),
}

impl NameChange {
    /// The folder it is in. Nothing is moved from one to another.
    fn folder(&self) -> Option<&Path> {
        let (Self::Add(path, _) | Self::Remove(path) | Self::Rename(_, path)) = self;
        path.parent()
    }

    fn apply(&self, names: &mut BTreeMap<PathBuf, usize>) {
        match self {
            Self::Add(path, file) => {
                names.insert(path.clone(), *file);
            }
            Self::Remove(path) => {
                names.remove(path);
            }
            Self::Rename(from, to) => {
                if let Some(file) = names.remove(from) {
                    names.insert(to.clone(), file);
                }
            }
        }
    }
}

#[derive(Debug)]
pub(super) struct Lock {
    pub(super) file: usize,
    pub(super) by: u64,
    pub(super) process: u64,
    pub(super) shared: bool,
}

impl World {
    /// The folder that is there.
    pub(super) const FOLDER: &str = "/chat";

    pub(super) fn new(seed: u64, plan: Plan, bug: Option<Bug>) -> Self {
        Self {
            state: Arc::new(Mutex::new(State {
                rng: Rng::with_seed(seed),
                plan,
                bug,
                operations: 0,
                counts: Counts::default(),
                files: Vec::new(),
                folders: BTreeMap::from([(Self::FOLDER.into(), UNIX_EPOCH)]),
                names: BTreeMap::new(),
                durable_names: BTreeMap::new(),
                pending_names: Vec::new(),
                alive: BTreeSet::new(),
                locks: Vec::new(),
                next: 0,
                full: false,
                failed_syncs: 0,
                keeps_pages: false,
                trace: None,
            })),
        }
    }

    pub(super) fn start_process(&self) -> Process {
        let mut state = self.state();
        let id = state.take_number();
        state.alive.insert(id);
        let world = self.clone();
        Process { world, id }
    }

    pub(super) fn lose_power(&self) {
        self.state().lose_power();
    }

    pub(super) fn set_plan(&self, plan: Plan) {
        self.state().plan = plan;
    }

    pub(super) fn keep_pages(&self) {
        self.state().keeps_pages = true;
    }

    pub(super) fn has_failed_sync(&self) -> bool {
        self.state().failed_syncs > 0
    }

    pub(super) fn operations(&self) -> u64 {
        self.state().operations
    }

    pub(super) fn counts(&self) -> Counts {
        self.state().counts
    }

    /// What a file holds as programs see it.
    pub(super) fn seen(&self, path: &Path) -> Option<Vec<u8>> {
        let state = self.state();
        let file = *state.names.get(path)?;
        Some(state.files[file].seen().to_vec())
    }

    /// The names in the folder.
    pub(super) fn names(&self) -> Vec<String> {
        let state = self.state();
        let names = state
            .names
            .keys()
            .filter_map(|path| path.file_name()?.to_str());
        names.map(str::to_owned).collect()
    }

    pub(super) fn start_trace(&self) {
        self.state().trace = Some(Vec::new());
    }

    pub(super) fn note(&self, what: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.state().trace {
            trace.push(what());
        }
    }

    pub(super) fn take_trace(&self) -> Vec<String> {
        self.state().trace.take().unwrap_or_default()
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

impl State {
    pub(super) fn take_number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    pub(super) fn kill(&mut self, process: u64) {
        self.alive.remove(&process);
        self.locks.retain(|lock| lock.process != process);
    }

    pub(super) fn lose_power(&mut self) {
        self.counts.power_losses += 1;
        self.alive.clear();
        self.locks.clear();
        self.full = false;
        let kept = self.rng.usize(..=self.pending_names.len());
        for change in self.pending_names.drain(..).take(kept) {
            change.apply(&mut self.durable_names);
        }
        self.names.clone_from(&self.durable_names);
        for file in &mut self.files {
            file.lose_power(&mut self.rng);
        }
    }

    pub(super) fn change_name(&mut self, change: NameChange) {
        change.apply(&mut self.names);
        let now = self.now();
        if let Some(changed) = change.folder().and_then(|path| self.folders.get_mut(path)) {
            *changed = now;
        }
        self.pending_names.push(change);
    }

    pub(super) fn sync_folder(&mut self, path: &Path) {
        let pending = std::mem::take(&mut self.pending_names);
        for change in pending {
            if change.folder() == Some(path) {
                change.apply(&mut self.durable_names);
            } else {
                self.pending_names.push(change);
            }
        }
    }

    pub(super) fn failure(&mut self) -> io::Error {
        if self.rng.bool() {
            io::Error::other("the disk failed")
        } else {
            io::ErrorKind::StorageFull.into()
        }
    }
}

impl State {
    pub(super) fn now(&self) -> SystemTime {
        // So long between two operations that it matters which stamps of files are too new to be believed.
        UNIX_EPOCH + Duration::from_micros(1_700_000_000_000_001 + self.operations * 37_000)
    }

    pub(super) fn metadata(&self, file: usize) -> Metadata {
        let inode = &self.files[file];
        Metadata {
            kind: Kind::Plain,
            id: FileId {
                device: 1,
                file: file as u64,
            },
            len: inode.seen().len() as u64,
            modified: inode.modified,
            changed: inode.modified,
        }
    }

    pub(super) fn folder_metadata(&self, path: &Path) -> Option<Metadata> {
        let changed = *self.folders.get(path)?;
        Some(Metadata {
            kind: Kind::Folder,
            id: FileId {
                device: 2,
                file: path.as_os_str().len() as u64,
            },
            len: 0,
            modified: Some(changed),
            changed: Some(changed),
        })
    }
}
