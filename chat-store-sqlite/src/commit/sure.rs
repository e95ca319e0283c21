//! Making sure of what can be read: that all of it is durable. Needed where a sync failed, and once for every store, since a process
//! that was killed may have left a log like that.

use std::{
    io::{Read as _, Seek as _, SeekFrom, Write as _},
    path::Path,
    sync::atomic::Ordering,
    time::Duration,
};

use chat_core::StoreError;
use rusqlite::Connection;

use super::thread::{Open, Thread};
use crate::{
    database::patiently,
    failure::Failure,
    patience::Patience,
    schema,
    system::{self, Access},
};

/// How long to wait for readers of the log. Ours are done in a moment; a backup may take minutes.
const READERS: Duration = Duration::from_secs(1);

/// What SQLite's log has before its pages, and before each of them, in bytes.
const LOG_HEADER: i64 = 32;
const PAGE_HEADER: i64 = 24;

/// Where the next write goes.
enum Log {
    /// To the start of a log that is empty.
    New,
    /// Behind the pages of one that someone reads for longer than a moment.
    Read { pages: i64 },
}

impl Thread {
    /// Writes what is in the log into the database, anew, and begins a new log. What a failed sync left in the log can be read and
    /// is not durable, and a second sync would have nothing to write; entries behind it would be lost with it, for a log is read
    /// only up to its first bad page.
    pub(super) fn make_sure(&mut self) -> Result<(), Failure> {
        self.shared.sure.store(false, Ordering::Release);
        self.retire();
        let fresh = self.database.writer(|| self.is_closing())?;
        match self.begin_new_log(&fresh)? {
            // A log that comes back after a loss of power, cut short, would be replayed over what is newer.
            Log::New => self.database.sync_log()?,
            Log::Read { pages } => self.write_log_again(&fresh, pages)?,
        }
        self.open = Some(Open::new(fresh, &self.database)?);
        self.failed = None;
        self.shared.sure.store(true, Ordering::Release);
        Ok(())
    }

    fn begin_new_log(&self, fresh: &Connection) -> Result<Log, Failure> {
        let mut patience = Patience::of(READERS);
        loop {
            #[cfg(test)]
            self.shared.faults.on_checkpoint()?;
            let (busy, pages) = fresh.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
            })?;
            if busy == 0 {
                return Ok(Log::New);
            }
            if self.is_closing() || !patience.wait() {
                return Ok(Log::Read { pages });
            }
        }
    }

    /// Writes the bytes of the log once more where they are, as they are. With the right to write taken, nobody else changes them,
    /// and whoever reads them sees the same ones all along.
    ///
    /// Behind them may stand what nobody sees: a commit whose sync failed, whole, which would be replayed once nobody has the
    /// database open any more. A commit that changes nothing takes its place, and what is left of it fits nothing then: each
    /// page's checksum goes on from the one before.
    fn write_log_again(&self, fresh: &Connection, pages: i64) -> Result<(), Failure> {
        let page: i64 = fresh.query_row("PRAGMA page_size", [], |row| row.get(0))?;
        let least = u64::try_from(LOG_HEADER + pages * (PAGE_HEADER + page)).unwrap_or(0);
        self.begin(fresh)?;
        if let Err(error) = write_again(&self.database.log(), least) {
            fresh.execute_batch("ROLLBACK")?;
            return Err(error.into());
        }
        fresh.pragma_update(None, "user_version", schema::FORMAT)?;
        patiently(|| fresh.execute_batch("COMMIT").map_err(Failure::from))?;
        // A store that does not sync its commits syncs this one.
        Ok(self.database.sync_log()?)
    }
}

/// `least` is how long the log has to be: one that was removed is made anew by SQLite, which goes on behind a hole.
fn write_again(path: &Path, least: u64) -> Result<(), StoreError> {
    let io = |error| StoreError::from_io("make sure of", path, error);
    let missing = || io(std::io::Error::from(std::io::ErrorKind::NotFound));
    let mut log = system::open(path, Access::Write)?.ok_or_else(missing)?;
    if log.metadata().map_err(io)?.len() < least {
        return Err(missing());
    }
    let mut again = || -> std::io::Result<()> {
        let (mut chunk, mut at) = (vec![0; 64 << 10], 0);
        loop {
            log.seek(SeekFrom::Start(at))?;
            let read = log.read(&mut chunk)?;
            if read == 0 {
                return log.sync_all();
            }
            log.seek(SeekFrom::Start(at))?;
            log.write_all(&chunk[..read])?;
            at += read as u64;
        }
    };
    again().map_err(io)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_written_again_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        for length in [0, 1, (64 << 10) - 1, 64 << 10, 200_000] {
            let bytes: Vec<u8> = (0..length)
                .map(|n: u32| n.to_le_bytes()[n as usize % 2])
                .collect();
            std::fs::write(&path, &bytes).unwrap();
            write_again(&path, bytes.len() as u64).unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), bytes);
        }
        assert!(write_again(&path, 200_001).is_err(), "it was longer");
        assert!(write_again(&folder.path().join("none"), 0).is_err());
    }
}
