//! The way into the command: a chat and what is wanted of it. Whoever has a chat of their own can come in here with it.

use std::time::Duration;

use chat_core::SessionId;
use chat_runtime::Chat;

use crate::{
    args::Command, ask, converse, copy, delete, desk::Desk, errors::Problem, exit::Exit, export,
    import, interrupts::Interrupts, retry, sessions, show,
};

/// Nothing runs any more when a command ends by itself; this is for one that failed in the middle.
const GRACE: Duration = Duration::from_secs(2);

/// Does what is wanted, winds the chat up, and says how the command ends. Errors are told on standard error.
pub(crate) async fn enter(
    chat: Chat,
    command: Option<Command>,
    session: Option<SessionId>,
    mut desk: Desk,
) -> Exit {
    let done = run(&chat, command, session, &mut desk).await;
    chat.shutdown(GRACE).await;
    let exit = done.unwrap_or_else(|problem| desk.tell(&problem));
    match desk.screen.finish() {
        Err(problem) if exit == Exit::Completed => desk.tell(&problem),
        Ok(()) | Err(_) => exit,
    }
}

async fn run(
    chat: &Chat,
    command: Option<Command>,
    session: Option<SessionId>,
    desk: &mut Desk,
) -> Result<Exit, Problem> {
    let interrupts = Interrupts::listen(desk.notes.clone())
        .map_err(|error| Problem::failed(format!("can't listen for Ctrl-C: {error}")))?;
    match command {
        Some(Command::Ask {
            input,
            session: own,
        }) => {
            let session = own.or(session);
            ask::ask(chat, input, session.as_ref(), desk, &interrupts).await
        }
        Some(Command::Sessions) => sessions::list(chat, desk).await,
        Some(Command::Show {
            session,
            salvage: false,
        }) => show::show(chat, &session, desk).await,
        Some(Command::Show {
            session,
            salvage: true,
        }) => show::salvage(chat, &session, desk).await,
        Some(Command::Retry { session, turn }) => {
            retry::retry(chat, &session, turn.as_ref(), desk, &interrupts).await
        }
        Some(Command::Export { session, salvage }) => {
            export::export(chat, &session, salvage, desk).await
        }
        Some(Command::Import { file, session: own }) => {
            import::import(chat, file.as_deref(), own.or(session), desk).await
        }
        Some(Command::Copy {
            to,
            sessions,
            all: _,
            salvage,
        }) => copy::copy(chat, &to, &sessions, salvage, desk).await,
        Some(Command::Delete { session, yes }) => delete::delete(chat, &session, yes, desk).await,
        None => converse::converse(chat, session.as_ref(), desk, &interrupts).await,
    }
}
