//! `chat ask`: one input, one reply.

use std::io::{IsTerminal as _, Read as _};

use chat_core::{SessionId, TurnStatus};
use chat_runtime::{Chat, Session};

use crate::{
    again::Call, desk::Desk, errors::Problem, exit::Exit, interrupts::Interrupts, lookup,
    watch::watch,
};

pub(crate) async fn ask(
    chat: &Chat,
    input: Option<String>,
    session: Option<&SessionId>,
    desk: &mut Desk,
    interrupts: &Interrupts,
) -> Result<Exit, Problem> {
    let input = input_of(input)?;
    let session = lookup::open_or_create(chat, session).await?;
    let exit = answer(&session, &input, desk, interrupts).await;
    if exit == Exit::Completed {
        let call = Call::of("ask").option("--session", session.id().as_str());
        if let Some(command) = desk.again.command(call) {
            desk.hint(&format!("continue with: {command} …"));
        }
    }
    Ok(exit)
}

/// Sends an input, and shows its turn to the end.
pub(crate) async fn answer(
    session: &Session,
    input: &str,
    desk: &mut Desk,
    interrupts: &Interrupts,
) -> Exit {
    note_other(session, desk);
    let turn = session.send(input);
    watch(session, &turn, desk, interrupts).await
}

/// Says that there may be something to wait for, where another process answers in the session.
pub(crate) fn note_other(session: &Session, desk: &mut Desk) {
    let last = session.turns().last().map(|turn| turn.status);
    if last == Some(TurnStatus::Running) {
        desk.report("another process answers in this session; waiting for it");
    }
}

fn input_of(given: Option<String>) -> Result<String, Problem> {
    let input = match given.as_deref() {
        Some("-") => read_stdin()?,
        Some(input) => input.to_owned(),
        None if std::io::stdin().is_terminal() => {
            return Err(Problem::usage("there is nothing to ask")
                .advise("say it behind `ask`, or pipe it in; without `ask` it is a conversation"));
        }
        None => read_stdin()?,
    };
    if input.trim().is_empty() {
        return Err(Problem::usage("the input is empty").advise("say something to ask"));
    }
    Ok(input)
}

/// All of standard input, without the line break that programs put at the end. Blocks this thread alone: Ctrl-C is another
/// task's, and nothing runs yet.
fn read_stdin() -> Result<String, Problem> {
    let mut input = String::new();
    std::io::stdin()
        .lock()
        .read_to_string(&mut input)
        .map_err(|error| {
            Problem::failed(format!("can't read standard input: {error}"))
                .advise("an input is text in UTF-8")
        })?;
    let trimmed = input.strip_suffix('\n').unwrap_or(&input);
    Ok(trimmed.strip_suffix('\r').unwrap_or(trimmed).to_owned())
}
