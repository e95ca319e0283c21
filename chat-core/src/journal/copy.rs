//! Sessions from one store into another, whichever they are (law J2). Decides nothing: what is there is there, what is taken stays.

use crate::{Cursor, ListRequest, SessionId, Store, StoreError, TornTail};

use super::{Gap, Journal};

/// How many sessions are asked for at once.
pub(super) const PAGE: usize = 500;

/// What was copied.
#[derive(Debug, Clone, Default)]
pub struct Copied {
    /// How many entries.
    pub entries: usize,
    /// A torn tail that was left where it is: no one has seen what it was meant to say (law S3).
    pub torn: Option<TornTail>,
    /// What could not be read and is missing in the copy. Never any, unless salvage was asked for.
    pub gaps: Vec<Gap>,
}

/// Why a session was not copied: then nothing of it is in the other store, unless its error says that it is.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum CopyError {
    /// It can't be read.
    #[error("{0}")]
    Read(#[source] StoreError),
    /// It can't be written; with [`StoreError::Taken`], the session of this id in the other store is unchanged.
    #[error("the copy can't be written: {0}")]
    Write(#[source] StoreError),
    /// No entry of it can be read.
    #[error("nothing of session {session} can be read")]
    NothingReadable {
        /// The session.
        session: SessionId,
    },
}

/// Copies a session into another store, under the same id: every entry to the byte, all of them or none, durable when it
/// returns. Both stores stay as they are otherwise.
///
/// Waits for nobody: what someone writes into the session meanwhile may be missing at the copy's end. Holds the journal in
/// memory, since it is created whole. Dropping the future leaves all of the copy or nothing.
///
/// # Errors
/// [`CopyError::Read`] where it can't be read in full, damage and newer formats among it: [`copy_salvaged`] takes what is
/// readable. [`CopyError::Write`] where the other store refuses.
pub async fn copy_session(
    from: &dyn Store,
    to: &dyn Store,
    session: &SessionId,
) -> Result<Copied, CopyError> {
    let journal = Journal::read(from, session).await;
    create(to, session, journal.map_err(CopyError::Read)?).await
}

/// As [`copy_session`], of what is readable of a damaged session ([`Journal::salvage`]): the copy is sound, and what is missing
/// in it is said.
///
/// # Errors
/// As [`copy_session`], and [`CopyError::NothingReadable`].
pub async fn copy_salvaged(
    from: &dyn Store,
    to: &dyn Store,
    session: &SessionId,
) -> Result<Copied, CopyError> {
    let journal = Journal::salvage(from, session).await;
    create(to, session, journal.map_err(CopyError::Read)?).await
}

/// Copies all sessions there are into another store, one after the other, and says what became of each. One that can't be
/// copied keeps no other from it: asked again, what is there by then is refused as taken and stays.
///
/// # Errors
/// Where it can't be listed which there are: then nothing was copied.
pub async fn copy_all(
    from: &dyn Store,
    to: &dyn Store,
) -> Result<Vec<(SessionId, Result<Copied, CopyError>)>, StoreError> {
    let mut copied = Vec::new();
    for session in all(from).await? {
        let result = copy_session(from, to, &session).await;
        copied.push((session, result));
    }
    Ok(copied)
}

/// The ids of all sessions: listed before the first is copied, for what is copied may be listed, too, where both stores are one.
async fn all(store: &dyn Store) -> Result<Vec<SessionId>, StoreError> {
    let mut ids = Vec::new();
    let mut after: Option<Cursor> = None;
    loop {
        let page = store.list(ListRequest { after, limit: PAGE }).await?;
        ids.extend(page.sessions.into_iter().map(|session| session.id));
        after = page.next;
        if after.is_none() {
            return Ok(ids);
        }
    }
}

async fn create(
    store: &dyn Store,
    session: &SessionId,
    journal: Journal,
) -> Result<Copied, CopyError> {
    let Journal {
        entries,
        torn,
        gaps,
    } = journal;
    if entries.is_empty() {
        return Err(CopyError::NothingReadable {
            session: session.clone(),
        });
    }
    let copied = Copied {
        entries: entries.len(),
        torn,
        gaps,
    };
    let created = store.create(session, entries).await;
    created.map(|()| copied).map_err(CopyError::Write)
}
