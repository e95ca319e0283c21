//! What a session may look like, from all that was answered about it: the reference that the store is compared with.

use std::path::PathBuf;

use chat_core::{Entry, EntryBody, EntryId, Seq, SessionId, Timestamp, TurnId};
use fastrand::Rng;

/// The entries of a journal by their numbers; `None` where there is no journal.
pub(super) type Journal = Option<Vec<usize>>;

/// One session.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) id: SessionId,
    /// All entries that were ever made for it, by number, and their text.
    issued: Vec<(Entry, String)>,
    /// What programs may see now. One where an answer has told.
    now: Vec<Journal>,
    /// What there may be after a loss of power: no less than was promised.
    later: Vec<Journal>,
    pub(super) trust: Trust,
    /// Whether all that was answered was answered as durable.
    pub(super) promised: bool,
    /// Whether a sync failed in a process that has ended since: what it had seen of it, nobody knows.
    pub(super) unsure: bool,
    /// Torn tails that were reported to be set aside.
    pub(super) asides: Vec<Aside>,
}

/// How far a session can be told from what was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    Full,
    /// The power failed under `Durability::Os`: any beginning of it may be left, and it may be damaged.
    Little,
    /// It was found damaged after that; nothing more is done to it.
    None,
}

#[derive(Debug)]
pub(super) struct Aside {
    pub(super) path: PathBuf,
    pub(super) bytes: Vec<u8>,
}

/// Why a run is wrong.
pub(super) type Wrong = String;

impl Session {
    pub(super) fn new(id: &str) -> Self {
        Self {
            id: SessionId::parse(id).unwrap(),
            issued: Vec::new(),
            now: vec![None],
            later: vec![None],
            trust: Trust::Full,
            promised: true,
            unsure: false,
            asides: Vec::new(),
        }
    }

    /// A new entry for a place.
    pub(super) fn issue(&mut self, seq: Seq, rng: &mut Rng) -> Entry {
        let number = self.issued.len();
        let body = match seq {
            Seq::ZERO => EntryBody::SessionCreated { labels: None },
            // One body is quicker to read, the other is counted by lists.
            Seq(seq) if seq % 3 == 1 => EntryBody::TurnAccepted {
                turn_id: TurnId::parse("t").unwrap(),
                input: "ask".into(),
                retry_of: None,
                labels: None,
            },
            _ => EntryBody::Unknown {
                kind: "note".repeat(rng.usize(1..8)).into(),
            },
        };
        let id = EntryId::parse(number.to_string()).unwrap();
        let entry = Entry::new(seq, id, Timestamp::UNIX_EPOCH, body);
        let text = entry.encode().to_string();
        self.issued.push((entry.clone(), text));
        entry
    }

    /// The one journal it has, as its holder knows it.
    pub(super) fn known(&self) -> &[usize] {
        match self.now.as_slice() {
            [Some(journal)] => journal,
            others => panic!("held, and not known: {others:?}"),
        }
    }

    pub(super) fn entry(&self, number: usize) -> &Entry {
        &self.issued[number].0
    }

    /// Whether nothing is there, as far as one can tell.
    pub(super) fn may_be_missing(&self) -> bool {
        self.trust != Trust::Full || self.now.contains(&None)
    }

    pub(super) fn may_be_there(&self) -> bool {
        self.trust != Trust::Full || self.now.iter().any(Option::is_some)
    }

    /// How many entries all that it may be have in common: read from there or before, one can tell which it is.
    pub(super) fn common(&self) -> usize {
        let mut journals = self.now.iter().flatten();
        let Some(first) = journals.next().filter(|_| self.trust == Trust::Full) else {
            return 0;
        };
        journals.fold(first.len(), |common, journal| {
            let pairs = first.iter().zip(journal).take(common);
            pairs.take_while(|(a, b)| a == b).count()
        })
    }

    /// The whole journal that these entries, read from a place on, are the end of.
    pub(super) fn find(&self, entries: &[Entry], from: usize) -> Result<Vec<usize>, Wrong> {
        let mut numbers = Vec::new();
        for (at, entry) in entries.iter().enumerate() {
            if entry.seq() != Seq((from + at) as u64) {
                return Err(format!(
                    "entry {} stands where {} belongs",
                    entry.seq(),
                    from + at
                ));
            }
            let number = entry.id().as_str().parse().unwrap_or(usize::MAX);
            match self.issued.get(number) {
                Some((_, issued)) if **issued == *entry.encode() => numbers.push(number),
                Some((_, issued)) => return Err(format!("{issued} was changed to {entry:?}")),
                None => return Err(format!("{entry:?} was never written")),
            }
        }
        if self.trust != Trust::Full {
            return Ok(numbers);
        }
        let mut fitting = self
            .now
            .iter()
            .flatten()
            .filter(|journal| journal[from..] == numbers);
        fitting.next().cloned().ok_or_else(|| {
            format!(
                "entries {numbers:?} from {from} on, expected of {:?}",
                self.now
            )
        })
    }

    pub(super) fn states(&self) -> &[Journal] {
        &self.now
    }

    /// Whether a list may show it with so many turns, or not at all.
    pub(super) fn may_be_listed(&self, turns: Option<u64>) -> bool {
        let counted = |journal: &[usize]| {
            let entries = journal.iter().map(|number| self.entry(*number).body());
            entries.filter(|body| body.turn_id().is_some()).count() as u64
        };
        let mut journals = self.now.iter();
        journals.any(|journal| journal.as_deref().map(counted) == turns)
    }

    /// An answer that tells: this is there. As durable, where it is promised so.
    pub(super) fn is(&mut self, journal: Option<Vec<usize>>, promised: bool) {
        let was_durable = self.promised && self.later.as_slice() == [journal.clone()];
        self.promised = (promised && !self.unsure) || was_durable;
        self.now = vec![journal.clone()];
        self.later = vec![journal];
        self.trust = Trust::Full;
    }

    /// No answer, or none that tells: this may have come of it.
    pub(super) fn may_be(&mut self, journal: Option<Vec<usize>>) {
        for states in [&mut self.now, &mut self.later] {
            if !states.contains(&journal) {
                states.push(journal.clone());
            }
        }
    }

    /// It was seen not to be there, by who was not promised that it stays so.
    pub(super) fn is_missing_now(&mut self) {
        self.now = vec![None];
    }

    pub(super) fn numbers(entries: &[Entry]) -> Vec<usize> {
        let numbers = entries.iter().map(|entry| entry.id().as_str().parse());
        numbers
            .map(|number| number.expect("an id that was issued"))
            .collect()
    }

    pub(super) fn lose_power(&mut self) {
        self.unsure = false;
        if self.promised {
            self.now.clone_from(&self.later);
        } else if self.trust == Trust::Full
            && self.now.iter().chain(&self.later).any(Option::is_some)
        {
            self.trust = Trust::Little;
        }
    }
}
