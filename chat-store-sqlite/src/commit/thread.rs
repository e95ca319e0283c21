//! The one thread that writes, and group commit: all that waits goes into one transaction, and what comes while that is made, each
//! request into a savepoint of its own, and one sync makes all of it durable.

use std::{
    io,
    sync::{Arc, atomic::Ordering},
    time::Instant,
};

use chat_core::{Appended, StoreError};
use rusqlite::{Connection, config::DbConfig};

use super::{Order, Shared, Write, arrivals::Arrivals};
use crate::{
    change::{Change, Refused},
    database::{Database, check_format, patiently},
    failure::Failure,
    patience::Patience,
    system::{self, FileId},
};

/// The thread's own side.
pub(super) struct Thread {
    pub(super) database: Arc<Database>,
    pub(super) shared: Arc<Shared>,
    arrivals: Arrivals,
    pub(super) open: Option<Open>,
    /// One that failed, kept until there is another: with the last connection goes the memory that readers share, and where the
    /// disk is full it could not be made again.
    pub(super) failed: Option<Open>,
}

/// The connection, and which file its log is.
pub(super) struct Open {
    connection: Connection,
    log: Option<FileId>,
}

/// What became of a transaction.
enum Round {
    /// Committed: the answers, in order.
    Committed(Vec<Appended>),
    /// It could not begin: nothing of anyone's is written.
    NotBegun(Failure),
    /// One request failed and took all others along, undone.
    Broken(usize, Failure),
    /// Nobody knows.
    Unknown(Failure),
}

impl Thread {
    pub(super) fn new(database: Arc<Database>, shared: Arc<Shared>, arrivals: Arrivals) -> Self {
        Self {
            database,
            shared,
            arrivals,
            open: None,
            failed: None,
        }
    }

    pub(super) fn run(mut self) {
        while let Some(group) = self.arrivals.next() {
            self.serve(group);
        }
        self.close();
    }

    fn serve(&mut self, group: Vec<Order>) {
        let (mut writes, mut asked) = (Vec::new(), Vec::new());
        for order in group {
            match order {
                Order::Write(write) => writes.push(write),
                Order::MakeSure(answer) => asked.push(answer),
            }
        }
        if !asked.is_empty() || !self.shared.sure.load(Ordering::Relaxed) {
            let sure = self
                .make_sure()
                .map_err(|failure| failure.into_error("make sure of", &self.database.path, None));
            for answer in asked {
                // Who does not wait any more needs no answer.
                let _ = answer.send(sure.clone());
            }
            if let Err(error) = sure {
                // Nothing is put behind what may be lost with it.
                for write in writes {
                    let error = self.error_for(&write.change, &error);
                    write.answer(Appended::NotWritten(error));
                }
                return;
            }
        }
        self.write(writes);
    }

    /// Writes what waits, in as few transactions as will do: one, unless a request breaks it for the others.
    fn write(&mut self, mut writes: Vec<Write>) {
        while !writes.is_empty() {
            match self.round(&mut writes) {
                Round::Committed(answers) => {
                    for (write, answer) in writes.drain(..).zip(answers) {
                        if let Appended::Written = answer {
                            write.change.committed();
                        }
                        write.answer(answer);
                    }
                }
                Round::NotBegun(failure) => {
                    self.retire();
                    let error = failure.into_error("write to", &self.database.path, None);
                    for write in writes.drain(..) {
                        let error = self.error_for(&write.change, &error);
                        write.answer(Appended::NotWritten(error));
                    }
                }
                // The others begin again without it.
                Round::Broken(index, failure) => {
                    self.retire();
                    self.doubt(&failure);
                    let write = writes.remove(index);
                    let error = self.error_of(&write.change, failure);
                    write.answer(Appended::NotWritten(error));
                    if !self.shared.sure.load(Ordering::Relaxed)
                        && let Err(failure) = self.make_sure()
                    {
                        let error = failure.into_error("make sure of", &self.database.path, None);
                        for write in writes.drain(..) {
                            let error = self.error_for(&write.change, &error);
                            write.answer(Appended::NotWritten(error));
                        }
                    }
                }
                Round::Unknown(failure) => {
                    self.retire();
                    self.doubt(&failure);
                    let error = failure.into_error("commit to", &self.database.path, None);
                    for write in writes.drain(..) {
                        let error = self.error_for(&write.change, &error);
                        write.answer(Appended::Unknown(error));
                    }
                }
            }
        }
    }

    fn round(&mut self, writes: &mut Vec<Write>) -> Round {
        let open = match self.open.take() {
            Some(open) => Ok(open),
            None => self
                .database
                .writer(|| self.is_closing())
                .and_then(|new| Open::new(new, &self.database)),
        };
        match open {
            Ok(open) => {
                self.failed = None;
                let round = self.transact(&open, writes);
                self.open = Some(open);
                round
            }
            Err(failure) => Round::NotBegun(failure),
        }
    }

    fn transact(&mut self, open: &Open, writes: &mut Vec<Write>) -> Round {
        let connection = &open.connection;
        #[cfg(test)]
        self.shared.faults.on_begin(connection);
        if let Err(failure) = self.begin(connection) {
            return Round::NotBegun(failure);
        }
        let mut patience = self.arrivals.patience();
        let mut answers = Vec::with_capacity(writes.len());
        loop {
            while let Some(write) = writes.get(answers.len()) {
                match self.apply(connection, &write.change) {
                    Ok(answer) => answers.push(answer),
                    Err(failure) => return Round::Broken(answers.len(), failure),
                }
                self.arrivals.join(writes);
            }
            if !self.arrivals.wait(&mut patience, writes) {
                break;
            }
        }
        // As late as can be: SQLite would go on with files that are at no path any more.
        if !(self.database.is_in_place() && open.is_log_in_place(&self.database)) {
            let _ = connection.execute_batch("ROLLBACK");
            // Where only the log is another file, what was in it has to be looked for first.
            self.shared.sure.store(false, Ordering::Release);
            return Round::NotBegun(Failure::Store(StoreError::from_io(
                "write to",
                &self.database.path,
                io::Error::new(
                    io::ErrorKind::NotFound,
                    "its log was removed while the store was open",
                ),
            )));
        }
        let began = Instant::now();
        match self.commit(connection) {
            Ok(()) => {
                self.arrivals.committed(answers.len(), began.elapsed());
                Round::Committed(answers)
            }
            Err(failure) => Round::Unknown(failure),
        }
    }

    pub(super) fn begin(&self, connection: &Connection) -> Result<(), Failure> {
        let mut patience = Patience::new();
        loop {
            match connection
                .execute_batch("BEGIN IMMEDIATE")
                .map_err(Failure::from)
            {
                Ok(()) => break,
                Err(failure) if failure.is_busy() && !self.is_closing() && patience.wait() => {}
                Err(failure) => return Err(failure),
            }
        }
        check_format(connection, &self.database.path)
    }

    /// Makes a change in a savepoint of its own.
    ///
    /// # Errors
    /// Where the transaction is gone, or not to be trusted any more.
    fn apply(&self, connection: &Connection, change: &Change) -> Result<Appended, Failure> {
        run(connection, "SAVEPOINT request")?;
        let refused = match change.apply(connection, &self.database) {
            Ok(()) => {
                run(connection, "RELEASE request")?;
                return Ok(Appended::Written);
            }
            Err(refused) => refused,
        };
        let answer = match refused {
            Refused::Answer(answer) => answer,
            // A full disk or a failed one may roll back all, and not the savepoint alone; with a page that makes no sense, nothing
            // can be committed after it.
            Refused::Failed(failure)
                if failure.is_io() || failure.is_corrupt() || connection.is_autocommit() =>
            {
                return Err(failure);
            }
            Refused::Failed(failure) => Appended::NotWritten(self.error_of(change, failure)),
        };
        run(connection, "ROLLBACK TO request")?;
        run(connection, "RELEASE request")?;
        Ok(answer)
    }

    fn commit(&self, connection: &Connection) -> Result<(), Failure> {
        #[cfg(test)]
        self.shared.faults.on_commit(connection)?;
        patiently(|| connection.execute_batch("COMMIT").map_err(Failure::from))
    }

    /// Uses a connection no more; it must not keep others from writing.
    pub(super) fn retire(&mut self) {
        if let Some(open) = self.open.take() {
            let connection = &open.connection;
            let ended = connection.is_autocommit() || connection.execute_batch("ROLLBACK").is_ok();
            self.failed = ended.then_some(open);
        }
    }

    /// A failed write leaves nothing behind that could be read, and neither does a request that met a bad page, so that only a
    /// failed sync leaves doubt; but a failure that says none of these counts as one.
    fn doubt(&self, failure: &Failure) {
        if !(failure.is_want_of_room() || failure.is_corrupt()) {
            self.shared.sure.store(false, Ordering::Release);
        }
    }

    fn error_of(&self, change: &Change, failure: Failure) -> StoreError {
        match change.session() {
            Some(session) => self.database.error_of(change.action(), session, failure),
            None => failure.into_error(change.action(), &self.database.path, None),
        }
    }

    /// What failed for all, as an error of one of them.
    fn error_for(&self, change: &Change, error: &StoreError) -> StoreError {
        match change.session() {
            Some(session) => self.database.or_lost(session, error.clone()),
            None => error.clone(),
        }
    }

    pub(super) fn is_closing(&self) -> bool {
        self.shared.closing.load(Ordering::Acquire)
    }

    /// Leaves a database without a log, where this was the last connection; a log that is in doubt is left to the next store.
    fn close(self) {
        if let Some(Open { connection, .. }) = self.open
            && self.shared.sure.load(Ordering::Relaxed)
            && self.database.is_in_place()
        {
            // What goes wrong here loses nothing: the log is there for the next one.
            let _ = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false);
            let _ = connection.close();
        }
    }
}

/// For what is said for every request, and compiled once.
fn run(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}

impl Open {
    pub(super) fn new(connection: Connection, database: &Database) -> Result<Self, Failure> {
        let path = database.log();
        let log =
            system::path_id(&path).map_err(|error| StoreError::from_io("look at", path, error))?;
        Ok(Self { connection, log })
    }

    fn is_log_in_place(&self, database: &Database) -> bool {
        system::path_id(&database.log()).is_ok_and(|found| found == self.log)
    }
}

impl Write {
    fn answer(self, answer: Appended) {
        // Who does not wait any more leaves its hold here, to be let go of.
        drop(self.answer.send((answer, self.change)));
    }
}
