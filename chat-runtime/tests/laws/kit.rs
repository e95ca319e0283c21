//! What every test here needs: a chat over a gated store, with a responder that waits for the test.

use std::time::Duration;

use chat_conformance::{Gate, GatedStore, ResponderCall, ResponderScript, ScriptedResponder};
use chat_core::{
    ApprovalRequest, ChatEvent, Entry, JournalPart, MemoryStore, Reply, ResponderError,
    ResponderEvent, Seq, SessionId, Store, Timestamp, TurnError, TurnRecord,
};
use chat_runtime::{Chat, ChatBuilder, Session, TurnEvents};
use futures_util::{FutureExt, StreamExt};

pub(crate) struct Lab {
    pub(crate) chat: Chat,
    pub(crate) session: Session,
    pub(crate) script: ResponderScript,
    pub(crate) gate: Gate,
    pub(crate) store: MemoryStore,
}

impl Lab {
    pub(crate) async fn new() -> Self {
        Self::with(|chat| chat).await
    }

    pub(crate) async fn with(options: impl FnOnce(ChatBuilder) -> ChatBuilder) -> Self {
        let store = MemoryStore::new();
        let (gated, gate) = GatedStore::new(store.clone());
        let (responder, script) = ScriptedResponder::new();
        let chat = options(Chat::builder(responder, gated)).build();
        let session = chat.create_session().await.expect("a new id is free");
        Self {
            chat,
            session,
            script,
            gate,
            store,
        }
    }

    /// Another chat over the same store, as another process would have it, with the same session open.
    pub(crate) async fn elsewhere(&self) -> Self {
        let (gated, gate) = GatedStore::new(self.store.clone());
        let (responder, script) = ScriptedResponder::new();
        let chat = Chat::new(responder, gated);
        let session = chat
            .open_session(self.session.id())
            .await
            .expect("the session is there");
        Self {
            chat,
            session,
            script,
            gate,
            store: self.store.clone(),
        }
    }

    /// Sends an input that is answered with itself, in capitals, and waits for the end.
    pub(crate) async fn answered(&mut self, input: &str) {
        let turn = self.session.send(input);
        self.script
            .next_call()
            .await
            .finish(Reply::text(input.to_uppercase()));
        turn.await.expect("it is answered");
    }

    /// The journal as it is in the store behind the gate.
    pub(crate) async fn journal(&self) -> Vec<Entry> {
        journal(&self.store, self.session.id()).await
    }

    /// The types of the journal's entries, `session.created` left out.
    pub(crate) async fn entries(&self) -> Vec<String> {
        let journal = self.journal().await;
        journal[1..]
            .iter()
            .map(|entry| entry.body().kind().to_owned())
            .collect()
    }

    /// That the session goes on as if nothing had been: the next turn is answered, and sees only what it should.
    pub(crate) async fn is_usable(&mut self) {
        let earlier = self.session.messages().len();
        let turn = self.session.send("are you there?");
        let mut call = self.script.next_call().await;
        assert_eq!(call.request().turn_id, *turn.id());
        assert_eq!(call.request().messages.iter().count(), earlier);
        call.text("yes");
        call.finish(Reply::streamed());
        assert_eq!(&*turn.await.expect("it is answered").text, "yes");
    }
}

pub(crate) async fn journal(store: &impl Store, session: &SessionId) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut parts = store.read(session, Seq::ZERO);
    while let Some(part) = parts.next().await {
        match part.expect("the journal can be read") {
            JournalPart::Entries(more) => entries.extend(more),
            JournalPart::Torn(torn) => panic!("nothing tears in memory: {torn:?}"),
        }
    }
    entries
}

/// Resolves once nothing else can run: a paused clock moves only then.
pub(crate) async fn idle() {
    let _ = tokio::time::timeout(Duration::from_millis(1), std::future::pending::<()>()).await;
}

/// A current-thread runtime with a paused clock, for tests that outlive it.
pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime can be built")
}

pub(crate) async fn all(mut events: TurnEvents) -> Vec<ChatEvent> {
    let mut all = Vec::new();
    while let Some(event) = events.next().await {
        all.push(event);
    }
    assert!(
        all.iter().map(ChatEvent::seq).is_sorted_by(|a, b| a < b),
        "places rise: {all:?}"
    );
    let ends = all.iter().filter(|event| event.kind() == "turn-end");
    assert_eq!(ends.count(), 1, "one turn-end: {all:?}");
    all
}

pub(crate) fn kinds(events: &[ChatEvent]) -> Vec<&str> {
    events.iter().map(ChatEvent::kind).collect()
}

/// The turn as its `turn-end` shows it, which must be the last event.
pub(crate) fn end(events: &[ChatEvent]) -> &TurnRecord {
    match events.last() {
        Some(ChatEvent::TurnEnd { turn, .. }) => turn,
        other => panic!("turn-end is last: {other:?}"),
    }
}

pub(crate) fn text(events: &[ChatEvent]) -> String {
    let deltas = events.iter().filter_map(|event| match event {
        ChatEvent::TextDelta { text, .. } => Some(&**text),
        _ => None,
    });
    deltas.collect()
}

/// The one word of an error.
pub(crate) fn kind<T: std::fmt::Debug>(result: Result<T, TurnError>) -> String {
    result.expect_err("there is no reply").kind().to_owned()
}

pub(crate) fn oops() -> ResponderError {
    ResponderError::new("oops").with_kind("oops")
}

/// Asks for an approval.
pub(crate) fn request_approval(call: &ResponderCall, id: &str) {
    let request = ApprovalRequest {
        id: id.into(),
        call_id: "c1".into(),
        tool_name: "deploy".into(),
        input: std::sync::Arc::new(serde_json::json!({})),
        step: "s1".into(),
        requested_at: Timestamp::UNIX_EPOCH,
    };
    call.event(ResponderEvent::ApprovalRequest(std::sync::Arc::new(
        request,
    )));
}

/// Whether a future has nothing to give yet.
pub(crate) fn is_pending(future: impl Future) -> bool {
    future.now_or_never().is_none()
}
