//! Turns on many sessions, several at once, until the process is killed: by someone else at any moment, or by its own hand in the
//! middle of an append, a recovery, a create or a delete. It checks nothing: who hears its lines does.

use std::{collections::HashMap, sync::Arc};

use chat_core::{JournalPart, Seq, SessionId, Store, StoreError};
use fastrand::Rng;
use futures_util::StreamExt as _;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::{
    Ended, die, die_in, say,
    writing::{Honesty, Known, Writing},
};
use crate::linux::{
    entries::Maker,
    lines::{Doing, Line, Note},
    scene::{self, AT_ONCE},
    task::{Part, Task},
};

/// An operation of a store lasts about as long, in microseconds.
const OPERATION: u64 = 5_000;

pub(super) async fn take(task: &Task, store: Arc<dyn Store>) -> Ended {
    let mut takers = tokio::task::JoinSet::new();
    for at in 0..AT_ONCE {
        let name = format!("w{}s{}a{at}", task.seed, task.slot);
        let mut taker = Taker {
            maker: Maker::new(name, Rng::with_seed(task.seed.wrapping_add(at as u64))),
            store: store.clone(),
            task: task.clone(),
            own: scene::own_session(task.slot, at),
            is_first: at == 0,
            known: HashMap::new(),
        };
        takers.spawn(async move { taker.take().await });
    }
    while let Some(ended) = takers.join_next().await {
        match ended {
            Ok(ended) => ended?,
            Err(error) => return Err(StoreError::backend(format!("a worker panicked: {error}"))),
        }
    }
    Ok(())
}

/// Takes one turn after the other.
struct Taker {
    maker: Maker,
    store: Arc<dyn Store>,
    task: Task,
    /// The session which this taker alone creates and deletes, in this process and in those that stand in for it.
    own: SessionId,
    is_first: bool,
    known: HashMap<SessionId, Known>,
}

impl Taker {
    async fn take(&mut self) -> Ended {
        let dies = self.task.part == Part::Turns;
        if self.is_first && dies {
            self.return_to_the_torn_one().await?;
        }
        // More than any of these processes lives to see.
        for _ in 0..self.task.count {
            match self.maker.rng.u16(..1000) {
                0..60 => self.create().await?,
                60..90 => self.delete().await?,
                90..130 => {
                    let some = self.some_session();
                    self.leave_a_turn(&some).await?;
                }
                130..180 => {
                    let some = self.some_session();
                    self.turn(&some, true).await?;
                }
                180..184 if dies => {
                    let some = self.some_session();
                    self.die_acquiring(&some).await?;
                }
                184..188 if dies => self.die_creating().await?,
                188..192 if dies => self.die_deleting().await?,
                192..240 if dies && self.is_first => self.die_appending().await?,
                _ => {
                    let some = self.some_session();
                    self.turn(&some, false).await?;
                }
            }
            // Most never rest.
            if self.maker.rng.u8(..8) == 0 {
                tokio::time::sleep(std::time::Duration::from_micros(
                    self.maker.rng.u64(..3_000),
                ))
                .await;
            }
        }
        Ok(())
    }

    fn some_session(&mut self) -> SessionId {
        scene::some_session(&mut self.maker.rng)
    }

    async fn acquire(&mut self, session: &SessionId) -> Result<Option<Writing>, StoreError> {
        let known = self.known.remove(session);
        let writing = Writing::acquire(&*self.store, session, known.as_ref()).await?;
        Ok(writing.map(|mut writing| {
            writing.honesty = match self.task.part {
                Part::TurnsSaidTooEarly => Honesty::SaidTooEarly,
                Part::TurnsNotAnnounced => Honesty::NotAnnounced,
                Part::TurnsSaidWrong => Honesty::SaidWrong,
                _ => Honesty::Honest,
            };
            writing
        }))
    }

    /// One turn: accepted, now and then steered, its outcome. `dropped`: with a write that nobody waits for.
    async fn turn(&mut self, session: &SessionId, dropped: bool) -> Ended {
        let Some(mut writing) = self.acquire(session).await? else {
            return Ok(());
        };
        let turn = self.maker.turn();
        let accepted = self.maker.accepted(writing.next(), &turn);
        if dropped {
            writing.append_dropped(accepted).await?;
        } else {
            writing.append(accepted, false).await?;
        }
        while self.maker.rng.u8(..4) == 0 {
            let steered = self.maker.steered(writing.next(), &turn);
            writing.append(steered, false).await?;
        }
        let outcome = self.maker.outcome(writing.next(), &turn);
        writing.append(outcome, true).await?;
        say(&Line::Turn);
        self.known.insert(session.clone(), writing.known.clone());
        Ok(())
    }

    /// A turn that nobody ends: the hold is let go of in its middle.
    async fn leave_a_turn(&mut self, session: &SessionId) -> Ended {
        if let Some(mut writing) = self.acquire(session).await? {
            let turn = self.maker.turn();
            let accepted = self.maker.accepted(writing.next(), &turn);
            writing.append(accepted, false).await?;
        }
        Ok(())
    }

    async fn create(&mut self) -> Ended {
        let session = self.own.clone();
        let created = self.maker.created();
        let journal = created.id().clone();
        let mut entries = vec![created];
        if self.maker.rng.bool() {
            let turn = self.maker.turn();
            entries.push(self.maker.accepted(Seq(1), &turn));
            entries.push(self.maker.outcome(Seq(2), &turn));
        }
        say(&Line::Creating(session.clone(), journal.clone()));
        let notes: Vec<Note> = entries
            .iter()
            .map(|entry| Note::of(&session, &journal, entry))
            .collect();
        for note in &notes {
            say(&Line::Intended(note.clone()));
        }
        match self.store.create(&session, entries).await {
            Ok(()) => {
                say(&Line::Created(session, journal));
                for note in notes {
                    say(&Line::Written(note));
                }
                Ok(())
            }
            Err(StoreError::Taken { .. }) => {
                for note in notes {
                    say(&Line::NotWritten(note));
                }
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    async fn delete(&mut self) -> Ended {
        say(&Line::Deleting(self.own.clone()));
        match self.store.delete(&self.own).await {
            Ok(()) | Err(StoreError::Missing { .. }) => say(&Line::Deleted(self.own.clone())),
            // Another turn of this process runs there.
            Err(StoreError::Busy { .. }) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn die_soon(&mut self, doing: Doing, session: &SessionId) {
        say(&Line::Dying(doing, session.clone()));
        die_in(self.maker.rng.u64(..OPERATION));
    }

    async fn die_acquiring(&mut self, session: &SessionId) -> Ended {
        self.die_soon(Doing::Acquiring, session);
        drop(self.acquire(session).await?);
        std::future::pending().await
    }

    async fn die_creating(&mut self) -> Ended {
        self.die_soon(Doing::Creating, &self.own.clone());
        self.create().await?;
        std::future::pending().await
    }

    async fn die_deleting(&mut self) -> Ended {
        self.die_soon(Doing::Deleting, &self.own.clone());
        self.delete().await?;
        std::future::pending().await
    }

    /// Lets the system take a part of an entry only, and dies of it: what it has is a torn tail.
    async fn die_appending(&mut self) -> Ended {
        let session = scene::torn_session(self.task.slot);
        let Some(mut writing) = self.acquire(&session).await? else {
            return Ok(());
        };
        let turn = self.maker.turn();
        let accepted = self.maker.accepted(writing.next(), &turn);
        let grows = self.task.backend.grows(&self.task.place, &session);
        let there = std::fs::metadata(grows).map_or(0, |file| file.len());
        let length = accepted.encode().len() as u64;
        say(&Line::Dying(Doing::Appending, session));
        let limit = Rlimit {
            current: Some(there + self.maker.rng.u64(1..length)),
            maximum: getrlimit(Resource::Fsize).maximum,
        };
        let _ = setrlimit(Resource::Fsize, limit);
        // The write behind the one that was cut short ends the process, unless it inherited that it doesn't.
        let _ = writing.append(accepted, false).await;
        die();
    }

    /// Whoever this process stands in for may have left a torn tail: recovers, or dies recovering.
    async fn return_to_the_torn_one(&mut self) -> Ended {
        let session = scene::torn_session(self.task.slot);
        if self.is_torn(&session).await? && self.maker.rng.u8(..3) > 0 {
            self.die_acquiring(&session).await
        } else {
            self.turn(&session, false).await
        }
    }

    async fn is_torn(&self, session: &SessionId) -> Result<bool, StoreError> {
        let mut parts = self.store.read(session, Seq::ZERO);
        let mut torn = false;
        while let Some(part) = parts.next().await {
            match part {
                Ok(JournalPart::Torn(_)) => torn = true,
                Ok(JournalPart::Entries(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(torn)
    }
}
