//! What a run has come to so far, for prompts and tasks to read.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use chat_core::{ResponderError, SessionId, StepId, TurnId};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::ProgressError;

/// The results of the steps and tasks that are done, shared by all that reads them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Results(Arc<Mutex<BTreeMap<StepId, Arc<Value>>>>);

impl Results {
    pub(crate) fn insert(&self, step: StepId, result: Arc<Value>) {
        self.lock().insert(step, result);
    }

    pub(crate) fn get(&self, step: &str) -> Option<Arc<Value>> {
        self.lock().get(step).cloned()
    }

    /// All of them as they are now.
    pub(crate) fn snapshot(&self) -> BTreeMap<StepId, Arc<Value>> {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<StepId, Arc<Value>>> {
        // Nothing can panic between two changes that belong together: each is one call.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What earlier steps and tasks gave. A step of a parallel branch is there once it is done, in whichever order that happens;
/// what stands before in a sequence always is.
#[derive(Debug)]
pub struct Progress {
    results: Results,
    session_id: SessionId,
    turn_id: TurnId,
    /// The first text that was asked for and is not there.
    missing: OnceLock<StepId>,
}

impl Progress {
    pub(crate) fn new(results: Results, session_id: SessionId, turn_id: TurnId) -> Self {
        Self {
            results,
            session_id,
            turn_id,
            missing: OnceLock::new(),
        }
    }

    /// What a step or task gave as text: a string as it is, anything else as JSON.
    ///
    /// Where it has given nothing, the text is empty, and the step or task that asked fails with an error that names both. To
    /// ask whether it has, use [`get`](Self::get).
    #[must_use]
    pub fn text(&self, step: &str) -> Arc<str> {
        match self.results.get(step).as_deref() {
            Some(Value::String(text)) => text.as_str().into(),
            Some(other) => other.to_string().into(),
            None => {
                self.missing.get_or_init(|| step.into());
                "".into()
            }
        }
    }

    /// What a step or task gave, as a type.
    ///
    /// # Errors
    /// It has given nothing, or nothing of this type.
    pub fn json<T: DeserializeOwned>(&self, step: &str) -> Result<T, ProgressError> {
        let result = self
            .results
            .get(step)
            .ok_or_else(|| ProgressError::Missing { step: step.into() })?;
        T::deserialize(&*result).map_err(|error| ProgressError::Misfit {
            step: step.into(),
            error: Arc::new(error),
        })
    }

    /// What a step or task gave; `None` where it has given nothing yet, or never will.
    #[must_use]
    pub fn get(&self, step: &str) -> Option<Arc<Value>> {
        self.results.get(step)
    }

    /// The session.
    #[must_use]
    pub fn session_id(&self) -> &SessionId {
        &self.session_id
    }

    /// The turn.
    #[must_use]
    pub fn turn_id(&self) -> &TurnId {
        &self.turn_id
    }

    /// An error where a text was asked for that is not there.
    pub(crate) fn all_there(&self) -> Result<(), ResponderError> {
        match self.missing.get() {
            Some(step) => Err(ProgressError::Missing { step: step.clone() }.into_responder_error()),
            None => Ok(()),
        }
    }
}
