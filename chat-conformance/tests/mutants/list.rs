//! The reference store's list: every journal is read for every page.

use std::cmp::Reverse;

use chat_core::{
    Cursor, Entry, EntryBody, ListRequest, SessionId, SessionPage, SessionSummary, StoreError,
    Timestamp,
};

use crate::{
    bug::Bug,
    journal::{End, Scanned},
    store::SimStore,
};

/// What the list is ordered by; smaller comes first.
type Key = (Reverse<Timestamp>, SessionId);

pub(crate) fn page(store: &SimStore, request: &ListRequest) -> Result<SessionPage, StoreError> {
    let mut sessions = store.disk.sessions();
    if store.has(Bug::ListsTheDeleted) {
        sessions.extend(store.disk.lock().ghosts.clone());
    }
    let mut all = Vec::new();
    for id in sessions {
        let summary = summary(store, id);
        if store.has(Bug::ListsTheHeldAsMissing) && store.is_held(&summary.id) {
            continue;
        }
        if let Some(error) = &summary.error
            && store.has(Bug::DamageHidesTheOthers)
        {
            return Err(error.clone());
        }
        all.push(summary);
    }
    all.sort_by_key(key);
    if store.has(Bug::OrdersTiesByName) {
        all.sort_by_key(|s| (Reverse(s.last_activity), s.id.as_str().to_lowercase()));
    }
    if store.has(Bug::OrdersByCreation) {
        let created = store.disk.lock().creations.clone();
        all.sort_by_key(|s| Reverse(created.iter().rposition(|id| *id == s.id)));
    }
    let rest: Vec<SessionSummary> = match &request.after {
        None => all,
        Some(cursor) if store.has(Bug::CursorCounts) => {
            let seen = cursor.0.parse().map_err(|_| no_cursor(cursor))?;
            all.into_iter().skip(seen).collect()
        }
        Some(cursor) => match parse(cursor) {
            Some(after) => all.into_iter().filter(|s| key(s) > after).collect(),
            None if store.has(Bug::TakesAnyCursor) => all,
            None => return Err(no_cursor(cursor)),
        },
    };
    let mut sessions = rest;
    let is_more = sessions.len() > request.limit.max(1);
    sessions.truncate(request.limit.max(1));
    let next = sessions.last().filter(|_| is_more).map(|last| {
        if store.has(Bug::CursorCounts) {
            let before = request.after.as_ref().and_then(|c| c.0.parse().ok());
            let seen = before.unwrap_or(0) + sessions.len();
            return Cursor(seen.to_string().into());
        }
        let (Reverse(at), id) = key(last);
        Cursor(format!("{}:{id}", at.as_millis()).into())
    });
    if store.has(Bug::ForgetsOneOfEachPage) && sessions.len() > 1 {
        sessions.remove(0);
    }
    Ok(SessionPage { sessions, next })
}

fn key(summary: &SessionSummary) -> Key {
    // One of which nothing can be read comes last.
    let at = summary.last_activity.unwrap_or(Timestamp::UNIX_EPOCH);
    (Reverse(at), summary.id.clone())
}

fn parse(cursor: &Cursor) -> Option<Key> {
    let (at, id) = cursor.0.split_once(':')?;
    let at = Timestamp::from_millis(at.parse().ok()?).ok()?;
    Some((Reverse(at), SessionId::parse(id).ok()?))
}

fn no_cursor(cursor: &Cursor) -> StoreError {
    StoreError::backend(format!("{:?} is no cursor of this store", cursor.0))
}

fn summary(store: &SimStore, id: SessionId) -> SessionSummary {
    let scanned = store.scan(&id);
    let (entries, mut error) = match scanned {
        Ok(Scanned { entries, end }) => match end {
            End::Sound => (entries, None),
            End::Torn(..) if store.has(Bug::CountsATornTail) => {
                (entries, Some(StoreError::backend("torn")))
            }
            End::Torn(..) => (entries, None),
            End::Wrong(error) => (entries, Some(error)),
        },
        Err(error) => (Vec::new(), Some(error)),
    };
    if store.has(Bug::ListsDamageAsSound) {
        error = None;
    }
    let counted = match store.bug {
        Some(Bug::CountsOutcomes) => "turn.completed",
        _ => "turn.accepted",
    };
    let turns = entries.iter().filter(|e| e.body().kind() == counted);
    let mut times = entries.iter().map(Entry::at);
    SessionSummary {
        id,
        title: title(store, &entries),
        created_at: times.clone().next(),
        turns: turns.count() as u64,
        last_activity: match store.bug {
            Some(Bug::OrdersByTheLatestTime) => times.max(),
            _ => times.next_back(),
        },
        error,
    }
}

fn title(store: &SimStore, entries: &[Entry]) -> Option<std::sync::Arc<str>> {
    let mut inputs = entries.iter().filter_map(|entry| match entry.body() {
        EntryBody::TurnAccepted { input, .. } => Some(input),
        _ => None,
    });
    let input = match store.bug {
        Some(Bug::TitlesByTheLastInput) => inputs.next_back()?,
        _ => inputs.next()?,
    };
    if store.has(Bug::CutsTitlesOnAByte) {
        let bytes = &input.trim().as_bytes()[..input.trim().len().min(79)];
        return Some(format!("{}…", String::from_utf8_lossy(bytes)).into());
    }
    Some(SessionSummary::title_of(input))
}
