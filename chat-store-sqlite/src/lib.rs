//! A [`chat_core::Store`] in one SQLite database, safe against crashes and against other processes. It decides nothing about
//! turns, and keeps nothing that is not on the disk.
//!
//! ```
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("chat.db");
//! use chat_core::{Appended, Entry, EntryBody, EntryId, Seq, SessionId, Store, Timestamp};
//! use chat_store_sqlite::SqliteStore;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! let store = SqliteStore::open(&path)?;
//! let session = SessionId::parse("01jd3k")?;
//! let entry = |seq, id, body| Entry::new(Seq(seq), EntryId::parse(id).unwrap(), Timestamp::UNIX_EPOCH, body);
//!
//! store.create(&session, vec![entry(0, "e0", EntryBody::SessionCreated { labels: None })]).await?;
//! let mut acquired = store.acquire(&session, Seq(1)).await?;           // waits for any other holder, in any process
//! let note = entry(1, "e1", EntryBody::Unknown { kind: "note".into() });
//! assert!(matches!(acquired.writer.append_last(note).await, Appended::Written));   // durable, and the hold let go of
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! # The files
//! | file | what it is |
//! | --- | --- |
//! | `chat.db` | the database: every journal, an entry a row, its text to the byte as it was written |
//! | `chat.db-wal` | SQLite's log of what is written and not yet in `chat.db`; part of the database while it is there |
//! | `chat.db-shm` | SQLite's index of the log, shared by all processes; made anew where it is missing |
//! | `chat.db-holds/ROW.hold` | locked by the holder of the session of that row; empty |
//! | `chat.db-holds/ROW.turn`, `ROW.turn-0` to `-2` | locked by those who wait for the session; empty |
//! | `chat.db-probe-*` | gone at once: made to ask the system why SQLite failed. One that a killed process left is safe to remove |
//! | `chat.db-holds/set-up` | locked by whoever makes the database; empty |
//! | `chat.db-holds/new` | a database that is being made, or whose maker was killed; safe to remove |
//!
//! The last store to close the database, if it wrote, leaves `chat.db` and the locks only; one that only read leaves the log and its
//! index where they are. To back it up, use SQLite's own means (`VACUUM INTO`, `.backup`) or copy it while no process has it open;
//! a copy of `chat.db` alone, taken while it is in use, misses what is in the log. A process that has a store open must not open
//! `chat.db` as a plain file: closing that lets go of SQLite's locks. New files are readable by their owner only
//! (0600, folders 0700). Symbolic links are refused, and a database that has
//! more than one name (hard links).
//!
//! The header says whose it is: `application_id` 0x43484154 ("CHAT"), `user_version` 1. Another program's database, and any
//! other file, is [`Foreign`](chat_core::StoreError::Foreign); a newer version is
//! [`NewerFormat`](chat_core::StoreError::NewerFormat); neither is touched. Each entry has beside it the CRC-32C of
//! its text, its session's row and its place. The place behind the last entry, and what a list shows, stand in the session's row,
//! under a checksum of their own, written in the same transaction as the entry. A deleted session's text is overwritten in the database.
//! In the log it stays until that is reused, or the last store that wrote is closed.
//!
//! # What "durable" means
//! - [`Durability::Full`](chat_core::Durability::Full), the default: `synchronous=FULL`. A write has answered when the commit it is
//!   in was synced to the device. It survives a loss of power, as far as the device keeps its own promise.
//! - [`Durability::Os`](chat_core::Durability::Os): `synchronous=NORMAL`. A commit is written, not synced. It survives a crash of the
//!   process; after one of the machine the last entries may be missing, never torn.
//!
//! **Group commit.** One thread writes. Whatever waits when it is free, or comes while it makes a transaction, goes into that one, each
//! request in a savepoint of its own, and one sync makes all of it durable; so many sessions at once cost little more than one. Those
//! who were answered a moment ago are waited for, for a quarter of what a commit takes; one session alone never is. A request that
//! breaks a rule, or finds the disk full, takes nobody along. The thread ends with the last clone of the store.
//!
//! A commit that failed is `Unknown` for all in it. A sync that failed is never simply tried again: the system may have dropped what
//! it could not write, and a second sync then has nothing to do. Before anything else is written or confirmed, a new connection
//! writes all that is in the log into the database, syncs that, and begins a new log (where another program reads the old one for
//! long, it writes the log's own bytes once more, and syncs those); while it can't, every write is `NotWritten`, and `recover` and
//! `acquire` fail and may be asked again. A store does the same once before its first write: a process that was killed may have left
//! such a log behind, and an entry put after its end would be lost with it. `acquire` does it, too, where the last entry was written
//! by a store that does not sync. `read` takes no such care: it shows what is committed.
//!
//! Where recovery says that an entry is not there, it never comes back. Where nobody recovers, for the writer was killed in its commit or
//! closed after one that failed, the entry may: other stores that were open already, and wrote nothing since, do not see it, and one that is
//! opened when all of them are gone may find it in the log, whole.
//!
//! # Damaged, and what can't be told apart
//! A transaction is there whole or not at all: nothing is ever torn. **Damaged** is an entry whose checksum is wrong, one that is
//! missing (the last ones, too), one behind the journal's end, a text that is no entry or another one's (another session's, too), a page
//! that makes no sense to SQLite, a session's row that is not what was written. The error names session, entry and database; nothing is
//! skipped or repaired; `salvage` gives what is readable.
//! A list checks the sessions it shows: of each the first entries, up to a share of 512 KiB for the page, and the last one. Damage in
//! the middle of a long journal is found when that is read. Where an index of the sessions is damaged, they are looked for without it.
//!
//! Not told apart:
//! - a log that was cut off by a crash, and one with a flipped bit: SQLite ends at the first bad page. A bit that flips in `chat.db-wal`
//!   while no process has the database open (after a kill; one that closes what it wrote leaves no log) silently takes along what was
//!   acknowledged behind it;
//! - a session that was never there, and one whose row was removed by hand: its entries stay, and nothing asks for them;
//! - an older copy of the database put in place of a newer one, and entries that were never written;
//! - damage done on purpose: a checksum is no signature.
//!
//! # Holds
//! The hold on a session is an OS lock (`flock`, `LockFileEx`) on `ROW.hold`. It goes with the process: `kill -9` frees it at once. A
//! row is never used again, so that the lock of a deleted session is nobody else's. In one store, first come is first served; between
//! processes, whoever waits longest at the turnstile is next. Nobody waits on a thread. Locks are advisory: a program that does
//! not ask for them can still write the database; and a process that forks without running another program shares its holds with the
//! child for as long as that has the files open.
//!
//! Any number of processes may have the database open. Waits for each other's short transactions are inside: "database is locked" reaches
//! no caller, unless another program keeps it locked for a minute. A reader holds no transaction between two batches, so that it
//! keeps no log from beginning anew.
//!
//! **Network and FUSE file systems** are refused by name (NFS, SMB, CIFS, FUSE, 9p, AFS, Ceph and others): SQLite's log has an index in
//! memory that all processes share, which other machines do not, and the database would be corrupted. Use a local disk, or a store that
//! is made for many hosts.
//!
//! **Read-only places.** Reading needs the log and its index, too: where they can't be made because the folder may not be written, and
//! no process that can has the database open, it can't be read in place. The error says so; copy it to a folder of your own.

mod blocking;
mod change;
mod commit;
mod database;
mod failure;
mod hold;
mod journal;
mod list;
mod mount;
mod patience;
mod reading;
mod row;
mod salvage;
mod schema;
mod setup;
mod store;
mod system;
mod writer;

pub use store::{SqliteStore, SqliteStoreOptions};
