//! Waiting for a hold as law S5 asks, for authors of stores: first come, first served in one process, and nobody starved
//! across processes.
//!
//! It does no IO. A store has its own way to lock things ([`Locks`]) and to pass the time; this module decides what is locked
//! when, and how long to wait. Three parts, each of use without the others:
//!
//! - [`Queues`]: who of one store waits for which session, in order, and what the store remembers of a session between turns.
//! - [`Waiter`]: how the one in front of its store's queue gets the hold among all processes.
//! - [`Backoff`]: waits that grow.
//!
//! # Between processes
//! A hold is a lock which goes with its owner, so that a killed holder is in nobody's way. That alone would be unfair: whoever
//! has just let go is awake and takes it again, while the others sleep until they look the next time. So each session has, beside
//! the lock that is the **hold**, four more, all of which go with their owner too:
//!
//! - The **turnstile** is shared by all who wait. Who comes and can lock it alone knows that nobody waits, and takes the hold if it
//!   is free: two locks, and nothing else is touched where processes don't meet.
//! - Three **rooms** are where they wait, each sharing the lock of its own. Never are more than two of them in use, and since they
//!   follow each other in a circle, those two say which one is older. Who comes goes into the younger of two, or into the one behind
//!   the only one, and takes the hold only once the room before its own is empty.
//!
//! A place is taken the moment one comes, and is kept asleep: whoever waits is passed by each other process twice at most (by one
//! who is in the same room, and by one who was there before), however short its turns are and however late one wakes. One who is
//! killed or gives up frees its room with its locks. One who is stopped does not; so who sees the hold free for long with nobody of
//! the room before taking it goes ahead, and those who do so take turns as well.
//!
//! # Example
//! The hold of a store in a folder. A real one does this on a thread that may block, sleeps with its runtime's timer, and makes
//! its random numbers with a crate for that.
//!
//! ```
//! use std::{fs::{File, TryLockError}, path::PathBuf};
//! use chat_core::{SessionId, StoreError, hold::{Lock, Locks, Mode, Queues, Waiter}};
//!
//! struct Files { folder: PathBuf, session: SessionId }
//!
//! impl Locks for Files {
//!     type Guard = File;
//!
//!     fn try_lock(&self, lock: Lock, mode: Mode) -> Result<Option<File>, StoreError> {
//!         let path = self.folder.join(format!("{}.{}", self.session, lock.name()));
//!         let io = |error| StoreError::from_io("lock", &path, error);
//!         let file = File::options().create(true).append(true).open(&path).map_err(io)?;
//!         let locked = match mode {
//!             Mode::Alone => file.try_lock(),
//!             Mode::Shared => file.try_lock_shared(),
//!         };
//!         match locked {
//!             Ok(()) => Ok(Some(file)),
//!             Err(TryLockError::WouldBlock) => Ok(None),
//!             Err(TryLockError::Error(error)) => Err(io(error)),
//!         }
//!     }
//! }
//!
//! # let folder = std::env::temp_dir().join(format!("chat-core-hold-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! # futures_util::FutureExt::now_or_never(async {
//! let session = SessionId::parse("s1")?;
//! let queues = Queues::<()>::new(0);
//! let (front, interest) = queues.wait(&session).await; // the others of this store
//!
//! let locks = Files { folder: folder.clone(), session };
//! let mut waiter = Waiter::new();
//! let hold = loop {
//!     match waiter.attempt(&locks)? {
//!         Some(hold) => break hold,
//!         None => std::thread::sleep(waiter.pause(7)),
//!     }
//! };
//! // ... The session is held, until this is dropped: the lock first, then the front of the queue.
//! drop((hold, front, interest));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).expect("nobody else is there")?;
//! # std::fs::remove_dir_all(folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod backoff;
mod lock;
mod queue;
mod waiter;

pub use backoff::Backoff;
pub use lock::{Lock, Locks, Mode, Room};
pub use queue::{Front, Interest, Queues, Remembered};
pub use waiter::Waiter;

#[cfg(test)]
mod tests;
