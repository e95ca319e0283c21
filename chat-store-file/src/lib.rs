//! A [`chat_core::Store`] of one JSONL journal per session in a folder, safe against crashes and against other processes. It
//! decides nothing about turns, and keeps nothing that is not in the folder but where each journal was last known to end and what
//! the last list saw.
//!
//! ```
//! # let folder = tempfile::tempdir().unwrap();
//! # let folder = folder.path().join(".chat");
//! use chat_core::{Appended, Entry, EntryBody, EntryId, Seq, SessionId, Store, Timestamp};
//! use chat_store_file::FileStore;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! let store = FileStore::open(&folder)?;
//! let session = SessionId::parse("01jd3k")?;
//! let entry = |seq, id, body| Entry::new(Seq(seq), EntryId::parse(id).unwrap(), Timestamp::UNIX_EPOCH, body);
//!
//! store.create(&session, vec![entry(0, "e0", EntryBody::SessionCreated { labels: None })]).await?;
//! let mut acquired = store.acquire(&session, Seq(1)).await?;           // waits for any other holder, in any process
//! let note = entry(1, "e1", EntryBody::Unknown { kind: "note".into() });
//! assert!(matches!(acquired.writer.append_last(note).await, Appended::Written));   // durable, and the hold let go of
//!
//! let text = std::fs::read_to_string(store.journal_path(&session))?;
//! assert!(text.starts_with(r#"{"v":1,"seq":0,"id":"e0","at":"1970-01-01T00:00:00.000Z","type":"session.created","crc":""#));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! # The folder
//! | file | what it is |
//! | --- | --- |
//! | `NAME.jsonl` | a journal: one entry a line, as JSON that a person can read |
//! | `NAME.lock` | locked by the holder of the session; empty. It stays, as a mark that the journal may have been written |
//! | `NAME.turn`, `NAME.turn-0` to `-2` | locked by those who wait for the session; empty |
//! | `NAME.torn-OFFSET-CRC` | what a crash left behind a journal's last whole line, set aside |
//! | `NAME.tmp-…` | a journal that is being created, locked by its creator; never listed. What a killed one left is removed before a store creates its first session (in a large folder, where it is found among some thousand names), and with its session |
//! | `list/` | an index for lists, and its lock; safe to remove, and made anew by the next list |
//!
//! `NAME` is the session's id where that is made of `a-z 0-9 _ . -`, does not begin with a dot and is no device name of Windows;
//! any other id is `=` and the base32hex of its bytes, in small letters. So no two ids meet on a file system that folds case or
//! normalizes Unicode. New files are readable by their owner only (0600, folders 0700). Symbolic links are refused.
//!
//! A line is the entry's text, to the byte, with `,"crc":"xxxxxxxx"` put before its last brace: the CRC-32C of the text without
//! it, in small hexadecimal digits. A journal that was edited by hand is damaged, and says so.
//!
//! # What "durable" means
//! - [`Durability::Full`](chat_core::Durability::Full), the default: an append is one write and one sync, and has answered when the
//!   device has. It survives a loss of power, as far as the device keeps its own promise.
//! - [`Durability::Os`](chat_core::Durability::Os): an append is one write. It survives a crash of the process, since the system has it,
//!   and not one of the machine: after that, the last entries may be missing, torn or damaged, and a journal that was just
//!   created missing or damaged.
//!
//! A name is made durable as well: that of a new journal before `create` answers, that of one whose creator may have been killed
//! before that by the first `acquire` of a store, and that of the store's folder, which is synced from above. Where a new name
//! can't be made durable, `create` takes the journal back and fails; where not even that can be done, its error says that the
//! session is there. A delete that failed can be done again, and ends as usual or with *missing*, both durable.
//!
//! A sync that failed is never simply tried again: the system may have dropped what it could not write, and a second sync then has
//! nothing to do. The append is `Unknown`; `recover` opens the file anew, writes the last line *again*, in place, and syncs that.
//! `acquire` does the same for a last line which this store has not made sure of before. Either may be killed at any point and is
//! done again by whoever comes next. That is enough where whoever wrote a line had made sure of the one before. Where `acquire`
//! finds lines that are not known to be so, from a store of the other durability, one sync brings them all to the device; where
//! that fails, the store remembers it, and writes everything again that it had not made sure of. What nobody can know is that
//! such a sync failed in a process that has ended since: **open a folder with one durability**, or what was written with `Os` may
//! still be lost to a disk that fails, behind what is written with `Full`. `read` shows a line as soon as it is in the file, which can be a moment before it is durable.
//!
//! # Torn, damaged, and what can't be told apart
//! **Torn** is what stands behind the last newline, a tail of NULs among it. `acquire` and `recover` copy it to a file of its own,
//! make that durable, and cut it off (a long run of NULs is a hole there, and takes no room); `read` stops before it. **Damaged** is anything else: a line that ends in a newline and
//! fails its checksum, a hole of NULs, a missing or repeated place, a first entry that is none (a journal is created whole, by
//! a link to a finished file). The error names session, file, line and byte; nothing is skipped or repaired; `salvage` gives
//! what is readable.
//!
//! Not told apart:
//! - a last line that was never finished, and one that was and lost its newline, or its end, to something else than a crash;
//! - whole entries missing from the end, and entries that were never written (someone put an older copy in place);
//! - a last line whose end reached the device before its beginning, as a file system may write a long one, and a hole in one that
//!   was whole: both end in a newline and are called damaged, though nobody was told that the first was written;
//! - damage done on purpose: a checksum is no signature.
//!
//! # Holds
//! The hold on a session is an OS lock (`flock`, `LockFileEx`) on `NAME.lock`. It goes with the process: `kill -9` frees it at
//! once. In one store, first come is first served; between processes, whoever waits longest at the turnstile is next. Nobody waits on
//! a thread. The two descriptors of a holder exist only while it holds. Locks are advisory: a program that does not ask for them
//! can still write the files.
//!
//! **Windows.** A file is known by the time it was created. NTFS gives a name that is removed and made anew within 15 seconds its
//! old time: where a delete or a list removed a lock file and another made it anew so quickly, one who waited may take the old one for
//! the new.
//!
//! **File systems.** A journal is created by a hard link: FAT and exFAT have none, and `create` fails there.
//!
//! **Network file systems.** Locks and syncs are what the file system makes of them. Over NFS and SMB, locks may hold on one
//! machine only or be lost when the server restarts, and other machines may read old data. Keep the folder on a local disk, or
//! use a store that is made for many hosts.
//!
//! # Lists
//! A list opens the journals that were written since the last one, in whatever process that was, and looks at the files of those
//! it shows; it opens no others. It finds them by the lock files, which cost a writer nothing, and keeps what it read in an index,
//! about 200 bytes a session, in memory and in `list/`. The index is never the truth: where it is lost, damaged, copied, or from
//! before the machine was started, each journal is looked at again, and read where that shows a difference. A disk that was pulled
//! out and came back within one start of the machine may have lost what that start is taken to vouch for: remove `list/` then. Lists remove the lock
//! files of sessions that were left alone, once there are hundreds. What is done to a journal by a program that does not lock it
//! shows when its session is on the page, and may leave it at its old place in the order until then.

mod blocking;
mod create;
mod delete;
mod hold;
mod index;
mod journal;
mod line;
mod lines;
mod list;
mod name;
mod reading;
mod salvage;
mod scan;
#[cfg(test)]
mod sim;
mod store;
mod system;
mod tail;
mod writer;

pub use store::{FileStore, FileStoreOptions};
