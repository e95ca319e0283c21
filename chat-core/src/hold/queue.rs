//! Who of one store waits for which session: first come, first served (law S5). Knows nothing of other processes.

use std::{
    collections::BTreeMap,
    ops::{Deref, DerefMut},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::OwnedMutexGuard;

use crate::SessionId;

/// The queues of one store, and what it remembers of its sessions.
///
/// ```
/// use chat_core::{SessionId, hold::{Queues, Remembered}};
/// use futures_util::FutureExt as _;
///
/// /// How many entries the journal has.
/// #[derive(Default)]
/// struct Length(u64);
/// impl Remembered for Length {}
///
/// let (queues, session) = (Queues::<Length>::new(1000), SessionId::parse("s1")?);
/// let (mut front, interest) = queues.wait(&session).now_or_never().expect("nobody is before us");
/// front.0 = 17;
/// assert!(queues.wait(&session).now_or_never().is_none(), "the next one waits");
/// assert!(queues.wait_unwanted(&session).now_or_never().is_some_and(|front| front.is_none()));
/// drop((front, interest));
/// assert_eq!(queues.remembered(&session, |length| length.0), Some(17));
/// # Ok::<(), chat_core::IdError>(())
/// ```
#[derive(Debug)]
pub struct Queues<T> {
    idle: usize,
    sessions: Mutex<Sessions<T>>,
}

#[derive(Debug)]
struct Sessions<T> {
    known: BTreeMap<SessionId, Session<T>>,
    /// So many are known when those that can be forgotten make room.
    most: usize,
}

/// One session as its store knows it.
#[derive(Debug)]
struct Session<T> {
    /// Tokio's mutex is first come, first served.
    queue: Arc<tokio::sync::Mutex<T>>,
    interest: Interest,
}

/// What a store remembers of a session that nobody wants. Forgotten, it is the default again.
pub trait Remembered: Default {
    /// Whether this can be forgotten to make room for others. Unless said otherwise it can.
    fn is_forgettable(&self) -> bool {
        true
    }
}

impl Remembered for () {}

/// The front of a session's queue, and what is remembered of it: all others of this store wait until this is dropped.
#[derive(Debug)]
pub struct Front<T>(OwnedMutexGuard<T>);

/// Kept by everyone who waits for a hold or has it, so that a delete is refused (law S7). It is to go with the future or writer in
/// the caller's hand; the work behind those may need the [`Front`] for a moment more.
#[derive(Debug, Clone, Default)]
pub struct Interest(Arc<()>);

impl<T: Remembered> Queues<T> {
    /// No queues yet. About `idle` sessions that nobody wants are remembered before all that can be are forgotten.
    #[must_use]
    pub fn new(idle: usize) -> Self {
        Self {
            idle,
            sessions: Mutex::new(Sessions {
                known: BTreeMap::new(),
                most: idle,
            }),
        }
    }

    /// Takes a place and waits for the front. The place is taken when this is first polled; dropping the future gives it up.
    pub async fn wait(&self, session: &SessionId) -> (Front<T>, Interest) {
        let (queue, interest) = self.known(session, Session::wanted);
        (Front(queue.lock_owned().await), interest)
    }

    /// The front, where it is free.
    pub fn try_front(&self, session: &SessionId) -> Option<(Front<T>, Interest)> {
        let (queue, interest) = self.known(session, Session::wanted);
        Some((Front(queue.try_lock_owned().ok()?), interest))
    }

    /// Waits for the front of a queue that nobody of this store wants, as a delete does; `None` where someone does. Dropping the
    /// future gives up the place.
    pub async fn wait_unwanted(&self, session: &SessionId) -> Option<Front<T>> {
        let queue = self.known(session, |known| {
            (!known.is_wanted()).then(|| known.queue.clone())
        })?;
        Some(Front(queue.lock_owned().await))
    }

    /// Looks at what is remembered of a session; `None` where that is nothing, or someone has the front.
    pub fn remembered<R>(&self, session: &SessionId, look: impl FnOnce(&T) -> R) -> Option<R> {
        let queue = self.lock().known.get(session)?.queue.clone();
        let known = queue.try_lock().ok()?;
        Some(look(&known))
    }

    /// Forgets a session, unless someone wants it or what is remembered is not to be forgotten.
    pub fn forget(&self, session: &SessionId) {
        let mut sessions = self.lock();
        if sessions
            .known
            .get(session)
            .is_some_and(Session::is_forgettable)
        {
            sessions.known.remove(session);
        }
    }

    fn known<R>(&self, session: &SessionId, look: impl FnOnce(&Session<T>) -> R) -> R {
        let mut sessions = self.lock();
        let Sessions { known, most } = &mut *sessions;
        if known.len() >= *most && !known.contains_key(session) {
            known.retain(|_, session| !session.is_forgettable());
            // Not looked through again for each one more, where nearly all are wanted.
            *most = self.idle.max(2 * known.len());
        }
        look(known.entry(session.clone()).or_default())
    }

    fn lock(&self) -> MutexGuard<'_, Sessions<T>> {
        // Nothing that is done under the lock can leave it half done.
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Remembered> Session<T> {
    fn wanted(&self) -> (Arc<tokio::sync::Mutex<T>>, Interest) {
        (self.queue.clone(), self.interest.clone())
    }

    fn is_wanted(&self) -> bool {
        Arc::strong_count(&self.interest.0) > 1
    }

    /// Whether only the map has it, and it is nothing that has to be remembered.
    fn is_forgettable(&self) -> bool {
        let is_idle = Arc::strong_count(&self.queue) == 1 && !self.is_wanted();
        is_idle
            && self
                .queue
                .try_lock()
                .is_ok_and(|known| known.is_forgettable())
    }
}

impl<T: Default> Default for Session<T> {
    fn default() -> Self {
        Self {
            queue: Arc::default(),
            interest: Interest::default(),
        }
    }
}

impl<T> Deref for Front<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Front<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn session(id: &str) -> SessionId {
        SessionId::parse(id).unwrap()
    }

    #[test]
    fn a_session_that_nobody_wants_costs_nothing() {
        let queues = Queues::<()>::new(16);
        for n in 0..10_000 {
            drop(
                queues
                    .wait(&session(&format!("s{n}")))
                    .now_or_never()
                    .unwrap(),
            );
        }
        assert!(queues.lock().known.len() <= 16);
    }

    #[derive(Default)]
    struct Word(&'static str);

    impl Remembered for Word {
        fn is_forgettable(&self) -> bool {
            self.0 != "never"
        }
    }

    #[test]
    fn what_is_wanted_or_must_not_be_forgotten_is_remembered() {
        let queues = Queues::<Word>::new(4);
        let say = |id: &str, word| {
            let (mut front, interest) = queues.try_front(&session(id)).unwrap();
            *front = Word(word);
            (front, interest)
        };
        drop(say("idle", "something"));
        drop(say("doubted", "never"));
        let wanted = say("wanted", "something");
        let word = |id| queues.remembered(&session(id), |word| word.0);
        assert_eq!((word("idle"), word("wanted")), (Some("something"), None));
        for n in 0..100 {
            drop(say(&format!("s{n}"), "something"));
        }
        queues.forget(&session("doubted"));
        queues.forget(&session("wanted"));
        drop(wanted);
        assert_eq!(
            ["idle", "doubted", "wanted"].map(word),
            [None, Some("never"), Some("something")]
        );
        queues.forget(&session("wanted"));
        assert_eq!(word("wanted"), None);
    }

    #[test]
    fn s7_one_who_waits_is_told_from_one_whose_work_goes_on() {
        let (queues, session) = (Queues::<()>::new(0), session("s"));
        let (front, interest) = queues.wait(&session).now_or_never().unwrap();
        let unwanted = || queues.wait_unwanted(&session).now_or_never();
        assert!(matches!(unwanted(), Some(None)));
        drop(interest);
        assert!(unwanted().is_none(), "waits for the front");
        drop(front);
        assert!(matches!(unwanted(), Some(Some(_))));
    }
}
