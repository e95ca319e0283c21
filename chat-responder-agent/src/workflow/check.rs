//! Looks a workflow over before anything of it runs.

use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    fmt,
};

use chat_core::StepId;

use crate::CheckError;

use super::{Agent, Catch, MAX_DEPTH, MAX_NAME_BYTES, Node, Nodes, PromptSource, Step};

/// Looks a workflow over: what is wrong with it is said before anything of it runs. `stream` is the step whose text is to be the
/// reply as it is written, if any. A fallback is there only once its body has failed, and is looked over then.
///
/// ```
/// use chat_responder_agent::{CheckError, Sequence, Task, check};
/// let twice = Sequence::new()
///     .then(Task::new("fetch", |_| async { Ok(1) }))
///     .then(Task::new("fetch", |_| async { Ok(2) }));
/// let error = check(&twice.into(), None).unwrap_err();
/// assert!(matches!(error, CheckError::DuplicateId { .. }));
/// ```
///
/// # Errors
/// The first thing that is wrong, what it is and where, and what to do about it.
pub fn check(workflow: &Node, stream: Option<&StepId>) -> Result<(), CheckError> {
    Ids::default().check_workflow(workflow, stream)
}

/// The ids of all steps and tasks seen so far. A run keeps it, to look over the fallbacks that it renders on its way.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    kinds: BTreeMap<StepId, Kind>,
    /// Whether there is a fallback yet to be rendered, which may have any steps.
    fallback: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Step,
    Task,
}

/// Where a fallback stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Within {
    /// How many nodes are around it: one that stands in none has 0.
    pub(crate) depth: usize,
    /// Whether one of those is an agent.
    pub(crate) agent: bool,
}

impl Ids {
    pub(crate) fn check_workflow(
        &mut self,
        workflow: &Node,
        stream: Option<&StepId>,
    ) -> Result<(), CheckError> {
        let within = Within {
            depth: 0,
            agent: false,
        };
        self.look(workflow, stream, within, Vec::new())?;
        match stream.map(|stream| (stream, self.kinds.get(stream))) {
            None | Some((_, Some(Kind::Step))) => Ok(()),
            Some((stream, Some(Kind::Task))) => Err(CheckError::StreamedTask {
                task: stream.clone(),
            }),
            Some(_) if self.fallback => Ok(()),
            Some((stream, None)) => Err(CheckError::UnknownStream {
                stream: stream.clone(),
                steps: self.steps().cloned().collect(),
            }),
        }
    }

    /// The same for a fallback, where it stands. What streams is known by then. One that is refused leaves no ids behind.
    pub(crate) fn check_fallback(
        &mut self,
        fallback: &Node,
        stream: Option<&StepId>,
        within: Within,
    ) -> Result<(), CheckError> {
        self.look(fallback, stream, within, vec![Place::Kind("fallback")])
    }

    fn look<'a>(
        &mut self,
        node: &'a Node,
        stream: Option<&'a StepId>,
        within: Within,
        path: Vec<Place<'a>>,
    ) -> Result<(), CheckError> {
        if within.depth + node.depth() > MAX_DEPTH {
            return Err(CheckError::TooDeep);
        }
        let mut look = Look {
            ids: self,
            added: Vec::new(),
            stream,
            path,
        };
        let looked = look.at_node(node, within.agent);
        if looked.is_err() {
            for id in look.added {
                self.kinds.remove(id);
            }
        }
        looked
    }

    /// The steps among them, in the order of their ids.
    pub(crate) fn steps(&self) -> impl Iterator<Item = &StepId> {
        self.kinds
            .iter()
            .filter(|(_, kind)| **kind == Kind::Step)
            .map(|(id, _)| id)
    }
}

/// One look over a tree.
struct Look<'i, 'a> {
    ids: &'i mut Ids,
    /// The ids that it brings.
    added: Vec<&'a StepId>,
    stream: Option<&'a StepId>,
    /// The way to the present node.
    path: Vec<Place<'a>>,
}

/// A part of the way to a node, for a person to read.
enum Place<'a> {
    Agent(Option<&'a str>),
    Kind(&'static str),
    /// Which of the nodes there, from 1.
    Node(usize),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agent(Some(name)) => write!(f, "agent {name}"),
            Self::Agent(None) => f.write_str("agent"),
            Self::Kind(kind) => f.write_str(kind),
            Self::Node(place) => write!(f, "node {place}"),
        }
    }
}

impl<'a> Look<'_, 'a> {
    fn at_node(&mut self, node: &'a Node, agent: bool) -> Result<(), CheckError> {
        match node {
            Node::Agent(agent) => self.at_agent(agent),
            Node::Step(step) => self.at_step(step, agent),
            Node::Task(task) => self.at_id(&task.id, Kind::Task),
            Node::Sequence(sequence) => {
                self.path.push(Place::Kind("sequence"));
                self.at_nodes(&sequence.nodes, agent)
            }
            Node::Parallel(parallel) => {
                self.path.push(Place::Kind("parallel"));
                self.at_nodes(&parallel.nodes, agent)
            }
            Node::Catch(catch) => self.at_catch(catch, agent),
        }
    }

    fn at_agent(&mut self, agent: &'a Agent) -> Result<(), CheckError> {
        self.path.push(Place::Agent(agent.name.as_deref()));
        let mut names = BTreeSet::new();
        for tool in &agent.tools {
            let name = &tool.spec.name;
            if name.as_str().is_empty() {
                return Err(CheckError::UnnamedTool { at: self.at() });
            }
            if name.as_str().len() > MAX_NAME_BYTES {
                return Err(CheckError::LongToolName {
                    tool: name.clone(),
                    at: self.at(),
                });
            }
            if !names.insert(name) {
                return Err(CheckError::DuplicateTool {
                    tool: name.clone(),
                    at: self.at(),
                });
            }
            tool.compile().map_err(|reason| CheckError::ToolSchema {
                tool: name.clone(),
                at: self.at(),
                reason,
            })?;
        }
        self.at_nodes(&agent.nodes, true)
    }

    fn at_step(&mut self, step: &'a Step, agent: bool) -> Result<(), CheckError> {
        self.at_id(&step.id, Kind::Step)?;
        let id = || step.id.clone();
        if !agent {
            return Err(CheckError::NoAgent { step: id() });
        }
        let has_messages = |prompt: &PromptSource| match prompt {
            PromptSource::Fixed(prompt) => !prompt.messages().is_empty(),
            // The step sees once it is made.
            PromptSource::Made(_) => true,
        };
        if !step.prompt.as_ref().is_some_and(has_messages) {
            return Err(CheckError::NoPrompt { step: id() });
        }
        if step.max_calls == 0 {
            return Err(CheckError::NoCalls { step: id() });
        }
        if let Some(output) = &step.output {
            if step.stream || self.stream == Some(&step.id) {
                return Err(CheckError::StreamedOutput { step: id() });
            }
            output
                .compile()
                .map_err(|reason| CheckError::OutputSchema { step: id(), reason })?;
        }
        Ok(())
    }

    fn at_catch(&mut self, catch: &'a Catch, agent: bool) -> Result<(), CheckError> {
        self.path.push(Place::Kind("catch"));
        if catch.fallback.is_none() {
            return Err(CheckError::NoFallback { at: self.at() });
        }
        self.ids.fallback = true;
        self.at_nodes(&catch.body, agent)
    }

    /// Looks at the nodes of the node that the way has come to, and goes back.
    fn at_nodes(&mut self, nodes: &'a Nodes, agent: bool) -> Result<(), CheckError> {
        let nodes = nodes.as_slice();
        if nodes.is_empty() {
            return Err(CheckError::Empty { at: self.at() });
        }
        for (place, node) in nodes.iter().enumerate() {
            self.path.push(Place::Node(place + 1));
            self.at_node(node, agent)?;
            self.path.pop();
        }
        self.path.pop();
        Ok(())
    }

    fn at_id(&mut self, id: &'a StepId, kind: Kind) -> Result<(), CheckError> {
        let name = id.as_str();
        if name.is_empty() || name.len() > MAX_NAME_BYTES || name.contains('/') {
            return Err(CheckError::BadId {
                id: id.clone(),
                at: self.at(),
            });
        }
        match self.ids.kinds.entry(id.clone()) {
            Entry::Vacant(place) => {
                place.insert(kind);
                self.added.push(id);
                Ok(())
            }
            Entry::Occupied(_) => Err(CheckError::DuplicateId {
                id: id.clone(),
                at: self.at(),
            }),
        }
    }

    fn at(&self) -> String {
        let path: Vec<_> = self.path.iter().map(Place::to_string).collect();
        path.join(" > ")
    }
}

#[cfg(test)]
mod tests;
