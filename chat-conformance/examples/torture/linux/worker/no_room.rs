//! Writes where there is no room: the system takes a part of a write and refuses the rest. What makes the room scarce and plenty is a
//! limit on the size of files, or a file that fills the disk up.

use std::{
    fs::{File, OpenOptions},
    io::Write as _,
    path::PathBuf,
    sync::Arc,
};

use chat_conformance::limits::limit_file_size;
use chat_core::{Entry, ListRequest, Seq, SessionId, Store, StoreError};
use fastrand::Rng;

use super::{Ended, say, session, writing::Writing};
use crate::linux::{
    entries::Maker,
    lines::{Line, Note},
    task::Task,
};

/// The session that is written.
pub(crate) const SESSION: &str = "short";

/// What is said of each append: it had room after all, it was refused whole, or a part of it was written.
pub(crate) const ROOM: &str = "room";
pub(crate) const REFUSED: &str = "refused";
pub(crate) const CUT: &str = "cut";
/// What is said of each create: refused, and nothing of it is there.
pub(crate) const NOT_CREATED: &str = "not created";

/// Appends, each within a limit on the size of files that its entry does not fit. The process has to ignore the signal that the
/// system sends with that: whoever starts it sees to it.
pub(super) async fn short_writes(task: &Task, store: Arc<dyn Store>) -> Ended {
    let mut maker = maker(task);
    let mut writing = acquire(&*store).await?;
    let grows = task.backend.grows(&task.place, &session(SESSION));
    for _ in 0..task.count {
        let turn = maker.turn();
        let entry = maker.accepted(writing.next(), &turn);
        let there = std::fs::metadata(&grows).map_or(0, |file| file.len());
        let length = entry.encode().len() as u64;
        // Now and then not a byte of it.
        let fits = maker.rng.u64(..length * 4 / 3).saturating_sub(length / 3);
        limit_file_size(Some(there + fits));
        let outcome = writing
            .append_without_room(entry, || limit_file_size(None))
            .await?;
        say(&Line::Said(outcome.to_owned()));
        // The same writer goes on at once.
        let next = maker.sized(writing.next(), 100);
        writing.append(next, false).await?;
    }
    Ok(())
}

/// Appends and creates on a disk that a file beside the store fills up, to within some bytes.
pub(super) async fn full_disk(task: &Task, store: Arc<dyn Store>) -> Ended {
    let mut maker = maker(task);
    let mut writing = acquire(&*store).await?;
    let ballast = Ballast::beside(task);
    for round in 0..task.count {
        ballast.fill(maker.rng.usize(..20 << 10));
        // Until it does not fit any more.
        let mut outcome = ROOM;
        for _ in 0..64 {
            let bytes = maker.rng.usize(1_000..10_000);
            let entry = maker.sized(writing.next(), bytes);
            outcome = writing
                .append_without_room(entry, || ballast.make_room())
                .await?;
            if outcome != ROOM {
                break;
            }
        }
        ballast.make_room();
        say(&Line::Said(outcome.to_owned()));
        let next = maker.sized(writing.next(), 100);
        writing.append(next, false).await?;
        create(&*store, &mut maker, &ballast, &format!("new-{round}")).await?;
    }
    Ok(())
}

/// Creates a session where there is less and less room: it is there whole, or not at all (C34).
async fn create(store: &dyn Store, maker: &mut Maker, ballast: &Ballast, name: &str) -> Ended {
    let session = session(name);
    let created = maker.created();
    let journal = created.id().clone();
    let entries: Vec<Entry> = std::iter::once(created)
        .chain((1..4).map(|seq| maker.sized(Seq(seq), 6_000)))
        .collect();
    let notes: Vec<Note> = entries
        .iter()
        .map(|entry| Note::of(&session, &journal, entry))
        .collect();
    say(&Line::Creating(session.clone(), journal.clone()));
    notes
        .iter()
        .for_each(|note| say(&Line::Intended(note.clone())));
    ballast.fill(maker.rng.usize(..24 << 10));
    let refused = match store.create(&session, entries.clone()).await {
        Ok(()) => None,
        Err(error @ StoreError::Full { .. }) => Some(error),
        Err(error) => return Err(error),
    };
    if refused.is_some() {
        let gone = matches!(
            store.acquire(&session, Seq::ZERO).await,
            Err(StoreError::Missing { .. })
        );
        let listed = is_listed(store, &session).await?;
        if !gone || listed {
            return Err(StoreError::backend(format!(
                "session {session} is there though its creation was refused"
            )));
        }
        say(&Line::Said(NOT_CREATED.to_owned()));
        ballast.make_room();
        store.create(&session, entries).await?;
    }
    ballast.make_room();
    say(&Line::Created(session, journal));
    notes.into_iter().for_each(|note| say(&Line::Written(note)));
    Ok(())
}

async fn is_listed(store: &dyn Store, session: &SessionId) -> Result<bool, StoreError> {
    // It would be the newest.
    let first = ListRequest {
        after: None,
        limit: 3,
    };
    let page = store.list(first).await?;
    Ok(page.sessions.iter().any(|one| one.id == *session))
}

fn maker(task: &Task) -> Maker {
    Maker::new(format!("x{}", task.seed), Rng::with_seed(task.seed))
}

async fn acquire(store: &dyn Store) -> Result<Writing, StoreError> {
    let session = session(SESSION);
    let missing = || StoreError::Missing {
        session: session.clone(),
    };
    Writing::acquire(store, &session, None)
        .await?
        .ok_or_else(missing)
}

/// A file that takes all room but so much.
struct Ballast {
    path: PathBuf,
}

impl Ballast {
    fn beside(task: &Task) -> Self {
        Self {
            path: task.place.with_file_name("ballast"),
        }
    }

    /// Takes all there is, then gives back so many bytes.
    fn fill(&self, left: usize) {
        let chunk = vec![b'x'; 64 << 10];
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(&self.path);
        if let Ok(file) = file {
            while (&file).write(&chunk).is_ok_and(|n| n > 0) {}
            Self::give_back(&file, left);
        }
    }

    /// Leaves room for whatever comes.
    fn make_room(&self) {
        if let Ok(file) = OpenOptions::new().append(true).open(&self.path) {
            Self::give_back(&file, 6 << 20);
        }
    }

    fn give_back(file: &File, bytes: usize) {
        if let Ok(there) = file.metadata() {
            let _ = file.set_len(there.len().saturating_sub(bytes as u64));
        }
    }
}
