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
    failure::Failure,
    patience::Patience,
    system::{self, Access},
};

/// How long to wait for readers of the log. Ours are done in a moment; a backup may take minutes.
const READERS: Duration = Duration::from_secs(1);

impl Thread {
    /// Writes what is in the log into the database, anew, and begins a new log. What a failed sync left in the log can be read and
    /// is not durable, and a second sync would have nothing to write; entries behind it would be lost with it, for a log is read
    /// only up to its first bad page.
    pub(super) fn make_sure(&mut self) -> Result<(), Failure> {
        self.shared.sure.store(false, Ordering::Release);
        self.retire();
        let fresh = self.database.writer()?;
        if self.begin_new_log(&fresh)? {
            // A log that comes back after a loss of power, cut short, would be replayed over what is newer.
            self.database.sync_log()?;
        } else {
            self.write_log_again(&fresh)?;
        }
        self.open = Some(Open::new(fresh, &self.database)?);
        self.failed = None;
        self.shared.sure.store(true, Ordering::Release);
        Ok(())
    }

    /// False where someone reads the old log for longer than a moment.
    fn begin_new_log(&self, fresh: &Connection) -> Result<bool, Failure> {
        let mut patience = Patience::of(READERS);
        loop {
            #[cfg(test)]
            self.shared.faults.on_checkpoint()?;
            let busy: i64 =
                fresh.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
            if busy == 0 {
                return Ok(true);
            }
            if self.is_closing() || !patience.wait() {
                return Ok(false);
            }
        }
    }

    /// Writes the bytes of the log once more where they are, as they are. With the right to write taken, nobody else changes them,
    /// and whoever reads them sees the same ones all along.
    fn write_log_again(&self, fresh: &Connection) -> Result<(), Failure> {
        self.begin(fresh)?;
        let written = write_again(&self.database.log());
        let ended = fresh.execute_batch("ROLLBACK");
        written?;
        Ok(ended?)
    }
}

fn write_again(path: &Path) -> Result<(), StoreError> {
    let Some(mut log) = system::open(path, Access::Write)? else {
        return Ok(());
    };
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
    again().map_err(|error| StoreError::from_io("make sure of", path, error))
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
            write_again(&path).unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), bytes);
        }
        assert!(write_again(&folder.path().join("none")).is_ok());
    }
}
