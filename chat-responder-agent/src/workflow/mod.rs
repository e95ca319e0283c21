//! A workflow as data: what to do, not how it is done. It is rendered anew for each turn and run once, which is why its
//! functions may be `FnOnce`.

mod agent;
mod check;
mod flow;
mod progress;
mod prompt;
mod step;
mod task;

use std::fmt;

pub use agent::Agent;
pub(crate) use agent::AgentTool;
pub use check::check;
pub(crate) use check::{Ids, Within};
pub(crate) use flow::Fallback;
pub use flow::{Catch, Parallel, Sequence};
pub use progress::Progress;
pub(crate) use progress::{Results, Steers};
pub(crate) use prompt::PromptSource;
pub use prompt::{IntoPrompt, Prompt};
pub(crate) use step::Output;
pub use step::Step;
pub use task::{Task, TaskContext};

/// How deep nodes may stand in each other. What runs them is as deep as they are, so that it needs a bound.
pub const MAX_DEPTH: usize = 64;

/// How many bytes the id of a step or task may have, the name of a tool, and the id of a call; what a model writes beyond that is
/// cut off.
pub(crate) const MAX_NAME_BYTES: usize = 256;

/// A part of a workflow: all that can stand in another.
///
/// ```
/// use chat_responder_agent::{Node, Sequence, Task};
/// use chat_core::ResponderError;
/// use serde_json::json;
///
/// let node: Node = Sequence::new()
///     .then(Task::new("fetch", |_| async { Ok(json!({"stars": 12})) }))
///     .then(Task::new("count", |run| async move { Ok(run.progress.json::<serde_json::Value>("fetch")?["stars"].clone()) }))
///     .into();
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Node {
    /// A model with instructions and tools, around nodes.
    Agent(Agent),
    /// Model calls and the tools they ask for.
    Step(Step),
    /// A plain function.
    Task(Task),
    /// Nodes one after another.
    Sequence(Sequence),
    /// Nodes side by side.
    Parallel(Parallel),
    /// A node with a fallback.
    Catch(Catch),
}

impl Node {
    /// How many nodes stand in each other, this one among them.
    pub(crate) fn depth(&self) -> usize {
        match self {
            Self::Step(_) | Self::Task(_) => 1,
            Self::Agent(agent) => agent.nodes.depth(),
            Self::Sequence(sequence) => sequence.nodes.depth(),
            Self::Parallel(parallel) => parallel.nodes.depth(),
            Self::Catch(catch) => catch.body.depth(),
        }
    }
}

impl From<Agent> for Node {
    fn from(agent: Agent) -> Self {
        Self::Agent(agent)
    }
}
impl From<Step> for Node {
    fn from(step: Step) -> Self {
        Self::Step(step)
    }
}
impl From<Task> for Node {
    fn from(task: Task) -> Self {
        Self::Task(task)
    }
}
impl From<Sequence> for Node {
    fn from(sequence: Sequence) -> Self {
        Self::Sequence(sequence)
    }
}
impl From<Parallel> for Node {
    fn from(parallel: Parallel) -> Self {
        Self::Parallel(parallel)
    }
}
impl From<Catch> for Node {
    fn from(catch: Catch) -> Self {
        Self::Catch(catch)
    }
}

/// The nodes that stand in another, and how deep they are. A node that would stand too deep is dropped at once and only its
/// depth is kept, which [`check`] then refuses: no tree is ever deeper than [`MAX_DEPTH`], so that dropping one can't overflow
/// a stack.
pub(crate) struct Nodes {
    nodes: Vec<Node>,
    depth: usize,
}

impl Nodes {
    pub(crate) fn push(&mut self, node: Node) {
        let depth = node.depth() + 1;
        self.depth = self.depth.max(depth);
        if depth <= MAX_DEPTH {
            self.nodes.push(node);
        }
    }

    /// The depth of the node that holds them.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    pub(crate) fn as_slice(&self) -> &[Node] {
        &self.nodes
    }

    pub(crate) fn into_vec(self) -> Vec<Node> {
        self.nodes
    }
}

impl Default for Nodes {
    fn default() -> Self {
        Self {
            nodes: Vec::new(),
            depth: 1,
        }
    }
}

impl<N: Into<Node>> Extend<N> for Nodes {
    fn extend<I: IntoIterator<Item = N>>(&mut self, nodes: I) {
        nodes.into_iter().for_each(|node| self.push(node.into()));
    }
}

impl fmt::Debug for Nodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.nodes.fmt(f)
    }
}
