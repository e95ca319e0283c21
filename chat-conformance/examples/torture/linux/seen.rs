//! What a fresh store shows, asked in every way there is: read, then acquire, then list. It says where these tell different things and
//! leaves it to a ledger to say what should have been there.

use std::collections::{BTreeMap, HashSet};

use chat_core::{
    Entry, EntryBody, EntryId, JournalPart, ListRequest, Seq, SessionId, SessionSummary, Store,
    StoreError, TurnId,
};
use futures_util::StreamExt as _;

use super::entries::crc;

/// Everything in a store.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) sessions: BTreeMap<SessionId, SeenSession>,
    pub(crate) torn: usize,
    pub(crate) unopened: Vec<String>,
    unopened_sessions: HashSet<SessionId>,
    pub(crate) disagree: Vec<String>,
}

/// One journal, as acquired.
#[derive(Debug, Default)]
pub(crate) struct SeenSession {
    pub(crate) entries: Vec<SeenEntry>,
    summary: Option<SessionSummary>,
}

/// One entry, its texts left out.
#[derive(Debug)]
pub(crate) struct SeenEntry {
    pub(crate) seq: Seq,
    pub(crate) id: EntryId,
    pub(crate) crc: u32,
    /// The turn it speaks of, and whether it begins it.
    turn: Option<(TurnId, bool)>,
}

impl From<&Entry> for SeenEntry {
    fn from(entry: &Entry) -> Self {
        let accepted = matches!(entry.body(), EntryBody::TurnAccepted { .. });
        Self {
            seq: entry.seq(),
            id: entry.id().clone(),
            crc: crc(entry),
            turn: entry.body().turn_id().map(|turn| (turn.clone(), accepted)),
        }
    }
}

impl SeenSession {
    pub(crate) fn turns(&self) -> impl Iterator<Item = &TurnId> {
        self.entries.iter().filter_map(|entry| match &entry.turn {
            Some((turn, true)) => Some(turn),
            Some((_, false)) | None => None,
        })
    }

    /// A gap in the places, or an entry of another turn than the last one accepted: two holders at once.
    pub(crate) fn disorder(&self, session: &SessionId) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut running: Option<&TurnId> = None;
        for (place, entry) in self.entries.iter().enumerate() {
            if entry.seq.0 != place as u64 {
                wrong.push(format!(
                    "entry {} of session {session} stands at place {place}",
                    entry.seq
                ));
            }
            match &entry.turn {
                Some((turn, true)) => running = Some(turn),
                Some((turn, false)) if running == Some(turn) => {}
                Some((turn, false)) => wrong.push(format!(
                    "entry {} of session {session} is of turn {turn} while {running:?} has the hold",
                    entry.seq
                )),
                None => {}
            }
        }
        wrong
    }
}

impl Seen {
    pub(crate) fn is_unopened(&self, session: &SessionId) -> bool {
        self.unopened_sessions.contains(session)
    }

    fn cannot_open(&mut self, session: &SessionId, how: &str, error: &StoreError) {
        self.unopened.push(format!(
            "{how} of session {session}: {} ({error})",
            error.kind()
        ));
        self.unopened_sessions.insert(session.clone());
    }

    fn differs(&mut self, session: &SessionId, how: &str) {
        self.disagree.push(format!("session {session}: {how}"));
    }
}

/// Looks at every session of a list and at those which may be there though no list shows them.
pub(crate) async fn look(
    store: &dyn Store,
    expected: HashSet<SessionId>,
) -> Result<Seen, StoreError> {
    let mut seen = Seen::default();
    let before = list(store).await?;
    let listed: HashSet<SessionId> = before.iter().map(|one| one.id.clone()).collect();
    let all: HashSet<SessionId> = expected.union(&listed).cloned().collect();
    for session in all {
        let is_listed = listed.contains(&session);
        if let Some(found) = look_at(store, &session, &mut seen).await {
            if !is_listed {
                seen.differs(&session, "it is there, and not listed");
            }
            seen.sessions.insert(session, found);
        } else if is_listed && !seen.is_unopened(&session) {
            seen.differs(&session, "it is listed, and not there");
        }
    }
    // Once more: acquiring sets torn tails aside, which changes nothing that a list shows.
    let after = list(store).await?;
    for (one, other) in before.iter().zip(&after) {
        if (&one.id, one.turns, one.last_activity) != (&other.id, other.turns, other.last_activity)
        {
            seen.differs(&one.id, "acquiring it changed the list");
        }
    }
    check_list(&after, &mut seen);
    Ok(seen)
}

/// Reads a journal, then acquires it; `None` where it is not there or can't be opened.
async fn look_at(store: &dyn Store, session: &SessionId, seen: &mut Seen) -> Option<SeenSession> {
    let mut read = Vec::new();
    let mut torn = false;
    let mut parts = store.read(session, Seq::ZERO);
    while let Some(part) = parts.next().await {
        match part {
            Ok(JournalPart::Entries(entries)) => read.extend(entries),
            Ok(JournalPart::Torn(_)) => torn = true,
            Err(StoreError::Missing { .. }) => {
                if store.acquire(session, Seq::ZERO).await.is_ok() {
                    seen.differs(session, "it is missing for read, and there for acquire");
                }
                return None;
            }
            Err(error) => {
                seen.cannot_open(session, "read", &error);
                return None;
            }
        }
    }
    let acquired = match store.acquire(session, Seq::ZERO).await {
        Ok(acquired) => acquired,
        Err(error) => {
            seen.cannot_open(session, "acquire", &error);
            return None;
        }
    };
    if acquired.torn.is_some() != torn {
        seen.differs(session, "read and acquire disagree about a torn tail");
    }
    seen.torn += usize::from(acquired.torn.is_some());
    if acquired.entries != read {
        let (one, other) = (read.len(), acquired.entries.len());
        seen.differs(
            session,
            &format!("read gives {one} entries, acquire {other}"),
        );
    }
    Some(SeenSession {
        entries: acquired.entries.iter().map(SeenEntry::from).collect(),
        summary: Some(summary(session, &acquired.entries)),
    })
}

/// What a list has to say of these entries.
fn summary(session: &SessionId, entries: &[Entry]) -> SessionSummary {
    let inputs = entries.iter().filter_map(|entry| match entry.body() {
        EntryBody::TurnAccepted { input, .. } => Some(input),
        _ => None,
    });
    SessionSummary {
        id: session.clone(),
        title: inputs
            .clone()
            .next()
            .map(|input| SessionSummary::title_of(input)),
        created_at: entries.first().map(Entry::at),
        last_activity: entries.last().map(Entry::at),
        turns: inputs.count() as u64,
        error: None,
    }
}

fn check_list(list: &[SessionSummary], seen: &mut Seen) {
    for listed in list {
        if let Some(error) = &listed.error {
            let error = error.clone();
            seen.cannot_open(&listed.id, "list", &error);
            continue;
        }
        let Some(own) = seen
            .sessions
            .get(&listed.id)
            .and_then(|found| found.summary.as_ref())
        else {
            continue;
        };
        let shown = |one: &SessionSummary| {
            (
                one.title.clone(),
                one.created_at,
                one.last_activity,
                one.turns,
            )
        };
        if shown(listed) != shown(own) {
            let how = format!(
                "it is listed with {} turns, and has {}; or with another title or time",
                listed.turns, own.turns
            );
            seen.differs(&listed.id, &how);
        }
    }
    let in_order = |pair: &[SessionSummary]| {
        let key = |one: &SessionSummary| (std::cmp::Reverse(one.last_activity), one.id.clone());
        key(&pair[0]) <= key(&pair[1])
    };
    if let Some(pair) = list.windows(2).find(|pair| !in_order(pair)) {
        seen.differs(&pair[1].id, "it is listed behind an older one");
    }
}

/// All pages.
async fn list(store: &dyn Store) -> Result<Vec<SessionSummary>, StoreError> {
    let mut request = ListRequest::default();
    let mut all = Vec::new();
    // More pages than any of these stores has sessions.
    for _ in 0..10_000 {
        let page = store.list(request.clone()).await?;
        all.extend(page.sessions);
        match page.next {
            Some(next) => request.after = Some(next),
            None => return Ok(all),
        }
    }
    Err(StoreError::backend("the list has no end"))
}
