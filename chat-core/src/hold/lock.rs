//! The locks of a session, and the one thing about them that is IO.

use crate::StoreError;

/// One of a session's locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lock {
    /// The hold itself.
    Hold,
    /// Shared by all who wait: who can lock it alone knows that there are none.
    Turnstile,
    /// Shared by all who wait in this room.
    Room(Room),
}

impl Lock {
    /// All of them, for one who removes them with their session: those that only say who waits, then the hold.
    pub const ALL: [Self; 5] = [
        Self::Room(Room(0)),
        Self::Room(Room(1)),
        Self::Room(Room(2)),
        Self::Turnstile,
        Self::Hold,
    ];

    /// A name for it: `hold`, `turn`, `turn-0`, `turn-1` or `turn-2`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Hold => "hold",
            Self::Turnstile => "turn",
            Self::Room(Room(0)) => "turn-0",
            Self::Room(Room(1)) => "turn-1",
            Self::Room(Room(_)) => "turn-2",
        }
    }
}

/// One of the three rooms in which one waits. They follow each other in a circle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Room(u8);

impl Room {
    pub(super) const ALL: [Self; 3] = [Self(0), Self(1), Self(2)];

    /// Where it is among all.
    pub(super) fn index(self) -> usize {
        self.0.into()
    }

    /// The room of those who came earlier.
    pub(super) fn before(self) -> Self {
        Self((self.0 + 2) % 3)
    }

    /// The room of those who will come later.
    pub(super) fn behind(self) -> Self {
        Self((self.0 + 1) % 3)
    }
}

/// How a lock is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// By one, with nobody beside.
    Alone,
    /// By any number, with nobody who has it alone.
    Shared,
}

/// A store's way to lock what belongs to one session. The locks go with their owner: also when its process is killed, and, where a
/// store uses leases, when a lease runs out.
pub trait Locks {
    /// A lock that was taken. Dropping it lets go.
    type Guard;

    /// Takes a lock without waiting; `None` where others have it in a way that bars this one, also where they are of the same
    /// process. What is locked is made where it is not there.
    ///
    /// # Errors
    /// What the system said.
    fn try_lock(&self, lock: Lock, mode: Mode) -> Result<Option<Self::Guard>, StoreError>;

    /// Whether a lock that was taken is still what others would find taken: not where what is locked was removed meanwhile, as by a
    /// delete of the session, and may have been made anew. Whoever waits by such a lock takes its place again. Unless said
    /// otherwise it always is.
    ///
    /// # Errors
    /// What the system said.
    fn is_in_place(&self, lock: Lock, guard: &Self::Guard) -> Result<bool, StoreError> {
        let _ = (lock, guard);
        Ok(true)
    }
}
