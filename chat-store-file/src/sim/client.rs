//! What one process does with a store: its blocking core, called directly, without a runtime.

use std::{collections::BTreeMap, sync::Arc};

use chat_core::{
    Appended, Durability, Entry, JournalPart, ListRequest, Recovered, Salvaged, Seq, SessionId,
    SessionSummary, StoreError, hold::Interest,
};

use super::{process::Process, world::World};
use crate::{
    create::{self, Created},
    delete,
    hold::{Attempt, Front, Hold, REMEMBERED, Sessions, Waiting},
    index::{Bounds, Index},
    list,
    name::Paths,
    reading, salvage,
    system::Folder,
    writer::Held,
};

/// A process with a store of its own.
pub(super) struct Client {
    pub(super) process: Process,
    folder: Folder,
    durability: Durability,
    sessions: Sessions,
    index: Index,
    pub(super) writers: BTreeMap<SessionId, Writer>,
}

/// A hold that the process has.
pub(super) struct Writer {
    held: Held,
    _interest: Interest,
    /// Whether only `recover` may come next.
    pub(super) unknown: bool,
}

/// Whether the hold was there to be had.
#[derive(Debug)]
pub(super) enum Attempted<T> {
    Done(T),
    HeldElsewhere,
}

/// What reading gave before it ended.
#[derive(Debug, Default)]
pub(super) struct Read {
    pub(super) entries: Vec<Entry>,
    pub(super) error: Option<StoreError>,
}

impl Client {
    pub(super) fn new(world: &World, durability: Durability) -> Self {
        let process = world.start_process();
        let mut index = Index::default();
        // Whatever it does for thousands of sessions it is to do for two.
        index.bounds = Bounds {
            per_unsaved: usize::MAX,
            marks: 0,
            cleared: 1,
        };
        Self {
            folder: Folder {
                files: Arc::new(process.clone()),
                path: World::FOLDER.into(),
            },
            process,
            durability,
            sessions: Sessions::new(REMEMBERED),
            // Whatever it does for thousands of sessions it is to do for two.
            index,
            writers: BTreeMap::new(),
        }
    }

    pub(super) fn create(&self, session: &SessionId, entries: &[Entry]) -> Result<(), StoreError> {
        match create::create(session, &self.paths(session), self.durability, entries)? {
            Created::Done => Ok(()),
            Created::Again => unreachable!("no delete is under way: one is never seen half done"),
        }
    }

    pub(super) fn acquire(
        &mut self,
        session: &SessionId,
        from: Seq,
    ) -> Result<Attempted<Recovered>, StoreError> {
        let paths = self.paths(session);
        let (id, durability) = (session.clone(), self.durability);
        let attempted = self.attempt(session, move |hold, front| {
            Held::open(id, paths, durability, hold, front, from)
        })?;
        Ok(match attempted {
            Attempted::Done(((held, recovered), interest)) => {
                let writer = Writer {
                    held,
                    _interest: interest,
                    unknown: false,
                };
                self.writers.insert(session.clone(), writer);
                Attempted::Done(recovered)
            }
            Attempted::HeldElsewhere => Attempted::HeldElsewhere,
        })
    }

    pub(super) fn delete(&self, session: &SessionId) -> Result<Attempted<()>, StoreError> {
        let paths = self.paths(session);
        let id = session.clone();
        let attempted = self.attempt(session, move |hold, mut front| {
            delete::delete(&id, &paths, hold, &mut front)
        })?;
        Ok(match attempted {
            Attempted::Done(((), _)) => Attempted::Done(()),
            Attempted::HeldElsewhere => Attempted::HeldElsewhere,
        })
    }

    fn attempt<T>(
        &self,
        session: &SessionId,
        then: impl FnOnce(Option<Hold>, Front) -> Result<T, StoreError>,
    ) -> Result<Attempted<(T, Interest)>, StoreError> {
        let (front, interest) = self.sessions.try_front(session).expect("not held here");
        match Waiting::new(self.paths(session), front, then).attempt()? {
            Attempt::Done(done) => Ok(Attempted::Done((done, interest))),
            Attempt::Again(_) => Ok(Attempted::HeldElsewhere),
        }
    }

    pub(super) fn read(&self, session: &SessionId, from: Seq) -> Read {
        let mut state = reading::State::Asked(reading::Request {
            session: session.clone(),
            paths: self.paths(session),
            from,
            known: self
                .sessions
                .remembered(session, |past| past.tail.clone())
                .flatten(),
        });
        let mut read = Read::default();
        loop {
            match state.batch() {
                Ok((Some(JournalPart::Entries(entries)), next)) => {
                    read.entries.extend(entries);
                    state = next;
                }
                Ok((Some(JournalPart::Torn(_)) | None, _)) => return read,
                Err(error) => {
                    read.error = Some(error);
                    return read;
                }
            }
        }
    }

    /// All pages of the list.
    pub(super) fn list(&mut self, limit: usize) -> Result<Vec<SessionSummary>, StoreError> {
        let mut sessions = Vec::new();
        let mut after = None;
        loop {
            let request = ListRequest { after, limit };
            let page = list::page(&mut self.index, &self.folder, &request)?;
            sessions.extend(page.sessions);
            after = page.next;
            if after.is_none() {
                return Ok(sessions);
            }
        }
    }

    pub(super) fn salvage(&self, session: &SessionId) -> Result<Vec<Salvaged>, StoreError> {
        salvage::salvage(session, &self.paths(session))
    }

    pub(super) fn folder(&self) -> &Folder {
        &self.folder
    }

    pub(super) fn paths(&self, session: &SessionId) -> Paths {
        Paths::new(&self.folder, session)
    }
}

impl Writer {
    pub(super) fn append(&mut self, entry: &Entry) -> Appended {
        let answer = self.held.append(entry);
        self.unknown = matches!(answer, Appended::Unknown(_));
        answer
    }

    pub(super) fn recover(&mut self, from: Seq) -> Result<Recovered, StoreError> {
        self.unknown = true;
        let recovered = self.held.recover(from)?;
        self.unknown = false;
        Ok(recovered)
    }
}
