//! Listing sessions (law S6): the one with the newest activity first, a page at a time, each as its file has it now. Which there
//! are is the index's to know; a cursor is a place in the list's order, whether or not a session stands there.

use std::cmp::Reverse;

use chat_core::{Cursor, ListRequest, SessionId, SessionPage, StoreError};

use crate::{
    index::{Index, Key},
    system::Folder,
};

/// So often a page is made again because looking at its rows moved them. After that every row is looked at, once.
const ROUNDS: usize = 8;

/// One page. The index is kept for the next.
pub(crate) fn page(
    index: &mut Index,
    folder: &Folder,
    request: &ListRequest,
) -> Result<SessionPage, StoreError> {
    let after = request.after.as_ref().map(place).transpose()?;
    let limit = request.limit.max(1);
    let mut looked = index.refresh(folder)?;
    // One more than is shown: whether there is one tells whether there is another page, so it has to be there.
    let shown = |index: &Index| {
        let start = index.after(after.as_ref());
        let rest = index.rows().len() - start;
        start..start + rest.min(limit.saturating_add(1))
    };
    for round in 0..=ROUNDS {
        let which = if round < ROUNDS {
            shown(index)
        } else {
            0..index.rows().len()
        };
        if !index.look_at(folder, which, &mut looked) {
            break;
        }
    }
    let rows = &index.rows()[shown(index)];
    let more = rows.len() > limit;
    let rows = &rows[..rows.len().min(limit)];
    let page = SessionPage {
        sessions: rows
            .iter()
            .map(|row| row.summary(looked.get(&row.id).cloned().flatten()))
            .collect(),
        next: rows.last().filter(|_| more).map(|row| cursor(&row.key())),
    };
    index.keep(folder, &looked);
    Ok(page)
}

fn cursor(place: &Key) -> Cursor {
    Cursor(format!("{}:{}", place.at.0, place.id).into())
}

fn place(cursor: &Cursor) -> Result<Key, StoreError> {
    let parsed = cursor.0.split_once(':').and_then(|(at, id)| {
        Some(Key {
            at: Reverse(at.parse().ok()?),
            id: SessionId::parse(id).ok()?,
        })
    });
    parsed.ok_or_else(|| {
        StoreError::backend(format!(
            "{:?} is no cursor of a file store's list",
            cursor.0
        ))
    })
}
