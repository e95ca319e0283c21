//! Checks of holds for a store whose hold is a lock on a file: they have to know its files, which the suite does not. Each is for one
//! or two stores of a place, which share nothing in memory, as two processes; each panics where it does not hold.

use std::{
    fs::{self, File},
    path::Path,
};

use chat_core::{Appended, Seq, Store, StoreError};
use futures_util::future::{Either, join, select};

use crate::{
    entries::{accepted, script, session, waits, write},
    files,
};

/// Waits until someone waits: the turnstile, a lock beside the hold, is locked by all who do.
///
/// # Panics
/// Where nobody comes.
pub async fn until_someone_waits(turnstile: &Path) {
    let mut seen = 0;
    for _ in 0..1_000_000 {
        let is_locked = File::open(turnstile).is_ok_and(|file| file.try_lock().is_err());
        // Who looks whether anyone waits may have it for a moment, too, and for longer where the machine is busy.
        seen = if is_locked { seen + 1 } else { 0 };
        if seen == 2_000 {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("nobody waits at {}", turnstile.display());
}

/// A holder that lets go and comes right back is behind one of another process that waits, whichever of the two it is. `turnstile` is the
/// one of session `s`, which is created here.
///
/// # Panics
/// Where the holder is let in again first.
pub async fn check_turns<S: Store>(stores: [S; 2], turnstile: &Path) {
    let id = session("s");
    let created = stores[0].create(&id, script()).await;
    created.expect("its id is free");
    let holder = stores[0].acquire(&id, Seq(3)).await;
    let mut holder = holder.expect("the session is free");
    let mut other = tokio::spawn(stores[1].acquire(&id, Seq(3)));
    for turn in 0..20 {
        until_someone_waits(turnstile).await;
        assert!(waits(&mut other).await, "two holders at once");
        drop(holder);
        let again = tokio::spawn(stores[turn % 2].acquire(&id, Seq(3)));
        match select(other, again).await {
            Either::Left((next, again)) => {
                let next = next.expect("it does not panic");
                (holder, other) = (next.expect("the session is free"), again);
            }
            Either::Right(_) => panic!("turn {turn}: the holder was let in again first"),
        }
    }
}

/// One who waits takes its place again where the files that keep it were removed: nobody walks past it. `turnstile` is the one of session
/// `s`, which is created here.
///
/// # Panics
/// Where it is not so.
pub async fn check_removed<S: Store>([here, there]: [S; 2], turnstile: &Path) {
    let id = session("s");
    let created = here.create(&id, script()).await;
    created.expect("its id is free");
    let holder = here.acquire(&id, Seq(3)).await;
    let waiting = tokio::spawn(there.acquire(&id, Seq(3)));
    let folder = turnstile.parent().expect("a file in a folder");
    let name = turnstile.to_str().expect("names are text");
    // Whoever is still on its way to its place would make the files anyway, once.
    for _ in 0..3 {
        until_someone_waits(turnstile).await;
        for path in files::all_below(folder) {
            // The rooms' names begin with the turnstile's.
            if path.to_str().is_some_and(|path| path.starts_with(name)) {
                fs::remove_file(path).expect("it is there");
            }
        }
    }
    until_someone_waits(turnstile).await;
    drop(holder.expect("the session is free"));
    let again = tokio::spawn(here.acquire(&id, Seq(3)));
    match select(waiting, again).await {
        Either::Left((next, _)) => {
            let next = next.expect("it does not panic");
            next.expect("the session is free");
        }
        Either::Right(_) => panic!("the holder was let in again first"),
    }
}

/// A delete waits for the holder in another process, whoever comes behind it in its own is told that the session is gone, and no file is left
/// of it in the folder of the stores.
///
/// # Panics
/// Where it is not so.
pub async fn check_delete<S: Store>([here, there]: [S; 2], folder: &Path) {
    let id = session("s");
    let before = files::all_below(folder);
    let created = here.create(&id, script()).await;
    created.expect("its id is free");
    let holder = there.acquire(&id, Seq(3)).await;
    let mut delete = here.delete(&id);
    assert!(waits(&mut delete).await, "deleted under its holder");
    let mut behind = here.acquire(&id, Seq(3));
    assert!(waits(&mut behind).await, "two holders at once");
    drop(holder.expect("the session is free"));
    let (deleted, behind) = join(delete, behind).await;
    deleted.expect("the holder let go");
    assert!(
        matches!(behind, Err(StoreError::Missing { .. })),
        "{behind:?}"
    );
    assert_eq!(
        files::all_below(folder),
        before,
        "no lock file is left of a session that is gone"
    );
}

/// A hold is lost with its lock file: another process may hold the session by a new one. The session `s`, that of
/// [`script`], is there, and nobody holds it.
///
/// # Panics
/// Where the holder can still write.
pub async fn check_lost<S: Store>(store: &S, lose: impl FnOnce()) {
    let acquired = store.acquire(&session("s"), Seq(3)).await;
    let mut writer = acquired.expect("the session is free").writer;
    lose();
    let answer = writer.append(accepted(3, "u")).await;
    assert!(
        matches!(answer, Appended::Fenced),
        "another may hold it now: {answer:?}"
    );
    let recovered = writer.recover(Seq::ZERO).await;
    assert!(
        matches!(recovered, Err(StoreError::HoldLost { .. })),
        "{recovered:?}"
    );
}

/// A store has no file below a folder open between turns: the last entry lets go of all of them, whatever becomes of the writer. The
/// session `s`, that of [`script`], is there; while it is held, so many are open.
///
/// # Panics
/// Where other files are open, or the writer still writes.
pub async fn check_nothing_open<S: Store>(store: &S, folder: &Path, while_held: usize) {
    let open = || files::open_below(folder).unwrap_or_default();
    assert_eq!(open().len(), 0, "{:?}", open());
    let acquired = store.acquire(&session("s"), Seq(3)).await;
    let mut writer = acquired.expect("the session is free").writer;
    write(&mut writer, accepted(3, "u")).await;
    if files::open_below(folder).is_some() {
        assert_eq!(open().len(), while_held, "{:?}", open());
    }
    let answer = writer.append_last(accepted(4, "v")).await;
    assert!(matches!(answer, Appended::Written), "{answer:?}");
    assert_eq!(open().len(), 0, "the last entry lets go: {:?}", open());
    let answer = writer.append(accepted(5, "w")).await;
    assert!(
        matches!(answer, Appended::NotWritten(StoreError::Misuse { .. })),
        "{answer:?}"
    );
}
