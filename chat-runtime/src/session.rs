//! A session's handle: send, steer, retry, and what there is to read without waiting.

use std::{fmt, sync::Arc};

use chat_core::{
    ContextPolicy, Entry, EntryBody, JournalPart, Labels, Message, NewTurn, Seq, SessionId,
    SteerError, SteerRefused, Store, StoreError, TornTail, TurnError, TurnId, TurnInput,
    TurnRecord, Turns,
};
use futures_core::future::BoxFuture;
use futures_util::StreamExt;
use tokio::sync::oneshot;

use crate::{LazyTurn, Turn, shared::Shared};

/// A long-lived conversation. Clones, and whoever opens the same session again, share it; an idle one costs memory only.
#[derive(Clone)]
pub struct Session {
    pub(crate) shared: Arc<Shared>,
}

/// What a turn may be sent with.
#[derive(Debug, Clone, Default)]
pub(crate) struct Options {
    pub(crate) labels: Option<Labels>,
    pub(crate) context: Option<ContextPolicy>,
}

impl Session {
    /// The session's id.
    #[must_use]
    pub fn id(&self) -> &SessionId {
        &self.shared.id
    }

    /// Sends an input: the turn starts at once, or when those before it have ended, whether or not anyone awaits it. Works from
    /// any thread (law T1).
    pub fn send(&self, input: impl Into<Arc<str>>) -> Turn {
        self.start(TurnInput::New(input.into()), Options::default())
    }

    /// Sends an input, and gives the text of its reply. The turn starts at once, also where the future is never polled.
    ///
    /// # Errors
    /// [`TurnError`] where the turn has no reply.
    pub fn ask(
        &self,
        input: impl Into<Arc<str>>,
    ) -> BoxFuture<'static, Result<Arc<str>, TurnError>> {
        let turn = self.send(input);
        Box::pin(async move { Ok(turn.await?.text) })
    }

    /// A turn with options, to be started later.
    pub fn turn(&self, input: impl Into<Arc<str>>) -> LazyTurn {
        LazyTurn::new(self.clone(), input.into())
    }

    /// Answers a failed, canceled or interrupted turn's input again, as a new turn: model calls and side effects happen again
    /// (law T9). One that can't be retried is refused by the new turn's error.
    pub fn retry(&self, turn: &TurnId) -> Turn {
        self.start(TurnInput::Retry(turn.clone()), Options::default())
    }

    /// Offers input to the turn that is being answered, or is about to be (law T8). Offered at once; resolves when the
    /// responder has taken it and it is in the journal. Dropping the future does not take it back.
    ///
    /// # Errors
    /// [`SteerError`] where it was not taken: why, with the input handed back.
    #[doc(alias = "send")]
    pub fn steer(&self, input: impl Into<Arc<str>>) -> BoxFuture<'static, Result<(), SteerError>> {
        let input = input.into();
        let receiver = self.shared.steer(None, input.clone());
        Box::pin(told(receiver, input))
    }

    /// The accepted turns as they now stand, and a running one among them. A snapshot; taking it copies nothing.
    #[must_use]
    pub fn turns(&self) -> Turns {
        self.shared.lock().machine.transcript().turns()
    }

    /// A turn as it now stands, where it was accepted.
    #[must_use]
    pub fn find(&self, turn: &TurnId) -> Option<TurnRecord> {
        self.shared.lock().machine.transcript().turn(turn).cloned()
    }

    /// What was said and answered: the messages of the completed turns (law T7).
    #[must_use]
    pub fn messages(&self) -> Vec<Message> {
        self.turns().messages().collect()
    }

    /// Reads what others wrote, without taking anything; while this session has the hold it changes nothing (law T2).
    /// Cancel-safe.
    ///
    /// # Errors
    /// What the store fails with: then nothing changed. [`StoreError::Replaced`] where the session was deleted and made anew
    /// elsewhere: this handle keeps to what it knows of the old one and takes no turn any more; open the session again.
    pub async fn refresh(&self) -> Result<(), StoreError> {
        self.shared.until_let_go().await;
        self.shared.check_there()?;
        let (from, open) = {
            let locked = self.shared.lock();
            let transcript = locked.machine.transcript();
            (
                transcript.resume_from(),
                transcript
                    .turns()
                    .last()
                    .is_some_and(|turn| turn.ended_at.is_none()),
            )
        };
        let mut entries = Vec::new();
        let store = &*self.shared.services.store;
        let read = catch_up(store, self.id(), from, open, |part| entries.extend(part)).await?;
        self.shared
            .tell(|machine, _| machine.handle_refreshed(&entries, read.held))
    }

    pub(crate) fn start(&self, input: TurnInput, options: Options) -> Turn {
        let Options { labels, context } = options;
        let turn = NewTurn {
            id: self.shared.unique(),
            input,
            labels,
            context,
            accepted_id: self.shared.unique(),
            outcome_id: self.shared.unique(),
        };
        let state = self.shared.send(turn);
        Turn::new(self.shared.clone(), state)
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("id", self.id())
            .field("turns", &self.turns().len())
            .finish_non_exhaustive()
    }
}

/// What became of a steer, once it is told.
pub(crate) async fn told(
    receiver: oneshot::Receiver<Result<(), SteerError>>,
    input: Arc<str>,
) -> Result<(), SteerError> {
    // The sender goes without a word only with the session itself, which the handle keeps.
    receiver.await.unwrap_or(Err(SteerError {
        input,
        why: SteerRefused::RuntimeGone,
    }))
}

/// What reading a journal showed beside its entries.
pub(crate) struct Read {
    /// Whether someone has the hold.
    pub(crate) held: bool,
    /// A torn tail that nobody is writing.
    pub(crate) torn: Option<TornTail>,
}

/// Applies a journal's entries from a place on, where the last entry known stands if any is, and says whether someone is
/// writing it.
///
/// Where the last turn is open and nobody has the hold, it is read once more: a holder writes its outcome before it lets go, so
/// that a turn which is still open then is interrupted, not running (law T10).
pub(crate) async fn catch_up(
    store: &dyn Store,
    session: &SessionId,
    from: Seq,
    last_is_open: bool,
    mut apply: impl FnMut(Vec<Entry>),
) -> Result<Read, StoreError> {
    let mut last: Option<Entry> = None;
    let mut torn = read(store, session, from, |entries| {
        last = entries.last().cloned().or(last.take());
        apply(entries);
    })
    .await?;
    let held = store.is_held(session).await?;
    let is_open = last
        .as_ref()
        .filter(|last| last.seq() > from)
        .map_or(last_is_open, leaves_a_turn_open);
    if is_open && !held {
        let resume_from = last.as_ref().map_or(from, Entry::seq);
        let mut is_the_same = last.is_none();
        torn = read(store, session, resume_from, |entries| {
            let first = entries.first().zip(last.as_ref());
            is_the_same |= first.is_some_and(|(first, last)| first.is_same(last));
            // Where the session was deleted and made anew in between, what was read first stands: it was so a moment ago.
            if is_the_same {
                apply(entries);
            }
        })
        .await?;
    }
    Ok(Read {
        held,
        torn: torn.filter(|_| !held),
    })
}

fn leaves_a_turn_open(last: &Entry) -> bool {
    matches!(
        last.body(),
        EntryBody::TurnAccepted { .. } | EntryBody::TurnSteered { .. }
    )
}

/// Reads a journal from a place on, to its end or its torn tail.
async fn read(
    store: &dyn Store,
    session: &SessionId,
    from: Seq,
    mut apply: impl FnMut(Vec<Entry>),
) -> Result<Option<TornTail>, StoreError> {
    let mut torn = None;
    let mut parts = store.read(session, from);
    while let Some(part) = parts.next().await {
        match part? {
            JournalPart::Entries(entries) => apply(entries),
            JournalPart::Torn(tail) => torn = Some(tail),
        }
    }
    Ok(torn)
}
