//! What is right: where a workflow stands after what has happened, read off its tree by straight recursion. Each part is told
//! when it begins and when it is cut off, and says when it ended.

use std::collections::{BTreeMap, BTreeSet};

use chat_core::{Message, Part, Role, ToolOutcome};
use serde_json::{Value, json};

use crate::{
    plan::{Call, Case, Deed, Node, Person, Step, Task},
    wait::Wait,
};

/// A time in milliseconds, and there the place in the log: clocks run out before anything else of the same time.
pub(crate) type Moment = (u64, usize);

const NEVER: Moment = (u64::MAX, usize::MAX);

/// Something that a model, tool or person did.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Happened {
    pub(crate) what: String,
    pub(crate) at: u64,
}

/// All that there is to see of a run.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Scene<'a> {
    pub(crate) waits: BTreeMap<String, Wait<'a>>,
    /// What models were asked.
    pub(crate) asked: BTreeMap<String, Vec<Message>>,
    /// The tools and tasks that began, with their arguments.
    pub(crate) ran: BTreeMap<String, Value>,
    /// The calls that may run and wait for others.
    pub(crate) queue: Vec<&'a str>,
    /// The calls that have their result.
    pub(crate) ended: BTreeMap<String, (ToolOutcome, Value)>,
    /// What steps and tasks gave.
    pub(crate) results: BTreeMap<String, Value>,
    /// The errors that fallbacks were rendered for.
    pub(crate) caught: BTreeSet<String>,
    /// From when until when a person was asked.
    stood: Vec<(u64, Option<u64>)>,
    /// When the clocks that run will have run out.
    pub(crate) alarms: Vec<u64>,
    pub(crate) outcome: Option<Outcome>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Outcome {
    Completed,
    /// With an error that begins so.
    Failed(String),
    Canceled,
}

/// Where a part stands.
#[derive(PartialEq)]
enum End {
    Open,
    Done(Moment),
    Failed(Moment, String),
}

impl End {
    fn moment(&self) -> Moment {
        match self {
            Self::Open => NEVER,
            Self::Done(moment) | Self::Failed(moment, _) => *moment,
        }
    }
}

/// Where a run stands now that all this has happened.
pub(crate) fn scene<'a>(case: &'a Case, log: &[Happened], now: u64) -> Scene<'a> {
    let world = World { log, now };
    let run = |cut| {
        let mut scene = Scene::default();
        let end = world.node(&case.root, "", (0, 0), cut, &mut scene);
        (end, scene)
    };
    let canceled = world.when("cancel", NEVER);
    let cut = canceled.unwrap_or(NEVER);
    let (mut end, mut scene) = run(cut);
    if let Some(limit) = case.limit
        && let Some(out) = runs_out(0, limit, &scene.stood)
        && (out, 0) < cut.min(end.moment())
    {
        if out <= now {
            scene = run((out, 0)).1;
            end = End::Failed((out, 0), format!("the run ran out of its {limit} s"));
        } else {
            scene.alarms.push(out);
        }
    }
    scene.outcome = match end {
        End::Open => canceled.map(|_| Outcome::Canceled),
        End::Done(_) => Some(Outcome::Completed),
        End::Failed(_, error) => Some(Outcome::Failed(error)),
    };
    scene
}

struct World<'l> {
    log: &'l [Happened],
    now: u64,
}

impl World<'_> {
    fn node<'a>(
        &self,
        node: &'a Node,
        agent: &str,
        begin: Moment,
        cut: Moment,
        scene: &mut Scene<'a>,
    ) -> End {
        match node {
            Node::Agent(agent, nodes) => self.in_order(nodes, agent, begin, cut, scene),
            Node::Sequence(nodes) => self.in_order(nodes, agent, begin, cut, scene),
            Node::Parallel(nodes) => {
                let failure = |node| match self.node(node, agent, begin, cut, &mut Scene::default())
                {
                    End::Failed(moment, error) => Some((moment, error)),
                    End::Open | End::Done(_) => None,
                };
                let first = nodes.iter().filter_map(failure).min();
                let cut = first.as_ref().map_or(cut, |(moment, _)| *moment);
                let ends = nodes
                    .iter()
                    .map(|node| self.node(node, agent, begin, cut, scene).moment());
                let last = ends.max().unwrap_or(begin);
                match first {
                    Some((moment, error)) => End::Failed(moment, error),
                    None if last == NEVER => End::Open,
                    None => End::Done(last),
                }
            }
            Node::Catch(nodes) => {
                let [body, fallback] = &**nodes;
                match self.node(body, agent, begin, cut, scene) {
                    End::Failed(moment, error) => {
                        scene.caught.insert(error);
                        self.node(fallback, agent, moment, cut, scene)
                    }
                    end => end,
                }
            }
            Node::Step(step) => {
                let work = |cut, scene: &mut _| self.step(step, agent, cut, scene);
                self.leaf(&step.id, step.limit, begin, cut, scene, work)
            }
            Node::Task(task) => {
                let work = |cut, scene: &mut _| self.task(task, cut, scene);
                self.leaf(&task.id, task.limit, begin, cut, scene, work)
            }
        }
    }

    fn in_order<'a>(
        &self,
        nodes: &'a [Node],
        agent: &str,
        begin: Moment,
        cut: Moment,
        scene: &mut Scene<'a>,
    ) -> End {
        let mut end = End::Done(begin);
        for node in nodes {
            let End::Done(begin) = end else { break };
            end = self.node(node, agent, begin, cut, scene);
        }
        end
    }

    /// A step or task with its clock.
    fn leaf<'a>(
        &self,
        id: &str,
        limit: Option<u64>,
        begin: Moment,
        cut: Moment,
        scene: &mut Scene<'a>,
        work: impl Fn(Moment, &mut Scene<'a>) -> End,
    ) -> End {
        let mut alone = Scene::default();
        let mut end = work(cut, &mut alone);
        let out = limit.and_then(|limit| runs_out(begin.0, limit, &alone.stood));
        match out.filter(|out| (*out, 0) < cut.min(end.moment())) {
            Some(out) if out <= self.now => {
                work((out, 0), scene);
                let limit = limit.unwrap_or_default();
                end = End::Failed((out, 0), format!("it ran out of its {limit} s"));
            }
            out => {
                work(cut, scene);
                scene.alarms.extend(out.filter(|_| cut == NEVER));
            }
        }
        match end {
            End::Failed(at, error) => End::Failed(at, format!("step {id} failed: {error}")),
            end => end,
        }
    }

    fn step<'a>(&self, step: &'a Step, agent: &str, cut: Moment, scene: &mut Scene<'a>) -> End {
        let mut messages = vec![Message::system(agent), Message::user(&*step.id)];
        let mut texts = Vec::new();
        let mut number = 1;
        let at = loop {
            let wait = Wait::Model(step, number);
            scene.asked.insert(wait.name(), messages.clone());
            let Some(at) = self.awaited(wait, cut, scene) else {
                return End::Open;
            };
            texts.push(step.text(number));
            let Some(calls) = step.rounds.get(number - 1) else {
                break at;
            };
            if number == step.max_calls {
                let error = format!("the model asked for tools in all of its {number} calls");
                return End::Failed(at, error);
            }
            let Some(parts) = self.tools(calls, at, cut, scene) else {
                return End::Open;
            };
            let role = Role::Tool;
            messages.extend([step.answer(number), Message { role, parts }]);
            number += 1;
        };
        let result = if step.stream {
            texts.join("\n\n")
        } else {
            texts.pop().unwrap_or_default()
        };
        match step.end {
            Deed::Works | Deed::Hangs => {
                scene.results.insert(step.id.clone(), json!(result));
                End::Done(at)
            }
            Deed::Fails => End::Failed(at, "no luck".into()),
            Deed::Panics => End::Failed(at, "the model scripted panicked: oh no".into()),
            Deed::IsCut => {
                let error = "the model's answer was cut off: it ended without a finish";
                End::Failed(at, error.into())
            }
        }
    }

    fn task<'a>(&self, task: &'a Task, cut: Moment, scene: &mut Scene<'a>) -> End {
        let wait = Wait::Task(task);
        scene.ran.insert(wait.name(), Value::Null);
        let Some(at) = self.awaited(wait, cut, scene) else {
            return End::Open;
        };
        match deed(task.end, &format!("task {}", task.id)) {
            Ok(()) => {
                scene
                    .results
                    .insert(task.id.clone(), json!({"done": task.id}));
                End::Done(at)
            }
            Err(error) => End::Failed(at, error),
        }
    }

    /// The results of all calls of an answer, in call order.
    fn tools<'a>(
        &self,
        calls: &'a [Call],
        begin: Moment,
        cut: Moment,
        scene: &mut Scene<'a>,
    ) -> Option<Vec<Part>> {
        let mut ends = BTreeMap::new();
        let mut queue = Vec::new();
        for call in calls {
            if let Some(error) = call.refusal() {
                ends.insert(&call.id, (ToolOutcome::Error, json!({"error": error})));
                continue;
            }
            if !call.tool.asks() {
                queue.push((begin, call));
                continue;
            }
            let answered = self.awaited(Wait::Person(call), cut, scene);
            let until = answered.or((cut < NEVER).then_some(cut));
            scene.stood.push((begin.0, until.map(|until| until.0)));
            match (answered, call.person) {
                (None, _) => {}
                (Some(_), Person::Denies) => {
                    let error = json!({"error": "a person denied this call: not now"});
                    ends.insert(&call.id, (ToolOutcome::Denied, error));
                }
                (Some(at), Person::Approves | Person::StaysAway) => queue.push((at, call)),
            }
        }
        queue.sort_by_key(|(arrived, _)| *arrived);
        // When all so far had ended, and when the last of those that run alone had.
        let (mut all, mut alone) = (Some(begin), Some(begin));
        for (arrived, call) in queue {
            let free = if call.tool.is_exclusive() { all } else { alone };
            let end = if free.is_some() {
                let wait = Wait::Tool(call);
                scene.ran.insert(wait.name(), call.input());
                self.awaited(wait, cut, scene)
            } else {
                scene.queue.push(&call.id);
                None
            };
            all = all.zip(end).map(|(all, end)| all.max(end).max(arrived));
            if call.tool.is_exclusive() {
                alone = end;
            }
            if end.is_some() {
                let (outcome, result) = match deed(call.end, &format!("tool {}", call.tool.name()))
                {
                    Ok(()) => (ToolOutcome::Ok, json!({"done": call.id})),
                    Err(error) => (ToolOutcome::Error, json!({"error": error})),
                };
                ends.insert(&call.id, (outcome, result));
            }
        }
        for (id, (outcome, result)) in &ends {
            scene
                .ended
                .insert((*id).clone(), (*outcome, result.clone()));
        }
        let result = |call: &Call| {
            ends.get(&call.id).map(|(_, result)| Part::ToolResult {
                call_id: (&*call.id).into(),
                tool: call.tool.name().into(),
                result: result.clone().into(),
            })
        };
        calls.iter().map(result).collect()
    }

    /// When it happened; it is waited for where it has not and nothing cuts it off.
    fn awaited<'a>(&self, wait: Wait<'a>, cut: Moment, scene: &mut Scene<'a>) -> Option<Moment> {
        let name = wait.name();
        let when = self.when(&name, cut);
        if when.is_none() && cut == NEVER {
            scene.waits.insert(name, wait);
        }
        when
    }

    fn when(&self, what: &str, cut: Moment) -> Option<Moment> {
        let mut log = (1..).zip(self.log);
        let (place, happened) = log.find(|(_, happened)| happened.what == what)?;
        Some((happened.at, place)).filter(|moment| *moment < cut)
    }
}

/// When a clock of so many seconds will have run out, or has: it stands while anybody is asked. `None` while it stands.
fn runs_out(begun: u64, seconds: u64, stood: &[(u64, Option<u64>)]) -> Option<u64> {
    let (mut since, mut left) = (begun, seconds * 1000);
    let mut stood = stood.to_vec();
    stood.sort_by_key(|(from, _)| *from);
    for (from, until) in stood {
        let ran = from.saturating_sub(since);
        if ran >= left {
            break;
        }
        left -= ran;
        since = since.max(until?);
    }
    Some(since + left)
}

fn deed(deed: Deed, of: &str) -> Result<(), String> {
    match deed {
        Deed::Works | Deed::Hangs => Ok(()),
        Deed::Fails => Err("no luck".into()),
        Deed::Panics => Err(format!("the {of} panicked: oh no")),
        Deed::IsCut => Err("the test dropped the call".into()),
    }
}
