//! One tool call from the moment its model has asked for it: whatever becomes of it, that it ended is said once.

use std::sync::Arc;

use chat_core::{ResponderEvent, ToolCallRef, ToolOutcome};
use tokio::time::Instant;

use super::state::State;

/// A tool call that has not ended. Dropped so, it was stopped, or is never run.
pub(crate) struct OpenTool {
    state: Arc<State>,
    call: Arc<ToolCallRef>,
    started: Option<Instant>,
    open: bool,
}

impl OpenTool {
    pub(crate) fn new(state: &Arc<State>, call: &Arc<ToolCallRef>) -> Self {
        Self {
            state: state.clone(),
            call: call.clone(),
            started: None,
            open: true,
        }
    }

    /// The tool begins to run.
    pub(crate) fn begin(&mut self) {
        self.started = Some(Instant::now());
        self.state
            .emit(ResponderEvent::ToolExecutionStart(self.call.clone()));
    }

    pub(crate) fn end(mut self, outcome: ToolOutcome) {
        self.close(outcome);
    }

    fn close(&mut self, outcome: ToolOutcome) {
        if !std::mem::replace(&mut self.open, false) {
            return;
        }
        let ran = self.started.map(|started| started.elapsed().as_millis());
        self.state.emit(ResponderEvent::ToolExecutionEnd {
            call: self.call.clone(),
            outcome,
            duration_ms: u64::try_from(ran.unwrap_or(0)).unwrap_or(u64::MAX),
        });
    }
}

impl Drop for OpenTool {
    fn drop(&mut self) {
        self.close(ToolOutcome::Aborted);
    }
}
