//! Group commit and faults.

use rusqlite::Connection;

use crate::failure::Failure;

/// Failures that a disk can't be asked for.
#[derive(Debug, Default)]
pub(crate) struct Faults {}

impl Faults {
    pub(super) fn on_commit(&self, _connection: &Connection) -> Result<(), Failure> {
        Ok(())
    }

    pub(super) fn on_checkpoint(&self) -> Result<(), Failure> {
        Ok(())
    }
}
