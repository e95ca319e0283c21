//! The database as the rest of the crate sees it: where it is, which file it is, and connections that are set up as they have
//! to be. Knows nothing of sessions.

use std::{
    fs::File,
    path::{Path, PathBuf},
};

use chat_core::{Durability, SessionId, StoreError};
use rusqlite::{Connection, OpenFlags, config::DbConfig};

use crate::{
    failure::Failure,
    patience::{self, Patience},
    schema,
    system::{self, Access, FileId},
};

/// The database of one store.
#[derive(Debug)]
pub(crate) struct Database {
    /// Absolute, its folder without links: nothing in it is ever taken for a URI or a name with a meaning.
    pub(crate) path: PathBuf,
    /// Where the locks of its sessions are.
    pub(crate) holds: PathBuf,
    pub(crate) durability: Durability,
    /// Which file was opened first: SQLite would go on with a file that was removed from its path.
    pub(crate) id: FileId,
}

/// A connection that can't change anything. Short-lived: an operation's own.
#[derive(Debug)]
pub(crate) struct Reader {
    connection: Connection,
}

impl Database {
    /// Opens a connection to read with.
    pub(crate) fn reader(&self) -> Result<Reader, Failure> {
        self.check_place()?;
        patiently(|| connect(&self.path, OpenFlags::SQLITE_OPEN_READ_ONLY))
            .map(|connection| Reader { connection })
    }

    /// Opens the connection to write with. Closing it makes no checkpoint, unless it is told to. Where another program keeps the
    /// database locked, that is waited for until `given_up`.
    pub(crate) fn writer(&self, given_up: impl Fn() -> bool) -> Result<Connection, Failure> {
        self.check_place()?;
        patiently_unless(given_up, || {
            let connection = connect(&self.path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
            // What macOS calls a sync leaves it in the device's cache; elsewhere the two mean nothing. Deleted text is
            // overwritten. The list of what a savepoint undoes stays out of files of its own.
            connection.execute_batch(match self.durability {
                Durability::Full => {
                    "PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON;
                     PRAGMA secure_delete = ON; PRAGMA temp_store = MEMORY;"
                }
                Durability::Os | Durability::Memory => {
                    "PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON; PRAGMA temp_store = MEMORY;"
                }
            })?;
            // Kept in the file since it was made; someone may have changed it by hand.
            let mode: String =
                connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
            if !mode.eq_ignore_ascii_case("wal") {
                return Err(StoreError::backend(format!(
                    "{} is in journal mode {mode} and can't be put into WAL mode here",
                    self.path.display()
                ))
                .into());
            }
            check_format(&connection, &self.path)?;
            Ok(connection)
        })
    }

    /// The log of what is written and not yet in the database itself.
    pub(crate) fn log(&self) -> PathBuf {
        system::beside(&self.path, "-wal")
    }

    /// Makes the log's length durable. SQLite does not, and a log that is whole again after a loss of power is replayed. It locks
    /// nothing in this file, so it may be opened and closed.
    pub(crate) fn sync_log(&self) -> Result<(), StoreError> {
        let path = self.log();
        match system::open(&path, Access::Write)? {
            Some(log) => {
                File::sync_all(&log).map_err(|error| StoreError::from_io("sync", path, error))
            }
            None => Ok(()),
        }
    }

    /// Whether the database is still the file that was opened.
    pub(crate) fn is_in_place(&self) -> bool {
        system::path_id(&self.path).is_ok_and(|found| found == Some(self.id))
    }

    fn check_place(&self) -> Result<(), StoreError> {
        match system::path_id(&self.path) {
            Ok(Some(found)) if found == self.id => Ok(()),
            Ok(Some(_)) => Err(self.gone("it was replaced while the store was open")),
            Ok(None) => Err(self.gone("it was removed while the store was open")),
            Err(error) => Err(StoreError::from_io("look at", &self.path, error)),
        }
    }

    fn gone(&self, what: &'static str) -> StoreError {
        let error = std::io::Error::new(std::io::ErrorKind::NotFound, what);
        StoreError::from_io("open", &self.path, error)
    }

    /// The error for a caller who wants something of one session: a database that is not there any more took it along.
    pub(crate) fn error_of(
        &self,
        action: &'static str,
        session: &SessionId,
        failure: Failure,
    ) -> StoreError {
        if self.is_in_place() {
            failure.into_error(action, &self.path, Some(session))
        } else {
            self.lost(session)
        }
    }

    /// The same for an error that is everyone's.
    pub(crate) fn or_lost(&self, session: &SessionId, error: StoreError) -> StoreError {
        if self.is_in_place() {
            error
        } else {
            self.lost(session)
        }
    }

    pub(crate) fn lost(&self, session: &SessionId) -> StoreError {
        StoreError::Lost {
            session: session.clone(),
            path: self.path.clone(),
        }
    }
}

impl Reader {
    /// Opens a connection to a database that no store has open yet.
    pub(crate) fn first(path: &Path) -> Result<Self, Failure> {
        patiently(|| connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY))
            .map(|connection| Self { connection })
    }

    /// Reads in one short transaction: all of it is of one moment. May be run again from its start.
    pub(crate) fn snapshot<T>(
        &self,
        path: &Path,
        mut read: impl FnMut(&Connection) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        patiently(|| {
            let transaction = self.connection.unchecked_transaction()?;
            check_format(&transaction, path)?;
            // Dropped, it is rolled back: nothing was written.
            read(&transaction)
        })
    }
}

fn connect(path: &Path, access: OpenFlags) -> Result<Connection, Failure> {
    // Never SQLITE_OPEN_CREATE: a database that was removed is not made anew, empty and readable by all. A connection is used by
    // one thread at a time.
    let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_handler(Some(patience::busy))?;
    // What stands in the file is data, whoever wrote it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.execute_batch("PRAGMA cell_size_check = ON;")?;
    Ok(connection)
}

/// Refuses tables of a newer format; asked in every transaction, for a newer program may come while this one runs.
pub(crate) fn check_format(connection: &Connection, path: &Path) -> Result<(), Failure> {
    let found: i64 = connection
        .prepare_cached("PRAGMA user_version")?
        .query_row([], |row| row.get(0))?;
    if found == i64::from(schema::FORMAT) {
        return Ok(());
    }
    Err(match u32::try_from(found) {
        Ok(found) if found > schema::FORMAT => StoreError::NewerFormat {
            what: format!("the database {}", path.display()).into(),
            found,
            supported: schema::FORMAT,
        },
        _ => system::foreign(path, format!("its tables have no format ({found})")),
    }
    .into())
}

/// Does something again until the database is not busy: SQLite does not always ask its busy handler.
pub(crate) fn patiently<T>(attempt: impl FnMut() -> Result<T, Failure>) -> Result<T, Failure> {
    patiently_unless(|| false, attempt)
}

/// The same, for who may give up in the middle.
fn patiently_unless<T>(
    given_up: impl Fn() -> bool,
    mut attempt: impl FnMut() -> Result<T, Failure>,
) -> Result<T, Failure> {
    let mut patience = Patience::new();
    loop {
        match attempt() {
            Err(failure) if failure.is_busy() && !given_up() && patience.wait() => {}
            done => return done,
        }
    }
}
