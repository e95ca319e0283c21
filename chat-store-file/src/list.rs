//! Listing sessions (law S6): which there are, the one with the newest activity first, a page at a time. Holds one page in
//! memory, however many sessions there are.

use std::{cmp::Reverse, collections::BinaryHeap, io, path::Path, time::UNIX_EPOCH};

use chat_core::{
    Cursor, EntryBody, ListRequest, SessionId, SessionPage, SessionSummary, StoreError, Timestamp,
};

use crate::{
    line::{MAX_LINE, unseal},
    name::{self, JOURNAL, Paths},
    scan::{Position, Scan, Step},
    system::{Access, File, FileSystem, Folder},
};

/// What the list is ordered by; greater comes first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    /// Milliseconds since 1970.
    at: i64,
    id: Reverse<SessionId>,
}

impl Key {
    fn cursor(&self) -> Cursor {
        Cursor(format!("{}:{}", self.at, self.id.0).into())
    }

    fn of(cursor: &Cursor) -> Result<Self, StoreError> {
        let parsed = cursor.0.split_once(':').and_then(|(at, id)| {
            Some(Self {
                at: at.parse().ok()?,
                id: Reverse(SessionId::parse(id).ok()?),
            })
        });
        parsed.ok_or_else(|| {
            StoreError::backend(format!(
                "{:?} is no cursor of a file store's list",
                cursor.0
            ))
        })
    }
}

pub(crate) fn page(folder: &Folder, request: &ListRequest) -> Result<SessionPage, StoreError> {
    let after = request.after.as_ref().map(Key::of).transpose()?;
    let limit = request.limit.max(1);
    // The smallest of the best on top; one more than asked for tells whether there is another page.
    let mut best = BinaryHeap::new();
    let io = |error| StoreError::from_io("list", &folder.path, error);
    for name in folder.files.names(&folder.path).map_err(io)? {
        let file_name = name.map_err(io)?;
        let id = file_name
            .to_str()
            .and_then(|name| name::session_of(name, JOURNAL));
        let Some(id) = id.and_then(|id| SessionId::parse(id).ok()) else {
            continue;
        };
        let Some(at) = last_activity(&*folder.files, &Paths::new(folder, &id).journal()) else {
            continue;
        };
        let key = Key {
            at,
            id: Reverse(id),
        };
        if after.as_ref().is_none_or(|after| key < *after) {
            best.push(Reverse(key));
            if best.len() > limit.saturating_add(1) {
                best.pop();
            }
        }
    }
    let mut keys: Vec<Key> = best
        .into_sorted_vec()
        .into_iter()
        .map(|Reverse(key)| key)
        .collect();
    let more = keys.len() > limit;
    keys.truncate(limit);
    let next = if more {
        keys.last().map(Key::cursor)
    } else {
        None
    };
    let sessions = keys
        .into_iter()
        .filter_map(|key| summary(folder, key.id.0))
        .collect();
    Ok(SessionPage { sessions, next })
}

/// When something last happened in a journal: the time of its last whole entry, or where that can't be read, of the file.
/// `None` where the file is gone.
fn last_activity(files: &dyn FileSystem, path: &Path) -> Option<i64> {
    let entry = || -> Option<i64> {
        let file = files.open_plain(path, Access::Read).ok()??;
        let line = last_line(&*file).ok()??;
        Some(unseal(&line).ok()?.at().as_millis())
    };
    entry().or_else(|| {
        let modified = files.look(path).ok()??.modified?;
        Some(
            modified
                .duration_since(UNIX_EPOCH)
                .ok()
                .and_then(|since| since.as_millis().try_into().ok())
                .unwrap_or(0),
        )
    })
}

/// The last line that ends in a newline, without it; read from the end, so that long journals cost what short ones do.
fn last_line(file: &dyn File) -> io::Result<Option<Vec<u8>>> {
    let mut start = file.metadata()?.len;
    let mut bytes = Vec::new();
    let mut chunk_len = 4096;
    while start > 0 && bytes.len() <= 2 * MAX_LINE {
        let from = start.saturating_sub(chunk_len);
        let mut chunk = vec![0; usize::try_from(start - from).unwrap_or(0)];
        let mut read = 0;
        while read < chunk.len() {
            match file.read_at(&mut chunk[read..], from + read as u64)? {
                0 => return Ok(None),
                n => read += n,
            }
        }
        chunk.extend_from_slice(&bytes);
        (bytes, start) = (chunk, from);
        chunk_len *= 2;
        let Some(end) = bytes.iter().rposition(|b| *b == b'\n') else {
            continue;
        };
        match bytes[..end].iter().rposition(|b| *b == b'\n') {
            Some(before) => return Ok(Some(bytes[before + 1..end].to_vec())),
            None if start == 0 => return Ok(Some(bytes[..end].to_vec())),
            None => {}
        }
    }
    Ok(None)
}

/// One line of the list; `None` where the session is gone by now.
fn summary(folder: &Folder, id: SessionId) -> Option<SessionSummary> {
    let path = Paths::new(folder, &id).journal();
    let mut summary = SessionSummary {
        id,
        title: None,
        created_at: None,
        last_activity: None,
        turns: 0,
        error: None,
    };
    let read = |summary: &mut SessionSummary| -> Result<bool, StoreError> {
        let Some(file) = folder.files.open_plain(&path, Access::Read)? else {
            return Ok(false);
        };
        let mut scan = Scan::new(file, &summary.id, path.clone(), Position::START);
        while let Step::Entry(entry, _) = scan.step()? {
            summary.created_at.get_or_insert(entry.at());
            summary.last_activity = Some(entry.at());
            if let EntryBody::TurnAccepted { input, .. } = entry.body() {
                summary.turns += 1;
                summary
                    .title
                    .get_or_insert_with(|| SessionSummary::title_of(input));
            }
        }
        Ok(true)
    };
    match read(&mut summary) {
        Ok(true) => Some(summary),
        Ok(false) => None,
        Err(error) => {
            if summary.last_activity.is_none() {
                summary.last_activity = last_activity(&*folder.files, &path)
                    .and_then(|at| Timestamp::from_millis(at).ok());
            }
            summary.error = Some(error);
            Some(summary)
        }
    }
}
