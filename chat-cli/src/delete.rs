//! `chat delete`: a session removed for good. Asks first, and where nobody can be asked only what was said beforehand counts.

use chat_core::{SessionId, SessionSummary};
use chat_runtime::Chat;

use crate::{again::Call, consent::Answer, desk::Desk, errors::Problem, exit::Exit, lookup};

pub(crate) async fn delete(
    chat: &Chat,
    given: &SessionId,
    yes: bool,
    desk: &mut Desk,
) -> Result<Exit, Problem> {
    let id = lookup::id(chat, given).await?;
    if !yes && !desk.someone_is_here {
        return Err(unsure(&id, "nobody can be asked"));
    }
    // A script that deletes twice would delete another one, whose id only begins so.
    if yes && id != *given {
        return Err(unsure(
            &id,
            &format!("{given} is only the beginning of its id"),
        ));
    }
    if !yes && !is_confirmed(chat, &id, desk).await? {
        desk.note("nothing was deleted");
        return Ok(Exit::Canceled);
    }
    // Takes the hold first: where another process answers there, its end is waited for.
    chat.delete_session(&id).await?;
    if desk.json {
        desk.screen.json(&id);
    } else {
        desk.hint(&format!("session {id} is deleted"));
    }
    Ok(Exit::Completed)
}

fn unsure(id: &SessionId, why: &str) -> Problem {
    Problem::usage(format!("session {id} was not deleted: {why}")).propose(
        "if you are sure",
        Call::of("delete").word(id.as_str()).flag("--yes"),
    )
}

async fn is_confirmed(chat: &Chat, id: &SessionId, desk: &mut Desk) -> Result<bool, Problem> {
    let all = lookup::all(chat).await?;
    let summary = all.iter().find(|session| session.id == *id);
    desk.keyboard().forget_ahead().await;
    desk.note(&format!(
        "session {id}{}",
        summary.map_or_else(String::new, said)
    ));
    desk.ask("delete it for good? y, N:");
    let line = desk.line().await.and_then(Result::ok);
    Ok(line.is_some_and(|line| Answer::of(&line) == Answer::Yes))
}

/// What tells a person which session it is.
fn said(session: &SessionSummary) -> String {
    let plural = if session.turns == 1 { "" } else { "s" };
    let title = session.title.as_deref().unwrap_or_default();
    format!(", {} turn{plural}: {title}", session.turns)
}

#[cfg(test)]
mod tests {
    use chat_core::{MemoryStore, Reply};
    use chat_runtime::{NewSession, responder_fn};
    use tokio::sync::mpsc;

    use super::*;
    use crate::{keyboard::Keyboard, screen::tests::Paper};

    #[tokio::test]
    async fn c_someone_is_asked_which_is_meant_and_only_a_yes_deletes() {
        let echo = responder_fn(|request, _| async move { Ok(Reply::text(request.input)) });
        let chat = Chat::new(echo, MemoryStore::default());
        let id = SessionId::parse("s").unwrap();
        let new = NewSession {
            id: Some(id.clone()),
            ..NewSession::default()
        };
        let session = chat.create_session_with(new).await.unwrap();
        session.ask("hi\u{1b}[2J").await.unwrap();
        for (line, exit) in [
            (Some("n"), Exit::Canceled),
            (Some(""), Exit::Canceled),
            (Some("yess"), Exit::Canceled),
            (None, Exit::Canceled),
            (Some("yes, all"), Exit::Canceled),
            (Some(" Yes "), Exit::Completed),
        ] {
            let (keys, typed) = mpsc::channel(1);
            let notes = Paper::default();
            let mut desk = Desk::of(Some(Keyboard::of(typed)), notes.clone());
            // Typed once it is asked for: what was typed before is no answer.
            let typing = async {
                notes.until("y, N: ").await;
                if let Some(line) = line {
                    keys.send(Ok(line.to_owned())).await.unwrap();
                }
                drop(keys);
            };
            let (deleted, ()) = tokio::join!(delete(&chat, &id, false, &mut desk), typing);
            assert_eq!(deleted.unwrap(), exit, "{line:?}");
            let said = notes.text();
            assert!(said.starts_with("session s, 1 turn: hi"), "{said}");
            assert!(!said.contains('\u{1b}'), "{said}");
            let is_there = chat.open_session(&id).await.is_ok();
            assert_eq!(is_there, exit == Exit::Canceled, "{line:?}");
        }
    }
}
