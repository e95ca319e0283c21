//! `chat export`: a session's journal on standard output, an entry a line. All of it, or nothing and why not.

use chat_core::{Gap, Journal, SessionId, TornTail};
use chat_runtime::Chat;

use crate::{desk::Desk, errors::Problem, exit::Exit, lookup};

pub(crate) async fn export(
    chat: &Chat,
    given: &SessionId,
    salvage: bool,
    desk: &mut Desk,
) -> Result<Exit, Problem> {
    let store = &**chat.store();
    let (id, journal) = lookup::with(chat, given, async |id| {
        if salvage {
            Journal::salvage(store, id).await
        } else {
            Journal::read(store, id).await
        }
    })
    .await?;
    if journal.entries.is_empty() {
        return Err(nothing_readable(&id));
    }
    for line in journal.lines() {
        desk.screen.line_of_json(&line);
    }
    note_missing(&id, journal.torn.as_ref(), &journal.gaps, desk);
    Ok(Exit::Completed)
}

pub(crate) fn nothing_readable(id: &SessionId) -> Problem {
    Problem::failed(format!("nothing of session {id} can be read"))
        .advise("restore it from a backup, if there is one")
}

/// Says what of a session is not in what was written of it.
pub(crate) fn note_missing(id: &SessionId, torn: Option<&TornTail>, gaps: &[Gap], desk: &mut Desk) {
    if let Some(torn) = torn {
        desk.report(&format!(
            "session {id} ends in a torn entry, which no one has seen; its {} bytes are left out",
            torn.bytes
        ));
    }
    for gap in gaps {
        let bytes = gap
            .bytes
            .map_or_else(String::new, |bytes| format!(", {bytes} bytes"));
        desk.report(&format!(
            "session {id}: {} can't be read and is left out: {}{bytes}",
            gap.place, gap.what
        ));
    }
}
