//! Processes that want one session all the time, on a clock of their own.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    rc::Rc,
    time::Duration,
};

use proptest::prelude::*;

use super::{Backoff, Lock, Locks, Mode, Waiter};
use crate::StoreError;

/// A lock, and how often what is locked had been removed before.
type Made = (usize, Lock);

/// The locks of one session, as a system keeps them.
#[derive(Clone, Default)]
struct Table {
    /// How many share each lock; `None`: one has it alone.
    taken: Rc<RefCell<BTreeMap<Made, Option<usize>>>>,
    /// How often what is locked was removed and made anew.
    removed: Rc<Cell<usize>>,
    asked: Rc<Cell<usize>>,
}

struct Guard {
    table: Table,
    lock: Made,
}

impl Locks for Table {
    type Guard = Guard;

    fn try_lock(&self, lock: Lock, mode: Mode) -> Result<Option<Guard>, StoreError> {
        self.asked.set(self.asked.get() + 1);
        let lock = (self.removed.get(), lock);
        let mut taken = self.taken.borrow_mut();
        let shared = match (mode, taken.get(&lock)) {
            (Mode::Alone, None) => None,
            (Mode::Shared, None) => Some(1),
            (Mode::Shared, Some(Some(others))) => Some(others + 1),
            (Mode::Alone | Mode::Shared, Some(_)) => return Ok(None),
        };
        taken.insert(lock, shared);
        let table = self.clone();
        Ok(Some(Guard { table, lock }))
    }

    fn is_in_place(&self, _: Lock, guard: &Guard) -> Result<bool, StoreError> {
        Ok(guard.lock.0 == self.removed.get())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let mut taken = self.table.taken.borrow_mut();
        match taken.remove(&self.lock) {
            Some(Some(shared)) if shared > 1 => {
                taken.insert(self.lock, Some(shared - 1));
            }
            Some(Some(_) | None) => {}
            None => unreachable!("it was taken"),
        }
    }
}

impl Table {
    fn attempt(&self, waiter: &mut Waiter<Guard>) -> Option<Guard> {
        waiter.attempt(self).unwrap()
    }

    /// A waiter that has a place, while another has the hold.
    fn waiter(&self) -> Waiter<Guard> {
        let mut waiter = Waiter::new();
        assert!(self.attempt(&mut waiter).is_none());
        waiter
    }

    fn remove(&self) {
        self.removed.set(self.removed.get() + 1);
    }

    fn is_untouched(&self) -> bool {
        self.taken.borrow().is_empty()
    }
}

/// What each process is at.
enum Doing {
    Waits(Waiter<Guard>),
    Holds { _hold: Guard },
}

/// How the processes and the machine are.
#[derive(Debug, Clone)]
struct World {
    processes: usize,
    /// How long a turn lasts, and how much later than it wanted to one wakes at most, in microseconds.
    turn: u64,
    late: u64,
    /// How many more have a place and are stopped.
    stopped: usize,
    /// What stands in for randomness.
    random: Vec<u32>,
}

fn world() -> impl Strategy<Value = World> {
    let turns = prop_oneof![Just(50), Just(1_000), Just(40_000)];
    let random = proptest::collection::vec(any::<u32>(), 1..200);
    (2_usize..6, turns, 1..30_000_u64, 0_usize..3, random).prop_map(
        |(processes, turn, late, stopped, random)| World {
            processes,
            turn,
            late,
            stopped,
            random,
        },
    )
}

/// Who had each turn, and how often each of the others had one since that one had come.
fn run(world: &World) -> Vec<(usize, Vec<usize>)> {
    let mut random = world.random.iter().cycle();
    let mut random = || random.next().copied().unwrap_or_default();
    let table = Table::default();
    let hold = table.attempt(&mut Waiter::new());
    let _stopped: Vec<_> = (0..world.stopped).map(|_| table.waiter()).collect();
    drop(hold);
    let waits = || Doing::Waits(Waiter::new());
    let mut doing: Vec<_> = (0..world.processes).map(|_| waits()).collect();
    // One at a time does something, and who came first where two would in the same moment.
    let mut next: Vec<_> = (0..world.processes).map(|process| (0, process)).collect();
    let mut passed_by = vec![vec![0; world.processes]; world.processes];
    let mut turns = Vec::new();
    while turns.len() < 60 * world.processes {
        next.sort_unstable();
        let (now, process) = next[0];
        let late = u64::from(random()) % world.late;
        let after = match &mut doing[process] {
            Doing::Holds { .. } => {
                // Its next in line is there at once.
                doing[process] = waits();
                0
            }
            Doing::Waits(waiter) => match table.attempt(waiter) {
                Some(hold) => {
                    doing[process] = Doing::Holds { _hold: hold };
                    let passed_by_others =
                        std::mem::replace(&mut passed_by[process], vec![0; world.processes]);
                    passed_by
                        .iter_mut()
                        .for_each(|passed_by| passed_by[process] += 1);
                    turns.push((process, passed_by_others));
                    world.turn + late / 10
                }
                None => waiter.pause(random()).as_micros() as u64 + 20 + late,
            },
        };
        next[0].0 = now + after;
    }
    turns
}

proptest! {
    #[test]
    fn s5_whoever_waits_is_passed_by_each_other_process_twice_at_most(world in world()) {
        for (turn, (process, passed_by)) in run(&world).into_iter().enumerate() {
            prop_assert!(
                passed_by.iter().all(|times| *times <= 2),
                "process {} had turn {}, and the others so many since it came: {:?}", process, turn, passed_by
            );
        }
    }
}

#[test]
fn s5_where_nobody_else_is_it_takes_two_locks() {
    let table = Table::default();
    let hold = table.attempt(&mut Waiter::new());
    assert!(hold.is_some());
    assert_eq!(table.asked.get(), 2);
    drop(hold);
    assert!(table.is_untouched());
}

#[test]
fn s5_who_came_first_is_first_however_late_it_looks() {
    let table = Table::default();
    let mut hold = table.attempt(&mut Waiter::new()).unwrap();
    let mut sleeper = table.waiter();
    for _ in 0..10 {
        drop(hold);
        // Whoever has just let go is back at once, and looks more often.
        let mut back = Waiter::new();
        for _ in 0..4 {
            assert!(table.attempt(&mut back).is_none());
        }
        hold = table.attempt(&mut sleeper).unwrap();
        sleeper = back;
    }
    drop((hold, sleeper));
    assert!(table.is_untouched());
}

#[test]
fn s5_one_who_is_killed_or_gives_up_is_in_nobodys_way() {
    let table = Table::default();
    let hold = table.attempt(&mut Waiter::new()).unwrap();
    let (first, mut second) = (table.waiter(), table.waiter());
    drop(hold);
    assert!(table.attempt(&mut second).is_none());
    drop(first);
    assert!(table.attempt(&mut second).is_some());
    assert!(table.is_untouched());
}

#[test]
fn s5_one_whose_locks_were_removed_takes_its_place_again() {
    let table = Table::default();
    let hold = table.attempt(&mut Waiter::new()).unwrap();
    let mut waiter = table.waiter();
    // As when the session is deleted, made anew, and held before the waiter wakes.
    table.remove();
    drop(hold);
    let hold = table.attempt(&mut Waiter::new()).unwrap();
    assert!(table.attempt(&mut waiter).is_none());
    drop(hold);
    assert!(
        table.attempt(&mut Waiter::new()).is_none(),
        "nobody walks past it"
    );
    assert!(table.attempt(&mut waiter).is_some());
    assert!(table.is_untouched());
}

#[test]
fn s5_one_who_is_stopped_is_passed_and_no_sooner_than_the_longest_sleep() {
    let table = Table::default();
    let hold = table.attempt(&mut Waiter::new()).unwrap();
    let _stopped = table.waiter();
    let mut other = table.waiter();
    // As long as the hold is taken nobody is to blame.
    for _ in 0..100 {
        assert!(table.attempt(&mut other).is_none());
    }
    drop(hold);
    let mut waited = Duration::ZERO;
    let mut fresh = Waiter::new();
    let mut attempts = 0..100;
    while attempts.next().is_some() && table.attempt(&mut fresh).is_none() {
        waited += fresh.pause(0);
    }
    let (least, most) = (3 * Backoff::CAP, 12 * Backoff::CAP);
    assert!((least..most).contains(&waited), "{waited:?}");
}

#[test]
fn waits_grow_to_their_longest_and_are_a_little_random() {
    let (mut short, mut long) = (Backoff::new(), Backoff::default());
    let waits: Vec<_> = (0..9)
        .map(|_| (short.next(0), long.next(u32::MAX)))
        .collect();
    let micros = Duration::from_micros;
    assert_eq!(waits[0], (micros(125), micros(250)));
    assert_eq!(waits[4], (micros(2_000), micros(4_000)));
    assert_eq!(waits[8], (Backoff::CAP / 2, Backoff::CAP));
}
