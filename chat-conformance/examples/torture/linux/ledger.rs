//! The log that is kept outside: what workers said they would write, and what a store answered. Judges what is found in a store
//! afterwards; knows nothing of how a store keeps it.

use std::collections::{HashMap, HashSet};

use chat_core::{EntryId, Seq, SessionId};

use super::{
    findings::Findings,
    lines::{Line, Note},
    seen::{Seen, SeenEntry},
};

/// Everything said about one store.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    journals: HashMap<EntryId, Journal>,
    /// The journals that one worker after the other made under a session's id, oldest first.
    made: HashMap<SessionId, Vec<EntryId>>,
    pub(crate) acknowledged: u64,
    pub(crate) turns: u64,
    /// Whether answers are those of a machine whose power is gone: nobody could have heard them.
    is_powerless: bool,
    /// Entries that such a machine said are written.
    late_ones: HashSet<EntryId>,
    pub(crate) late: usize,
    /// How many of them are not there.
    pub(crate) late_lost: usize,
}

#[derive(Debug)]
struct Journal {
    session: SessionId,
    fate: Fate,
    entries: HashMap<EntryId, Known>,
}

/// What became of a journal as far as anyone was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// Whether it was created was never told.
    Intended,
    /// Someone was told that it, or an entry in it, is there.
    There,
    /// Its deletion began.
    Doomed,
    /// It was deleted.
    Gone,
}

#[derive(Debug)]
struct Known {
    seq: Seq,
    crc: u32,
    answer: Answer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// None came: it may be there or not.
    None,
    Written,
    NotWritten,
}

impl Ledger {
    /// From now on, what is answered obliges nobody.
    pub(crate) fn power_goes(&mut self) {
        self.is_powerless = true;
    }

    pub(crate) fn power_is_back(&mut self) {
        self.is_powerless = false;
    }

    pub(crate) fn hear(&mut self, line: &Line) {
        if self.is_powerless {
            match line {
                Line::Written(note) => {
                    self.late += 1;
                    self.late_ones.insert(note.id.clone());
                    return;
                }
                Line::NotWritten(_) | Line::Created(..) | Line::Deleted(_) => return,
                _ => {}
            }
        }
        match line {
            Line::Intended(note) => self.note(note, Answer::None),
            Line::Written(note) => {
                self.acknowledged += 1;
                self.note(note, Answer::Written);
            }
            Line::NotWritten(note) => self.note(note, Answer::NotWritten),
            Line::Creating(session, journal) => {
                self.made
                    .entry(session.clone())
                    .or_default()
                    .push(journal.clone());
                self.journal(session, journal);
            }
            Line::Created(session, journal) => {
                self.all_made(session, |other, fate| {
                    if other != journal {
                        *fate = Fate::Gone;
                    } else if *fate == Fate::Intended {
                        *fate = Fate::There;
                    }
                });
            }
            Line::Deleting(session) => self.all_made(session, |_, fate| {
                if *fate != Fate::Gone {
                    *fate = Fate::Doomed;
                }
            }),
            Line::Deleted(session) => self.all_made(session, |_, fate| *fate = Fate::Gone),
            Line::Turn => self.turns += 1,
            Line::Unknown(_)
            | Line::Torn(_)
            | Line::Dying(..)
            | Line::Failed(..)
            | Line::Said(_) => {}
        }
    }

    fn note(&mut self, note: &Note, answer: Answer) {
        let journal = self.journal(&note.session, &note.journal);
        if answer == Answer::Written && journal.fate == Fate::Intended {
            journal.fate = Fate::There;
        }
        let known = journal.entries.entry(note.id.clone()).or_insert(Known {
            seq: note.seq,
            crc: note.crc,
            answer,
        });
        known.answer = answer;
    }

    fn journal(&mut self, session: &SessionId, journal: &EntryId) -> &mut Journal {
        self.journals
            .entry(journal.clone())
            .or_insert_with(|| Journal {
                session: session.clone(),
                fate: Fate::Intended,
                entries: HashMap::new(),
            })
    }

    /// Sessions that are deleted are made by one worker at a time, so that its lines tell the order.
    fn all_made(&mut self, session: &SessionId, mut each: impl FnMut(&EntryId, &mut Fate)) {
        for id in self.made.get(session).into_iter().flatten() {
            if let Some(journal) = self.journals.get_mut(id) {
                each(id, &mut journal.fate);
            }
        }
    }

    /// The sessions which may be there.
    pub(crate) fn sessions(&self) -> HashSet<SessionId> {
        let there = self.journals.values().filter(|one| one.fate != Fate::Gone);
        there.map(|one| one.session.clone()).collect()
    }

    /// The sessions that are there with more entries than so many.
    pub(crate) fn longer_than(&self, many: usize) -> Vec<SessionId> {
        let long = |one: &&Journal| one.fate == Fate::There && one.acknowledged() > many;
        let mut sessions: Vec<SessionId> = self
            .journals
            .values()
            .filter(long)
            .map(|one| one.session.clone())
            .collect();
        // A map's order differs from run to run.
        sessions.sort();
        sessions
    }

    /// Holds what was found against what was said. What is found is durable from now on, and what isn't must never appear:
    /// the next judgement knows both.
    pub(crate) fn judge(&mut self, seen: &Seen) -> Findings {
        let mut findings = Findings {
            sessions: seen.sessions.len(),
            entries: seen
                .sessions
                .values()
                .map(|found| found.entries.len())
                .sum(),
            unopened: seen.unopened.clone(),
            disagree: seen.disagree.clone(),
            ..Findings::default()
        };
        let mut there = HashSet::new();
        for (session, found) in &seen.sessions {
            let Some(first) = found.entries.first() else {
                findings
                    .unopened
                    .push(format!("session {session} has no entries"));
                continue;
            };
            findings.disordered.extend(found.disorder(session));
            let known = self.journals.get_mut(&first.id);
            let Some(journal) = known.filter(|journal| journal.session == *session) else {
                findings.invented.push(format!(
                    "session {session}, whose first entry {} nobody intended",
                    first.id
                ));
                continue;
            };
            there.insert(first.id.clone());
            for entry in &found.entries {
                self.late_ones.remove(&entry.id);
            }
            journal.judge(&found.entries, &mut findings);
        }
        self.late_lost += self.late_ones.len();
        self.late_ones.clear();
        for (id, journal) in self
            .journals
            .iter_mut()
            .filter(|(id, _)| !there.contains(*id))
        {
            if seen.is_unopened(&journal.session) {
                continue;
            }
            if journal.fate == Fate::There {
                let lost = journal.acknowledged();
                findings.lost_entries += lost;
                findings.lost.push(format!(
                    "session {}, journal {id}, with {lost} acknowledged entries",
                    journal.session
                ));
            }
            journal.fate = Fate::Gone;
            journal.entries.clear();
        }
        findings
    }
}

impl Journal {
    fn acknowledged(&self) -> usize {
        self.entries
            .values()
            .filter(|known| known.answer == Answer::Written)
            .count()
    }

    fn judge(&mut self, found: &[SeenEntry], findings: &mut Findings) {
        let session = &self.session;
        if self.fate == Fate::Gone {
            findings.invented.push(format!(
                "session {session}, which is there again after it was deleted"
            ));
        }
        let mut there = HashSet::new();
        for entry in found {
            let place = format!("entry {} ({}) of session {session}", entry.seq, entry.id);
            if !there.insert(entry.id.clone()) {
                findings.disordered.push(format!("{place} is there twice"));
            }
            match self.entries.get_mut(&entry.id) {
                None => findings
                    .invented
                    .push(format!("{place}, which nobody intended")),
                Some(known) if known.answer == Answer::NotWritten => findings
                    .invented
                    .push(format!("{place}, which the store said is not written")),
                Some(known) if (known.seq, known.crc) != (entry.seq, entry.crc) => findings
                    .changed
                    .push(format!("{place} was written as entry {}", known.seq)),
                Some(known) => known.answer = Answer::Written,
            }
        }
        for (id, known) in &mut self.entries {
            match known.answer {
                _ if there.contains(id) => {}
                Answer::Written => {
                    findings.lost_entries += 1;
                    findings
                        .lost
                        .push(format!("entry {} ({id}) of session {session}", known.seq));
                    // Told once.
                    known.answer = Answer::NotWritten;
                }
                Answer::None => known.answer = Answer::NotWritten,
                Answer::NotWritten => {}
            }
        }
        if self.fate == Fate::Intended || self.fate == Fate::Doomed {
            self.fate = Fate::There;
        }
    }
}
