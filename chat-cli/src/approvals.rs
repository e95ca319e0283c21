//! Asks a person whether a tool call may run. Where nobody can be asked, nothing is asked and the call is denied.

use std::borrow::Cow;

use chat_core::{ApprovalId, ApprovalRequest, ChatEvent};
use chat_runtime::Turn;

use crate::{consent::Answer, desk::Desk};

/// What is told to a responder whose request nobody can answer.
const NOBODY: &str = "nobody can be asked: there is no terminal";

/// How many characters of a call's arguments are shown of their beginning and of their end, where all would fill the screen.
const HEAD: usize = 600;
const TAIL: usize = 200;

/// What a person is asked. What is pending is the turn's own to know (law R2).
#[derive(Debug, Default)]
pub(crate) struct Approvals(Question);

#[derive(Debug, Default)]
enum Question {
    #[default]
    None,
    /// There is one to ask.
    Due,
    /// It stands on the terminal.
    Asked(ApprovalId),
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
                self.look(turn, desk);
            }
            // All others ask nothing.
            _ => {}
        }
    }

    /// Asks what there is to ask, or takes the answer that is typed; waits for ever where there is nothing to ask. Cancel-safe.
    pub(crate) async fn attend(&mut self, turn: &Turn, desk: &mut Desk) {
        match &self.0 {
            Question::None => std::future::pending().await,
            Question::Due => {
                // What was typed before is no answer: the person has not seen what it would allow (law W3).
                desk.keyboard().forget_ahead().await;
                self.ask(turn, desk);
            }
            Question::Asked(_) => {
                let line = desk.line().await.and_then(Result::ok);
                self.answer(line.as_deref(), turn, desk);
            }
        }
    }

    fn ask(&mut self, turn: &Turn, desk: &mut Desk) {
        self.0 = match turn.requests().first() {
            Some(request) => {
                desk.note(&question(request));
                desk.ask("run it? y, N, or why not:");
                Question::Asked(request.id.clone())
            }
            None => Question::None,
        };
    }

    /// Takes a typed line for the answer; `None` for the end of input.
    fn answer(&mut self, line: Option<&str>, turn: &Turn, desk: &mut Desk) {
        let Question::Asked(id) = std::mem::take(&mut self.0) else {
            return;
        };
        let answered = match line.map(Answer::of) {
            Some(Answer::Yes) => turn.approve(&id),
            Some(Answer::No(None)) => turn.deny(&id, ()),
            Some(Answer::No(Some(reason))) => turn.deny(&id, reason),
            Some(Answer::Unclear) => {
                desk.report("that is no plain yes: y runs it just as it is, n does not");
                Ok(())
            }
            None => {
                desk.someone_is_here = false;
                turn.deny(&id, "nobody answered")
            }
        };
        if let Err(why) = answered {
            desk.report(&why.to_string());
        }
        self.look(turn, desk);
    }

    /// Sees what is to be asked now.
    fn look(&mut self, turn: &Turn, desk: &mut Desk) {
        let pending = turn.requests();
        let first = pending.first();
        if let Question::Asked(id) = &self.0 {
            if first.is_some_and(|request| request.id == *id) {
                return;
            }
            desk.note("(no longer asked)");
        }
        self.0 = match first {
            Some(_) if desk.someone_is_here => Question::Due,
            Some(request) => {
                let _ = turn.deny(&request.id, NOBODY);
                Question::None
            }
            None => Question::None,
        };
    }
}

fn question(request: &ApprovalRequest) -> String {
    let (step, tool) = (&request.step, &request.tool_name);
    let input = request.input.to_string();
    format!("step {step} wants to run {tool} with {}", bounded(&input))
}

/// The beginning and the end of what is long, and how much is between them.
fn bounded(text: &str) -> Cow<'_, str> {
    let between = text.chars().count().saturating_sub(HEAD + TAIL);
    if between == 0 {
        return text.into();
    }
    let head: String = text.chars().take(HEAD).collect();
    let tail: String = text.chars().skip(HEAD + between).collect();
    format!("{head} [... {between} more characters ...] {tail}").into()
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use chat_core::{
        Control, Execution, MemoryStore, Reply, Responder, ResponderError, ResponderEvent,
        Timestamp, TurnRequest,
    };
    use chat_runtime::Chat;
    use serde_json::{Value, json};
    use tokio::sync::mpsc;

    use super::*;
    use crate::{
        exit::Exit, interrupts::Interrupts, keyboard::Keyboard, screen::tests::Paper, watch::watch,
    };

    const QUESTION: &str = "why not: ";

    fn request(number: usize, input: Value) -> ApprovalRequest {
        ApprovalRequest {
            id: format!("a{number}").into(),
            call_id: format!("c{number}").into(),
            tool_name: "deploy".into(),
            input: Arc::new(input),
            step: "reply".into(),
            requested_at: Timestamp::UNIX_EPOCH,
        }
    }

    /// Asks at once for so many calls, and replies with the answers.
    struct Asks(usize);

    struct Told(mpsc::UnboundedSender<String>);

    impl Control for Told {
        fn approve(&self, id: &ApprovalId) {
            let _ = self.0.send(format!("{id} approved"));
        }
        fn deny(&self, id: &ApprovalId, reason: Option<Arc<str>>) {
            let reason = reason.as_deref().unwrap_or("-");
            let _ = self.0.send(format!("{id} denied: {reason}"));
        }
    }

    impl Responder for Asks {
        fn respond(&self, _: TurnRequest) -> Execution {
            let calls = self.0;
            let (teller, mut told) = mpsc::unbounded_channel();
            let requests = (1..=calls).map(|number| {
                let request = request(number, json!({"env": "prod"}));
                Ok(ResponderEvent::ApprovalRequest(Arc::new(request)))
            });
            let events = futures_util::stream::iter(requests.collect::<Vec<_>>());
            let reply = async move {
                let mut answers = Vec::new();
                while answers.len() < calls {
                    let answer = told.recv().await;
                    answers.push(answer.ok_or_else(|| ResponderError::new("nobody answered"))?);
                }
                Ok(Reply::text(answers.join("\n")))
            };
            Execution::new(reply)
                .with_events(events)
                .with_control(Arc::new(Told(teller)))
        }
    }

    /// What was answered to so many calls, and what was noted meanwhile; with this person at the desk.
    async fn answered<F: Future>(
        calls: usize,
        keyboard: Option<Keyboard>,
        person: impl FnOnce(Paper) -> F,
    ) -> (String, String) {
        let notes = Paper::default();
        let mut desk = Desk::of(keyboard, notes.clone());
        let chat = Chat::new(Asks(calls), MemoryStore::default());
        let session = chat.create_session().await.unwrap();
        let turn = session.send("Deploy.");
        let interrupts = Interrupts::default();
        let watching = watch(&session, &turn, &mut desk, &interrupts);
        let (exit, _) = tokio::join!(watching, person(notes.clone()));
        assert_eq!(exit, Exit::Completed);
        (turn.await.unwrap().text.to_string(), notes.text())
    }

    #[tokio::test]
    async fn c_without_a_terminal_an_approval_is_denied_with_a_reason() {
        let (told, notes) = answered(1, None, |_| async {}).await;
        assert_eq!(told, format!("a1 denied: {NOBODY}"));
        assert_eq!(
            notes,
            format!("chat: deploy wants to run, and is denied: {NOBODY}\n")
        );
    }

    #[tokio::test(start_paused = true)]
    async fn c_a_person_says_yes_no_or_why_not() {
        for (typed, expected) in [
            ("y", "a1 approved"),
            (" Yes ", "a1 approved"),
            ("", "a1 denied: -"),
            ("No", "a1 denied: -"),
            ("not on a Friday", "a1 denied: not on a Friday"),
        ] {
            let (keys, lines) = mpsc::channel(1);
            let typing = |notes: Paper| async move {
                notes.until(QUESTION).await;
                keys.send(Ok(typed.to_owned())).await.unwrap();
                keys
            };
            let (told, notes) = answered(1, Some(Keyboard::of(lines)), typing).await;
            assert_eq!(told, expected, "{typed:?}");
            assert!(
                notes.starts_with("step reply wants to run deploy with {\"env\":\"prod\"}\n"),
                "{notes}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn w3_what_is_no_plain_yes_is_asked_again() {
        let (keys, lines) = mpsc::channel(1);
        let typing = |notes: Paper| async move {
            notes.until(QUESTION).await;
            keys.send(Ok("yes please".to_owned())).await.unwrap();
            notes
                .until("plain yes: y runs it just as it is, n does not\n")
                .await;
            notes.until(QUESTION).await;
            keys.send(Ok("yes".to_owned())).await.unwrap();
            keys
        };
        let (told, notes) = answered(1, Some(Keyboard::of(lines)), typing).await;
        assert_eq!(told, "a1 approved");
        assert_eq!(notes.matches("wants to run").count(), 2, "{notes}");
    }

    #[tokio::test(start_paused = true)]
    async fn w3_lines_that_come_before_their_question_stands_answer_nothing() {
        let (keys, lines) = mpsc::channel(8);
        let typing = |notes: Paper| async move {
            let type_yes = || async { keys.send(Ok("y".to_owned())).await.unwrap() };
            // Before the first question, at once with the first answer, and from a pipe that is slow to bring the rest.
            type_yes().await;
            notes.until(QUESTION).await;
            type_yes().await;
            type_yes().await;
            for _ in 0..5 {
                tokio::time::sleep(Duration::from_millis(90)).await;
                assert_eq!(notes.text().matches(QUESTION).count(), 1);
                type_yes().await;
            }
            while notes.text().matches(QUESTION).count() < 2 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            keys.send(Ok("n".to_owned())).await.unwrap();
            keys
        };
        let (told, _) = answered(2, Some(Keyboard::of(lines)), typing).await;
        assert_eq!(told, "a1 approved\na2 denied: -");
    }

    #[test]
    fn c_long_arguments_are_shown_with_their_ends_and_how_much_is_between() {
        let asked = |text: &str| question(&request(1, json!({"text": text})));
        let short = "é".repeat(HEAD + TAIL - r#"{"text":""}"#.len());
        assert!(asked(&short).ends_with(&format!("with {{\"text\":\"{short}\"}}")));
        let long = asked(&format!("{}{}end", "é".repeat(HEAD), "x".repeat(1_000_000)));
        assert!(
            long.contains(" [... 999814 more characters ...] xxx"),
            "{long}"
        );
        assert!(long.ends_with("xend\"}"), "{long}");
        assert!(long.chars().count() < HEAD + TAIL + 100);
    }
}
