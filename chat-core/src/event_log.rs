//! A turn's events between the machine and their one reader: every event from the start, however late it is read.
//!
//! Past [`UNREAD_CAP`] unread events, what can be joined without loss is joined, so that a reader that never reads costs the
//! text it will read and little more. No waker and no lock: the shell adds those.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use crate::{ChatEvent, Reasoning, StepId, ToolCallRef};

/// How many unread events are kept one by one. Those past it are joined where that loses nothing.
pub const UNREAD_CAP: usize = 1024;

/// The unread events of one turn.
#[derive(Debug, Default)]
pub struct EventLog {
    /// Unread events that stay as they are.
    events: VecDeque<ChatEvent>,
    /// Unread events past the cap, behind those above, as long as nothing came that must not be crossed.
    tail: Tail,
    /// Whether nobody can read any more.
    closed: bool,
}

/// Events that later ones may still be joined to, each with its place so far.
#[derive(Debug, Default)]
struct Tail {
    /// In the order they began; a joined event's place is that of its last piece, so they are sorted once they are read.
    events: Vec<(u64, Joined)>,
    /// The last delta of each step, by where it stands in `events`: a delta of another kind ends the joining of the one before.
    last_delta: BTreeMap<Option<StepId>, usize>,
    /// The newest `run-update`, in the place of the first.
    update: Option<usize>,
}

/// An event whose text may still grow.
#[derive(Debug)]
enum Joined {
    Whole(ChatEvent),
    Text {
        step: Option<StepId>,
        text: String,
    },
    Reasoning {
        like: Box<Reasoning>,
        text: String,
    },
    ToolCall {
        call: Arc<ToolCallRef>,
        name: Option<String>,
        arguments: Option<String>,
    },
}

impl EventLog {
    /// Adds an event behind all others.
    pub fn push(&mut self, event: ChatEvent) {
        if self.closed {
            return;
        }
        if self.events.len() < UNREAD_CAP && self.tail.events.is_empty() {
            self.events.push_back(event);
        } else if let Some(event) = self.tail.join(event) {
            // Nothing may be joined across it.
            std::mem::take(&mut self.tail).flush(&mut self.events);
            self.events.push_back(event);
        }
    }

    /// Takes all unread events at once.
    pub fn take(&mut self) -> VecDeque<ChatEvent> {
        // A reader that keeps up finds one event at a time, and never a tail.
        if !self.tail.events.is_empty() {
            std::mem::take(&mut self.tail).flush(&mut self.events);
        }
        std::mem::take(&mut self.events)
    }

    /// Whether there is nothing to read now.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.events.is_empty() && self.tail.events.is_empty()
    }

    /// Drops what is unread and keeps nothing from now on: nobody can read it.
    pub fn close(&mut self) {
        *self = Self {
            closed: true,
            ..Self::default()
        };
    }
}

impl Tail {
    /// Takes an event in, where it may be joined to others or others to it; else gives it back.
    fn join(&mut self, event: ChatEvent) -> Option<ChatEvent> {
        match event {
            ChatEvent::TextDelta { seq, text, step } => {
                let key = step.clone();
                self.grow(
                    key,
                    seq,
                    Joined::Text {
                        step,
                        text: String::new(),
                    },
                    |joined| match joined {
                        Joined::Text { text: grown, .. } => grown.push_str(&text),
                        Joined::Whole(_) | Joined::Reasoning { .. } | Joined::ToolCall { .. } => {}
                    },
                );
            }
            ChatEvent::ReasoningDelta { seq, reasoning } if reasoning.data.is_none() => {
                let (key, piece) = (reasoning.step.clone(), reasoning.text.clone());
                self.grow(
                    key,
                    seq,
                    Joined::Reasoning {
                        like: reasoning,
                        text: String::new(),
                    },
                    |joined| match joined {
                        Joined::Reasoning { text, .. } => text.push_str(&piece),
                        Joined::Whole(_) | Joined::Text { .. } | Joined::ToolCall { .. } => {}
                    },
                );
            }
            ChatEvent::ToolCallDelta {
                seq,
                call,
                name_fragment,
                arguments_fragment,
            } => {
                let key = Some(call.step.clone());
                self.grow(
                    key,
                    seq,
                    Joined::ToolCall {
                        call,
                        name: None,
                        arguments: None,
                    },
                    |joined| match joined {
                        Joined::ToolCall {
                            name, arguments, ..
                        } => {
                            push_some(name, name_fragment.as_deref());
                            push_some(arguments, arguments_fragment.as_deref());
                        }
                        Joined::Whole(_) | Joined::Text { .. } | Joined::Reasoning { .. } => {}
                    },
                );
            }
            event @ ChatEvent::RunUpdate { .. } => self.update(event),
            // A delta with data of its own can't be joined, and a step's later deltas can't cross it.
            other => return Some(other),
        }
        None
    }

    /// Joins a delta to the last one of its step, where both are of one kind: a joined event bears the last place.
    fn grow(
        &mut self,
        step: Option<StepId>,
        seq: u64,
        fresh: Joined,
        push: impl FnOnce(&mut Joined),
    ) {
        let last = match self.events.last() {
            // Nearly always the step that wrote last writes on.
            Some((_, last)) if last.step() == Some(step.as_ref()) => Some(self.events.len() - 1),
            Some(_) | None => self.last_delta.get(&step).copied(),
        };
        if let Some((place, joined)) = last.and_then(|last| self.events.get_mut(last))
            && joined.is_like(&fresh)
        {
            *place = seq;
            return push(joined);
        }
        let mut joined = fresh;
        push(&mut joined);
        self.last_delta.insert(step, self.events.len());
        self.events.push((seq, joined));
    }

    /// Keeps the newest update in the place of the first one: the deltas it carries come after it. A delta from before the
    /// first one stays there.
    fn update(&mut self, event: ChatEvent) {
        let ChatEvent::RunUpdate { seq, tree } = event else {
            return;
        };
        match self.update.and_then(|first| self.events.get_mut(first)) {
            Some((place, joined)) => {
                *joined = Joined::Whole(ChatEvent::RunUpdate { seq: *place, tree })
            }
            None => {
                self.last_delta.clear();
                self.update = Some(self.events.len());
                self.events
                    .push((seq, Joined::Whole(ChatEvent::RunUpdate { seq, tree })));
            }
        }
    }

    fn flush(mut self, events: &mut VecDeque<ChatEvent>) {
        self.events.sort_unstable_by_key(|(place, _)| *place);
        events.extend(
            self.events
                .into_iter()
                .map(|(place, joined)| joined.into_event(place)),
        );
    }
}

impl Joined {
    /// Whether a piece of one can be joined to the other.
    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text { .. }, Self::Text { .. }) => true,
            (Self::Reasoning { like: one, .. }, Self::Reasoning { like: two, .. }) => {
                one.kind == two.kind && one.provider == two.provider
            }
            (Self::ToolCall { call: one, .. }, Self::ToolCall { call: two, .. }) => one == two,
            (
                Self::Whole(_) | Self::Text { .. } | Self::Reasoning { .. } | Self::ToolCall { .. },
                _,
            ) => false,
        }
    }

    /// The step it is a delta of, where it is a delta; a model chat's deltas have no step.
    fn step(&self) -> Option<Option<&StepId>> {
        match self {
            Self::Whole(_) => None,
            Self::Text { step, .. } => Some(step.as_ref()),
            Self::Reasoning { like, .. } => Some(like.step.as_ref()),
            Self::ToolCall { call, .. } => Some(Some(&call.step)),
        }
    }

    fn into_event(self, seq: u64) -> ChatEvent {
        match self {
            Self::Whole(event) => event,
            Self::Text { step, text } => ChatEvent::TextDelta {
                seq,
                text: text.into(),
                step,
            },
            Self::Reasoning { mut like, text } => {
                like.text = text.into();
                ChatEvent::ReasoningDelta {
                    seq,
                    reasoning: like,
                }
            }
            Self::ToolCall {
                call,
                name,
                arguments,
            } => ChatEvent::ToolCallDelta {
                seq,
                call,
                name_fragment: name.map(Arc::from),
                arguments_fragment: arguments.map(Arc::from),
            },
        }
    }
}

fn push_some(text: &mut Option<String>, piece: Option<&str>) {
    if let Some(piece) = piece {
        text.get_or_insert_default().push_str(piece);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TraceKind, TraceNode, TraceTree};

    fn text(seq: u64, step: &str, text: &str) -> ChatEvent {
        ChatEvent::TextDelta {
            seq,
            text: text.into(),
            step: Some(step.into()),
        }
    }

    fn update(seq: u64, name: &str) -> ChatEvent {
        let mut tree = TraceTree::default();
        tree.push(None, TraceNode::new("run", TraceKind::Agent, name));
        ChatEvent::RunUpdate { seq, tree }
    }

    fn barrier(seq: u64) -> ChatEvent {
        ChatEvent::StepStart {
            seq,
            step: "s".into(),
            number: 1,
        }
    }

    /// What comes out, past the cap, of these events: each as `seq:step:text`, `seq:update:name` or `seq:kind`.
    fn joined(events: impl IntoIterator<Item = ChatEvent>) -> Vec<String> {
        let mut log = EventLog::default();
        let fill = UNREAD_CAP as u64;
        (0..fill).for_each(|seq| log.push(barrier(seq)));
        for event in events {
            log.push(shift(event, fill));
        }
        log.take()
            .into_iter()
            .skip(UNREAD_CAP)
            .map(|event| show(&event, fill))
            .collect()
    }

    fn shift(event: ChatEvent, by: u64) -> ChatEvent {
        match event {
            ChatEvent::TextDelta { seq, text, step } => ChatEvent::TextDelta {
                seq: seq + by,
                text,
                step,
            },
            ChatEvent::RunUpdate { seq, tree } => ChatEvent::RunUpdate {
                seq: seq + by,
                tree,
            },
            ChatEvent::StepStart { seq, step, number } => ChatEvent::StepStart {
                seq: seq + by,
                step,
                number,
            },
            ChatEvent::ReasoningDelta { seq, reasoning } => ChatEvent::ReasoningDelta {
                seq: seq + by,
                reasoning,
            },
            other => other,
        }
    }

    fn show(event: &ChatEvent, by: u64) -> String {
        let seq = event.seq() - by;
        match event {
            ChatEvent::TextDelta { text, step, .. } => {
                format!("{seq}:{}:{text}", step.as_ref().unwrap())
            }
            ChatEvent::RunUpdate { tree, .. } => {
                format!("{seq}:update:{}", tree.iter().next().unwrap().1.name)
            }
            ChatEvent::ReasoningDelta { reasoning, .. } => {
                format!("{seq}:thought:{}", reasoning.text)
            }
            other => format!("{seq}:{}", other.kind()),
        }
    }

    fn thought(seq: u64, step: &str, text: &str) -> ChatEvent {
        let reasoning = Reasoning {
            text: text.into(),
            step: Some(step.into()),
            kind: None,
            provider: None,
            data: None,
        };
        ChatEvent::ReasoningDelta {
            seq,
            reasoning: Box::new(reasoning),
        }
    }

    #[test]
    fn events_law_deltas_of_one_step_merge_across_those_of_another() {
        let events = [
            text(0, "a", "1"),
            text(1, "b", "2"),
            text(2, "a", "3"),
            text(3, "b", "4"),
            text(4, "b", "5"),
        ];
        assert_eq!(joined(events), ["2:a:13", "4:b:245"]);
    }

    #[test]
    fn events_law_of_consecutive_updates_the_newest_stands_in_the_place_of_the_first() {
        let events = [
            update(0, "u0"),
            text(1, "a", "1"),
            update(2, "u2"),
            text(3, "b", "2"),
            update(4, "u4"),
            text(5, "a", "3"),
        ];
        assert_eq!(joined(events), ["0:update:u4", "3:b:2", "5:a:13"]);
    }

    #[test]
    fn events_law_a_delta_does_not_cross_an_update_that_is_kept_nor_a_lifecycle_event() {
        let events = [
            text(0, "a", "1"),
            update(1, "u1"),
            text(2, "a", "2"),
            barrier(3),
            text(4, "a", "3"),
            update(5, "u5"),
        ];
        assert_eq!(
            joined(events),
            [
                "0:a:1",
                "1:update:u1",
                "2:a:2",
                "3:step-start",
                "4:a:3",
                "5:update:u5"
            ]
        );
    }

    #[test]
    fn events_law_the_order_of_text_and_reasoning_within_a_step_stays() {
        let events = [
            text(0, "a", "1"),
            thought(1, "a", "2"),
            thought(2, "a", "3"),
            text(3, "a", "4"),
        ];
        assert_eq!(joined(events), ["0:a:1", "2:thought:23", "3:a:4"]);
    }

    #[test]
    fn events_law_up_to_the_cap_every_event_is_kept_as_it_is() {
        let mut log = EventLog::default();
        (0..UNREAD_CAP as u64).for_each(|seq| log.push(text(seq, "a", "x")));
        assert_eq!(log.take().len(), UNREAD_CAP);
        assert!(log.is_empty());
    }

    #[test]
    fn events_law_a_closed_log_keeps_nothing() {
        let mut log = EventLog::default();
        log.push(text(0, "a", "x"));
        log.close();
        log.push(text(1, "a", "y"));
        assert!(log.is_empty() && log.take().is_empty());
    }

    #[test]
    fn c11_two_hundred_thousand_unread_deltas_cost_their_text() {
        let mut log = EventLog::default();
        let mut seq = 0;
        let mut next = || {
            seq += 1;
            seq - 1
        };
        for piece in 0..100_000 {
            log.push(text(next(), "a", &format!("{piece:08}")));
            log.push(update(next(), "u"));
            log.push(text(next(), "b", &format!("{piece:08}")));
        }
        let events = log.take();
        assert!(events.len() <= UNREAD_CAP + 5, "{} events", events.len());
        assert!(events.iter().is_sorted_by_key(ChatEvent::seq));
        for step in ["a", "b"] {
            let all: String = events
                .iter()
                .filter_map(|event| match event {
                    ChatEvent::TextDelta { text, step: of, .. }
                        if of.as_ref().unwrap().as_str() == step =>
                    {
                        Some(&**text)
                    }
                    _ => None,
                })
                .collect();
            assert_eq!(
                all,
                (0..100_000)
                    .map(|piece| format!("{piece:08}"))
                    .collect::<String>()
            );
        }
    }
}
