//! Asks a person whether a tool call may run. Where nobody can be asked, nothing is asked and the call is denied.

use chat_core::{ApprovalId, ApprovalRequest, ChatEvent};
use chat_runtime::Turn;

use crate::desk::Desk;

/// What is told to a responder whose request nobody can answer.
const NOBODY: &str = "nobody can be asked: there is no terminal";

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
                desk.report(&format!(
                    "{} wants to run, and is denied: {NOBODY}",
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
            desk.report(&why.to_string());
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

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use chat_core::{
        Control, Execution, MemoryStore, Reply, Responder, ResponderError, ResponderEvent,
        Timestamp, TurnRequest,
    };
    use chat_runtime::Chat;
    use tokio::sync::{mpsc, oneshot};

    use super::*;
    use crate::{
        exit::Exit, interrupts::Interrupts, keyboard::Keyboard, screen::tests::Paper, watch::watch,
    };

    /// Asks once whether it may, and replies with the answer.
    struct Asks;

    struct Told(Mutex<Option<oneshot::Sender<String>>>);

    impl Told {
        fn tell(&self, answer: String) {
            if let Some(teller) = self.0.lock().unwrap().take() {
                let _ = teller.send(answer);
            }
        }
    }

    impl Control for Told {
        fn approve(&self, _: &ApprovalId) {
            self.tell("approved".to_owned());
        }
        fn deny(&self, _: &ApprovalId, reason: Option<Arc<str>>) {
            self.tell(format!("denied: {}", reason.as_deref().unwrap_or("-")));
        }
    }

    impl Responder for Asks {
        fn respond(&self, _: TurnRequest) -> Execution {
            let (teller, told) = oneshot::channel();
            let request = ResponderEvent::ApprovalRequest(Arc::new(ApprovalRequest {
                id: "a1".into(),
                call_id: "c1".into(),
                tool_name: "deploy".into(),
                input: Arc::new(serde_json::json!({"env": "prod"})),
                step: "reply".into(),
                requested_at: Timestamp::UNIX_EPOCH,
            }));
            let reply = async {
                told.await
                    .map(Reply::text)
                    .map_err(|_| ResponderError::new("nobody answered"))
            };
            let events = futures_util::stream::iter([Ok(request)]);
            Execution::new(reply)
                .with_events(events)
                .with_control(Arc::new(Told(Mutex::new(Some(teller)))))
        }
    }

    async fn answered(typed: Option<&str>) -> (String, String) {
        let (lines, keyboard) = mpsc::channel(1);
        let notes = Paper::default();
        let mut desk = Desk::of(typed.map(|_| Keyboard::of(keyboard)), notes.clone());
        let chat = Chat::new(Asks, MemoryStore::default());
        let session = chat.create_session().await.unwrap();
        let turn = session.send("Deploy.");
        let interrupts = Interrupts::default();
        let watching = watch(&session, &turn, &mut desk, &interrupts);
        let typing = async {
            if let Some(typed) = typed {
                // What is typed before the question stands is no answer to it.
                notes.until("why not: ").await;
                lines.send(Ok(typed.to_owned())).await.unwrap();
            }
        };
        let (exit, ()) = tokio::join!(watching, typing);
        assert_eq!(exit, Exit::Completed);
        (turn.await.unwrap().text.to_string(), notes.text())
    }

    #[tokio::test]
    async fn c_without_a_terminal_an_approval_is_denied_with_a_reason() {
        let (told, notes) = answered(None).await;
        assert_eq!(told, format!("denied: {NOBODY}"));
        assert_eq!(
            notes,
            format!("chat: deploy wants to run, and is denied: {NOBODY}\n")
        );
    }

    #[tokio::test]
    async fn c_a_person_says_yes_no_or_why_not() {
        for (typed, expected) in [
            ("y", "approved"),
            (" yes ", "approved"),
            ("", "denied: -"),
            ("N", "denied: -"),
            ("not on a Friday", "denied: not on a Friday"),
        ] {
            let (told, notes) = answered(Some(typed)).await;
            assert_eq!(told, expected, "{typed:?}");
            assert!(
                notes.starts_with("reply wants to run deploy with {\"env\":\"prod\"}\n"),
                "{notes}"
            );
        }
    }
}
