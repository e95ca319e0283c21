//! What the system lets a process do less of: the size of a file, so that a disk seems full; the number of open files; where it may
//! write. The limits are of the whole process: play them in [another one](crate::process).

use std::{
    fs::{self, Permissions},
    os::unix::{
        fs::{PermissionsExt as _, chown},
        process::CommandExt as _,
    },
    path::{Path, PathBuf},
    process::Command,
};

use chat_core::{ListRequest, Seq, Store, StoreError};
use rustix::process::{Resource, Rlimit, geteuid, getrlimit, setrlimit};

use crate::{
    entries::{read, script, session},
    files, process,
};

/// No file may be longer than so many bytes from now on; `None` for any length again. What is longer already stays.
///
/// A process is killed for writing past it, unless it was [started so that it goes on](program_past_file_size).
///
/// # Panics
/// Where the system refuses.
pub fn limit_file_size(bytes: Option<u64>) {
    limit(Resource::Fsize, bytes);
}

/// No more than so many files may be open at once from now on.
///
/// # Panics
/// Where the system refuses.
pub fn limit_open_files(count: u64) {
    limit(Resource::Nofile, Some(count));
}

fn limit(resource: Resource, current: Option<u64>) {
    let maximum = getrlimit(resource).maximum;
    let set = setrlimit(resource, Rlimit { current, maximum });
    set.unwrap_or_else(|error| panic!("{resource:?} can't be limited to {current:?}: {error}"));
}

/// [This program](process::program) by a shell which has it ignore the signal for a write past the limit: such a write then fails, as on a
/// disk that is full.
#[must_use]
pub fn program_past_file_size() -> Command {
    let mut shell = Command::new("sh");
    // What is ignored is inherited.
    shell
        .args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""])
        .arg(process::program());
    shell
}

/// Files and folders that can't be written until this is dropped.
#[derive(Debug)]
pub struct ReadOnly {
    folders: Vec<PathBuf>,
    files: Vec<PathBuf>,
    /// This program, to be run as someone who can't write them either: root may write everywhere.
    nobody: Option<u32>,
}

impl ReadOnly {
    /// Takes the right to write a folder and all folders below it away, and that to write the files in them where it says so.
    ///
    /// Where this process is root's, all of it is given to nobody, and so is the folder above, that it can be reached.
    ///
    /// # Panics
    /// Where it can't be taken away.
    #[must_use]
    pub fn of(folder: &Path, files_too: bool) -> Self {
        let nobody = geteuid().is_root().then_some(65_534);
        let mut folders = vec![folder.to_owned()];
        let mut paths = files::all_below(folder);
        if let Some(nobody) = nobody {
            let above = folder.parent().expect("a folder in another").to_owned();
            for path in paths.iter().chain([&above, &folders[0]]) {
                chown(path, Some(nobody), Some(nobody)).expect("root may give it away");
            }
        }
        folders.extend(paths.extract_if(.., |path| path.is_dir()));
        let files = if files_too { paths } else { Vec::new() };
        let read_only = Self {
            folders,
            files,
            nobody,
        };
        read_only.set(0o555, 0o444);
        read_only
    }

    /// This program as someone who has to keep to that.
    #[must_use]
    pub fn program(&self) -> Command {
        let mut command = Command::new(process::program());
        if let Some(nobody) = self.nobody {
            command.uid(nobody).gid(nobody);
        }
        command
    }

    fn set(&self, of_folders: u32, of_files: u32) {
        let folders = self.folders.iter().map(|path| (path, of_folders));
        let files = self.files.iter().map(|path| (path, of_files));
        for (path, mode) in files.chain(folders) {
            let set = fs::set_permissions(path, Permissions::from_mode(mode));
            set.unwrap_or_else(|error| panic!("no mode for {}: {error}", path.display()));
        }
    }
}

impl Drop for ReadOnly {
    fn drop(&mut self) {
        self.set(0o700, 0o600);
    }
}

/// Checks what a store in a [`ReadOnly`] folder does, with one session `s` in it, that of [`script`]: all that writes is refused as
/// `store-read-only`, opening another place in the folder among it, and what may be read is read.
///
/// # Panics
/// Where it is not so.
pub async fn check_read_only<S: Store>(store: &S, another: Result<S, StoreError>) {
    let id = session("s");
    let errors = [
        store.create(&session("t"), script()).await.err(),
        store.acquire(&id, Seq::ZERO).await.err(),
        store.delete(&id).await.err(),
        another.err(),
    ];
    for error in errors {
        assert!(
            matches!(error, Some(StoreError::ReadOnly { .. })),
            "{error:?}"
        );
    }
    let seen = read(store, &id).await;
    assert!(
        seen.entries == script() && seen.error.is_none(),
        "what may be read is read: {seen:?}"
    );
    let listed = store.list(ListRequest::default()).await;
    assert_eq!(listed.expect("it can be read").sessions.len(), 1);
    assert!(!store.is_held(&id).await.expect("it can be read"));
}
