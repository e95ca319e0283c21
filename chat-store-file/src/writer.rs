//! The writer that a hold on a journal is lent as. Its work goes on when nobody awaits it any more, and the hold is let go of
//! only when that has ended (law S2).

use std::sync::Arc;

use chat_core::{
    Appended, Durability, Entry, JournalWriter, Recovered, Seq, SessionId, StoreError,
    hold::Interest,
};
use futures_util::future::BoxFuture;
use tokio::{sync::Mutex, task::spawn_blocking};

use crate::{
    blocking::{blocking, unfinished},
    hold::{Front, Hold},
    journal::{Caught, Journal},
    name::Paths,
    tail::{Past, Tail},
};

/// What a holder has. The fields are dropped in this order: the lock is free before this store's next in line looks at it.
#[derive(Debug)]
pub(crate) struct Held {
    journal: Journal,
    hold: Hold,
    tail: Tail,
    /// Whether what stands behind the tail may be there and never be durable.
    is_doubted: bool,
    front: Front,
    paths: Paths,
    session: SessionId,
}

impl Drop for Held {
    fn drop(&mut self) {
        // Known to be durable, whatever happened after it: the next holder begins there.
        *self.front = Past {
            tail: Some(self.tail.clone()),
            is_doubted: self.is_doubted,
        };
    }
}

impl Held {
    /// Opens the journal of a session whose hold was taken, and catches up with it.
    ///
    /// # Errors
    /// [`StoreError::Missing`] without a hold or a journal.
    pub(crate) fn open(
        session: SessionId,
        paths: Paths,
        durability: Durability,
        hold: Option<Hold>,
        mut front: Front,
        from: Seq,
    ) -> Result<(Self, Recovered), StoreError> {
        let missing = || StoreError::Missing {
            session: session.clone(),
        };
        let Some(hold) = hold else {
            *front = Past::default();
            return Err(missing());
        };
        let journal = Journal::open(&session, &paths, durability)?.ok_or_else(missing)?;
        let caught = journal.catch_up(&front, from);
        front.is_doubted |= caught.is_err();
        let Caught {
            tail,
            entries,
            torn,
        } = caught?;
        let held = Self {
            journal,
            hold,
            tail,
            is_doubted: false,
            front,
            paths,
            session,
        };
        Ok((held, Recovered { entries, torn }))
    }

    pub(crate) fn append(&mut self, entry: &Entry) -> Appended {
        match self.hold.is_ours(&self.paths) {
            Ok(true) => {
                let answer = self.journal.append(&mut self.tail, entry);
                self.is_doubted |= matches!(answer, Appended::Unknown(_));
                answer
            }
            Ok(false) => Appended::Fenced,
            Err(error) => Appended::NotWritten(error),
        }
    }

    pub(crate) fn recover(&mut self, from: Seq) -> Result<Recovered, StoreError> {
        if !self.hold.is_ours(&self.paths)? {
            return Err(StoreError::HoldLost {
                session: self.session.clone(),
            });
        }
        let journal = self.journal.reopen()?;
        let past = Past {
            tail: Some(self.tail.clone()),
            is_doubted: true,
        };
        self.is_doubted = true;
        let Caught {
            tail,
            entries,
            torn,
        } = journal.catch_up(&past, from)?;
        (self.journal, self.tail, self.is_doubted) = (journal, tail, false);
        Ok(Recovered { entries, torn })
    }
}

/// A [`JournalWriter`] over one journal file.
pub(crate) struct FileWriter {
    session: SessionId,
    /// `None` once it is let go of. Locked by the blocking work that is under way, which a dropped future leaves alone.
    held: Arc<Mutex<Option<Held>>>,
    /// `None` once it is let go of.
    interest: Option<Interest>,
    /// Whether only `recover` may come next.
    unknown: bool,
}

impl FileWriter {
    pub(crate) fn new(held: Held, interest: Interest) -> Self {
        Self {
            session: held.session.clone(),
            held: Arc::new(Mutex::new(Some(held))),
            interest: Some(interest),
            unknown: false,
        }
    }

    async fn write(&mut self, entry: Entry, release: Release) -> Appended {
        if self.unknown {
            return Appended::NotWritten(self.misuse("the write before is unknown: recover first"));
        }
        let mut held = self.held.clone().lock_owned().await;
        if held.is_none() {
            return Appended::NotWritten(self.misuse("its hold was let go of with its last entry"));
        }
        // Unknown until answered: so a dropped future leaves it.
        self.unknown = true;
        let work = spawn_blocking(move || {
            let Some(writer) = held.as_mut() else {
                unreachable!("checked under the same lock")
            };
            let answer = writer.append(&entry);
            (answer, held)
        });
        let answer = match work.await {
            Ok((answer, mut held)) => {
                // Not by the work itself: where nobody took the answer, recovery needs the hold.
                if let (Appended::Written, Release::WithWritten) = (&answer, release) {
                    *held = None;
                    self.interest = None;
                }
                answer
            }
            Err(error) => Appended::Unknown(unfinished(&error)),
        };
        self.unknown = matches!(answer, Appended::Unknown(_));
        answer
    }

    fn misuse(&self, what: &str) -> StoreError {
        StoreError::Misuse {
            session: self.session.clone(),
            what: what.into(),
        }
    }
}

/// Whether a write lets go of the hold.
#[derive(Debug, Clone, Copy)]
enum Release {
    Never,
    WithWritten,
}

impl JournalWriter for FileWriter {
    fn append(&mut self, entry: Entry) -> BoxFuture<'_, Appended> {
        Box::pin(self.write(entry, Release::Never))
    }

    fn append_last(&mut self, entry: Entry) -> BoxFuture<'_, Appended> {
        Box::pin(self.write(entry, Release::WithWritten))
    }

    fn recover(&mut self, from: Seq) -> BoxFuture<'_, Result<Recovered, StoreError>> {
        Box::pin(async move {
            // Waits for a write whose future was dropped.
            let mut held = self.held.clone().lock_owned().await;
            if held.is_none() {
                return Err(self.misuse("its hold was let go of with its last entry"));
            }
            self.unknown = true;
            let recovered = blocking(move || {
                let Some(writer) = held.as_mut() else {
                    unreachable!("checked under the same lock")
                };
                writer.recover(from)
            })
            .await?;
            self.unknown = false;
            Ok(recovered)
        })
    }
}
