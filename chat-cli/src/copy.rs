//! `chat copy`: sessions from one store into another. One that can't be copied keeps no other from it.

use chat_core::{Copied, CopyError, SessionId, StoreError, copy_salvaged, copy_session};
use chat_runtime::Chat;
use serde::Serialize;

use crate::{
    desk::Desk,
    errors::Problem,
    exit::Exit,
    export::{note_missing, nothing_readable},
    lookup,
    store_at::StoreAt,
};

/// Copies these sessions, or all there are where none is named.
pub(crate) async fn copy(
    chat: &Chat,
    at: &StoreAt,
    given: &[SessionId],
    salvage: bool,
    desk: &mut Desk,
) -> Result<Exit, Problem> {
    if *at == StoreAt::Memory {
        return Err(
            Problem::usage("a copy in memory would end with this command")
                .advise("name a place that stays: --to PATH"),
        );
    }
    let mut ids = Vec::new();
    for given in given {
        ids.push(lookup::id(chat, given).await?);
    }
    if given.is_empty() {
        let all = lookup::all(chat).await?;
        ids.extend(all.into_iter().map(|session| session.id));
    }
    let to = at
        .open()
        .map_err(|error| Problem::store_named_by("--to", &error))?;
    let from = &**chat.store();
    let mut exit = Exit::Completed;
    for id in &ids {
        let copied = if salvage {
            copy_salvaged(from, &*to, id).await
        } else {
            copy_session(from, &*to, id).await
        };
        match copied {
            Ok(copied) => show(id, &copied, desk),
            Err(error) => exit = desk.tell(&not_copied(id, &error, at)),
        }
    }
    Ok(exit)
}

/// A copied session as programs get it.
#[derive(Serialize)]
struct Line<'a> {
    id: &'a SessionId,
    entries: usize,
}

fn show(id: &SessionId, copied: &Copied, desk: &mut Desk) {
    if desk.json {
        let entries = copied.entries;
        desk.screen.json(&Line { id, entries });
    } else {
        desk.screen
            .text(&format!("{id}  {} entries\n", copied.entries));
    }
    note_missing(id, copied.torn.as_ref(), &copied.gaps, desk);
}

fn not_copied(id: &SessionId, error: &CopyError, to: &StoreAt) -> Problem {
    match error {
        CopyError::Read(StoreError::Damaged(damage)) => Problem::failed(damage.to_string())
            .advise("it was not copied; with --salvage, what is readable of it is"),
        CopyError::Read(error) => Problem::store(error),
        CopyError::Write(StoreError::Taken { .. }) => {
            Problem::failed(format!("session {id} exists already in {to}"))
                .advise("it was left as it is there")
        }
        CopyError::Write(error) => Problem::store_named_by("--to", error),
        CopyError::NothingReadable { .. } => nothing_readable(id),
        // A kind of a later version.
        other => Problem::failed(other.to_string()),
    }
}
