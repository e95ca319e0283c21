//! How one gets the hold among all processes. Knows no time: it is told when to try, and says how long to wait before the next time.

use std::time::Duration;

use super::{Backoff, Lock, Locks, Mode, Room};
use crate::StoreError;

/// For so long is the hold seen free, with nobody of the room before taking it, until they are taken for stopped.
const PATIENCE: Duration = Backoff::CAP.saturating_mul(6);

/// One who wants the hold on a session, the only one of its store. Dropping it gives up the place.
#[derive(Debug)]
pub struct Waiter<G> {
    /// `None` until it is known that others want the hold too.
    place: Option<Place<G>>,
    backoff: Backoff,
    /// How long it waited before this attempt.
    paused: Duration,
}

/// A place behind the turnstile.
#[derive(Debug)]
struct Place<G> {
    room: Room,
    /// Both shared.
    turnstile: G,
    mark: G,
    turn: Turn,
}

#[derive(Debug, Clone, Copy)]
enum Turn {
    /// Others were here first, and left the hold free for so long in all. What one saw stays when another goes ahead of those who
    /// are stopped, so that the next to do so is not that one again; and those who are not leave it free for moments only.
    Others { left_free: Duration },
    /// Only the holder is before us.
    Ours,
}

impl<G> Waiter<G> {
    /// One who has not tried yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            place: None,
            backoff: Backoff::new(),
            paused: Duration::ZERO,
        }
    }

    /// Tries to get the hold, and gives it where it was to be had. After that this waiter has nothing more to do, and no lock.
    ///
    /// # Errors
    /// What the store's locks said. The place is kept.
    pub fn attempt(&mut self, locks: &impl Locks<Guard = G>) -> Result<Option<G>, StoreError> {
        if let Some(place) = &self.place
            && !place.is_kept(locks)?
        {
            self.place = None;
        }
        let hold = match &mut self.place {
            None => match locks.try_lock(Lock::Turnstile, Mode::Alone)? {
                Some(_turnstile) => locks.try_lock(Lock::Hold, Mode::Alone)?,
                None => None,
            },
            Some(place) => {
                if let Turn::Others { left_free } = &mut place.turn {
                    let is_next = *left_free >= PATIENCE || !is_in_use(place.room.before(), locks)?;
                    if !is_next {
                        // Shared: whoever is first is not kept from it for longer than this takes.
                        if locks.try_lock(Lock::Hold, Mode::Shared)?.is_some() {
                            *left_free += self.paused;
                        }
                        return Ok(None);
                    }
                    place.turn = Turn::Ours;
                    self.backoff = Backoff::new();
                }
                locks.try_lock(Lock::Hold, Mode::Alone)?
            }
        };
        match (&hold, &self.place) {
            (Some(_), _) => self.place = None,
            (None, None) => self.place = place(locks)?,
            (None, Some(_)) => {}
        }
        Ok(hold)
    }

    /// How long to wait before the next attempt. `random` as for [`Backoff::next`].
    pub fn pause(&mut self, random: u32) -> Duration {
        self.paused = self.backoff.next(random);
        self.paused
    }
}

impl<G> Default for Waiter<G> {
    fn default() -> Self {
        Self::new()
    }
}

impl<G> Place<G> {
    /// Whether others can tell that it is taken.
    fn is_kept(&self, locks: &impl Locks<Guard = G>) -> Result<bool, StoreError> {
        Ok(locks.is_in_place(Lock::Turnstile, &self.turnstile)?
            && locks.is_in_place(Lock::Room(self.room), &self.mark)?)
    }
}

/// Takes a place. `None` where another looks at one of its locks in this very moment.
fn place<L: Locks>(locks: &L) -> Result<Option<Place<L::Guard>>, StoreError> {
    let mut in_use = [false; 3];
    for room in Room::ALL {
        in_use[room.index()] = is_in_use(room, locks)?;
    }
    // The younger of two, or the one behind the only one. All three are in use only where someone took long to get in: any will
    // do then, and patience ends it.
    let youngest = |room: &Room| in_use[room.before().index()] && !in_use[room.behind().index()];
    let room = Room::ALL.into_iter().find(youngest).unwrap_or(Room::ALL[0]);
    let Some(turnstile) = locks.try_lock(Lock::Turnstile, Mode::Shared)? else {
        return Ok(None);
    };
    let Some(mark) = locks.try_lock(Lock::Room(room), Mode::Shared)? else {
        return Ok(None);
    };
    Ok(Some(Place {
        room,
        turnstile,
        mark,
        turn: Turn::Others {
            left_free: Duration::ZERO,
        },
    }))
}

fn is_in_use(room: Room, locks: &impl Locks) -> Result<bool, StoreError> {
    Ok(locks.try_lock(Lock::Room(room), Mode::Alone)?.is_none())
}
