//! One turn on the screen: its text as it is written, or its events as JSON, to the very end.

use chat_core::{ChatEvent, FinishReason, StepRetry, TurnReply, TurnStatus};
use chat_runtime::{Session, Turn};

use crate::{
    approvals::Approvals, desk::Desk, errors::Problem, exit::Exit, interrupts::Interrupts,
};

/// Shows a turn until it has ended, and says how the command ends by it. Nobody else may read its events.
pub(crate) async fn watch(
    session: &Session,
    turn: &Turn,
    desk: &mut Desk,
    interrupts: &Interrupts,
) -> Exit {
    let aim = interrupts.aim(turn);
    if let Ok(mut events) = turn.events() {
        let mut shown = Shown::default();
        let mut approvals = Approvals::default();
        loop {
            let asking = approvals.is_asking();
            tokio::select! {
                event = events.next() => match event {
                    Some(event) => {
                        shown.show(&event, desk);
                        approvals.see(&event, turn, desk);
                    }
                    None => break,
                },
                line = desk_line(desk, asking) => {
                    approvals.answer(line.as_deref(), turn, desk);
                }
            }
        }
    }
    let result = turn.result().await;
    drop(aim);
    match result {
        Ok(reply) => {
            note_cut(&reply, desk);
            Exit::Completed
        }
        Err(error) => {
            let recorded = session.find(turn.id()).map(|turn| turn.id);
            desk.tell(&Problem::turn(&error, session.id(), recorded.as_ref()))
        }
    }
}

/// What of a turn was shown.
#[derive(Debug, Default)]
struct Shown {
    text: String,
}

impl Shown {
    fn show(&mut self, event: &ChatEvent, desk: &mut Desk) {
        if let ChatEvent::StepRetry { retry, .. } = event {
            note_retry(retry, desk);
        }
        if desk.json {
            return desk.screen.json(event);
        }
        match event {
            ChatEvent::TextDelta { text, .. } => {
                self.text.push_str(text);
                desk.screen.text(text);
            }
            ChatEvent::TurnEnd { turn, .. } => {
                if turn.status == TurnStatus::Completed {
                    self.complete(turn.output.as_deref().unwrap_or_default(), desk);
                }
                desk.screen.end_line();
            }
            // All others are for programs.
            _ => {}
        }
    }

    /// Shows what of the reply was not streamed: a responder may stream nothing, or not all.
    fn complete(&mut self, reply: &str, desk: &mut Desk) {
        match reply.strip_prefix(&*self.text) {
            Some(rest) => desk.screen.text(rest),
            None => {
                desk.screen.end_line();
                desk.screen.text(reply);
            }
        }
    }
}

fn note_retry(retry: &StepRetry, desk: &mut Desk) {
    let wait = f64::from(u32::try_from(retry.delay_ms).unwrap_or(u32::MAX)) / 1000.0;
    desk.report(&format!(
        "{}; trying again in {wait:.1} s",
        retry.error.message
    ));
}

/// A reply that is not whole must not pass for one.
fn note_cut(reply: &TurnReply, desk: &mut Desk) {
    match reply.metadata.finish_reason {
        Some(FinishReason::Length) => {
            desk.report("the reply is cut: the model ran into its limit of output tokens");
        }
        Some(FinishReason::ContentFilter) => {
            desk.report("the reply is cut: the provider withheld the rest");
        }
        Some(_) | None => {}
    }
}

/// A typed line, where one is awaited.
async fn desk_line(desk: &mut Desk, asking: bool) -> Option<String> {
    if !asking {
        return std::future::pending().await;
    }
    desk.keyboard().line().await?.ok()
}
