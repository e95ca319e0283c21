//! What a turn's handles read and wait for, and what is kept for it meanwhile.

use std::sync::{Arc, Mutex, PoisonError};

use chat_core::{ContextPolicy, NewTurn, ResponderError, TurnError, TurnId, TurnReply};

use crate::{answer::Answer, events::Log};

/// What a turn's handles read and wait for.
#[derive(Debug)]
pub(crate) struct TurnState {
    pub(crate) id: TurnId,
    pub(crate) accepted: Answer<Result<(), TurnError>>,
    pub(crate) result: Answer<Result<TurnReply, TurnError>>,
    pub(crate) log: Arc<Log>,
    /// What the machine has of the caller's own, kept until the turn has settled: the machine lets go of it under the lock, where
    /// it must not be the last to do so.
    kept: Mutex<Kept>,
}

/// Values that run caller's code when they are dropped.
#[derive(Debug, Default)]
struct Kept {
    _context: Option<ContextPolicy>,
    failures: Vec<ResponderError>,
}

impl TurnState {
    pub(crate) fn new(turn: &NewTurn) -> Arc<Self> {
        Arc::new(Self {
            id: turn.id.clone(),
            accepted: Answer::new(),
            result: Answer::new(),
            log: Arc::default(),
            kept: Mutex::new(Kept {
                _context: turn.context.clone(),
                failures: Vec::new(),
            }),
        })
    }

    /// Keeps a failure that the machine is about to be told of, for as long as the turn has not settled.
    pub(crate) fn keep(&self, failure: &ResponderError) {
        // Nothing that can panic runs under this lock.
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.failures.push(failure.clone());
    }
}
