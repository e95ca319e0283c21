//! A run that goes on at random, as no responder would let it: any node in any other, any id twice, requests about nothing.

use std::sync::Arc;

use chat_core::{
    ApprovalRequest, ModelRef, NodeIndex, RecordedError, Timestamp, TraceKind, TraceNode,
    TraceStatus, TraceTree, Usage,
};
use proptest::prelude::*;
use serde_json::{Value, json};

/// One thing that happens.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    /// A node comes, in one of those there are, in none, or in one of another tree.
    Push(Draft),
    /// A node says something else.
    Change(usize, Change),
    /// A node becomes another one, as it never does in one run.
    Replace(usize, Change),
    /// A person is asked: ids of the request, the call and the step.
    Ask(u8, u8, usize),
    /// The request at a place is gone.
    Withdraw(usize),
    /// The requests stand in another order, or come as equal ones.
    Shuffle(usize),
    /// Another run's tree: the same without its last nodes.
    Shrink(usize),
    /// Another run's tree: the same, but one node stands at the top.
    Lift(usize),
    /// Someone looks.
    Look,
}

#[derive(Debug, Clone)]
pub(crate) struct Draft {
    parent: Parent,
    kind: TraceKind,
    id: String,
    name: String,
    call: Option<u8>,
    status: TraceStatus,
}

#[derive(Debug, Clone)]
enum Parent {
    None,
    Of(usize),
    Odd(u32),
}

#[derive(Debug, Clone)]
pub(crate) enum Change {
    Status(TraceStatus),
    Error(String, &'static str),
    Text(String),
    Input(Value),
    Output(Value),
    Call(Option<u8>),
    Times(Option<i64>, Option<i64>),
    Model(String),
    Usage(u64),
    Name(String),
    Id(String),
    Kind(TraceKind),
    Nothing,
}

/// A run as it stands.
#[derive(Debug, Clone, Default)]
pub(crate) struct Run {
    pub(crate) tree: TraceTree,
    pub(crate) requests: Vec<Arc<ApprovalRequest>>,
}

impl Run {
    /// Carries out what happens. Says whether it is the same run still.
    pub(crate) fn play(&mut self, act: &Act) -> bool {
        match act {
            Act::Push(draft) => self.push(draft),
            Act::Change(at, change) => self.change(*at, change),
            Act::Replace(at, change) => {
                self.change(*at, change);
                return false;
            }
            Act::Ask(id, call, step) => self.ask(*id, *call, *step),
            Act::Withdraw(at) => {
                if let Some(at) = at.checked_rem(self.requests.len()) {
                    self.requests.remove(at);
                }
            }
            Act::Shuffle(by) => {
                if let Some(by) = by.checked_rem(self.requests.len()) {
                    self.requests.rotate_left(by);
                    self.requests[0] = Arc::new((*self.requests[0]).clone());
                }
            }
            Act::Shrink(by) => {
                let nodes = self.tree.len() - (by % (self.tree.len() + 1));
                let mut tree = TraceTree::default();
                for (_, node) in self.tree.iter().take(nodes) {
                    tree.push(node.parent(), (**node).clone());
                }
                self.tree = tree;
                return false;
            }
            Act::Lift(at) => {
                let at = at.checked_rem(self.tree.len());
                let mut tree = TraceTree::default();
                for (index, node) in self.tree.iter() {
                    let parent = node.parent().filter(|_| Some(index.position()) != at);
                    tree.push(parent, (**node).clone());
                }
                self.tree = tree;
                return false;
            }
            Act::Look => {}
        }
        true
    }

    fn push(&mut self, draft: &Draft) {
        let parent = match draft.parent {
            Parent::None => None,
            Parent::Of(at) => self.at(at),
            Parent::Odd(index) => serde_json::from_value::<NodeIndex>(index.into()).ok(),
        };
        let mut node = TraceNode::new(&*draft.id, draft.kind, &*draft.name);
        node.call_id = draft.call.map(|call| call.to_string().into());
        node.status = draft.status;
        self.tree.push(parent, node);
    }

    pub(crate) fn change(&mut self, at: usize, change: &Change) {
        let Some(index) = self.at(at) else {
            return;
        };
        self.tree.update(index, |node| match change.clone() {
            Change::Status(status) => node.status = status,
            Change::Error(message, kind) => {
                node.error = Some(RecordedError {
                    message: message.into(),
                    kind: kind.into(),
                    retryable: None,
                });
            }
            // Apart from the piece before: `a` in front of a key makes another word of it.
            Change::Text(text) => node.partial_text.push(format!(" {text}").into()),
            Change::Input(value) => node.input = Some(Arc::new(value)),
            Change::Output(value) => node.output = Some(Arc::new(value)),
            Change::Call(call) => node.call_id = call.map(|call| call.to_string().into()),
            Change::Times(started, ended) => {
                let at = |millis: i64| Timestamp::from_millis(millis).ok();
                node.started_at = started.and_then(at);
                node.ended_at = ended.and_then(at);
            }
            Change::Model(name) => node.model = Some(ModelRef::new(&*name, &*name)),
            Change::Usage(tokens) => {
                node.usage = Some(Usage {
                    total_tokens: Some(tokens),
                    ..Usage::default()
                });
            }
            Change::Name(name) => node.name = name.into(),
            Change::Id(id) => node.id = id.into(),
            Change::Kind(kind) => node.kind = kind,
            Change::Nothing => {}
        });
    }

    fn ask(&mut self, id: u8, call: u8, step: usize) {
        let step = self.at(step).and_then(|step| self.tree.get(step));
        let step = step.map_or("nowhere", |step| &step.id);
        self.requests.push(Arc::new(ApprovalRequest {
            id: id.to_string().into(),
            call_id: call.to_string().into(),
            tool_name: format!("a{id}").into(),
            input: Arc::new(json!({ "call": call })),
            step: step.into(),
            requested_at: Timestamp::UNIX_EPOCH,
        }));
    }

    pub(crate) fn at(&self, at: usize) -> Option<NodeIndex> {
        let at = at.checked_rem(self.tree.len())?;
        self.tree.iter().nth(at).map(|(index, _)| index)
    }
}

pub(crate) fn run(acts: &[Act]) -> Run {
    let mut run = Run::default();
    for act in acts {
        run.play(act);
    }
    run
}

/// What happens in one run.
pub(crate) fn acts(most: usize) -> impl Strategy<Value = Vec<Act>> {
    prop::collection::vec(act(), 0..most)
}

/// What happens, and the tree may become another run's.
pub(crate) fn any_acts(most: usize) -> impl Strategy<Value = Vec<Act>> {
    let another = prop_oneof![
        (any::<usize>(), text()).prop_map(|(at, id)| Act::Replace(at, Change::Id(id))),
        (any::<usize>(), kind()).prop_map(|(at, kind)| Act::Replace(at, Change::Kind(kind))),
        any::<usize>().prop_map(Act::Shrink),
        any::<usize>().prop_map(Act::Lift),
    ];
    prop::collection::vec(prop_oneof![12 => act(), 1 => another], 0..most)
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => draft().prop_map(Act::Push),
        6 => (any::<usize>(), change()).prop_map(|(at, change)| Act::Change(at, change)),
        2 => (0..6_u8, 0..2_u8, any::<usize>())
            .prop_map(|(id, call, step)| Act::Ask(id, call, step)),
        1 => any::<usize>().prop_map(Act::Withdraw),
        1 => any::<usize>().prop_map(Act::Shuffle),
        9 => Just(Act::Look),
    ]
}

fn draft() -> impl Strategy<Value = Draft> {
    let parent = prop_oneof![
        1 => Just(Parent::None),
        8 => any::<usize>().prop_map(Parent::Of),
        1 => any::<u32>().prop_map(Parent::Odd),
    ];
    let call = prop::option::of(0..2_u8);
    (parent, kind(), text(), text(), call, status()).prop_map(
        |(parent, kind, id, name, call, status)| Draft {
            parent,
            kind,
            id,
            name,
            call,
            status,
        },
    )
}

pub(crate) fn change() -> impl Strategy<Value = Change> {
    let millis = || prop::option::of(-5_000..5_000_i64);
    prop_oneof![
        6 => status().prop_map(Change::Status),
        1 => (text(), prop::sample::select(vec!["denied", "timeout", "error", ""]))
            .prop_map(|(message, kind)| Change::Error(message, kind)),
        2 => text().prop_map(Change::Text),
        1 => value().prop_map(Change::Input),
        1 => value().prop_map(Change::Output),
        1 => prop::option::of(0..2_u8).prop_map(Change::Call),
        1 => (millis(), millis()).prop_map(|(one, two)| Change::Times(one, two)),
        1 => text().prop_map(Change::Model),
        1 => any::<u64>().prop_map(Change::Usage),
        1 => text().prop_map(Change::Name),
        1 => Just(Change::Nothing),
    ]
}

fn kind() -> impl Strategy<Value = TraceKind> {
    prop::sample::select(vec![
        TraceKind::Agent,
        TraceKind::Step,
        TraceKind::Step,
        TraceKind::Task,
        TraceKind::Sequence,
        TraceKind::Parallel,
        TraceKind::Catch,
        TraceKind::Model,
        TraceKind::Tool,
        TraceKind::Tool,
    ])
}

fn status() -> impl Strategy<Value = TraceStatus> {
    prop::sample::select(vec![
        TraceStatus::Pending,
        TraceStatus::Running,
        TraceStatus::Waiting,
        TraceStatus::Done,
        TraceStatus::Failed,
        TraceStatus::Aborted,
    ])
}

/// Ids, names and messages: few, so that they meet; odd, secret, very long.
pub(crate) fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => prop::sample::select(vec![
            "", "a", "a+", "b", "draft", "approval:0", "approval:1", "node:a", "node:#1:a", "#1", "a…#1",
            "sk-abcdefghijklmnopqrstuvwxyz012345", "ghp_abcdefghijklmnopqrstuvwxyz0123456789", "x\ny", "\u{1b}[31mred",
            "\u{202e}left", "e\u{301}e\u{301}",
        ]).prop_map(str::to_owned),
        2 => ".{0,8}",
        1 => ("[a-c\u{1F600}\"\\\\\u{7}]", 200..2_000_usize).prop_map(|(piece, times)| piece.repeat(times)),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        text().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        Just(json!({"apiKey": "hunter2", "deep": [[[[[{}]]]]]})),
    ];
    leaf.prop_recursive(3, 16, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(text(), inner, 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}
