//! What SQLite fails with, sorted into the variants of [`StoreError`] that say what to do about it (law S7).

use std::{
    fs::File,
    io::{self, ErrorKind, Seek as _, SeekFrom, Write as _},
    path::Path,
};

use chat_core::{Damage, Place, SessionId, StoreError};
use rusqlite::{ErrorCode, ffi};

use crate::system;

/// What a piece of work on the database failed with.
#[derive(Debug)]
pub(crate) enum Failure {
    /// SQLite's own failure, not yet sorted.
    Sqlite(rusqlite::Error),
    /// One that says all.
    Store(StoreError),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Failure {
    /// Whether it only has to be tried again.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(
            self.code(),
            Some(
                ErrorCode::DatabaseBusy
                    | ErrorCode::DatabaseLocked
                    | ErrorCode::FileLockingProtocolFailed
            )
        )
    }

    /// Whether the system failed, and not the request: nothing more is to be done on this connection.
    pub(crate) fn is_io(&self) -> bool {
        self.code() == Some(ErrorCode::SystemIoFailure)
    }

    /// Whether a write failed for want of room: then nothing of it can be read, and no sync was asked for.
    pub(crate) fn is_want_of_room(&self) -> bool {
        self.code() == Some(ErrorCode::DiskFull) || self.extended() == Some(ffi::SQLITE_IOERR_WRITE)
    }

    /// Whether the database's pages make no sense, or a value on them: of another type than was written, or longer than any.
    pub(crate) fn is_corrupt(&self) -> bool {
        match self {
            Self::Sqlite(error) => is_corrupt(error),
            Self::Store(_) => false,
        }
    }

    /// Whether a value was refused by a constraint; `primary` tells the table's own key from the other ones.
    pub(crate) fn constraint(&self) -> Option<Constraint> {
        let (ErrorCode::ConstraintViolation, Some(extended)) = (self.code()?, self.extended())
        else {
            return None;
        };
        match extended {
            ffi::SQLITE_CONSTRAINT_PRIMARYKEY => Some(Constraint::Primary),
            ffi::SQLITE_CONSTRAINT_UNIQUE => Some(Constraint::Unique),
            _ => None,
        }
    }

    fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Sqlite(error) => error.sqlite_error_code(),
            Self::Store(_) => None,
        }
    }

    fn extended(&self) -> Option<i32> {
        match self {
            Self::Sqlite(error) => error.sqlite_error().map(|error| error.extended_code),
            Self::Store(_) => None,
        }
    }

    /// The error for the caller. `session` is whose entries were at stake.
    pub(crate) fn into_error(
        self,
        action: &'static str,
        path: &Path,
        session: Option<&SessionId>,
    ) -> StoreError {
        let (code, extended) = (self.code(), self.extended());
        let error = match self {
            Self::Store(error) => return error,
            Self::Sqlite(error) => error,
        };
        let from =
            |kind| StoreError::from_io(action, path, io::Error::new(kind, error.to_string()));
        match code {
            _ if is_corrupt(&error) => match session {
                Some(session) => damage(session, path, &error),
                None => from(ErrorKind::InvalidData),
            },
            Some(ErrorCode::DiskFull) => from(ErrorKind::StorageFull),
            Some(ErrorCode::ReadOnly) if needs_files_beside(extended) => {
                cannot_open(action, path, &error, extended)
            }
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
                from(ErrorKind::PermissionDenied)
            }
            Some(ErrorCode::CannotOpen) => cannot_open(action, path, &error, extended),
            Some(ErrorCode::NotADatabase) => system::foreign(path, "not a SQLite database"),
            Some(ErrorCode::SystemIoFailure) => match no_room(path) {
                Some(cause) => StoreError::from_io(action, path, cause),
                None => from(ErrorKind::Other),
            },
            Some(
                ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::FileLockingProtocolFailed,
            ) => StoreError::backend(format!(
                "can't {action} {}: another program keeps the database locked; let it finish or close it",
                path.display()
            )),
            Some(_) | None => StoreError::Backend {
                message: format!("can't {action} {}: {error}", path.display()).into(),
                source: Some(std::sync::Arc::new(error)),
            },
        }
    }
}

/// Which kind of key has a value twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Constraint {
    Primary,
    Unique,
}

fn is_corrupt(error: &rusqlite::Error) -> bool {
    matches!(
        error,
        rusqlite::Error::InvalidColumnType(..) | rusqlite::Error::IntegralValueOutOfRange(..)
    ) || matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::TooBig)
    )
}

fn damage(session: &SessionId, path: &Path, error: &rusqlite::Error) -> StoreError {
    Damage {
        session: session.clone(),
        place: Place {
            path: Some(path.to_owned()),
            ..Place::default()
        },
        what: format!("SQLite says: {error}").into(),
    }
    .into()
}

/// Whether a database can't even be read for want of a file beside it.
fn needs_files_beside(extended: Option<i32>) -> bool {
    matches!(
        extended,
        Some(
            ffi::SQLITE_READONLY_CANTINIT
                | ffi::SQLITE_READONLY_CANTLOCK
                | ffi::SQLITE_READONLY_DIRECTORY
                | ffi::SQLITE_READONLY_RECOVERY
        )
    )
}

/// SQLite tells a database that it can't open, or whose files beside it, but not why: the system is asked again. The database
/// itself is never opened for that: closing it would let go of SQLite's locks.
fn cannot_open(
    action: &'static str,
    path: &Path,
    error: &rusqlite::Error,
    extended: Option<i32>,
) -> StoreError {
    if extended == Some(ffi::SQLITE_CANTOPEN_SYMLINK) {
        return system::foreign(path, "a symbolic link, which is not followed");
    }
    if let Err(error) = std::fs::symlink_metadata(path) {
        return StoreError::from_io(action, path, error);
    }
    for file in ["-wal", "-shm"].map(|ending| system::beside(path, ending)) {
        if std::fs::symlink_metadata(&file).is_ok_and(|found| !found.is_file()) {
            let what =
                "not a plain file, and SQLite keeps one of its own there; links are not followed";
            return system::foreign(&file, what);
        }
        if let Err(error) = system::may_read(&file) {
            return StoreError::from_io(action, file, error);
        }
    }
    match system::may_read(path).and_then(|()| probe(path)) {
        Err(error) if is_forbidden(&error) => {
            let what = format!(
                "{error}: SQLite keeps the files {0}-wal and {0}-shm beside it, also to read; copy it to a folder that can be \
                 written",
                path.file_name().unwrap_or_default().display()
            );
            StoreError::from_io(action, path, io::Error::new(error.kind(), what))
        }
        Err(error) => StoreError::from_io(action, path, error),
        // The reason is gone by now.
        Ok(_) => StoreError::from_io(action, path, io::Error::other(error.to_string())),
    }
}

/// Asks the system itself whether a write failed for want of room. SQLite tells only a full disk; a quota and the limit on the
/// size of files are "I/O errors" to it.
fn no_room(path: &Path) -> Option<io::Error> {
    let log =
        std::fs::symlink_metadata(system::beside(path, "-wal")).map_or(0, |found| found.len());
    // As far out as the log is long, with a hole before it: what a next write would need.
    let wrote = probe(path).and_then(|mut file| {
        file.set_len(log)?;
        file.seek(SeekFrom::Start(log))?;
        file.write_all(&[0; 64 << 10])
    });
    wrote.err().filter(|error| {
        matches!(
            error.kind(),
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge
        )
    })
}

/// A new file beside the database, at no path any more, made where as many can be open as a connection needs.
fn probe(path: &Path) -> io::Result<File> {
    let probe = system::beside(path, &format!("-probe-{:08x}", fastrand::u32(..)));
    let file = system::create_new(&probe)?;
    // It was opened by a new name: nothing is lost with it.
    let _ = std::fs::remove_file(&probe);
    // The database, its log, the memory that readers share.
    let _others = [file.try_clone()?, file.try_clone()?, file.try_clone()?];
    Ok(file)
}

fn is_forbidden(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem
    )
}
