//! Deleting a session's files, for its holder. It decides nothing about who may.

use chat_core::{SessionId, StoreError};

use crate::{
    create::remove_left,
    hold::Hold,
    journal::sync_folder,
    name::Paths,
    system::{Folder, Kind},
    tail::Past,
};

/// Deletes a session. Torn tails go first, since they hold what was said too: killed in between, the session is still there and
/// can be deleted again. The lock files go last.
///
/// # Errors
/// [`StoreError::Missing`] without a hold. That, too, is durable: a delete that failed half-way is done again and ends so.
pub(crate) fn delete(
    session: &SessionId,
    paths: &Paths,
    hold: Option<Hold>,
    past: &mut Past,
) -> Result<(), StoreError> {
    past.tail = None;
    let Some(hold) = hold else {
        *past = Past::default();
        sync_folder(&paths.folder)?;
        return Err(StoreError::Missing {
            session: session.clone(),
        });
    };
    let Folder {
        files,
        path: folder,
    } = &paths.folder;
    let io = |error| StoreError::from_io("delete from", folder, error);
    for name in files.names(folder).map_err(io)? {
        let name = name.map_err(io)?;
        let Some(name) = name.to_str() else { continue };
        let (is_torn, is_temporary) = (paths.is_torn(name), paths.is_temporary(name));
        if !is_torn && !is_temporary {
            continue;
        }
        let path = folder.join(name);
        match files.look(&path).map_err(io)?.map(|found| found.kind) {
            Some(Kind::Plain) if is_temporary => remove_left(&**files, &path)?,
            // A link goes, and not what it leads to.
            Some(Kind::Plain | Kind::Link) => files.remove_if_there(&path).map_err(io)?,
            // No store made it.
            Some(Kind::Folder | Kind::Other) | None => {}
        }
    }
    files.remove_if_there(&paths.journal()).map_err(io)?;
    *past = Past::default();
    sync_folder(&paths.folder)?;
    hold.remove_files(paths).map_err(io)
}
