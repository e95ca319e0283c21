//! Opening a database for the first time, here or at all. One is made under another name, in full, before it gets its own: so
//! it is there whole or not at all, however many processes begin at once. What is not ours is left untouched.

use std::{
    fs::TryLockError,
    io,
    path::{Path, PathBuf},
};

use chat_core::{Durability, StoreError};
use rusqlite::{Connection, OpenFlags};

use crate::{
    database::{Database, Reader, patiently},
    failure::Failure,
    mount,
    patience::Patience,
    schema,
    system::{self, Access, Existing},
};

/// The longest path of a database, in bytes: SQLite opens none beyond 504, and one that is being made has another name.
const LONGEST_PATH: usize = 504 - "-holds/new".len();

/// Opens the database at a path, made anew where there is none.
pub(crate) fn open(path: &Path, durability: Durability) -> Result<Database, StoreError> {
    let path = resolve(path)?;
    let holds = system::beside(&path, "-holds");
    if !exists(&path)? {
        create(&path, &holds)?;
    }
    check_owner(&path)?;
    // Made when it is first needed.
    system::is_folder(&holds)?;
    // Refuses a newer format.
    Reader::first(&path)
        .and_then(|reader| reader.snapshot(&path, |_| Ok(())))
        .map_err(|failure| failure.into_error("open", &path, None))?;
    let id = system::path_id(&path)
        .map_err(|error| StoreError::from_io("look at", &path, error))?
        .ok_or_else(|| {
            StoreError::from_io("open", &path, io::Error::from(io::ErrorKind::NotFound))
        })?;
    Ok(Database {
        path,
        holds,
        durability,
        id,
    })
}

/// The absolute path; its folder is made where it is not there. Always a file's: `:memory:` and URIs have no meaning here.
fn resolve(path: &Path) -> Result<PathBuf, StoreError> {
    let refused =
        |what: &str| StoreError::backend(format!("{path:?} is no path of a database: {what}"));
    if path.as_os_str().is_empty() {
        return Err(refused("it is empty; name a file, such as chat.db"));
    }
    if path.as_os_str().as_encoded_bytes().contains(&0) {
        return Err(refused("it has a NUL character"));
    }
    let Some(name) = path.file_name() else {
        return Err(refused("it ends in no file's name"));
    };
    let fits = |path: &Path| match path.as_os_str().len() {
        0..=LONGEST_PATH => Ok(()),
        long => Err(refused(&format!(
            "it has {long} bytes, and SQLite opens none of more than {LONGEST_PATH}; use a shorter one"
        ))),
    };
    // Before a folder is made for it.
    fits(&std::path::absolute(path).map_err(|error| StoreError::from_io("open", path, error))?)?;
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let io = |action| move |error| StoreError::from_io(action, folder, error);
    if system::path_id(folder).map_err(io("open"))?.is_none() {
        system::create_folder(folder).map_err(io("create"))?;
    }
    // Without links on the way: SQLite is told to follow none, and no later one can lead elsewhere.
    let folder = folder.canonicalize().map_err(io("open"))?;
    mount::check(&folder)?;
    let path = folder.join(name);
    fits(&path)?;
    Ok(path)
}

/// Whether there is a file; anything else at its place is refused.
fn exists(path: &Path) -> Result<bool, StoreError> {
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => Err(system::foreign(
            path,
            "a symbolic link; open the file it leads to",
        )),
        Ok(found) if !found.is_file() => Err(system::foreign(path, "not a plain file")),
        Ok(found) if found.len() == 0 => Err(system::foreign(
            path,
            "an empty file; remove it, and a database is made in its place",
        )),
        // By each of them it would have a log and locks of its own.
        Ok(found) if system::names(&found) > 1 => Err(system::foreign(
            path,
            "a file that has another name, too (a hard link); remove one of them, or copy it",
        )),
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(StoreError::from_io("open", path, error)),
    }
}

/// Refuses a database that is another program's. Its bytes alone are looked at: no lock is taken, no log replayed, no file made
/// beside it.
fn check_owner(path: &Path) -> Result<(), StoreError> {
    let look = || -> Result<i64, Failure> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW
            | OpenFlags::SQLITE_OPEN_URI;
        let connection = Connection::open_with_flags(immutable_uri(path), flags)?;
        Ok(connection.query_row("PRAGMA application_id", [], |row| row.get(0))?)
    };
    match look() {
        Ok(found) if found == i64::from(schema::APPLICATION_ID) => Ok(()),
        Ok(0) => Err(system::foreign(path, "a database of another program")),
        Ok(other) => Err(system::foreign(
            path,
            format!("a database of another program (its application id is {other:#x})"),
        )),
        // Someone writes it at this moment, and this look takes no lock: the proper one that follows tells.
        Err(failure) if failure.is_corrupt() => Ok(()),
        Err(failure) => Err(failure.into_error("open", path, None)),
    }
}

/// An absolute path as SQLite's URI for a file that is taken to never change.
fn immutable_uri(path: &Path) -> String {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                uri.push(char::from(*byte));
            }
            byte => uri.push_str(&format!("%{byte:02x}")),
        }
    }
    uri.push_str("?immutable=1");
    uri
}

/// Makes the database, unless another process does it first.
fn create(path: &Path, holds: &Path) -> Result<(), StoreError> {
    let io = |error| StoreError::from_io("create", path, error);
    system::make_folder(holds)?;
    let guard = holds.join("set-up");
    let lock = system::create(&guard, Existing::Open)?;
    let mut patience = Patience::new();
    loop {
        match lock.try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) if patience.wait() => {}
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::backend(format!(
                    "another process does not finish creating {}",
                    path.display()
                )));
            }
            Err(TryLockError::Error(error)) => {
                return Err(StoreError::from_io("lock", guard, error));
            }
        }
    }
    if exists(path)? {
        return Ok(());
    }
    // In a folder that is ours alone, and of this name is only what a killed process left: whoever makes one has the lock.
    let new = holds.join("new");
    let leftovers = ["", "-journal", "-wal", "-shm"].map(|ending| system::beside(&new, ending));
    let clear = || leftovers.iter().try_for_each(|file| system::remove(file));
    clear().map_err(io)?;
    let make = || -> Result<(), StoreError> {
        // Private before SQLite opens it; the files beside it get the same mode from SQLite.
        drop(system::create(&new, Existing::Refuse)?);
        patiently(|| make_tables(&new))
            .map_err(|failure| failure.into_error("create", &new, None))?;
        // Closed before it gets its name: closing it later would let go of the locks of another store in this process.
        system::open(&new, Access::Write)?
            .ok_or_else(|| io(io::ErrorKind::NotFound.into()))?
            .sync_all()
            .map_err(io)?;
        system::rename_new(&new, path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => {
                system::foreign(path, "made by another program just now")
            }
            _ => io(error),
        })?;
        // Where it got its name, and where it had the other one.
        [path.parent().unwrap_or(path), holds]
            .iter()
            .try_for_each(|folder| {
                system::sync_folder(folder)
                    .map_err(|error| StoreError::from_io("sync", *folder, error))
            })
    };
    let made = make();
    if made.is_err() {
        // Nothing is lost with it, and the next one to try clears it away too.
        let _ = clear();
    }
    made
}

fn make_tables(new: &Path) -> Result<(), Failure> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = Connection::open_with_flags(new, flags)?;
    let (id, format, tables) = (schema::APPLICATION_ID, schema::FORMAT, schema::TABLES);
    connection.execute_batch(&format!(
        "PRAGMA synchronous = FULL;
         BEGIN; {tables} PRAGMA application_id = {id}; PRAGMA user_version = {format}; COMMIT;
         PRAGMA journal_mode = WAL;"
    ))?;
    connection.close().map_err(|(_, error)| error.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_always_a_files() {
        assert_eq!(
            immutable_uri(Path::new("/a b/50%?x#y.db")),
            "file:/a%20b/50%25%3fx%23y.db?immutable=1"
        );
        for path in ["", "..", "/"] {
            assert!(matches!(
                resolve(Path::new(path)),
                Err(StoreError::Backend { .. })
            ));
        }
    }
}
