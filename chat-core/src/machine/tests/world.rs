//! All that surrounds a machine: a journal which is the truth, a store and a responder that do nothing until told. It refuses
//! what no shell could carry out, writes down what happened, and decides nothing.

use std::collections::BTreeSet;

use super::render;
use crate::{
    ApprovalId, ContextPolicy, Entry, EntryBody, EntryId, Labels, NewTurn, Output, Reply,
    ResponderInfo, Seq, SessionId, SessionMachine, Shutdown, SteerId, Timestamp, Transcript,
    TurnId, TurnInput, TurnStatus,
};

pub(super) struct World {
    pub(super) machine: SessionMachine,
    /// The truth, other writers' entries among it.
    pub(super) journal: Vec<Entry>,
    /// What stands in the store instead, once the session was deleted and made anew.
    pub(super) made_anew: Option<Vec<Entry>>,
    pub(super) ask: Option<Ask>,
    pub(super) hold: Hold,
    pub(super) execution: Option<Execution>,
    pub(super) facts: Vec<Fact>,
    /// Entries of which nobody here knows whether they are in the journal.
    pub(super) unknown: BTreeSet<EntryId>,
    /// The entry that was last to be written.
    pub(super) writing: Option<EntryId>,
    /// What replies were given.
    pub(super) replies: Vec<(TurnId, Reply)>,
    /// The journal as far as the machine has said to know it.
    replayed: Transcript,
    settled: BTreeSet<TurnId>,
    shown: usize,
    clock: i64,
    pub(super) turns: Vec<TurnId>,
    pub(super) steers: u64,
    pub(super) others: u64,
}

/// What the store was asked and has not answered.
#[derive(Debug, Clone)]
pub(super) enum Ask {
    Acquire { from: Seq, given_up: bool },
    Append { entry: Box<Entry>, last: bool },
    Recover { from: Seq },
}

/// Where the hold is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Hold {
    Free,
    /// It is here, for this turn once one was written with it.
    Here(Option<TurnId>),
    /// It was here and went to another holder; the machine was told.
    Lost(Option<TurnId>),
}

/// A responder at work.
#[derive(Debug)]
pub(super) struct Execution {
    pub(super) turn: TurnId,
    pub(super) offered: Vec<SteerId>,
    pub(super) replied: bool,
    pub(super) events_ended: bool,
    pub(super) requested: Vec<ApprovalId>,
}

impl Execution {
    pub(super) fn all_in(&self) -> bool {
        self.replied && self.events_ended
    }
}

/// Something done to a world.
pub(super) type Blow = fn(&mut World);

/// One thing that happened.
#[derive(Debug)]
pub(super) enum Fact {
    Sent {
        turn: TurnId,
        retry_of: Option<TurnId>,
    },
    Cancel {
        turn: TurnId,
        reason: String,
    },
    Steer {
        ticket: SteerId,
        turn: Option<TurnId>,
    },
    Shutdown(Shutdown),
    Abandon,
    /// Any completion, in words.
    Did(String),
    /// An entry of this machine's got into the journal.
    Journaled(Seq),
    Told(Output),
}

pub(super) fn turn(id: impl AsRef<str>) -> TurnId {
    TurnId::parse(id).unwrap()
}

pub(super) fn entry_id(id: impl AsRef<str>) -> EntryId {
    EntryId::parse(id).unwrap()
}

/// Each turn has labels of its own.
pub(super) fn labels(turn: &TurnId) -> Labels {
    Labels::new([("turn", turn.as_str())]).unwrap()
}

impl World {
    pub(super) fn new() -> Self {
        let created = Entry::new(
            Seq::ZERO,
            entry_id("created"),
            Timestamp::UNIX_EPOCH,
            EntryBody::SessionCreated { labels: None },
        );
        Self::of(vec![created])
    }

    /// A session with this journal, just opened.
    pub(super) fn of(journal: Vec<Entry>) -> Self {
        let mut transcript = Transcript::default();
        journal.iter().for_each(|entry| transcript.apply(entry));
        let info = ResponderInfo::default();
        Self {
            machine: SessionMachine::new(SessionId::parse("s").unwrap(), info, transcript.clone()),
            journal,
            made_anew: None,
            ask: None,
            hold: Hold::Free,
            execution: None,
            facts: Vec::new(),
            unknown: BTreeSet::new(),
            writing: None,
            replies: Vec::new(),
            replayed: transcript,
            settled: BTreeSet::new(),
            shown: 0,
            clock: 1_769_851_800_000,
            turns: Vec::new(),
            steers: 0,
            others: 0,
        }
    }

    /// What happened since this was last asked, as lines.
    pub(super) fn log(&mut self) -> Vec<String> {
        let log = render::lines(&self.facts[self.shown..]);
        self.shown = self.facts.len();
        log
    }

    /// Only what the machine told since this was last asked, as lines.
    pub(super) fn told(&mut self) -> Vec<String> {
        let mut log = self.log();
        log.retain(|line| !line.starts_with('>'));
        log
    }

    /// A second passes.
    pub(super) fn tick(&mut self) -> Timestamp {
        self.clock += 1000;
        Timestamp::from_millis(self.clock).unwrap()
    }

    pub(super) fn next_seq(&self) -> Seq {
        Seq(self.journal.len() as u64)
    }

    /// What the store reads from a place on.
    pub(super) fn stored(&self, from: Seq) -> Vec<Entry> {
        let stored = self.made_anew.as_ref().unwrap_or(&self.journal);
        stored.get(from.0 as usize..).unwrap_or_default().to_vec()
    }

    pub(super) fn new_turn(&mut self, input: TurnInput) -> NewTurn {
        let id = turn(format!("t{}", self.turns.len() + 1));
        self.turns.push(id.clone());
        NewTurn {
            accepted_id: entry_id(format!("{id}.accepted")),
            outcome_id: entry_id(format!("{id}.outcome")),
            input,
            labels: Some(labels(&id)),
            id,
            context: Some(ContextPolicy::LastTurns(self.turns.len())),
        }
    }

    /// Carries out what the machine tells, as far as that needs nobody's answer, and checks that a shell could.
    pub(super) fn drain(&mut self) {
        while let Some(output) = self.machine.poll_output() {
            self.carry_out(&output);
            self.facts.push(Fact::Told(output));
        }
        self.check_replay();
    }

    fn carry_out(&mut self, output: &Output) {
        match output {
            Output::Acquire { from } => {
                assert_eq!(self.hold, Hold::Free, "acquires while it has the hold");
                assert!(*from <= self.next_seq());
                self.ask(Ask::Acquire {
                    from: *from,
                    given_up: false,
                });
            }
            Output::GiveUpAcquire => match &mut self.ask {
                Some(Ask::Acquire { given_up, .. }) if !*given_up => *given_up = true,
                other => panic!("gives up {other:?}"),
            },
            Output::Release => {
                assert_ne!(self.hold, Hold::Free, "releases what it has not");
                self.hold = Hold::Free;
            }
            Output::Append { entry, last } => {
                let Hold::Here(holder) = &mut self.hold else {
                    panic!("writes {entry:?} with {:?}", self.hold);
                };
                let of = entry.body().turn_id();
                assert!(
                    holder.is_none() || holder.as_ref() == of,
                    "a hold passed from {holder:?} to {of:?}"
                );
                *holder = of.cloned();
                assert_eq!(self.made_anew, None, "writes into another journal");
                assert_eq!(entry.seq(), self.next_seq(), "not the next place");
                self.writing = Some(entry.id().clone());
                self.ask(Ask::Append {
                    entry: entry.clone(),
                    last: *last,
                });
            }
            Output::Recover { from } => {
                assert!(
                    matches!(self.hold, Hold::Here(_)),
                    "recovers without the hold"
                );
                self.ask(Ask::Recover { from: *from });
            }
            Output::Respond(start) => {
                assert!(self.execution.is_none(), "two turns at once");
                self.execution = Some(Execution {
                    turn: start.turn_id.clone(),
                    offered: Vec::new(),
                    replied: false,
                    events_ended: false,
                    requested: Vec::new(),
                });
            }
            Output::Signal(turn) | Output::WithdrawSteer { turn, .. } => {
                self.at_work(turn);
            }
            Output::Answer { turn, request, .. } => {
                let execution = self.at_work(turn);
                assert!(!execution.all_in(), "answers where nobody listens");
                assert!(
                    execution.requested.contains(request),
                    "answers what was not asked"
                );
            }
            Output::OfferSteer { turn, ticket, .. } => {
                let execution = self.at_work(turn);
                assert!(!execution.replied, "offers a steer after the reply");
                execution.offered.push(*ticket);
            }
            Output::Abandon(turn) => {
                self.at_work(turn);
                self.execution = None;
            }
            Output::Settle { turn, .. } => {
                self.settled.insert(turn.clone());
                if self
                    .execution
                    .as_ref()
                    .is_some_and(|execution| execution.turn == *turn)
                {
                    assert!(
                        self.execution
                            .take()
                            .is_some_and(|execution| execution.all_in()),
                        "settles a turn at work"
                    );
                }
            }
            Output::Emit { .. } | Output::Accepted { .. } | Output::Steered { .. } => {}
        }
    }

    pub(super) fn did(&mut self, what: &str) {
        self.facts.push(Fact::Did(what.to_owned()));
    }

    pub(super) fn land(&mut self, entry: Box<Entry>) {
        self.facts.push(Fact::Journaled(entry.seq()));
        self.journal.push(*entry);
    }

    pub(super) fn lose(&mut self) {
        if let Hold::Here(turn) | Hold::Lost(turn) = &self.hold {
            self.hold = Hold::Lost(turn.clone());
        }
    }

    fn ask(&mut self, ask: Ask) {
        assert!(
            self.ask.is_none(),
            "asks {ask:?} while {:?} is unanswered",
            self.ask
        );
        self.ask = Some(ask);
    }

    fn at_work(&mut self, turn: &TurnId) -> &mut Execution {
        let execution = self
            .execution
            .as_mut()
            .filter(|execution| execution.turn == *turn);
        execution.unwrap_or_else(|| panic!("{turn} is not at work"))
    }

    /// What the machine shows is what replaying the journal gives (law T3): it knows nothing that is not durable.
    fn check_replay(&mut self) {
        let known = self.machine.transcript().next_seq();
        assert!(known <= self.next_seq(), "shows what is not written");
        let replayed = self.replayed.next_seq();
        for entry in &self.journal[replayed.0 as usize..known.0 as usize] {
            self.replayed.apply(entry);
        }
        let (shown, true_turns) = (self.machine.transcript().turns(), self.replayed.turns());
        assert_eq!(shown.len(), true_turns.len());
        for (shown, of_journal) in shown.iter().zip(true_turns.iter()) {
            if shown.status == TurnStatus::Running {
                assert!(!self.settled.contains(&shown.id), "{} runs again", shown.id);
                assert_eq!(of_journal.status, TurnStatus::Interrupted);
                assert_eq!(shown.steering, of_journal.steering);
            } else {
                assert_eq!(shown, of_journal);
            }
        }
    }
}
