//! A chat: one responder, one store, and the sessions that are open.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use chat_core::{
    ContextPolicy, Entry, EntryBody, Labels, ListRequest, Responder, Salvaged, Seq, SessionId,
    SessionPage, Shutdown, Store, StoreError, Transcript,
};
use tokio::runtime::Handle;

use crate::{
    Environment, Session, SystemEnvironment,
    session::catch_up,
    shared::{Services, Shared},
};

/// One responder and one store. Clones share all; dropping them stops nothing that runs.
#[derive(Clone)]
pub struct Chat(Arc<Inner>);

struct Inner {
    services: Arc<Services>,
    /// Where turns run: known from the start, or from the first session that is opened within a runtime.
    runtime: Option<Handle>,
    sessions: Mutex<Sessions>,
}

#[derive(Default)]
struct Sessions {
    /// Sessions that someone has a handle of, or that have a turn under way.
    open: HashMap<SessionId, Weak<Shared>>,
    /// How many entries `open` had when those that are gone were last removed.
    swept: usize,
    shutting_down: bool,
}

/// Why a session could not be created or opened.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ChatError {
    /// The store refused.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no tokio runtime to run turns on.
    #[error(
        "sessions need a tokio runtime: open them within one, or hand its handle to `Chat::builder`"
    )]
    NoRuntime,
}

/// What a session may be created with.
#[derive(Debug, Clone, Default)]
pub struct NewSession {
    /// Its id; a new one where absent.
    pub id: Option<SessionId>,
    /// The host's own labels.
    pub labels: Option<Labels>,
}

/// A chat with options.
pub struct ChatBuilder {
    services: Services,
    runtime: Option<Handle>,
}

impl ChatBuilder {
    /// Sets what responders see of earlier turns (law R3). The whole conversation, unless set.
    #[must_use]
    pub fn context(mut self, context: ContextPolicy) -> Self {
        self.services.context = context;
        self
    }

    /// Sets where time and ids come from. The system, unless set.
    #[must_use]
    pub fn environment(mut self, environment: impl Environment) -> Self {
        self.services.environment = Arc::new(environment);
        self
    }

    /// Sets the runtime that turns run on. The one that is current when the chat is built or its sessions are opened, unless
    /// set.
    #[must_use]
    pub fn runtime(mut self, runtime: Handle) -> Self {
        self.runtime = Some(runtime);
        self
    }

    /// The chat.
    #[must_use]
    pub fn build(self) -> Chat {
        let runtime = self.runtime.or_else(|| Handle::try_current().ok());
        Chat(Arc::new(Inner {
            services: Arc::new(self.services),
            runtime,
            sessions: Mutex::default(),
        }))
    }
}

impl Chat {
    /// A chat of a responder and a store.
    #[must_use]
    pub fn new(responder: impl Responder, store: impl Store) -> Self {
        Self::builder(responder, store).build()
    }

    /// A chat with options.
    #[must_use]
    pub fn builder(responder: impl Responder, store: impl Store) -> ChatBuilder {
        ChatBuilder {
            services: Services {
                store: Arc::new(store),
                responder: Arc::new(responder),
                context: ContextPolicy::default(),
                environment: Arc::new(SystemEnvironment),
            },
            runtime: None,
        }
    }

    /// Creates a session of a new id. Durable when it returns. Dropping the future may leave an empty session behind.
    ///
    /// # Errors
    /// [`ChatError`] says what the store refused.
    pub async fn create_session(&self) -> Result<Session, ChatError> {
        self.create_session_with(NewSession::default()).await
    }

    /// Creates a session of a given id, or with labels.
    ///
    /// # Errors
    /// [`StoreError::Taken`] where the id is taken: then nothing changed.
    pub async fn create_session_with(&self, session: NewSession) -> Result<Session, ChatError> {
        let runtime = self.runtime()?;
        let services = &self.0.services;
        let text = |unique| crate::environment::id_text(unique);
        let id = session.id.unwrap_or_else(|| {
            SessionId::parse(text(services.environment.unique()))
                .expect("a ULID's letters and digits are an id")
        });
        let entry_id = chat_core::EntryId::parse(text(services.environment.unique()))
            .expect("a ULID's letters and digits are an id");
        let body = EntryBody::SessionCreated {
            labels: session.labels,
        };
        let created = Entry::new(Seq::ZERO, entry_id, services.environment.now(), body);
        let mut transcript = Transcript::default();
        transcript.apply(&created);
        let before = self.sessions().find(&id);
        services.store.create(&id, vec![created]).await?;
        if let Some(before) = before {
            // The id was free: another chat or process deleted what that session was of.
            before.set_deleted();
        }
        Ok(self.register(&id, runtime, transcript))
    }

    /// Opens a session. One that is open already is the same session (law T2).
    ///
    /// # Errors
    /// [`StoreError::Missing`] where there is none, [`StoreError::Damaged`] where its journal is wrong.
    pub async fn open_session(&self, id: &SessionId) -> Result<Session, ChatError> {
        let runtime = self.runtime()?;
        let open = self.sessions().find(id);
        if let Some(shared) = open.filter(|shared| !shared.is_over()) {
            return Ok(Session { shared });
        }
        let mut transcript = Transcript::default();
        let read = catch_up(&*self.0.services.store, id, Seq::ZERO, false, |entries| {
            entries.iter().for_each(|entry| transcript.apply(entry));
        })
        .await?;
        if let Some(torn) = &read.torn {
            tracing::warn!(session = %id, bytes = torn.bytes, "the journal ends in a torn entry, which no one has seen");
        }
        transcript.set_held_elsewhere(read.held);
        Ok(self.register(id, runtime, transcript))
    }

    /// One page of the sessions there are, the one with the newest activity first.
    ///
    /// # Errors
    /// What the store fails with.
    pub async fn list_sessions(&self, page: ListRequest) -> Result<SessionPage, StoreError> {
        self.0.services.store.list(page).await
    }

    /// The store that its sessions live in: for what needs no chat, such as [`chat_core::copy_session`].
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.0.services.store
    }

    /// Deletes a session for good.
    ///
    /// # Errors
    /// [`StoreError::Busy`] while a turn is queued or running there in this process, [`StoreError::Missing`] where it is not
    /// there.
    pub async fn delete_session(&self, id: &SessionId) -> Result<(), StoreError> {
        let shared = self.sessions().find(id);
        if shared.as_ref().is_some_and(|shared| !shared.is_stopped()) {
            return Err(StoreError::Busy {
                session: id.clone(),
            });
        }
        self.0.services.store.delete(id).await?;
        if let Some(shared) = shared {
            shared.set_deleted();
        }
        Ok(())
    }

    /// What is readable of a damaged session, with its gaps marked.
    ///
    /// # Errors
    /// What the store fails with.
    pub async fn salvage_session(&self, id: &SessionId) -> Result<Vec<Salvaged>, StoreError> {
        self.0.services.store.salvage(id).await
    }

    /// Winds the chat up (law T14): at once nothing new is taken and queued turns are canceled; after `grace`, what still runs
    /// is canceled. Returns when all have ended and every hold is let go. Needs a runtime with a clock.
    ///
    /// Dropping the future leaves the chat taking nothing new.
    pub async fn shutdown(&self, grace: Duration) {
        let open: Vec<Arc<Shared>> = {
            let mut sessions = self.sessions();
            sessions.shutting_down = true;
            sessions.open.values().filter_map(Weak::upgrade).collect()
        };
        for shared in &open {
            shared.tell(|machine, now| machine.shutdown(now, Shutdown::Begin));
        }
        let ended = async {
            for shared in &open {
                shared.until_stopped().await;
            }
        };
        let mut ended = std::pin::pin!(ended);
        if tokio::time::timeout(grace, &mut ended).await.is_err() {
            for shared in &open {
                shared.tell(|machine, now| machine.shutdown(now, Shutdown::Cancel));
            }
            ended.await;
        }
    }

    fn sessions(&self) -> MutexGuard<'_, Sessions> {
        // Nothing that can panic runs under this lock.
        self.0
            .sessions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn runtime(&self) -> Result<Handle, ChatError> {
        match &self.0.runtime {
            Some(runtime) => Ok(runtime.clone()),
            None => Handle::try_current().map_err(|_| ChatError::NoRuntime),
        }
    }

    /// The open session of this id: the one there is, or one of this transcript.
    fn register(&self, id: &SessionId, runtime: Handle, transcript: Transcript) -> Session {
        let fresh = Shared::new(id.clone(), self.0.services.clone(), runtime, transcript);
        let now = self.0.services.environment.now();
        let mut sessions = self.sessions();
        if let Some(shared) = sessions.find(id).filter(|shared| !shared.is_over()) {
            return Session { shared };
        }
        sessions.sweep();
        sessions.open.insert(id.clone(), Arc::downgrade(&fresh));
        if sessions.shutting_down {
            // Told before anyone else can have it. Nothing comes of it but what is refused later.
            fresh.lock().machine.shutdown(now, Shutdown::Begin);
        }
        Session { shared: fresh }
    }
}

impl Sessions {
    fn find(&self, id: &SessionId) -> Option<Arc<Shared>> {
        self.open.get(id).and_then(Weak::upgrade)
    }

    /// Forgets sessions that are gone, each time there are twice as many as were left the last time.
    fn sweep(&mut self) {
        if self.open.len() >= 2 * self.swept.max(32) {
            self.open.retain(|_, shared| shared.strong_count() > 0);
            self.swept = self.open.len();
        }
    }
}

impl fmt::Debug for Chat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chat")
            .field("open_sessions", &self.sessions().open.len())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ChatBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatBuilder")
            .field("context", &self.services.context)
            .finish_non_exhaustive()
    }
}
