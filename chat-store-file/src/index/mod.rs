//! An index of the sessions in a folder: what a list shows of each, kept in memory and in a file, so that a page of a list opens
//! no journal that was not written since the last one. It is never the truth: it is brought up to date before each page, made
//! anew where it can't be believed, and each row is checked against its file before it is shown.
//!
//! # Which sessions may have been written
//! Writers do nothing for the index. What tells it is the lock file that a holder has anyway:
//!
//! 1. *A journal is only created or written by a program that has locked the file at `NAME.lock`, which stays when it lets go.*
//! 2. *`NAME.lock` is only removed under a lock of one's own on it, and only where there is no journal, or where the index that
//!    was saved has the journal's row with the stamp that the journal has at that moment. Whoever does it has the session's
//!    turnstile for itself.*
//!
//! So where there is no `NAME.lock`, the saved index is right about the session; where there is one, a look at the file's stamp
//! tells. The names are read once per list, for what is new, gone or marked so; not even that where the folder's own stamp is
//! the one of the last time. Removing lock files costs time and does not make the next hold cheaper: it is done when they are
//! many, oldest activity first, a bounded number per list, so that sessions in use stay marked and are looked at.
//!
//! # Many stores, one file
//! Every store has its index in memory, and others save theirs and take away marks by it. So each list looks, *after* it has read
//! the names, whether the file is still the one that its memory comes from, and else takes over the file's. Only one at a time
//! saves and takes marks away, under a lock that nobody waits for, and only in place of the very file that its own rows come from:
//! what another saved is never undone. Where they come from none, each row is looked at once more, under that lock.
//!
//! # What is not believed
//! A loss of power may take a mark and leave what was written under it, and a copied or restored folder has other files than the
//! index it came with. So the index names the start of the machine, the very file it was saved in and the sessions' folder; where one is another
//! or unknown, where the file is not there or damaged, each row's stamp is looked at once; a stamp from the last minute before the
//! save is not believed then, since a loss of power may leave a file that was not synced its length and not its content. A stamp
//! that was taken within the clock's granularity of a write is never believed (as in git: "racily clean"), nor what stands before
//! a torn tail: such a journal is read again for each list, since a copy of it may be under way. A folder that can't be
//! written has its index in memory, and every row looked at for each list.
//!
//! What a list does not see: a journal that is changed in place, behind the store's back and without its lock, before it is shown;
//! until then it stands where it stood. It is checked when shown, and its harm named, unless whoever did the harm also put
//! back the file's times (on Unix even then: nobody can set the change time).

use std::{collections::HashMap, io};

use chat_core::{SessionId, StoreError};

use crate::{name::Paths, system::Folder};

mod file;
mod marks;
mod names;
mod row;
mod rows;
mod saved;
mod summary;
#[cfg(test)]
pub(crate) mod tests;

use names::{Names, Presence};
use row::{Stamp, Standing};
use rows::{Change, Rows};
use saved::{Saving, Version};

pub(crate) use row::{Key, Row};

/// The index of one store.
#[derive(Debug, Default)]
pub(crate) struct Index {
    rows: Rows,
    /// The folder's stamp when its names were read last, where any name that comes or goes since changes it.
    scanned: Option<Stamp>,
    base: Base,
    /// How many rows the file has otherwise or not at all.
    unsaved: usize,
    pub(crate) bounds: Bounds,
}

/// The index's file as it was last read or saved.
#[derive(Debug, Default)]
struct Base {
    /// `None` where there was none.
    version: Option<Version>,
    /// Whether marks are taken away by nothing but this file or what the rows have by now.
    is_believed: bool,
    /// Whether it would serve better if it were saved anew.
    is_worn: bool,
    /// The scan that it has.
    scanned: Option<Stamp>,
    /// Whether another saved it.
    is_anothers: bool,
}

/// How much is left for later.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// One row in so many may differ from the file's before it is saved: reading a journal costs what saving a few hundred rows does.
    pub(crate) per_unsaved: usize,
    /// So many marks are left alone: looking at their files takes no time worth mentioning.
    pub(crate) marks: usize,
    /// So many marks are taken away per list, and one more for each journal that it had to read.
    pub(crate) cleared: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            per_unsaved: 512,
            marks: 512,
            cleared: 512,
        }
    }
}

/// The journals that one list has read, and what was wrong with them: none is read twice for it.
pub(crate) type Looked = HashMap<SessionId, Option<StoreError>>;

impl Index {
    /// Brings the rows up to date: what is new, gone, or may have been written.
    pub(crate) fn refresh(&mut self, folder: &Folder) -> Result<Looked, StoreError> {
        let io = |error| StoreError::from_io("list", &folder.path, error);
        let now = folder.files.now();
        let stamp = folder.files.look(&folder.path).map_err(io)?;
        let stamp = stamp.map(|found| Stamp::of(&found));
        let mut looked = Looked::new();

        let mut doubted = self.take_over(folder);
        if doubted || stamp.is_none() || self.scanned != stamp {
            let names = read_names(folder).map_err(io)?;
            // Whoever took a mark away had saved the index before that: so this look is behind the names.
            doubted |= self.take_over(folder);
            self.compare(folder, &names, &mut looked);
            self.scanned = stamp.filter(|stamp| stamp.is_settled(now));
        }
        let rows = self.rows().iter().enumerate();
        let which: Vec<usize> = rows
            .filter(|(_, row)| doubted || row.marked || row.standing != Standing::Settled)
            .map(|(at, _)| at)
            .collect();
        self.look_at(folder, which, &mut looked);
        // All were looked at. Without a file there is nothing to tell by whether one came and went.
        self.base.is_believed = self.base.version.is_some_and(Version::is_unique);
        Ok(looked)
    }

    /// Takes over what another store saved. Whether no row can be believed without a look at its file.
    fn take_over(&mut self, folder: &Folder) -> bool {
        let version = saved::version(folder);
        if version == self.base.version {
            return !self.base.is_believed;
        }
        (self.scanned, self.unsaved) = (None, 0);
        let loaded = saved::load(folder);
        let is_good = loaded.as_ref().is_some_and(|loaded| loaded.is_good);
        self.base = Base {
            version,
            is_believed: is_good,
            is_worn: !is_good && (loaded.is_none() || folder.files.boot().is_some()),
            scanned: None,
            is_anothers: true,
        };
        // Without one, what is in memory is as good as any other copy: doubtful, and better than nothing.
        if let Some(loaded) = loaded {
            self.rows = loaded.rows;
            self.base.version = Some(loaded.version);
            if is_good {
                (self.scanned, self.base.scanned) = (loaded.scanned, loaded.scanned);
            }
        }
        !is_good
    }

    /// Compares the rows with the folder's names, and reads the journals that are new.
    fn compare(&mut self, folder: &Folder, names: &Names, looked: &mut Looked) {
        let compared = names.compare(self.rows());
        self.rows.mark(|at| compared.rows[at] == Presence::Marked);
        let gone = compared.rows.iter().enumerate();
        let gone = gone
            .filter(|(_, presence)| **presence == Presence::Gone)
            .map(|(at, _)| (at, Change::Gone))
            .collect();
        let new = compared.new.into_iter().filter_map(|(id, marked)| {
            let id = SessionId::parse(id).ok()?;
            let (row, error) = summary::read(folder, &id)?;
            looked.insert(id, error);
            Some(Row { marked, ..row })
        });
        let new = new.collect();
        self.change(gone, new);
    }

    /// Looks at the files of rows, given by rising indexes, and reads those that differ. Whether any did.
    pub(crate) fn look_at(
        &mut self,
        folder: &Folder,
        which: impl IntoIterator<Item = usize>,
        looked: &mut Looked,
    ) -> bool {
        let mut changes = Vec::new();
        for at in which {
            let row = &self.rows()[at];
            if looked.contains_key(&row.id) {
                continue;
            }
            let journal = Paths::new(folder, &row.id).journal();
            // Where the look fails, the error of reading says more.
            if let Ok(found) = folder.files.look(&journal)
                && found.is_some_and(|found| row.is_true_of(&found))
            {
                continue;
            }
            changes.push(match summary::read(folder, &row.id) {
                None => (at, Change::Gone),
                Some((new, error)) => {
                    looked.insert(row.id.clone(), error);
                    let marked = row.marked;
                    (at, Change::Replaced(Row { marked, ..new }))
                }
            });
        }
        let any = !changes.is_empty();
        self.change(changes, Vec::new());
        any
    }

    fn change(&mut self, changes: Vec<(usize, Change)>, added: Vec<Row>) {
        self.unsaved += changes.len() + added.len();
        self.rows.update(changes, added);
    }

    /// The rows, in the list's order.
    pub(crate) fn rows(&self) -> &[Row] {
        self.rows.as_slice()
    }

    /// Where the rows behind a place in the list begin.
    pub(crate) fn after(&self, place: Option<&Key>) -> usize {
        self.rows.after(place)
    }

    /// Saves what is worth it, and takes marks away. What can't be done is left for the next list: an index in memory serves, too.
    pub(crate) fn keep(&mut self, folder: &Folder, looked: &Looked) {
        let total = self.rows().len();
        // That the names of a folder were read is worth saving once, where it can be believed: for a process that lists and ends,
        // as a command does.
        let rescanned = self.base.is_anothers
            && self.scanned.is_some()
            && self.scanned != self.base.scanned
            && folder.files.boot().is_some();
        let saves = self.unsaved.saturating_mul(self.bounds.per_unsaved) > total
            || rescanned
            || (self.base.is_worn && total > 0);
        let marked = self.rows().iter().filter(|row| row.marked).count();
        let clears = marked > self.bounds.marks;
        if !saves && !clears {
            return;
        }
        let Ok(Some(saving)) = Saving::begin(folder, self.base.version) else {
            return;
        };
        if !self.base.version.is_some_and(Version::is_unique) {
            // That there is no file says nothing of what was done since there was none before: another may have saved one, taken
            // marks away by it, and lost it. From here on nobody takes any.
            let rows = self.rows().iter().enumerate();
            let settled = rows.filter(|(_, row)| row.standing == Standing::Settled);
            let settled: Vec<usize> = settled.map(|(at, _)| at).collect();
            self.look_at(folder, settled, &mut Looked::new());
        }
        if saves || self.unsaved > 0 {
            let Ok(version) = saving.save(self.scanned, &self.rows) else {
                return;
            };
            self.base = Base {
                version: Some(version),
                is_believed: true,
                is_worn: false,
                scanned: self.scanned,
                is_anothers: false,
            };
            self.unsaved = 0;
        }
        if clears {
            let most = self.bounds.cleared + looked.len();
            self.clear(folder, most.min(marked - marked.min(self.bounds.marks / 2)));
        }
        // Nobody else saved in the meantime.
        drop(saving);
    }

    /// Takes marks away, of the sessions first that were left alone for longest. Only while nobody else can save, and when the
    /// file has these very rows.
    fn clear(&mut self, folder: &Folder, most: usize) {
        let rows = self.rows().iter().enumerate().rev();
        let which: Vec<usize> = rows
            .filter(|(_, row)| row.marked && row.standing == Standing::Settled)
            .map(|(at, _)| at)
            .take(most)
            .collect();
        for at in which {
            let row = &self.rows()[at];
            if let Ok(true) = marks::clear(&Paths::new(folder, &row.id), row) {
                self.rows.unmark(at);
                self.scanned = None;
            }
        }
    }
}

fn read_names(folder: &Folder) -> io::Result<Names> {
    let mut names = Names::default();
    for name in folder.files.names(&folder.path)? {
        if let Some(name) = name?.to_str() {
            names.push(name);
        }
    }
    Ok(names)
}
