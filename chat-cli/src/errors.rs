//! Errors as a person reads them: what happened and where, then what to do. Nothing that others wrote is printed raw.

use chat_core::{NotAccepted, SessionId, StoreError, TurnError, TurnId, one_line};
use chat_runtime::ChatError;

use crate::{
    again::{Again, Call},
    exit::Exit,
};

/// What went wrong, what to do about it, and how the command ends.
#[derive(Debug)]
pub(crate) struct Problem {
    said: String,
    advice: Vec<Advice>,
    exit: Exit,
}

#[derive(Debug)]
enum Advice {
    Words(String),
    /// Words, and the command that does it.
    Command(&'static str, Call),
}

impl Problem {
    /// A failure.
    pub(crate) fn failed(said: impl Into<String>) -> Self {
        Self {
            said: said.into(),
            advice: Vec::new(),
            exit: Exit::Failed,
        }
    }

    /// Something that makes no sense.
    pub(crate) fn usage(said: impl Into<String>) -> Self {
        Self {
            exit: Exit::Usage,
            ..Self::failed(said)
        }
    }

    /// Adds a line that says what to do.
    pub(crate) fn advise(mut self, words: impl Into<String>) -> Self {
        self.advice.push(Advice::Words(words.into()));
        self
    }

    /// Adds a line that says what to do, and by which call of this command.
    pub(crate) fn propose(mut self, words: &'static str, call: Call) -> Self {
        self.advice.push(Advice::Command(words, call));
        self
    }

    /// How the command ends by it.
    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }

    /// All of it, in lines; on a terminal nothing of it is obeyed.
    pub(crate) fn text(&self, again: &Again) -> String {
        let program = again.program();
        let mut text = format!("{program}: {}\n", one_line(&self.said));
        let indent = " ".repeat(program.chars().count() + 2);
        for advice in &self.advice {
            let line = match advice {
                Advice::Words(words) => Some(words.clone()),
                Advice::Command(words, call) => {
                    let command = again.command(call.clone());
                    command.map(|command| format!("{words}: {command}"))
                }
            };
            if let Some(line) = line {
                text.push_str(&format!("{indent}{}\n", one_line(&line)));
            }
        }
        text
    }

    /// What happened, and then what to do, for who has no command to propose.
    pub(crate) fn words(&self) -> impl Iterator<Item = &str> {
        let advice = self.advice.iter().filter_map(|advice| match advice {
            Advice::Words(words) => Some(words.as_str()),
            Advice::Command(..) => None,
        });
        std::iter::once(self.said.as_str()).chain(advice)
    }

    /// The store that could not do what it was asked.
    pub(crate) fn store(error: &StoreError) -> Self {
        Self::store_named_by("--store", error)
    }

    /// A store that could not do what it was asked, and the option that names another place instead.
    pub(crate) fn store_named_by(option: &'static str, error: &StoreError) -> Self {
        let problem = Self::failed(error.to_string());
        match error {
            StoreError::Missing { .. } => {
                problem.propose("see which there are", Call::of("sessions"))
            }
            StoreError::Damaged(damage) => problem.propose(
                "the turns before it are intact",
                Call::of("export")
                    .word(damage.session.as_str())
                    .flag("--salvage"),
            ),
            StoreError::NewerFormat { .. } => problem.advise("it was left as it is"),
            StoreError::Foreign { .. } => problem.advise(format!(
                "it was left as it is; name another place: {option} PATH"
            )),
            StoreError::Full { .. } => problem.advise("then try again"),
            StoreError::ReadOnly { .. } => problem.advise(format!(
                "make it yours to write, or name another place: {option} PATH"
            )),
            StoreError::Io { .. } => {
                problem.advise(format!("mend that, or name another place: {option} PATH"))
            }
            // Their messages say all there is to say.
            _ => problem,
        }
    }

    /// A turn without a reply. What is in the journal can be retried, and only that is promised: the turn is named where it is
    /// among the session's.
    pub(crate) fn turn(error: &TurnError, session: &SessionId, turn: Option<&TurnId>) -> Self {
        // As it is recorded: without credentials, and not endless.
        let recorded = error.recorded().message;
        let session = session.as_str();
        let again = |problem: Self, words| match turn {
            Some(turn) => {
                problem.propose(words, Call::of("retry").word(session).word(turn.as_str()))
            }
            None => problem.propose(
                "it is not among the session's turns",
                Call::of("show").word(session),
            ),
        };
        let problem = match error {
            TurnError::Failed(_) => again(
                Self::failed(format!("the turn failed: {recorded}")),
                "nothing is lost, answer it again",
            ),
            TurnError::Canceled { .. } | TurnError::Interrupted(_) => {
                again(Self::failed(&*recorded), "answer it again")
            }
            TurnError::NotAccepted(NotAccepted::Store(error)) => Self::store(error),
            TurnError::NotAccepted(NotAccepted::Retry(refused)) => {
                Self::failed(refused.to_string())
                    .propose("see the session's turns", Call::of("show").word(session))
            }
            _ => Self::failed(&*recorded),
        };
        Self {
            exit: Exit::of_turn(error),
            ..problem
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        Self::store(&error)
    }
}

impl From<ChatError> for Problem {
    fn from(error: ChatError) -> Self {
        match error {
            ChatError::Store(error) => Self::store(&error),
            other => Self::failed(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use chat_core::{Damage, Place, ResponderError, Seq};

    use super::*;
    use crate::store_at::StoreAt;

    #[test]
    fn c_errors_say_what_happened_where_and_what_to_do() {
        let session = SessionId::parse("01jd3k").unwrap();
        let turn = TurnId::parse("t1").unwrap();
        let damage = Damage {
            session: session.clone(),
            place: Place {
                line: Some(7),
                offset: None,
                seq: Some(Seq(6)),
                path: Some(".chat/01jd3k.jsonl".into()),
            },
            what: "checksum differs".into(),
        };
        assert_eq!(
            Problem::store(&damage.into()).text(&Again::plain("chat")),
            "chat: session 01jd3k can't be read: line 7 of .chat/01jd3k.jsonl is damaged (checksum differs)\n      \
             the turns before it are intact: chat export 01jd3k --salvage\n"
        );
        let failed = TurnError::Failed(ResponderError::new("no\u{1b}[2J\nserver"));
        assert_eq!(
            Problem::turn(&failed, &session, Some(&turn)).text(&Again::plain("chat")),
            "chat: the turn failed: no␛[2J server\n      nothing is lost, answer it again: chat retry 01jd3k t1\n"
        );
        assert_eq!(
            Problem::turn(&failed, &session, Some(&turn)).text(&Again::on(
                "engineer",
                &StoreAt::Memory,
                true
            )),
            "engineer: the turn failed: no␛[2J server\n"
        );
        let canceled = TurnError::Canceled { reason: None };
        assert_eq!(
            Problem::turn(&canceled, &session, None).text(&Again::plain("chat")),
            "chat: canceled\n      it is not among the session's turns: chat show 01jd3k\n",
            "T6: it was canceled while it was queued"
        );
    }

    #[test]
    fn c_the_exit_code_follows_the_turn() {
        let session = SessionId::parse("s").unwrap();
        let turn = TurnId::parse("t").unwrap();
        for (error, exit) in [
            (TurnError::Canceled { reason: None }, Exit::Canceled),
            (TurnError::Failed(ResponderError::new("x")), Exit::Failed),
            (TurnError::NotAccepted(NotAccepted::HoldLost), Exit::Failed),
        ] {
            assert_eq!(Problem::turn(&error, &session, Some(&turn)).exit, exit);
        }
    }
}
