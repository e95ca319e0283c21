//! The reference store: small, sound without a bug, and wrong in one place with one.

use chat_core::{
    Acquired, Capabilities, Durability, Entry, HoldRelease, JournalPart, ListRequest, Place,
    Salvaged, Seq, SessionId, SessionPage, Store, StoreError, TornTail,
};
use futures_util::{
    FutureExt as _, StreamExt as _,
    future::BoxFuture,
    stream::{self, BoxStream},
};
use tokio::task::yield_now;

use crate::{
    bug::Bug,
    disk::Disk,
    hold::Hold,
    journal::{End, Line, Scanned, lines, newer, scan, seal},
    list,
    writer::Writer,
};

const BATCH: usize = 256;

/// One process's store on a disk. Clones are the same process.
#[derive(Clone)]
pub(crate) struct SimStore {
    pub(crate) disk: Disk,
    process: u64,
    pub(crate) bug: Option<Bug>,
    /// Mutants only: what was on the disk when this process opened it.
    remembered: Disk,
}

/// A journal as it was found, its torn tail set aside.
pub(crate) struct Caught {
    pub(crate) entries: Vec<Entry>,
    pub(crate) torn: Option<TornTail>,
}

impl SimStore {
    pub(crate) fn open(disk: Disk, bug: Option<Bug>) -> Self {
        let process = {
            let mut state = disk.lock();
            state.processes += 1;
            state.processes
        };
        let remembered = match bug {
            Some(Bug::RemembersWhatOthersChanged) if process > 1 => disk.after_power_loss(),
            _ => disk.clone(),
        };
        Self {
            disk,
            process,
            bug,
            remembered,
        }
    }

    pub(crate) fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    /// The session that an id stands for.
    fn named(&self, session: &SessionId) -> SessionId {
        match self.bug {
            Some(Bug::FoldsCase) => SessionId::parse(session.as_str().to_lowercase())
                .expect("an id in small letters is an id"),
            _ => session.clone(),
        }
    }

    fn missing(&self, session: &SessionId) -> StoreError {
        let named = match self.bug {
            Some(Bug::ErrorsNameNoSession) => SessionId::parse("?").expect("an id"),
            _ => session.clone(),
        };
        StoreError::Missing { session: named }
    }

    pub(crate) fn scan(&self, session: &SessionId) -> Result<Scanned, StoreError> {
        let bytes = self.remembered.read(session);
        let bytes = bytes.ok_or_else(|| self.missing(session))?;
        Ok(scan(session, &bytes, self.bug))
    }

    pub(crate) fn is_held(&self, session: &SessionId) -> bool {
        let state = self.disk.lock();
        let queue = state.queues.get(session);
        match self.bug {
            Some(Bug::IsHeldSeesItsOwnOnly) => queue.is_some_and(|q| q.is_held_by(self.process)),
            _ => queue.is_some_and(|queue| queue.is_held()),
        }
    }

    async fn hold(&self, session: &SessionId) -> Result<Hold, StoreError> {
        if self.has(Bug::AcquireCreates) {
            self.disk.create(session, Vec::new());
        }
        // Nobody queues for what is not there.
        self.scan(session)?;
        let one = SessionId::parse("all").expect("an id");
        let queued = match self.bug {
            Some(Bug::OneHoldForAll) => &one,
            _ => session,
        };
        let hold = Hold::take(&self.disk, self.process, queued, self.bug).await;
        hold.ok_or_else(|| self.missing(session))
    }

    /// Reads a journal for its holder: sets a torn tail aside, and makes sure of the rest.
    pub(crate) fn catch_up(&self, session: &SessionId, vouches: Bug) -> Result<Caught, StoreError> {
        let Scanned { entries, end } = self.scan(session)?;
        let torn = match end {
            End::Wrong(StoreError::NewerFormat { .. }) if self.has(Bug::RewritesANewerFormat) => {
                self.disk.remove(session);
                self.disk.create(session, encode(&entries, self.bug));
                None
            }
            End::Wrong(error) => return Err(error),
            End::Sound => None,
            End::Torn(at, len) => {
                if !self.has(Bug::WritesBehindATornTail) {
                    self.disk.set_aside(session, at);
                }
                Some(torn_tail(&entries, at, len))
            }
        };
        // What a process that was killed has written is not durable because it shows.
        if !self.has(vouches) && !self.has(Bug::NeverSyncs) {
            self.disk.sync(session);
        }
        Ok(Caught { entries, torn })
    }

    /// What a reader is given.
    fn parts(
        &self,
        session: &SessionId,
        from: Seq,
    ) -> Result<Vec<Result<JournalPart, StoreError>>, StoreError> {
        let Scanned { mut entries, end } = self.scan(session)?;
        let torn = match &end {
            End::Torn(at, len) => Some(torn_tail(&entries, *at, *len)),
            End::Sound | End::Wrong(_) => None,
        };
        if self.has(Bug::LosesTheLastEntry) && entries.len() > 2 {
            entries.pop();
        }
        if self.has(Bug::Reorders) && entries.len() > 2 {
            entries.swap(1, 2);
        }
        if self.has(Bug::RefusesAPlaceBeyondTheEnd) && from.0 > entries.len() as u64 {
            return Err(StoreError::backend("there is no such place"));
        }
        if self.has(Bug::DropsUnknownTypes) {
            entries.retain(|entry| entry.body().kind().starts_with("turn.acc"));
        }
        if !self.has(Bug::IgnoresFrom) {
            entries.retain(|entry| entry.seq() >= from);
        }
        let batch = match self.bug {
            Some(Bug::ReadsInOnePiece) => usize::MAX,
            _ => BATCH,
        };
        let batches = entries.chunks(batch).map(<[Entry]>::to_vec);
        let mut parts: Vec<_> = batches.map(|b| Ok(JournalPart::Entries(b))).collect();
        match end {
            End::Wrong(error) => parts.push(Err(error)),
            End::Sound | End::Torn(..) => {}
        }
        if let Some(torn) = torn
            && (!self.is_held(session) || self.has(Bug::TellsOfATornTailWhileHeld))
            && !self.has(Bug::ReadHidesATornTail)
        {
            if self.has(Bug::ReadCutsATornTail)
                && let Some(at) = torn.place.offset
            {
                self.disk
                    .set_aside(session, usize::try_from(at).unwrap_or(0));
            }
            parts.push(Ok(JournalPart::Torn(torn)));
        }
        Ok(parts)
    }
}

fn torn_tail(entries: &[Entry], at: usize, len: usize) -> TornTail {
    TornTail {
        place: Place {
            offset: Some(at as u64),
            seq: Some(Seq(entries.len() as u64)),
            ..Place::default()
        },
        bytes: len as u64,
        set_aside: None,
    }
}

fn encode(entries: &[Entry], bug: Option<Bug>) -> Vec<u8> {
    entries.iter().flat_map(|entry| seal(entry, bug)).collect()
}

impl Store for SimStore {
    fn create(
        &self,
        session: &SessionId,
        entries: Vec<Entry>,
    ) -> BoxFuture<'static, Result<(), StoreError>> {
        let (store, session) = (self.clone(), self.named(session));
        async move {
            let bytes = encode(&entries, store.bug);
            let is_whole = scan(&session, &bytes, store.bug).entries.len() == entries.len();
            if (entries.is_empty() || !is_whole) && !store.has(Bug::CreatesNothing) {
                let what = "a journal begins with session.created, and has no gap".into();
                return Err(StoreError::Misuse { session, what });
            }
            if store.has(Bug::CreateReplaces) {
                store.disk.remove(&session);
            }
            if store.has(Bug::CreatesPieceByPiece) {
                if !store.disk.create(&session, seal(&entries[0], store.bug)) {
                    return Err(StoreError::Taken { session });
                }
                for entry in &entries[1..] {
                    store.disk.sync(&session);
                    yield_now().await;
                    store.disk.append(&session, &seal(entry, store.bug));
                }
            } else if !store.disk.create(&session, bytes) {
                return Err(StoreError::Taken { session });
            }
            yield_now().await;
            if !store.has(Bug::DoesNotSyncCreate) {
                store.disk.sync(&session);
            }
            Ok(())
        }
        .boxed()
    }

    fn read(
        &self,
        session: &SessionId,
        from: Seq,
    ) -> BoxStream<'static, Result<JournalPart, StoreError>> {
        let (store, session) = (self.clone(), self.named(session));
        async move {
            if store.has(Bug::ReadsWaitForTheHolder) {
                drop(store.hold(&session).await);
            }
            let parts = store.parts(&session, from);
            stream::iter(parts.unwrap_or_else(|error| vec![Err(error)]))
        }
        .flatten_stream()
        .boxed()
    }

    fn acquire(
        &self,
        session: &SessionId,
        from: Seq,
    ) -> BoxFuture<'static, Result<Acquired, StoreError>> {
        let (store, session) = (self.clone(), self.named(session));
        async move {
            let hold = store.hold(&session).await?;
            let Caught { mut entries, torn } =
                store.catch_up(&session, Bug::AcquireVouchesForWhatIsNotSynced)?;
            let writer = Box::new(Writer::new(store.clone(), session, hold, &entries));
            if !store.has(Bug::IgnoresFrom) {
                entries.retain(|entry| entry.seq() >= from);
            }
            let torn = torn.filter(|_| !store.has(Bug::AcquireHidesATornTail));
            Ok(Acquired {
                writer,
                entries,
                torn,
            })
        }
        .boxed()
    }

    fn list(&self, page: ListRequest) -> BoxFuture<'static, Result<SessionPage, StoreError>> {
        let store = self.clone();
        async move { list::page(&store, &page) }.boxed()
    }

    fn delete(&self, session: &SessionId) -> BoxFuture<'static, Result<(), StoreError>> {
        let (store, session) = (self.clone(), self.named(session));
        async move {
            store.scan(&session)?;
            let is_wanted = {
                let state = store.disk.lock();
                let queue = state.queues.get(&session);
                queue.is_some_and(|queue| queue.is_wanted_by(store.process))
            };
            if store.has(Bug::DeletesWhatIsHeld) {
                store.disk.remove(&session);
                return Ok(());
            }
            if is_wanted {
                return Err(StoreError::Busy { session });
            }
            let hold = store.hold(&session).await?;
            if store.has(Bug::DeleteLeavesTheEntries) {
                let left = store.disk.read(&session).unwrap_or_default();
                store.disk.append_late(&session, &left);
            }
            store.disk.remove(&session);
            yield_now().await;
            if !store.has(Bug::DoesNotSyncDelete) {
                store.disk.sync(&session);
            }
            hold.end();
            Ok(())
        }
        .boxed()
    }

    fn is_held(&self, session: &SessionId) -> BoxFuture<'static, Result<bool, StoreError>> {
        let (store, session) = (self.clone(), self.named(session));
        async move {
            store.scan(&session)?;
            Ok(store.is_held(&session))
        }
        .boxed()
    }

    fn salvage(
        &self,
        session: &SessionId,
    ) -> BoxFuture<'static, Result<Vec<Salvaged>, StoreError>> {
        let (store, session) = (self.clone(), self.named(session));
        async move {
            store.scan(&session)?;
            let bytes = store.disk.read(&session).unwrap_or_default();
            salvage(&session, &bytes, store.bug)
        }
        .boxed()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::persistent(Durability::Full, HoldRelease::AtOnce)
    }
}

fn salvage(
    session: &SessionId,
    bytes: &[u8],
    bug: Option<Bug>,
) -> Result<Vec<Salvaged>, StoreError> {
    let (lines, whole) = lines(bytes, bug);
    let gap = |offset: usize, what: &str| Salvaged::Gap {
        place: Place {
            offset: Some(offset as u64),
            ..Place::default()
        },
        bytes: None,
        what: what.into(),
    };
    let (mut pieces, mut expected) = (Vec::new(), Seq::ZERO);
    for (span, line) in lines {
        match line {
            Line::Entry(entry) => {
                if entry.seq() != expected && bug != Some(Bug::SalvageMarksNoGap) {
                    pieces.push(gap(span.start, "an entry is missing"));
                }
                expected = entry.seq().next();
                pieces.push(Salvaged::Entry(entry));
            }
            Line::Newer(found) => return Err(newer(session, found)),
            Line::Wrong(_) if bug == Some(Bug::SalvageStopsAtDamage) => return Ok(pieces),
            Line::Wrong(_) if bug == Some(Bug::SalvageMarksNoGap) => expected = expected.next(),
            Line::Wrong(what) => {
                expected = expected.next();
                pieces.push(gap(span.start, what));
            }
        }
    }
    if whole < bytes.len() {
        pieces.push(gap(whole, "cut off"));
    }
    Ok(pieces)
}
