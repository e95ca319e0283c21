//! Random workflows, each with the order in which what it waits for arrives. Names follow from the places, so that a smaller
//! workflow is a workflow, and it prints as one.

use std::fmt;

use proptest::prelude::*;

/// A workflow, what its models, tools and people do, and in which order they do it.
pub(crate) struct Case {
    pub(crate) root: Node,
    /// In seconds.
    pub(crate) limit: Option<u64>,
    pub(crate) moves: Vec<Move>,
}

#[derive(Clone)]
pub(crate) enum Node {
    Step(Step),
    Task(Task),
    Agent(String, Vec<Node>),
    Sequence(Vec<Node>),
    Parallel(Vec<Node>),
    /// What may fail, and its fallback.
    Catch(Box<[Node; 2]>),
}

/// A step whose model asks for tools in some answers, and then comes to an end.
#[derive(Clone, PartialEq)]
pub(crate) struct Step {
    pub(crate) id: String,
    pub(crate) rounds: Vec<Vec<Call>>,
    pub(crate) end: Deed,
    /// Its text is all that it wrote.
    pub(crate) stream: bool,
    pub(crate) max_calls: usize,
    pub(crate) limit: Option<u64>,
}

#[derive(Clone, PartialEq)]
pub(crate) struct Task {
    pub(crate) id: String,
    pub(crate) end: Deed,
    pub(crate) limit: Option<u64>,
}

#[derive(Clone, PartialEq)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) tool: Tool,
    /// Its arguments fit the schema.
    pub(crate) fits: bool,
    pub(crate) person: Person,
    pub(crate) end: Deed,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Tool {
    Fetch,
    /// Runs alone.
    Push,
    /// Needs approval.
    Deploy,
    /// Needs approval and runs alone.
    Release,
    /// Panics when it is asked whether it needs approval.
    Unsure,
    /// There is none of that name.
    Missing,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Deed {
    Works,
    Fails,
    Panics,
    /// A model's answer ends without a finish. Tools and tasks fail so.
    IsCut,
    Hangs,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Person {
    Approves,
    Denies,
    StaysAway,
}

/// What happens next.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Move {
    /// One of those that are waited for does what it does.
    Act(u8),
    /// The same, and the run learns of it together with what is next.
    ActAtOnce(u8),
    /// One of the models writes all but its end.
    Write(u8),
    /// Time passes until the next clock runs out, or a long time where none runs.
    Wait,
    Cancel,
}

impl Tool {
    pub(crate) const ALL: [Self; 5] = [
        Self::Fetch,
        Self::Push,
        Self::Deploy,
        Self::Release,
        Self::Unsure,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Fetch => "fetch",
            Self::Push => "push",
            Self::Deploy => "deploy",
            Self::Release => "release",
            Self::Unsure => "unsure",
            Self::Missing => "missing",
        }
    }

    pub(crate) fn asks(self) -> bool {
        matches!(self, Self::Deploy | Self::Release)
    }

    pub(crate) fn is_exclusive(self) -> bool {
        matches!(self, Self::Push | Self::Release)
    }
}

pub(crate) fn case() -> impl Strategy<Value = Case> {
    let limit = prop::option::weighted(0.2, Just(100));
    let moves = prop::collection::vec(moves(), 0..40);
    (node(), limit, moves).prop_map(|(mut root, limit, moves)| {
        root.name(&mut 0);
        // Steps stand in an agent.
        let root = Node::Agent("root".into(), vec![root]);
        Case { root, limit, moves }
    })
}

fn moves() -> impl Strategy<Value = Move> {
    any::<(u8, u8)>().prop_map(|(kind, which)| match kind {
        0..=149 => Move::Act(which),
        150..=209 => Move::ActAtOnce(which),
        210..=239 => Move::Write(which),
        240..=252 => Move::Wait,
        253.. => Move::Cancel,
    })
}

fn node() -> impl Strategy<Value = Node> {
    let leaf = prop_oneof![4 => step().prop_map(Node::Step), 1 => task().prop_map(Node::Task)];
    leaf.prop_recursive(4, 12, 3, |node| {
        let nodes = || prop::collection::vec(node.clone(), 1..4);
        prop_oneof![
            1 => nodes().prop_map(|nodes| Node::Agent(String::new(), nodes)),
            2 => nodes().prop_map(Node::Sequence),
            4 => nodes().prop_map(Node::Parallel),
            4 => (node.clone(), node.clone())
                .prop_map(|(body, fallback)| Node::Catch(Box::new([body, fallback])))
        ]
    })
}

fn step() -> impl Strategy<Value = Step> {
    let rounds = prop::collection::vec(prop::collection::vec(call(), 1..5), 0..3);
    let max_calls = prop_oneof![7 => Just(16), 1 => 1_usize..3];
    (rounds, deed(), any::<bool>(), max_calls, limited()).prop_map(
        |(rounds, end, stream, max_calls, limited)| Step {
            id: String::new(),
            rounds,
            end,
            stream,
            max_calls,
            limit: limited.then_some(0),
        },
    )
}

fn task() -> impl Strategy<Value = Task> {
    (deed(), limited()).prop_map(|(end, limited)| Task {
        id: String::new(),
        end,
        limit: limited.then_some(0),
    })
}

fn limited() -> impl Strategy<Value = bool> {
    prop::bool::weighted(0.25)
}

fn call() -> impl Strategy<Value = Call> {
    let tool = prop_oneof![
        5 => Just(Tool::Fetch),
        4 => Just(Tool::Push),
        5 => Just(Tool::Deploy),
        3 => Just(Tool::Release),
        1 => Just(Tool::Unsure),
        1 => Just(Tool::Missing)
    ];
    let person = prop_oneof![
        5 => Just(Person::Approves),
        3 => Just(Person::Denies),
        2 => Just(Person::StaysAway)
    ];
    (tool, prop::bool::weighted(0.9), person, deed()).prop_map(|(tool, fits, person, end)| Call {
        id: String::new(),
        tool,
        fits,
        person,
        end,
    })
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        8 => Just(Deed::Works),
        2 => Just(Deed::Fails),
        1 => Just(Deed::Panics),
        1 => Just(Deed::IsCut),
        1 => Just(Deed::Hangs)
    ]
}

impl Node {
    /// Gives each its name, and the clocks limits that are unlike each other.
    fn name(&mut self, count: &mut u64) {
        *count += 1;
        let n = *count;
        match self {
            Self::Step(step) => {
                step.id = format!("s{n}");
                step.limit = step.limit.map(|_| 10 + 7 * n);
                for (round, calls) in step.rounds.iter_mut().enumerate() {
                    for (place, call) in calls.iter_mut().enumerate() {
                        call.id = format!("s{n}.{round}.{place}");
                    }
                }
            }
            Self::Task(task) => {
                task.id = format!("t{n}");
                task.limit = task.limit.map(|_| 10 + 7 * n);
            }
            Self::Agent(name, nodes) => {
                *name = format!("a{n}");
                nodes.iter_mut().for_each(|node| node.name(count));
            }
            Self::Sequence(nodes) | Self::Parallel(nodes) => {
                nodes.iter_mut().for_each(|node| node.name(count));
            }
            Self::Catch(nodes) => nodes.iter_mut().for_each(|node| node.name(count)),
        }
    }

    fn show(&self, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
        let within = |f: &mut fmt::Formatter<'_>, name: &str, nodes: &[Self]| {
            writeln!(f, "{:1$}{name}", "", 2 * depth)?;
            nodes.iter().try_for_each(|node| node.show(f, depth + 1))
        };
        match self {
            Self::Step(step) => writeln!(f, "{:1$}{step:?}", "", 2 * depth),
            Self::Task(task) => writeln!(f, "{:1$}{task:?}", "", 2 * depth),
            Self::Agent(name, nodes) => within(f, &format!("agent {name}"), nodes),
            Self::Sequence(nodes) => within(f, "sequence", nodes),
            Self::Parallel(nodes) => within(f, "parallel", nodes),
            Self::Catch(nodes) => {
                let [body, fallback] = &**nodes;
                within(f, "catch", std::slice::from_ref(body))?;
                within(f, "or", std::slice::from_ref(fallback))
            }
        }
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.show(f, 0)
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n{:?}", self.root)?;
        if let Some(limit) = self.limit {
            writeln!(f, "all within {limit} s")?;
        }
        write!(f, "{:?}", self.moves)
    }
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {}: ", self.id)?;
        for calls in &self.rounds {
            write!(f, "asks for {calls:?}, ")?;
        }
        write!(f, "{:?}", self.end)?;
        if self.stream {
            write!(f, ", streams")?;
        }
        if self.max_calls < 16 {
            write!(f, ", at most {} calls", self.max_calls)?;
        }
        show_limit(f, self.limit)
    }
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task {}: {:?}", self.id, self.end)?;
        show_limit(f, self.limit)
    }
}

fn show_limit(f: &mut fmt::Formatter<'_>, limit: Option<u64>) -> fmt::Result {
    limit.map_or(Ok(()), |limit| write!(f, ", within {limit} s"))
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.tool.name())?;
        if !self.fits {
            write!(f, " misfit")?;
        }
        if self.tool.asks() {
            write!(f, " {:?}", self.person)?;
        }
        write!(f, " {:?}", self.end)
    }
}
