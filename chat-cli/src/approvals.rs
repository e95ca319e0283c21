//! Asks a person whether a tool call may run. Where nobody can be asked, nothing is asked and the call is denied.

use chat_core::{ApprovalId, ApprovalRequest, ChatEvent};
use chat_runtime::Turn;

use crate::desk::Desk;

/// What is told to a responder whose request nobody can answer.
const NOBODY: &str = "nobody can be asked: chat runs without a terminal";

/// The question that stands on the terminal. What is pending is the turn's own to know (law R2).
#[derive(Debug, Default)]
pub(crate) struct Approvals {
    asked: Option<ApprovalId>,
}

impl Approvals {
    /// Takes an event of the turn into account.
    pub(crate) fn see(&mut self, event: &ChatEvent, turn: &Turn, desk: &mut Desk) {
        match event {
            ChatEvent::ApprovalRequest { request, .. } if !desk.someone_is_here => {
                desk.note(&format!(
                    "chat: {} wants to run, and is denied: {NOBODY}",
                    request.tool_name
                ));
                // Refused where it was withdrawn meanwhile: then there is nothing to deny.
                let _ = turn.deny(&request.id, NOBODY);
            }
            ChatEvent::ApprovalRequest { .. } | ChatEvent::ApprovalResolved { .. } => {
                self.ask_next(turn, desk);
            }
            // All others ask nothing.
            _ => {}
        }
    }

    /// Whether a typed line is awaited.
    pub(crate) fn is_asking(&self) -> bool {
        self.asked.is_some()
    }

    /// Takes a typed line for the answer; `None` for the end of input.
    pub(crate) fn answer(&mut self, line: Option<&str>, turn: &Turn, desk: &mut Desk) {
        let Some(id) = self.asked.take() else {
            return;
        };
        let answered = match line.map(str::trim) {
            Some("y" | "Y" | "yes") => turn.approve(&id),
            Some("" | "n" | "N" | "no") => turn.deny(&id, ()),
            Some(reason) => turn.deny(&id, reason),
            None => {
                desk.someone_is_here = false;
                turn.deny(&id, "nobody answered")
            }
        };
        if let Err(why) = answered {
            desk.note(&format!("chat: {why}"));
        }
        self.ask_next(turn, desk);
    }

    fn ask_next(&mut self, turn: &Turn, desk: &mut Desk) {
        let pending = turn.requests();
        match (pending.first(), &self.asked) {
            (Some(request), Some(asked)) if request.id == *asked => {}
            (Some(request), _) if desk.someone_is_here => {
                self.asked = Some(request.id.clone());
                desk.keyboard().forget_ahead();
                desk.note(&question(request));
                desk.ask("run it? y, N, or why not:");
            }
            (Some(request), _) => {
                let _ = turn.deny(&request.id, NOBODY);
            }
            (None, Some(_)) => {
                self.asked = None;
                desk.note("(no longer asked)");
            }
            (None, None) => {}
        }
    }
}

fn question(request: &ApprovalRequest) -> String {
    format!(
        "{} wants to run {} with {}",
        request.step, request.tool_name, request.input
    )
}
