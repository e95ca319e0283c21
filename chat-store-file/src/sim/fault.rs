//! What may go wrong, and when: chosen by number, or by chance.

use fastrand::Rng;

/// Something that goes wrong with one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// It fails and does nothing; a sync fails as Linux fails one, see `Inode::fail_sync`.
    Fail,
    /// It fails, and is done all the same.
    FailDone,
    /// A write takes a part of the bytes.
    Short,
    /// A write takes a part of the bytes, and the next one finds the disk full.
    Full,
    /// The process is killed, in the middle of a write where it is one.
    Kill,
    /// The power fails.
    PowerLoss,
}

impl Fault {
    pub(super) const ALL: [Self; 6] = [
        Self::Fail,
        Self::FailDone,
        Self::Short,
        Self::Full,
        Self::Kill,
        Self::PowerLoss,
    ];
}

/// When something goes wrong.
#[derive(Debug, Clone)]
pub(super) enum Plan {
    /// At these operations, counted from 0.
    At(Vec<(u64, Fault)>),
    /// At one operation in so many, one of these.
    OneIn(u32, Vec<Fault>),
    /// At the next operation of a kind, then at the next one of the kind after that, and so on.
    Next(Vec<(&'static str, Fault)>),
}

impl Plan {
    pub(super) const NEVER: Self = Self::At(Vec::new());

    /// What goes wrong with an operation, by its number and kind.
    pub(super) fn fault(&mut self, number: u64, kind: &str, rng: &mut Rng) -> Option<Fault> {
        match self {
            Self::At(faults) => faults
                .iter()
                .find(|(at, _)| *at == number)
                .map(|(_, fault)| *fault),
            Self::OneIn(_, faults) if faults.is_empty() => None,
            Self::OneIn(many, faults) => {
                (rng.u32(..*many) == 0).then(|| faults[rng.usize(..faults.len())])
            }
            Self::Next(faults) => {
                let is_next = faults.first().is_some_and(|(next, _)| *next == kind);
                is_next.then(|| faults.remove(0).1)
            }
        }
    }
}

/// A lie of the disk's: what the store is built on taken away, so that the simulation has to notice. What a store would do
/// wrong looks just like it from below.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bug {
    /// `sync_data` does nothing: as a store that answers before it has synced.
    NoDataSync,
    /// `sync_all` does nothing: as a store that creates, or cuts off a tail, without a sync.
    NoFileSync,
    /// `sync_folder` does nothing: as a store that forgets that names have to be durable, too.
    NoFolderSync,
    /// Bytes that are there already are not written again: as a store that doesn't make sure of a last entry.
    NoRewrite,
    /// `set_len` does nothing: as a store that leaves a torn tail where it is.
    NoCut,
    /// A short write is called a whole one: as a store that doesn't look.
    HiddenShortWrite,
    /// A failed sync is called a good one: as a store that doesn't look.
    HiddenFailedSync,
    /// Locks keep nobody out: as a store without holds.
    NoLocks,
}

impl Bug {
    pub(super) const ALL: [Self; 8] = [
        Self::NoDataSync,
        Self::NoFileSync,
        Self::NoFolderSync,
        Self::NoRewrite,
        Self::NoCut,
        Self::HiddenShortWrite,
        Self::HiddenFailedSync,
        Self::NoLocks,
    ];
}
