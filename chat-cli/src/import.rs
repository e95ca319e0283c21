//! `chat import`: a session made of the lines that an export wrote. All of it, or nothing and why not.

use std::{
    fs::File,
    io::{IsTerminal as _, Read},
    path::Path,
};

use chat_core::{Entry, EntryBody, JournalLines, LineError, SessionId, StoreError};
use chat_runtime::Chat;
use serde::Serialize;

use crate::{again::Call, desk::Desk, errors::Problem, exit::Exit};

/// How much is read at once.
const CHUNK: usize = 64 << 10;

pub(crate) async fn import(
    chat: &Chat,
    file: Option<&Path>,
    session: Option<SessionId>,
    desk: &mut Desk,
) -> Result<Exit, Problem> {
    let file = file.filter(|file| *file != Path::new("-"));
    let (entries, named) = match file {
        Some(path) => (of_file(path)?, named_by(path)),
        None if std::io::stdin().is_terminal() => {
            return Err(Problem::usage("there is nothing to import")
                .advise("name a file that `export` wrote, or pipe one in"));
        }
        None => (read(std::io::stdin().lock(), "standard input")?, None),
    };
    let id = session.or(named).unwrap_or_else(new_id);
    let imported = Imported {
        id: id.clone(),
        entries: entries.len(),
        turns: entries.iter().filter(|entry| is_turn(entry)).count(),
    };
    match chat.store().create(&id, entries).await {
        Ok(()) => {}
        Err(error @ StoreError::Taken { .. }) => {
            return Err(Problem::failed(error.to_string())
                .advise("it was left as it is; give the new one another id: --session ID"));
        }
        Err(error) => return Err(error.into()),
    }
    if desk.json {
        desk.screen.json(&imported);
    } else {
        desk.screen.text(&format!("{id}\n"));
    }
    let command = desk.again.command(Call::of("show").word(id.as_str()));
    if let Some(command) = command {
        desk.hint(&format!("imported {} turns: {command}", imported.turns));
    }
    Ok(Exit::Completed)
}

/// An import as programs get it.
#[derive(Serialize)]
struct Imported {
    id: SessionId,
    entries: usize,
    turns: usize,
}

fn is_turn(entry: &Entry) -> bool {
    matches!(entry.body(), EntryBody::TurnAccepted { .. })
}

fn of_file(path: &Path) -> Result<Vec<Entry>, Problem> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|error| unreadable(&name, &error))?;
    read(file, &name)
}

/// The id that a file's name gives, where it gives one.
fn named_by(path: &Path) -> Option<SessionId> {
    SessionId::parse(path.file_stem()?.to_str()?).ok()
}

/// An id as sessions get that nobody names.
fn new_id() -> SessionId {
    let text = ulid::Ulid::generate().to_string().to_ascii_lowercase();
    SessionId::parse(text).expect("a ULID's 26 letters and digits are an id")
}

/// The journal that the lines of a file make. Blocks this thread alone: Ctrl-C is another task's, and nothing runs.
fn read(mut from: impl Read, name: &str) -> Result<Vec<Entry>, Problem> {
    let mut lines = JournalLines::default();
    let mut chunk = vec![0; CHUNK];
    loop {
        match from.read(&mut chunk) {
            Ok(0) => return lines.finish().map_err(|error| no_journal(name, &error)),
            Ok(read) => lines
                .feed(&chunk[..read])
                .map_err(|error| no_journal(name, &error))?,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(unreadable(name, &error)),
        }
    }
}

fn unreadable(name: &str, error: &std::io::Error) -> Problem {
    Problem::failed(format!("can't read {name}: {error}")).advise("nothing was imported")
}

fn no_journal(name: &str, error: &LineError) -> Problem {
    let problem = Problem::failed(format!("{name} can't be imported: {error}"));
    match error {
        LineError::NewerFormat { .. } => problem.advise("nothing was imported"),
        _ => {
            problem.advise("nothing was imported; what `export` writes can be, whole and unchanged")
        }
    }
}
