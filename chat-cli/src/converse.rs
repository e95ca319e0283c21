//! `chat` alone: a conversation. Typed or piped, each line is a turn, answered before the next is read.

use chat_core::SessionId;
use chat_runtime::{Chat, Session};

use crate::{
    again::Call, ask::answer, desk::Desk, errors::Problem, exit::Exit, interrupts::Interrupts,
    lookup,
};

/// Ends with the input. Someone who sits here sees what failed and goes on; without a terminal the first turn that failed
/// decides how the command ends, and a canceled one ends it.
pub(crate) async fn converse(
    chat: &Chat,
    given: Option<&SessionId>,
    desk: &mut Desk,
    interrupts: &Interrupts,
) -> Result<Exit, Problem> {
    // Without a name the session is created with the first input: who only looks in leaves nothing behind.
    let mut session = match given {
        Some(_) => Some(lookup::open_or_create(chat, given).await?),
        None => None,
    };
    greet(session.as_ref(), desk);
    // Ctrl-D at a question within a turn leaves too, and is said goodbye to.
    let someone_came = desk.someone_is_here;
    let mut exit = Exit::Completed;
    while let Some(input) = next_input(desk).await? {
        let session = match &mut session {
            Some(session) => session,
            none @ None => none.insert(chat.create_session().await?),
        };
        let ended = answer(session, &input, desk, interrupts).await;
        if someone_came {
            continue;
        }
        match ended {
            Exit::Canceled => return Ok(ended),
            Exit::Failed | Exit::Usage | Exit::Completed if exit == Exit::Completed => exit = ended,
            Exit::Failed | Exit::Usage | Exit::Completed => {}
        }
    }
    if let (true, Some(session)) = (someone_came, session) {
        take_leave(&session, desk);
    }
    Ok(exit)
}

/// The next line with anything on it; `None` at the end.
async fn next_input(desk: &mut Desk) -> Result<Option<String>, Problem> {
    loop {
        match prompted(desk).await {
            Some(Ok(line)) if line.trim().is_empty() => {}
            Some(Ok(line)) => return Ok(Some(line)),
            Some(Err(error)) => {
                return Err(
                    Problem::failed(format!("can't read standard input: {error}"))
                        .advise("an input is text in UTF-8"),
                );
            }
            None => return Ok(None),
        }
    }
}

/// The next line. One that was typed while a reply was written is shown behind its prompt, where nobody types it now.
async fn prompted(desk: &mut Desk) -> Option<Result<String, std::io::Error>> {
    if !desk.someone_is_here {
        return desk.line().await;
    }
    match desk.keyboard().ahead() {
        Some(line) => {
            desk.note(&format!("> {}", line.as_deref().unwrap_or_default()));
            Some(line)
        }
        None => {
            desk.ask(">");
            desk.line().await
        }
    }
}

fn greet(session: Option<&Session>, desk: &mut Desk) {
    if desk.someone_is_here {
        if let Some(session) = session {
            let turns = session.turns().len();
            desk.note(&format!("session {}, {turns} turns so far", session.id()));
        }
        desk.note("Type and press Enter. Ctrl-C cancels a reply, Ctrl-D leaves.");
    }
}

fn take_leave(session: &Session, desk: &mut Desk) {
    let call = Call::conversation().option("--session", session.id().as_str());
    if let Some(command) = desk.again.command(call) {
        desk.note(&format!("continue with: {command}"));
    }
}
