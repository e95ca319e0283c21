//! One turn on the screen: its text as it is written, or its events as JSON, to the very end.

use std::sync::Arc;

use chat_core::{ChatEvent, FinishReason, StepRetry, TraceTree, TurnReply, TurnStatus};
use chat_runtime::{Session, Turn};
use tokio::time::{Instant, sleep_until};

use crate::{
    approvals::Approvals, desk::Desk, errors::Problem, exit::Exit, interrupts::Interrupts,
    progress::Progress,
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
        let mut progress = Progress::new(desk);
        let pending = || turn.requests();
        loop {
            let due = progress.due(desk);
            tokio::select! {
                event = events.next() => match event {
                    Some(event) => {
                        shown.show(&event, desk);
                        approvals.see(&event, turn, desk);
                        progress.see(&event, &pending, desk);
                    }
                    None => break,
                },
                () = approvals.attend(turn, desk) => {}
                () = until(due) => progress.draw(&pending, desk),
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

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}

/// What of a turn was shown.
#[derive(Debug, Default)]
struct Shown {
    text: String,
    /// The trace as JSON told it last.
    trace: TraceTree,
}

impl Shown {
    fn show(&mut self, event: &ChatEvent, desk: &mut Desk) {
        if let ChatEvent::StepRetry { retry, .. } = event {
            note_retry(retry, desk);
        }
        if desk.json {
            if self.is_worth_a_line(event) {
                desk.screen.json(event);
            }
            return;
        }
        match event {
            ChatEvent::TextDelta { text, .. } => {
                self.text.push_str(text);
                desk.reply(text);
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

    /// Whether the event tells a program more than a node's text that grew: the whole trace would be told for each piece of it.
    /// Its last state is always told, since no node is open at the end.
    fn is_worth_a_line(&mut self, event: &ChatEvent) -> bool {
        let ChatEvent::RunUpdate { tree, .. } = event else {
            return true;
        };
        let is_new = tree.len() != self.trace.len() || {
            let mut nodes = tree.iter().zip(self.trace.iter());
            nodes.any(|((_, new), (_, old))| {
                let only_grew = new.status == old.status && new.status.is_open();
                !Arc::ptr_eq(new, old) && !only_grew && new != old
            })
        };
        if is_new {
            self.trace = tree.clone();
        }
        is_new
    }

    /// Shows what of the reply was not streamed: a responder may stream nothing, or not all.
    fn complete(&mut self, reply: &str, desk: &mut Desk) {
        match reply.strip_prefix(&*self.text) {
            Some(rest) => desk.reply(rest),
            None => {
                desk.screen.end_line();
                desk.reply(reply);
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

#[cfg(test)]
mod tests {
    use chat_core::{TraceKind, TraceNode, TraceStatus};
    use serde_json::Value;

    use super::*;
    use crate::screen::{Screen, tests::Paper};

    /// What is printed for a step that writes so many words, as JSON.
    fn printed(words: u64) -> String {
        let paper = Paper::default();
        let mut desk = Desk::of(None, std::io::sink());
        desk.json = true;
        desk.screen = Screen::of(false, Box::new(paper.clone()));
        let mut shown = Shown::default();
        let mut show = |event| shown.show(&event, &mut desk);

        let mut tree = TraceTree::default();
        let step = tree.push(None, TraceNode::new("reply", TraceKind::Step, "reply"));
        show(ChatEvent::RunUpdate {
            seq: 0,
            tree: tree.clone(),
        });
        tree.update(step, |node| node.status = TraceStatus::Running);
        show(ChatEvent::RunUpdate {
            seq: 1,
            tree: tree.clone(),
        });
        for word in 0..words {
            tree.update(step, |node| node.partial_text.push("word ".into()));
            let seq = 2 * word + 2;
            show(ChatEvent::RunUpdate {
                seq,
                tree: tree.clone(),
            });
            let (seq, step) = (seq + 1, Some("reply".into()));
            show(ChatEvent::TextDelta {
                seq,
                text: "word ".into(),
                step,
            });
        }
        tree.update(step, |node| {
            node.status = TraceStatus::Done;
            node.output = Some(Arc::new(Value::from("word ".repeat(words as usize))));
        });
        let seq = 2 * words + 2;
        show(ChatEvent::RunUpdate { seq, tree });
        paper.text()
    }

    #[test]
    fn w8_a_run_as_json_grows_with_its_text_and_ends_with_its_last_trace() {
        let (some, many) = (printed(500), printed(2_000));
        assert!(many.len() < 5 * some.len(), "{} {}", some.len(), many.len());
        let updates = |lines: &str| lines.matches("run-update").count();
        assert_eq!((updates(&some), updates(&many)), (3, 3));
        assert_eq!(many.matches("text-delta").count(), 2_000);
        let last: Value = serde_json::from_str(many.lines().last().unwrap()).unwrap();
        assert_eq!(
            (&last["type"], &last["seq"]),
            (&"run-update".into(), &4_002.into())
        );
        assert_eq!(last["tree"][0]["status"], "done");
        assert_eq!(last["tree"][0]["output"].as_str().unwrap().len(), 10_000);
    }

    #[test]
    fn c_json_tells_what_changed_of_a_node_that_has_ended() {
        let mut shown = Shown::default();
        let mut tree = TraceTree::default();
        let step = tree.push(None, TraceNode::new("reply", TraceKind::Step, "reply"));
        tree.update(step, |node| node.status = TraceStatus::Done);
        let mut is_told = |tree: &TraceTree| {
            let (seq, tree) = (0, tree.clone());
            shown.is_worth_a_line(&ChatEvent::RunUpdate { seq, tree })
        };
        assert!(is_told(&tree));
        assert!(!is_told(&tree));
        tree.update(step, |node| {
            node.output = Some(Arc::new(Value::from("late")))
        });
        assert!(is_told(&tree));
        tree.push(None, TraceNode::new("more", TraceKind::Step, "more"));
        assert!(is_told(&tree));
    }
}
