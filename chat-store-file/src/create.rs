//! Creating a journal: whole and durable, or not at all (law S7). It is written under a name of its own and gets the journal's by
//! a link, so whoever looks sees all of it or nothing.

use std::{
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use chat_core::{Durability, Entry, Seq, SessionId, StoreError};

use crate::{
    hold::{Hold, try_lock},
    journal::sync_folder,
    line::{MAX_LINE, seal},
    lines::At,
    name::{self, Paths},
    scan::check_place,
    system::{Access, File, FileId, FileSystem, Folder},
};

/// What came of an attempt to create a journal.
#[derive(Debug)]
pub(crate) enum Created {
    Done,
    /// A delete of the same session has removed the journal and is about to end.
    Again,
}

/// Creates a journal of these first entries. Its lock file is there before it, as a mark that an index may be wrong about it, and
/// is locked meanwhile: nobody can hold a session that may be taken back, and no delete that is ending takes the mark away.
///
/// # Errors
/// After [`StoreError::Taken`] nothing was changed. After any other the session is not there, unless the error says that it is.
pub(crate) fn create(
    session: &SessionId,
    paths: &Paths,
    durability: Durability,
    entries: &[Entry],
) -> Result<Created, StoreError> {
    let lines = lines(session, entries)?;
    let is_there = || -> Result<bool, StoreError> {
        let path = paths.journal();
        let found = paths.folder.files.id_at(&path);
        let found = found.map_err(|error| StoreError::from_io("create", path, error))?;
        Ok(found.is_some())
    };
    if is_there()? {
        return Err(StoreError::Taken {
            session: session.clone(),
        });
    }
    let Some(hold) = Hold::before_creating(paths)? else {
        return Ok(Created::Again);
    };
    let created = write(session, paths, durability, &lines);
    if created.is_err() && matches!(is_there(), Ok(false)) {
        // What can't be removed is in nobody's way.
        let _ = hold.remove_files(paths);
    }
    created.map(|()| Created::Done)
}

fn write(
    session: &SessionId,
    paths: &Paths,
    durability: Durability,
    lines: &[u8],
) -> Result<(), StoreError> {
    let path = paths.journal();
    let files = &*paths.folder.files;
    let io = |error| StoreError::from_io("create", &path, error);
    let temporary = Temporary::new(paths)?;
    let file = temporary.write(lines, durability).map_err(io)?;
    // A link, since it refuses a taken name where a rename replaces it.
    if let Err(error) = files.link(&temporary.path, &path) {
        // Over a network the answer may be lost and the question asked twice: what is there tells.
        if files.id_at(&path).ok().flatten() != Some(file) {
            return Err(match error.kind() {
                io::ErrorKind::AlreadyExists => StoreError::Taken {
                    session: session.clone(),
                },
                _ => io(error),
            });
        }
    }
    drop(temporary);
    match durability {
        Durability::Full => {
            let synced = files.sync_folder(&paths.folder.path);
            synced.map_err(|error| undurable(paths, error))
        }
        Durability::Os | Durability::Memory => Ok(()),
    }
}

/// The lines of a journal's first entries, where they are such.
fn lines(session: &SessionId, entries: &[Entry]) -> Result<Vec<u8>, StoreError> {
    let misuse = |what: Arc<str>| StoreError::Misuse {
        session: session.clone(),
        what,
    };
    if entries.is_empty() {
        return Err(misuse("a journal begins with session.created".into()));
    }
    let mut lines = Vec::new();
    let mut expected = Seq::ZERO;
    for entry in entries {
        check_place(entry, expected).map_err(misuse)?;
        let line = seal(entry);
        if line.len() > MAX_LINE {
            let len = line.len();
            let what = format!("an entry of {len} bytes is too long, the limit is {MAX_LINE}");
            return Err(misuse(what.into()));
        }
        lines.extend_from_slice(&line);
        expected = expected.next();
    }
    Ok(lines)
}

/// What to answer where the folder would not be synced: the journal, which nobody else could hold yet, is taken back.
fn undurable(paths: &Paths, error: io::Error) -> StoreError {
    let action = match paths.folder.files.remove(&paths.journal()) {
        Ok(()) => {
            // It failed a moment ago and may fail again: then a loss of power can still bring the session back.
            let _ = sync_folder(&paths.folder);
            "make a new journal durable in"
        }
        Err(_) => "make a new journal durable (it is there, and durable once it is acquired) in",
    };
    StoreError::from_io(action, &paths.folder.path, error)
}

/// The name a journal is written under before it has its own. Locked as long as its creator lives: one that can be locked is
/// what a killed creator left.
struct Temporary<'a> {
    files: &'a dyn FileSystem,
    path: PathBuf,
    file: Box<dyn File>,
}

impl<'a> Temporary<'a> {
    fn new(paths: &'a Paths) -> Result<Self, StoreError> {
        let files = &*paths.folder.files;
        loop {
            let path = paths.temporary();
            // Nobody else has this name, unless whoever cleans up looked at it before it was locked: next time another one.
            if let Some(file) = try_lock(files, &path)? {
                return Ok(Self { files, path, file });
            }
        }
    }

    fn write(&self, lines: &[u8], durability: Durability) -> io::Result<FileId> {
        At::new(&*self.file, 0).write_all(lines)?;
        if durability == Durability::Full {
            self.file.sync_all()?;
        }
        Ok(self.file.metadata()?.id)
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        // Its name has served, whatever came of it. One that can't be removed is cleaned up later.
        let _ = self.files.remove(&self.path);
    }
}

/// So many names of a folder are looked through for what was left there: a process that begins is not to take longer where there
/// are more sessions.
const LOOKED_THROUGH: usize = 4096;

/// Removes what killed creators left in a folder, and nothing that a living one is writing. In a large folder what is not found
/// waits for its session to be deleted.
pub(crate) fn clean_up(folder: &Folder) -> io::Result<()> {
    for name in folder.files.names(&folder.path)?.take(LOOKED_THROUGH) {
        let name = name?;
        if name.to_str().is_some_and(name::is_temporary) {
            // What can't be removed is in nobody's way.
            let _ = remove_left(&*folder.files, &folder.path.join(name));
        }
    }
    Ok(())
}

/// Removes a temporary name whose creator is gone.
pub(crate) fn remove_left(files: &dyn FileSystem, path: &Path) -> Result<(), StoreError> {
    let Some(file) = files.open_plain(path, Access::Read)? else {
        return Ok(());
    };
    if file.try_lock().is_ok() {
        let io = |error| StoreError::from_io("remove", path, error);
        files.remove_if_there(path).map_err(io)?;
    }
    Ok(())
}
