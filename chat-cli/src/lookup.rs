//! Which session or turn a person means: an id, or the beginning of one where only one begins so.

use chat_core::{Cursor, ListRequest, SessionId, SessionSummary, StoreError, TurnId, Turns};
use chat_runtime::{Chat, ChatError, NewSession, Session};

use crate::errors::Problem;

/// How many sessions are asked for at once.
const PAGE: usize = 500;

/// How many candidates an error names.
const NAMED: usize = 5;

/// Opens the session that is meant.
pub(crate) async fn open(chat: &Chat, given: &SessionId) -> Result<Session, Problem> {
    match chat.open_session(given).await {
        Err(ChatError::Store(missing @ StoreError::Missing { .. })) => {
            let Some(id) = begun(chat, given, |_| true).await? else {
                return Err(missing.into());
            };
            Ok(chat.open_session(&id).await?)
        }
        opened => Ok(opened?),
    }
}

/// Opens the session that is meant, or creates it under this name; a new one where none is named.
///
/// Only an id that chat made is told by its beginning here: a name that someone chose may be the beginning of another one,
/// and would never get a session of its own.
pub(crate) async fn open_or_create(
    chat: &Chat,
    given: Option<&SessionId>,
) -> Result<Session, Problem> {
    let Some(given) = given else {
        return Ok(chat.create_session().await?);
    };
    match chat.open_session(given).await {
        Err(ChatError::Store(missing @ StoreError::Missing { .. })) => {
            if let Some(id) = begun(chat, given, is_made).await? {
                return Ok(chat.open_session(&id).await?);
            }
            if given.as_str().ends_with(CUT) {
                return Err(missing.into());
            }
            create(chat, given).await
        }
        opened => Ok(opened?),
    }
}

async fn create(chat: &Chat, id: &SessionId) -> Result<Session, Problem> {
    let new = NewSession {
        id: Some(id.clone()),
        labels: None,
    };
    match chat.create_session_with(new).await {
        // Another process was faster.
        Err(ChatError::Store(StoreError::Taken { .. })) => Ok(chat.open_session(id).await?),
        created => Ok(created?),
    }
}

/// The id of the session that is meant, whether or not it can be read.
pub(crate) async fn id(chat: &Chat, given: &SessionId) -> Result<SessionId, Problem> {
    let store = chat.store();
    let (id, _) = with(chat, given, async |id| store.is_held(id).await).await?;
    Ok(id)
}

/// Does something with the session that is meant, without opening it.
pub(crate) async fn with<T>(
    chat: &Chat,
    given: &SessionId,
    act: impl AsyncFn(&SessionId) -> Result<T, StoreError>,
) -> Result<(SessionId, T), Problem> {
    match act(given).await {
        Err(missing @ StoreError::Missing { .. }) => {
            let Some(id) = begun(chat, given, |_| true).await? else {
                return Err(missing.into());
            };
            let done = act(&id).await?;
            Ok((id, done))
        }
        done => Ok((given.clone(), done?)),
    }
}

/// The turn that is meant; as given where none begins so.
pub(crate) fn turn(turns: &Turns, given: &TurnId) -> Result<TurnId, Problem> {
    if turns.find(given).is_some() {
        return Ok(given.clone());
    }
    let ids = turns.iter().map(|turn| &turn.id);
    let candidates: Vec<&TurnId> = ids
        .filter(|id| begins(id.as_str(), given.as_str()))
        .collect();
    let only = one(given.as_str(), &candidates)?;
    Ok(only.cloned().unwrap_or_else(|| given.clone()))
}

/// All sessions, the one with the newest activity first.
pub(crate) async fn all(chat: &Chat) -> Result<Vec<SessionSummary>, StoreError> {
    let mut sessions = Vec::new();
    let mut after: Option<Cursor> = None;
    loop {
        let page = chat
            .list_sessions(ListRequest { after, limit: PAGE })
            .await?;
        sessions.extend(page.sessions);
        after = page.next;
        if after.is_none() {
            return Ok(sessions);
        }
    }
}

/// What stands behind a shortened id, in lists and in what is pasted from them.
pub(crate) const CUT: char = '…';

async fn begun(
    chat: &Chat,
    given: &SessionId,
    counts: impl Fn(&SessionId) -> bool,
) -> Result<Option<SessionId>, Problem> {
    let all = all(chat).await?;
    let ids = all.iter().map(|session| &session.id);
    let candidates: Vec<&SessionId> = ids
        .filter(|id| begins(id.as_str(), given.as_str()) && counts(id))
        .collect();
    Ok(one(given.as_str(), &candidates)?.cloned())
}

fn begins(id: &str, given: &str) -> bool {
    id.starts_with(given.trim_end_matches(CUT))
}

fn one<'a, T: std::fmt::Display>(
    given: &str,
    candidates: &[&'a T],
) -> Result<Option<&'a T>, Problem> {
    match candidates {
        [] => Ok(None),
        [only] => Ok(Some(only)),
        many => {
            let named: Vec<String> = many.iter().take(NAMED).map(|id| id.to_string()).collect();
            let more = if many.len() > NAMED {
                ", and others"
            } else {
                ""
            };
            let said = format!("{given} could be any of {}", many.len());
            Err(Problem::usage(said).advise(format!("add to it: {}{more}", named.join(", "))))
        }
    }
}

/// Whether this is an id that chat made: a ULID.
fn is_made(id: &SessionId) -> bool {
    let crockford =
        |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'z') && !matches!(b, b'i' | b'l' | b'o' | b'u');
    id.as_str().len() == 26 && id.as_str().bytes().all(crockford)
}
