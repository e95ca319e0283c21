//! Arbitrary histories: whatever order commands and completions come in, late and uncalled-for ones among them, the laws hold.

use std::sync::Arc;

use proptest::prelude::*;

use super::{
    completions::{Luck, Others, Write, broken},
    model,
    world::{Ask, Hold, World, turn},
};
use crate::{
    Appended, ApprovalId, ApprovalRequest, Decision, Reply, ResponderError, ResponderEvent,
    Shutdown, SteerId, SteerRefused, StoreError, Timestamp, ToolCallRef, ToolOutcome, TraceKind,
    TraceNode, TraceStatus, TraceTree, Usage,
};

#[derive(Debug, Clone)]
enum Step {
    Send,
    Retry(u8),
    Cancel(u8),
    Steer(Option<u8>),
    Answer(u8, u8, bool),
    Shutdown(Shutdown),
    Abandon(bool),
    Acquired(Luck),
    Wrote(Write),
    Recovered(Luck),
    HoldLost,
    Others(Others),
    MadeAnew(u8),
    Refreshed(bool),
    Say(u8, u8),
    EventsEnd(Luck),
    Reply(u8),
    Steered(u8, bool),
    Stray(u8, u8),
}

/// A script. One strategy without alternatives: those would cost more than all that is tested.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = any::<(u8, u8, u8)>().prop_map(|(kind, one, two)| match kind % 128 {
        0..=9 => Step::Send,
        10..=12 => Step::Retry(one),
        13..=16 => Step::Cancel(one),
        17..=22 => Step::Steer((two % 2 == 0).then_some(one)),
        23..=26 => Step::Answer(one, two, two < 128),
        27 => Step::Shutdown(match one {
            0..=170 => Shutdown::Begin,
            171.. => Shutdown::Cancel,
        }),
        28 => match one {
            0..=25 => Step::Abandon(two < 128),
            26.. => Step::Send,
        },
        29..=42 => Step::Acquired(luck(one, 25)),
        43..=66 => Step::Wrote(match one {
            0..=191 => Write::Written,
            192..=207 => Write::NotWritten,
            208..=223 => Write::UnknownWritten,
            224..=239 => Write::UnknownLost,
            240.. => Write::Fenced,
        }),
        67..=74 => Step::Recovered(luck(one, 85)),
        75 => Step::HoldLost,
        76..=78 => Step::Others(match one {
            0..=127 => Others::Answered,
            128..=247 => Others::Open,
            248.. => return Step::MadeAnew(two),
        }),
        79..=81 => Step::Refreshed(one < 128),
        82..=93 => Step::Say(one, two),
        94..=99 => Step::EventsEnd(luck(one, 25)),
        100..=106 => Step::Reply(one),
        107..=119 => Step::Steered(one, two < 160),
        120.. => Step::Stray(one, two),
    });
    prop::collection::vec(step, 0..60)
}

/// Bad luck in so many of 256 cases.
fn luck(byte: u8, bad: u8) -> Luck {
    if byte >= u8::MAX - bad {
        Luck::Bad
    } else {
        Luck::Good
    }
}

proptest! {
    #[test]
    fn any_history_keeps_the_laws(steps in steps()) {
        let mut world = World::new();
        for step in steps {
            world.step(step);
        }
        world.settle();
        model::check(&world);
        // What the machine still can't know, a refresh tells it.
        let refreshed = world.refresh(false);
        if world.made_anew.is_some() {
            assert!(matches!(refreshed, Err(StoreError::Replaced { .. })));
        } else {
            assert!(refreshed.is_ok());
            assert_eq!(world.machine.transcript().next_seq(), world.next_seq());
        }
    }
}

impl World {
    fn step(&mut self, step: Step) {
        match step {
            Step::Send => {
                self.send();
            }
            Step::Retry(which) => {
                self.retry(&self.pick(which));
            }
            Step::Cancel(which) => {
                let reason = format!("reason {}", self.facts.len());
                self.cancel(&self.pick(which), &reason);
            }
            Step::Steer(which) => {
                let to = which.map(|which| self.pick(which));
                self.steer(to.as_deref());
            }
            Step::Answer(which, id, yes) => {
                let decision = if yes {
                    Decision::Approve
                } else {
                    Decision::Deny(None)
                };
                let _ = self.answer(&self.pick(which), &approval(id), decision);
            }
            Step::Shutdown(step) => self.shutdown(step),
            Step::Abandon(landed) => self.abandon(landed),
            Step::Acquired(luck) => {
                self.acquired(luck);
            }
            Step::Wrote(write) => {
                self.wrote(write);
            }
            Step::Recovered(luck) => {
                self.recovered(luck);
            }
            Step::HoldLost => {
                self.hold_lost();
            }
            Step::Others(what) => {
                self.others_write(what);
            }
            Step::MadeAnew(entries) => {
                self.made_anew(usize::from(entries % 8) + 1);
            }
            Step::Refreshed(held) => {
                let is_anew = self.made_anew.is_some() && self.hold == Hold::Free;
                assert!(self.refresh(held).is_ok() || is_anew);
            }
            Step::Say(one, two) => {
                self.say(vec![event(one), event(two)]);
            }
            Step::EventsEnd(luck) => {
                self.events_end(luck);
            }
            Step::Reply(kind) => {
                self.replied(match kind % 4 {
                    0 | 1 => Ok(Reply::text(format!("reply {kind}"))),
                    2 => Ok(Reply::streamed()),
                    _ => Err(ResponderError::new("no answer")),
                });
            }
            Step::Steered(which, taken) => {
                let offered = self
                    .execution
                    .as_ref()
                    .map_or(&[][..], |execution| &execution.offered);
                if let Some(ticket) = offered
                    .get(usize::from(which) % offered.len().max(1))
                    .copied()
                {
                    let result = if taken {
                        Ok(())
                    } else {
                        Err(SteerRefused::Unsupported)
                    };
                    self.steer_answered(ticket, result);
                }
            }
            Step::Stray(kind, which) => self.stray(kind, which),
        }
    }

    /// A turn sent here, the newest more often, another writer's, or one that nobody knows.
    fn pick(&self, which: u8) -> String {
        let newest = self.turns.len();
        match which % 8 {
            0 => "nobody".into(),
            1 => format!("other{}", self.others),
            back @ 2..=5 => format!("t{}", newest.saturating_sub(usize::from(back) - 2).max(1)),
            _ => format!("t{}", usize::from(which) % newest.max(1) + 1),
        }
    }

    /// Something that nobody asked for, comes too late or a second time: of no effect.
    fn stray(&mut self, kind: u8, which: u8) {
        let now = Timestamp::UNIX_EPOCH;
        let working = |world: &Self, done: fn(&super::world::Execution) -> bool| {
            world
                .execution
                .as_ref()
                .filter(|execution| !done(execution))
                .map(|execution| execution.turn.clone())
        };
        let whose = turn(self.pick(which));
        match kind % 7 {
            0 if !matches!(self.ask, Some(Ask::Acquire { .. })) => {
                self.machine.handle_acquired(now, Ok(Vec::new()))
            }
            1 if !matches!(self.ask, Some(Ask::Append { .. })) => {
                self.machine.handle_appended(now, Appended::Written)
            }
            2 if !matches!(self.ask, Some(Ask::Recover { .. })) => {
                self.machine.handle_recovered(now, Err(broken()))
            }
            3 if working(self, |execution| execution.events_ended) != Some(whose.clone()) => {
                self.machine
                    .handle_events(now, &whose, [ResponderEvent::text("late")]);
                let error = ResponderError::new("late");
                self.machine.handle_events_ended(now, &whose, Err(error));
            }
            4 if working(self, |execution| execution.replied) != Some(whose.clone()) => {
                self.machine
                    .handle_result(now, &whose, Ok(Reply::text("late")));
            }
            5 => {
                let ticket = SteerId(u64::from(which) % (self.steers + 1));
                if self
                    .execution
                    .as_ref()
                    .is_none_or(|execution| !execution.offered.contains(&ticket))
                {
                    self.machine.handle_steered(now, ticket, Ok(()));
                }
            }
            6 if self.hold == Hold::Free => self.machine.handle_hold_lost(now),
            _ => {}
        }
        assert!(
            self.machine.poll_output().is_none(),
            "a stray completion had an effect"
        );
    }
}

fn approval(id: u8) -> String {
    format!("a{}", id % 4)
}

fn event(byte: u8) -> ResponderEvent {
    let (kind, which) = (byte % 12, byte / 12);
    let call = || {
        Arc::new(ToolCallRef {
            step: "reply".into(),
            number: 1,
            index: u32::from(which % 2),
            call_id: "call".into(),
            tool: "tool".into(),
        })
    };
    match kind {
        0..=3 => ResponderEvent::text(format!("{which} ")),
        4 => ResponderEvent::Usage(Box::new(Usage {
            total_tokens: Some(which.into()),
            ..Usage::default()
        })),
        5 => ResponderEvent::ApprovalRequest(Arc::new(ApprovalRequest {
            id: approval(which).as_str().into(),
            call_id: "call".into(),
            tool_name: "tool".into(),
            input: Arc::default(),
            step: "reply".into(),
            requested_at: Timestamp::UNIX_EPOCH,
        })),
        6 => ResponderEvent::ApprovalWithdrawn {
            id: ApprovalId::from(approval(which)),
            reason: None,
        },
        7 => ResponderEvent::StepStart {
            step: "reply".into(),
            number: u32::from(which % 2),
        },
        8 => ResponderEvent::StepEnd {
            step: "reply".into(),
            number: u32::from(which % 2),
            usage: None,
            finish_reason: None,
        },
        9 => ResponderEvent::ToolExecutionStart(call()),
        10 => ResponderEvent::ToolExecutionEnd {
            call: call(),
            outcome: ToolOutcome::Ok,
            duration_ms: 1,
        },
        _ => {
            let mut tree = TraceTree::default();
            let node = tree.push(None, TraceNode::new("run", TraceKind::Agent, "run"));
            tree.update(node, |node| {
                node.status = if which % 2 == 0 {
                    TraceStatus::Running
                } else {
                    TraceStatus::Done
                };
            });
            ResponderEvent::RunUpdate(tree)
        }
    }
}
