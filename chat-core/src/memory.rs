//! A store in memory, stricter than the real ones: what they let slip in a test, this one refuses.
//!
//! No runtime: waiting for a hold is a future that any executor can poll. Entries are kept as the text the codec writes, so that
//! what can't be written and read back can't hide here.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    ops::Bound,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures_channel::oneshot;
use futures_core::{future::BoxFuture, stream::BoxStream};
use futures_util::{FutureExt, StreamExt, stream};
use rpds::VectorSync;

use crate::{
    Acquired, Appended, Capabilities, Cursor, Damage, DecodeError, Entry, EntryBody, EntryId,
    JournalPart, JournalWriter, ListRequest, Place, Recovered, Salvaged, Seq, SessionId,
    SessionPage, SessionSummary, Store, StoreError, Timestamp,
};

/// How many entries a read gives at once.
const BATCH: usize = 256;

/// A store in memory. Clones share it; it is gone with the last of them.
///
/// Costs what the entries' text costs. A hold is handed to whoever waited longest.
#[derive(Debug, Clone, Default)]
pub struct MemoryStore(Arc<Mutex<Journals>>);

#[derive(Debug, Default)]
struct Journals {
    sessions: BTreeMap<SessionId, Journal>,
    /// The sessions by their last activity, and by the order of writing where that is the same.
    activity: BTreeMap<Activity, SessionId>,
    writes: u64,
}

type Activity = (Timestamp, u64);

#[derive(Debug)]
struct Journal {
    lines: VectorSync<Arc<str>>,
    ids: BTreeSet<EntryId>,
    created_at: Timestamp,
    activity: Activity,
    title: Option<Arc<str>>,
    turns: u64,
    held: bool,
    waiting: VecDeque<oneshot::Sender<Hold>>,
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, Journals> {
        // Nothing that can panic runs under this lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the hold on a session. The place in the queue is taken when this is first polled.
    async fn hold(&self, session: SessionId) -> Result<Hold, StoreError> {
        let missing = StoreError::Missing {
            session: session.clone(),
        };
        let receiver = {
            let mut journals = self.lock();
            let Some(journal) = journals.sessions.get_mut(&session) else {
                return Err(missing);
            };
            if !std::mem::replace(&mut journal.held, true) {
                drop(journals);
                return Ok(Hold {
                    store: self.clone(),
                    session,
                    passed_on: false,
                });
            }
            let (sender, receiver) = oneshot::channel();
            journal.waiting.push_back(sender);
            receiver
        };
        // Nobody sends where the session was deleted.
        receiver.await.map_err(|_| missing)
    }
}

/// The right to write one journal. Dropped, it goes to whoever waited longest.
#[derive(Debug)]
struct Hold {
    store: MemoryStore,
    session: SessionId,
    passed_on: bool,
}

impl Drop for Hold {
    fn drop(&mut self) {
        while !self.passed_on {
            let next = {
                let mut journals = self.store.lock();
                let Some(journal) = journals.sessions.get_mut(&self.session) else {
                    return;
                };
                let next = journal.waiting.pop_front();
                journal.held = next.is_some();
                next
            };
            let Some(next) = next else { return };
            let (store, session) = (self.store.clone(), self.session.clone());
            match next.send(Hold {
                store,
                session,
                passed_on: false,
            }) {
                Ok(()) => self.passed_on = true,
                // Whoever waited there has given up: the hold is still this one.
                Err(mut hold) => hold.passed_on = true,
            }
        }
    }
}

impl Journal {
    /// Whether an entry may be written next, is there already, or breaks a rule.
    fn check(&self, entry: &Entry) -> Result<Check, &'static str> {
        let place = usize::try_from(entry.seq().0).unwrap_or(usize::MAX);
        match self.lines.get(place) {
            Some(line) if **line == *entry.encode() => Ok(Check::Present),
            Some(_) => Err("another entry stands at this place"),
            None if place > self.lines.len() => Err("the entry leaves a gap behind the last one"),
            None if self.ids.contains(entry.id()) => {
                Err("another entry of this journal has this id")
            }
            None => Ok(Check::Next),
        }
    }

    fn push(&mut self, entry: &Entry) {
        self.lines.push_back_mut(entry.encode());
        self.ids.insert(entry.id().clone());
        if let EntryBody::TurnAccepted { input, .. } = entry.body() {
            self.turns += 1;
            self.title
                .get_or_insert_with(|| SessionSummary::title_of(input));
        }
    }

    /// The entries from a place on, read back from their text.
    fn entries(&self, session: &SessionId, from: Seq) -> Result<Vec<Entry>, StoreError> {
        let from = usize::try_from(from.0).unwrap_or(usize::MAX);
        (from..self.lines.len())
            .filter_map(|place| self.lines.get(place).map(|line| (place, line)))
            .map(|(place, line)| decode(session, place, line))
            .collect()
    }
}

enum Check {
    Next,
    Present,
}

fn decode(session: &SessionId, place: usize, line: &str) -> Result<Entry, StoreError> {
    Entry::decode(line).map_err(|error| match error {
        DecodeError::NewerFormat { found } => StoreError::NewerFormat {
            what: format!("session {session}").into(),
            found,
            supported: crate::FORMAT,
        },
        DecodeError::Invalid(what) => {
            let place = Place {
                seq: Some(Seq(place as u64)),
                ..Place::default()
            };
            Damage {
                session: session.clone(),
                place,
                what,
            }
            .into()
        }
    })
}

impl Journals {
    /// Marks a session as the one that was written last.
    fn touch(&mut self, session: &SessionId, at: Timestamp) {
        self.writes += 1;
        let activity = (at, self.writes);
        if let Some(journal) = self.sessions.get_mut(session) {
            self.activity.remove(&journal.activity);
            journal.activity = activity;
            self.activity.insert(activity, session.clone());
        }
    }
}

impl Store for MemoryStore {
    fn create(
        &self,
        session: &SessionId,
        entries: Vec<Entry>,
    ) -> BoxFuture<'static, Result<(), StoreError>> {
        let (store, session) = (self.clone(), session.clone());
        async move {
            let misuse = |what: &str| StoreError::Misuse {
                session: session.clone(),
                what: what.into(),
            };
            let mut journals = store.lock();
            if journals.sessions.contains_key(&session) {
                return Err(StoreError::Taken { session });
            }
            let Some(first) = entries
                .first()
                .filter(|entry| matches!(entry.body(), EntryBody::SessionCreated { .. }))
            else {
                return Err(misuse("the first entry of a journal is session.created"));
            };
            let mut journal = Journal {
                lines: VectorSync::new_sync(),
                ids: BTreeSet::new(),
                created_at: first.at(),
                activity: (first.at(), 0),
                title: None,
                turns: 0,
                held: false,
                waiting: VecDeque::new(),
            };
            for entry in &entries {
                match journal.check(entry) {
                    Ok(Check::Next) => journal.push(entry),
                    Ok(Check::Present) => return Err(misuse("an entry is there twice")),
                    Err(what) => return Err(misuse(what)),
                }
            }
            let last = entries.last().map_or(first.at(), Entry::at);
            journals.sessions.insert(session.clone(), journal);
            journals.touch(&session, last);
            Ok(())
        }
        .boxed()
    }

    fn read(
        &self,
        session: &SessionId,
        from: Seq,
    ) -> BoxStream<'static, Result<JournalPart, StoreError>> {
        let (store, session) = (self.clone(), session.clone());
        // What is there when the reading begins; a writer is not waited for, and not followed.
        let begin = async move {
            let lines = match store.lock().sessions.get(&session) {
                Some(journal) => journal.lines.clone(),
                None => return stream::iter([Err(StoreError::Missing { session })]).boxed(),
            };
            let from = usize::try_from(from.0).unwrap_or(usize::MAX);
            stream::iter((from..lines.len()).step_by(BATCH))
                .map(move |first| {
                    let batch = (first..lines.len().min(first + BATCH))
                        .filter_map(|place| lines.get(place).map(|line| (place, line)))
                        .map(|(place, line)| decode(&session, place, line))
                        .collect::<Result<_, _>>()?;
                    Ok(JournalPart::Entries(batch))
                })
                .boxed()
        };
        begin.flatten_stream().boxed()
    }

    fn acquire(
        &self,
        session: &SessionId,
        from: Seq,
    ) -> BoxFuture<'static, Result<Acquired, StoreError>> {
        let (store, session) = (self.clone(), session.clone());
        async move {
            let hold = store.hold(session.clone()).await?;
            let entries = match store.lock().sessions.get(&session) {
                Some(journal) => journal.entries(&session, from)?,
                None => return Err(StoreError::Missing { session }),
            };
            let writer = Writer {
                session,
                store,
                hold: Some(hold),
                unknown: false,
            };
            Ok(Acquired {
                writer: Box::new(writer),
                entries,
                torn: None,
            })
        }
        .boxed()
    }

    fn list(&self, page: ListRequest) -> BoxFuture<'static, Result<SessionPage, StoreError>> {
        let store = self.clone();
        async move {
            let before = match &page.after {
                Some(cursor) => Some(parse_cursor(cursor)?),
                None => None,
            };
            let journals = store.lock();
            let before = before.map_or(Bound::Unbounded, Bound::Excluded);
            let mut rest = journals.activity.range((Bound::Unbounded, before)).rev();
            let mut sessions = Vec::new();
            let mut last = None;
            for (activity, id) in rest.by_ref().take(page.limit) {
                let Some(journal) = journals.sessions.get(id) else {
                    continue;
                };
                last = Some(*activity);
                sessions.push(SessionSummary {
                    id: id.clone(),
                    title: journal.title.clone(),
                    created_at: Some(journal.created_at),
                    last_activity: Some(activity.0),
                    turns: journal.turns,
                    error: None,
                });
            }
            let next = rest
                .next()
                .and(last)
                .map(|(at, write)| Cursor(format!("{}.{write}", at.as_millis()).into()));
            Ok(SessionPage { sessions, next })
        }
        .boxed()
    }

    fn delete(&self, session: &SessionId) -> BoxFuture<'static, Result<(), StoreError>> {
        let (store, session) = (self.clone(), session.clone());
        async move {
            let mut journals = store.lock();
            let activity = match journals.sessions.get(&session) {
                Some(journal) if journal.held => return Err(StoreError::Busy { session }),
                Some(journal) => journal.activity,
                None => return Err(StoreError::Missing { session }),
            };
            journals.activity.remove(&activity);
            journals.sessions.remove(&session);
            Ok(())
        }
        .boxed()
    }

    fn is_held(&self, session: &SessionId) -> BoxFuture<'static, Result<bool, StoreError>> {
        let (store, session) = (self.clone(), session.clone());
        async move {
            match store.lock().sessions.get(&session) {
                Some(journal) => Ok(journal.held),
                None => Err(StoreError::Missing { session }),
            }
        }
        .boxed()
    }

    fn salvage(
        &self,
        session: &SessionId,
    ) -> BoxFuture<'static, Result<Vec<Salvaged>, StoreError>> {
        let (store, session) = (self.clone(), session.clone());
        async move {
            match store.lock().sessions.get(&session) {
                Some(journal) => {
                    let entries = journal.entries(&session, Seq::ZERO)?;
                    Ok(entries.into_iter().map(Salvaged::Entry).collect())
                }
                None => Err(StoreError::Missing { session }),
            }
        }
        .boxed()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::in_memory()
    }
}

fn parse_cursor(cursor: &Cursor) -> Result<Activity, StoreError> {
    cursor
        .0
        .split_once('.')
        .and_then(|(at, write)| {
            Some((
                Timestamp::from_millis(at.parse().ok()?).ok()?,
                write.parse().ok()?,
            ))
        })
        .ok_or_else(|| StoreError::backend(format!("{:?} is no cursor of this store", cursor.0)))
}

#[derive(Debug)]
struct Writer {
    session: SessionId,
    store: MemoryStore,
    /// Let go of with the last entry.
    hold: Option<Hold>,
    /// An append was dropped before it answered: only `recover` is taken (law S2).
    unknown: bool,
}

impl Writer {
    fn misuse(&self, what: &str) -> StoreError {
        StoreError::Misuse {
            session: self.session.clone(),
            what: what.into(),
        }
    }

    fn write(&mut self, entry: &Entry, last: bool) -> Appended {
        let check = match self.store.lock().sessions.get_mut(&self.session) {
            Some(journal) => journal.check(entry).inspect(|check| {
                if matches!(check, Check::Next) {
                    journal.push(entry);
                }
            }),
            None => {
                return Appended::NotWritten(StoreError::Missing {
                    session: self.session.clone(),
                });
            }
        };
        match check {
            Ok(Check::Next) => self.store.lock().touch(&self.session, entry.at()),
            Ok(Check::Present) => {}
            Err(what) => return Appended::NotWritten(self.misuse(what)),
        }
        if last {
            self.hold = None;
        }
        Appended::Written
    }

    fn append_to(&mut self, entry: Entry, last: bool) -> BoxFuture<'_, Appended> {
        let refused = if self.hold.is_none() {
            Some(self.misuse("the hold was let go of with the last entry"))
        } else if self.unknown {
            Some(self.misuse("after an unknown append only recover is taken"))
        } else {
            None
        };
        if let Some(error) = refused {
            return std::future::ready(Appended::NotWritten(error)).boxed();
        }
        // Until it is polled to its end.
        self.unknown = true;
        async move {
            let appended = self.write(&entry, last);
            self.unknown = false;
            appended
        }
        .boxed()
    }
}

impl JournalWriter for Writer {
    fn append(&mut self, entry: Entry) -> BoxFuture<'_, Appended> {
        self.append_to(entry, false)
    }

    fn append_last(&mut self, entry: Entry) -> BoxFuture<'_, Appended> {
        self.append_to(entry, true)
    }

    fn recover(&mut self, from: Seq) -> BoxFuture<'_, Result<Recovered, StoreError>> {
        async move {
            if self.hold.is_none() {
                return Err(self.misuse("the hold was let go of with the last entry"));
            }
            let entries = match self.store.lock().sessions.get(&self.session) {
                Some(journal) => journal.entries(&self.session, from)?,
                None => {
                    return Err(StoreError::Missing {
                        session: self.session.clone(),
                    });
                }
            };
            self.unknown = false;
            Ok(Recovered {
                entries,
                torn: None,
            })
        }
        .boxed()
    }
}
