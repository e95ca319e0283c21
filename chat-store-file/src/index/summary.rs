//! Reads one journal's line of the list from its file: the truth that an index is a copy of. Streams; changes nothing.

use std::{io, time::UNIX_EPOCH};

use chat_core::{EntryBody, SessionId, SessionSummary, StoreError};

use super::row::{Row, Stamp, Standing};
use crate::{
    line::unseal,
    lines::{Line, Lines},
    name::Paths,
    scan::{Position, Scan, Step},
    system::{Access, File, Folder},
};

/// A session's row, and why it could not be read in full. `None` where there is no such session.
pub(crate) fn read(folder: &Folder, id: &SessionId) -> Option<(Row, Option<StoreError>)> {
    let path = Paths::new(folder, id).journal();
    let now = folder.files.now();
    let mut row = Row {
        id: id.clone(),
        at: 0,
        created: None,
        turns: 0,
        title: None,
        stamp: Stamp::NONE,
        standing: Standing::Failed,
        marked: false,
    };
    let mut last = None;
    let mut file = None;
    let mut read = |row: &mut Row| -> Result<Option<Standing>, StoreError> {
        let Some(opened) = folder.files.open_plain(&path, Access::Read)? else {
            return Ok(None);
        };
        let opened: &dyn File = &**file.insert(opened);
        let found = opened.metadata();
        let found = found.map_err(|error| StoreError::from_io("look at", &path, error))?;
        row.stamp = Stamp::of(&found);
        let mut scan = Scan::new(opened, id, path.clone(), Position::START);
        loop {
            match scan.step()? {
                Step::Entry(entry, _) => {
                    let at = entry.at().as_millis();
                    last = Some(at);
                    row.created.get_or_insert(at);
                    if let EntryBody::TurnAccepted { input, .. } = entry.body() {
                        row.turns += 1;
                        row.title
                            .get_or_insert_with(|| (&*SessionSummary::title_of(input)).into());
                    }
                }
                // What is cut off may be finished, or cut and written over, without another length.
                Step::Torn(_) => return Ok(Some(Standing::Unsettled)),
                Step::End if row.stamp.is_settled(now) => return Ok(Some(Standing::Settled)),
                Step::End => return Ok(Some(Standing::Unsettled)),
            }
        }
    };
    let error = match read(&mut row) {
        Ok(None) => return None,
        Ok(Some(standing)) => {
            row.standing = standing;
            None
        }
        Err(error) => {
            // Behind the damage, too: the list's order is by what can be read.
            last = file
                .and_then(|file| last_readable(&*file).ok().flatten())
                .or(last);
            Some(error)
        }
    };
    row.at = match last {
        Some(at) => at,
        None => modified(folder, id)?,
    };
    Some((row, error))
}

/// The time of the last entry in a damaged journal, by its place.
fn last_readable(file: &(dyn File + 'static)) -> io::Result<Option<i64>> {
    let mut lines = Lines::new(file, 0);
    let mut last = None;
    loop {
        match lines.next()? {
            Line::Whole(_, bytes) => {
                if let Ok(entry) = unseal(bytes) {
                    last = last.max(Some((entry.seq(), entry.at().as_millis())));
                }
            }
            Line::TooLong(_) => {}
            Line::Cut(_) | Line::End => return Ok(last.map(|(_, at)| at)),
        }
    }
}

/// When the file was last written, for a journal of which nothing can be read. `None` where it is gone by now.
fn modified(folder: &Folder, id: &SessionId) -> Option<i64> {
    let modified = match folder.files.look(&Paths::new(folder, id).journal()) {
        Ok(found) => found?.modified,
        // Whatever is wrong with it, it is there.
        Err(_) => None,
    };
    let since = modified.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    Some(since.map_or(0, |since| since.as_millis().try_into().unwrap_or(i64::MAX)))
}
