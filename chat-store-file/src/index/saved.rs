//! The index's file: reading it, and replacing it in one step, by one store at a time. Nothing waits here, and nothing is synced:
//! an index that is lost is made anew.

use std::{
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
};

use chat_core::StoreError;

use super::{
    file::{self, Head},
    row::Stamp,
    rows::Rows,
};
use crate::{
    hold,
    lines::At,
    system::{Access, Existing, File, FileId, Folder, Kind, foreign},
};

/// The index's own folder, so that saving it leaves the stamp of the sessions' folder alone.
const HOME: &str = "list";

/// How long a system may keep what was written and not synced, in nanoseconds: twice what they do. A loss of power in that time
/// may leave a file of its length and time without its content.
const UNFLUSHED: i64 = 60 * 1_000_000_000;

fn home(folder: &Folder) -> PathBuf {
    folder.path.join(HOME)
}

fn index(folder: &Folder) -> PathBuf {
    home(folder).join("index")
}

/// Which of the files that were saved here one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Version {
    id: FileId,
    /// `None` where it is none of ours.
    nonce: Option<u64>,
}

impl Version {
    /// Whether no other file will ever be taken for it.
    pub(crate) fn is_unique(self) -> bool {
        self.nonce.is_some()
    }
}

/// Which file is there; `None` where none is, or none that can be read.
pub(crate) fn version(folder: &Folder) -> Option<Version> {
    let opened = open(folder)?;
    let start = read(&*opened, file::START as u64)?;
    Some(Version {
        id: opened.metadata().ok()?.id,
        nonce: file::nonce(&start),
    })
}

/// An index that was read from its file.
pub(crate) struct Loaded {
    pub(crate) rows: Rows,
    pub(crate) scanned: Option<Stamp>,
    pub(crate) version: Version,
    /// Whether it was saved in this start of the machine, in this very file, for this very folder.
    pub(crate) is_good: bool,
}

/// Reads the file. `None` where there is none, or none that can be read.
pub(crate) fn load(folder: &Folder) -> Option<Loaded> {
    let opened = open(folder)?;
    let found = opened.metadata().ok()?;
    // It may be anything, of any length: no more is read than its head says that there is.
    let start = read(&*opened, found.len.min(file::HEAD as u64))?;
    if found.len > file::longest(&start)? {
        return None;
    }
    let (head, mut rows) = file::decode(&read(&*opened, found.len)?)?;
    let is_here = head.own == found.id && here(folder) == Some(head.folder);
    let is_good = is_here && head.boot.is_some() && head.boot == folder.files.boot();
    if !is_good {
        let saved = Stamp::of(&found).modified;
        rows.unsettle_since(saved.saturating_sub(UNFLUSHED));
    }
    Some(Loaded {
        rows,
        scanned: head.scanned,
        version: Version {
            id: found.id,
            nonce: Some(head.nonce),
        },
        is_good,
    })
}

/// Which folder the sessions are in.
fn here(folder: &Folder) -> Option<FileId> {
    folder.files.id_at(&folder.path).ok()?
}

fn open(folder: &Folder) -> Option<Box<dyn File>> {
    // A link to another folder's is not followed.
    let home = folder.files.look(&home(folder)).ok()??;
    if home.kind != Kind::Folder {
        return None;
    }
    folder.files.open_plain(&index(folder), Access::Read).ok()?
}

fn read(file: &(dyn File + 'static), len: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(usize::try_from(len).ok()?).ok()?;
    At::new(file, 0).take(len).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The right to replace the file and to take marks away by it: one store's at a time. Dropping it gives it up.
#[derive(Debug)]
pub(crate) struct Saving<'a> {
    folder: &'a Folder,
    lock: Box<dyn File>,
}

impl<'a> Saving<'a> {
    /// `None` where another is at it, or saved since the file was `base`.
    pub(crate) fn begin(
        folder: &'a Folder,
        base: Option<Version>,
    ) -> Result<Option<Self>, StoreError> {
        let (files, home) = (&folder.files, home(folder));
        let io = |error| StoreError::from_io("create", &home, error);
        match files.look(&home).map_err(io)?.map(|found| found.kind) {
            Some(Kind::Folder) => {}
            Some(Kind::Plain | Kind::Link | Kind::Other) => {
                return Err(foreign(&home, "not a folder"));
            }
            None => match files.create_folder(&home) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(io(error));
                }
                Ok(()) | Err(_) => {}
            },
        }
        let lock = hold::try_lock(&**files, &home.join("lock"))?;
        Ok(lock
            .filter(|_| version(folder) == base)
            .map(|lock| Self { folder, lock }))
    }

    /// Puts the rows in the file's place. Which file it is now.
    pub(crate) fn save(&self, scanned: Option<Stamp>, rows: &Rows) -> Result<Version, StoreError> {
        let files = &self.folder.files;
        let index = index(self.folder);
        // Always the same: one that a killed store left is written over. No other writes to it, under the lock.
        let new = index.with_extension("new");
        let saved = self.write(scanned, rows, &index, &new);
        if saved.is_err() {
            // On a full disk what there is of it takes up what others need.
            let _ = files.remove_if_there(&new);
        }
        saved
    }

    fn write(
        &self,
        scanned: Option<Stamp>,
        rows: &Rows,
        index: &Path,
        new: &Path,
    ) -> Result<Version, StoreError> {
        let files = &self.folder.files;
        let io = |error| StoreError::from_io("save", index, error);
        let file = files.create_plain(new, Existing::Open)?;
        file.set_len(0).map_err(io)?;
        let head = Head {
            nonce: fastrand::u64(..),
            boot: files.boot(),
            own: file.metadata().map_err(io)?.id,
            folder: here(self.folder).ok_or_else(|| io(io::ErrorKind::NotFound.into()))?,
            scanned,
        };
        let bytes = file::encode(&head, rows);
        At::new(&*file, 0).write_all(&bytes).map_err(io)?;
        // Where someone removed the lock, with the whole folder perhaps, another may be saving, too.
        let lock = home(self.folder).join("lock");
        if !hold::is_at(&**files, &*self.lock, &lock).map_err(io)? {
            return Err(io(io::ErrorKind::NotFound.into()));
        }
        files.rename(new, index).map_err(io)?;
        Ok(Version {
            id: head.own,
            nonce: Some(head.nonce),
        })
    }
}
