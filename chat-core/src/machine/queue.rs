//! Whatever waits, first come, first served, and found by its name: nothing here looks at all of it.

use std::collections::BTreeMap;

/// Values in the order they came, each under a name of its own.
#[derive(Debug)]
pub(super) struct Queue<K, V> {
    waiting: BTreeMap<u64, (K, V)>,
    places: BTreeMap<K, u64>,
    next: u64,
}

impl<K, V> Default for Queue<K, V> {
    fn default() -> Self {
        Self {
            waiting: BTreeMap::new(),
            places: BTreeMap::new(),
            next: 0,
        }
    }
}

impl<K: Ord + Clone, V> Queue<K, V> {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn contains(&self, name: &K) -> bool {
        self.places.contains_key(name)
    }

    /// Adds it behind all others.
    pub(super) fn push_back(&mut self, name: K, value: V) {
        self.places.insert(name.clone(), self.next);
        self.waiting.insert(self.next, (name, value));
        self.next += 1;
    }

    pub(super) fn pop_front(&mut self) -> Option<V> {
        let (_, (name, value)) = self.waiting.pop_first()?;
        self.places.remove(&name);
        Some(value)
    }

    /// Takes it out of the middle.
    pub(super) fn remove(&mut self, name: &K) -> Option<V> {
        let place = self.places.remove(name)?;
        self.waiting.remove(&place).map(|(_, value)| value)
    }

    pub(super) fn front_mut(&mut self) -> Option<&mut V> {
        let mut waiting = self.waiting.values_mut();
        waiting.next().map(|(_, value)| value)
    }

    pub(super) fn get_mut(&mut self, name: &K) -> Option<&mut V> {
        let place = self.places.get(name)?;
        self.waiting.get_mut(place).map(|(_, value)| value)
    }

    /// All of it, in order.
    pub(super) fn into_values(self) -> impl Iterator<Item = V> {
        self.waiting.into_values().map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, cmp::Ordering};

    use super::*;

    thread_local! {
        static COMPARED: Cell<u64> = const { Cell::new(0) };
    }

    /// A name that counts how often names are compared.
    #[derive(Debug, Clone, PartialEq, Eq)]
    struct Name(u64);

    impl Ord for Name {
        fn cmp(&self, other: &Self) -> Ordering {
            COMPARED.set(COMPARED.get() + 1);
            self.0.cmp(&other.0)
        }
    }

    impl PartialOrd for Name {
        fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
            Some(self.cmp(other))
        }
    }

    #[test]
    fn t6_who_leaves_the_middle_is_gone_and_the_others_keep_their_order() {
        let mut queue = Queue::default();
        for name in [5, 3, 9, 1] {
            queue.push_back(name, name * 10);
        }
        assert_eq!(queue.remove(&9), Some(90));
        assert_eq!(queue.remove(&9), None);
        assert!(queue.contains(&3) && !queue.contains(&9));
        *queue.get_mut(&3).unwrap() += 1;
        assert_eq!(queue.front_mut(), Some(&mut 50));
        assert_eq!(queue.pop_front(), Some(50));
        assert_eq!(queue.get_mut(&5), None);
        queue.push_back(5, 2);
        assert_eq!(queue.into_values().collect::<Vec<_>>(), [31, 10, 2]);
    }

    /// Wherever those stand who leave: at the end, or at the front.
    #[test]
    fn t6_leaving_costs_a_look_at_few_of_those_who_wait() {
        const WAIT: u64 = 4096;
        for from_the_end in [true, false] {
            let mut queue = Queue::default();
            for name in 0..WAIT {
                queue.push_back(Name(name), ());
            }
            COMPARED.set(0);
            for leaves in 0..WAIT {
                let name = if from_the_end {
                    WAIT - 1 - leaves
                } else {
                    leaves
                };
                assert!(queue.remove(&Name(name)).is_some());
            }
            assert!(queue.is_empty());
            let each = COMPARED.get() / WAIT;
            assert!(each < 100, "{each} comparisons each");
        }
    }
}
