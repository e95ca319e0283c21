//! A workflow made ready to run: every node has its place in the trace, and every step knows its agent.

use std::sync::Arc;

use chat_core::{LanguageModel, ModelRef, ResponderError, TraceKind, TraceNode};

use crate::workflow::{Agent, AgentTool, Fallback, Node, Nodes, Step, Task};

use super::{
    caught::{QuietDrop, caught},
    node::Place,
    state::State,
};

/// What steps ask with.
pub(crate) struct AgentScope {
    pub(crate) model: QuietDrop<Arc<dyn LanguageModel>>,
    pub(crate) model_ref: ModelRef,
    pub(crate) instructions: Option<Arc<str>>,
    pub(crate) tools: QuietDrop<Vec<AgentTool>>,
    pub(crate) max_result_bytes: usize,
}

/// One node, ready to run.
pub(crate) struct Planned {
    pub(crate) place: Place,
    pub(crate) site: Site,
    pub(crate) work: Work,
}

/// Where a node stands in its workflow.
#[derive(Clone)]
pub(crate) struct Site {
    /// Its ordinals from the root on, such as `0/2`.
    pub(crate) path: String,
    /// The place of the node it stands in.
    pub(crate) parent: Option<usize>,
    /// How many nodes are around it.
    pub(crate) depth: usize,
    pub(crate) agent: Option<Arc<AgentScope>>,
}

pub(crate) enum Work {
    /// An agent or a sequence.
    InOrder(Vec<Planned>),
    Parallel(Vec<Planned>),
    Catch {
        body: Vec<Planned>,
        fallback: Option<Fallback>,
    },
    Step(Box<Step>),
    Task(Box<Task>),
}

impl Site {
    pub(crate) fn root() -> Self {
        Self {
            path: "0".to_owned(),
            parent: None,
            depth: 0,
            agent: None,
        }
    }

    /// The site of a node in the one at this site.
    pub(crate) fn child(
        &self,
        place: usize,
        ordinal: usize,
        agent: &Option<Arc<AgentScope>>,
    ) -> Self {
        Self {
            path: format!("{}/{ordinal}", self.path),
            parent: Some(place),
            depth: self.depth + 1,
            agent: agent.clone(),
        }
    }
}

/// Makes a node ready and shows it, with all that stands in it, as pending: one commit.
pub(crate) fn plan(state: &State, node: Node, site: Site) -> Result<Planned, ResponderError> {
    let mut drafts = Drafts {
        first: state.live().placed.len(),
        drafts: Vec::new(),
    };
    let planned = drafts.plan(node, site)?;
    state.commit(|live| {
        for draft in drafts.drafts {
            let parent = draft
                .parent
                .and_then(|place| live.placed.get(place))
                .copied();
            let id = live.names.take(draft.id);
            let mut node = TraceNode::new(id, draft.kind, draft.name);
            node.model = draft.model;
            let index = live.tree.push(parent, node);
            live.placed.push(index);
        }
    });
    Ok(planned)
}

/// Nodes of the trace before they are in it.
struct Drafts {
    first: usize,
    drafts: Vec<Draft>,
}

struct Draft {
    parent: Option<usize>,
    id: String,
    kind: TraceKind,
    name: Arc<str>,
    model: Option<ModelRef>,
}

impl Drafts {
    fn plan(&mut self, node: Node, site: Site) -> Result<Planned, ResponderError> {
        let first = self.first + self.drafts.len();
        let work = match node {
            Node::Step(step) => {
                self.draft(
                    &site,
                    TraceKind::Step,
                    step.id.as_str(),
                    Some(step.id.as_str()),
                );
                Work::Step(Box::new(step))
            }
            Node::Task(task) => {
                self.draft(
                    &site,
                    TraceKind::Task,
                    task.id.as_str(),
                    Some(task.id.as_str()),
                );
                Work::Task(Box::new(task))
            }
            Node::Agent(agent) => {
                let (name, scope, nodes) = scope(agent)?;
                let name = name.as_deref().unwrap_or("agent");
                let model = scope.model_ref.clone();
                self.draft(&site, TraceKind::Agent, name, None).model = Some(model);
                Work::InOrder(self.all(nodes, &site, first, &Some(Arc::new(scope)))?)
            }
            Node::Sequence(sequence) => {
                self.draft(&site, TraceKind::Sequence, "sequence", None);
                Work::InOrder(self.all(sequence.nodes, &site, first, &site.agent)?)
            }
            Node::Parallel(parallel) => {
                self.draft(&site, TraceKind::Parallel, "parallel", None);
                Work::Parallel(self.all(parallel.nodes, &site, first, &site.agent)?)
            }
            Node::Catch(catch) => {
                self.draft(&site, TraceKind::Catch, "catch", None);
                Work::Catch {
                    body: self.all(catch.body, &site, first, &site.agent)?,
                    fallback: catch.fallback,
                }
            }
        };
        let end = self.first + self.drafts.len();
        let place = Place { first, end };
        Ok(Planned { place, site, work })
    }

    fn all(
        &mut self,
        nodes: Nodes,
        site: &Site,
        place: usize,
        agent: &Option<Arc<AgentScope>>,
    ) -> Result<Vec<Planned>, ResponderError> {
        nodes
            .into_vec()
            .into_iter()
            .enumerate()
            .map(|(ordinal, node)| self.plan(node, site.child(place, ordinal, agent)))
            .collect()
    }

    /// Steps and tasks have an id of their own, all others are known by their path.
    fn draft(&mut self, site: &Site, kind: TraceKind, name: &str, id: Option<&str>) -> &mut Draft {
        self.drafts.push(Draft {
            parent: site.parent,
            id: id.unwrap_or(&site.path).to_owned(),
            kind,
            name: name.into(),
            model: None,
        });
        let last = self.drafts.len() - 1;
        &mut self.drafts[last]
    }
}

fn scope(agent: Agent) -> Result<(Option<Arc<str>>, AgentScope, Nodes), ResponderError> {
    let Agent {
        name,
        model,
        instructions,
        tools,
        max_result_bytes,
        nodes,
    } = agent;
    let model_ref = caught(
        || "a model that was asked who it is".to_owned(),
        || model.model(),
    )?;
    let scope = AgentScope {
        model: QuietDrop::new(model),
        model_ref,
        instructions,
        tools: QuietDrop::new(tools),
        max_result_bytes,
    };
    Ok((name, scope, nodes))
}
