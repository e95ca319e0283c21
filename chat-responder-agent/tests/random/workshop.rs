//! Makes workflows of cases, and plays what their models and tools do.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use chat_conformance::{ModelCall, ModelScript, ScriptedModel, ScriptedTool, ToolCall, ToolScript};
use chat_core::{FinishReason, ResponderError, RunResult, Tool as _, ToolContext};
use chat_responder_agent::{
    self as agent, Agent, AgentResponder, Catch, Parallel, Sequence, TaskContext,
};
use serde_json::{Value, json};

use crate::plan::{Case, Deed, Node, Step, Tool};

/// The test's side: the model, and the tools, that of tasks first.
pub(crate) type Scripts = (ModelScript, Vec<ToolScript>);

/// The errors that fallbacks were rendered for.
pub(crate) type Caught = Arc<Mutex<Vec<String>>>;

/// What a workflow is built with.
#[derive(Clone)]
struct Workshop {
    model: ScriptedModel,
    tools: Vec<ScriptedTool>,
    /// What tasks wait for.
    work: ScriptedTool,
    caught: Caught,
}

/// What answers by the workflow of a case, and the test's side of it.
pub(crate) fn responder(case: &Case) -> (AgentResponder, Scripts, Caught) {
    let (model, script) = ScriptedModel::new();
    let (work, tasks) = ScriptedTool::new("work");
    let mut scripts = vec![tasks];
    let mut tools = Vec::new();
    for kind in Tool::ALL {
        let (mut tool, script) = ScriptedTool::new(kind.name());
        tool = tool.taking(json!({"type": "object", "properties": {"n": {"type": "integer"}}}));
        if kind.is_exclusive() {
            tool = tool.exclusive();
        }
        if kind.asks() {
            tool = tool.needing_approval();
        }
        if kind == Tool::Unsure {
            tool = tool.needing_approval_if(|_| panic!("hm"));
        }
        tools.push(tool);
        scripts.push(script);
    }
    let caught = Arc::default();
    let workshop = Workshop {
        model,
        tools,
        work,
        caught,
    };
    let caught = workshop.caught.clone();
    let root = case.root.clone();
    let mut responder =
        AgentResponder::new("random", move |_| workshop.build(&root)).reply(reply_of);
    if let Some(limit) = case.limit {
        responder = responder.timeout(Duration::from_secs(limit));
    }
    (responder, (script, scripts), caught)
}

impl Workshop {
    fn build(&self, node: &Node) -> agent::Node {
        match node {
            Node::Step(step) => {
                let mut made = agent::Step::new(&*step.id).prompt(&*step.id);
                if step.stream {
                    made = made.stream();
                }
                if let Some(limit) = step.limit {
                    made = made.timeout(Duration::from_secs(limit));
                }
                made.max_calls(step.max_calls as u32).into()
            }
            Node::Task(task) => {
                let work = self.work.clone();
                let run = |context: TaskContext| {
                    let context = ToolContext {
                        call_id: context.step.as_str().into(),
                        cancel: context.cancel,
                        session_id: context.session_id,
                        turn_id: context.turn_id,
                        root_turn_id: context.root_turn_id,
                        step: context.step,
                        idempotency_key: context.idempotency_key,
                    };
                    async move { work.call(Value::Null.into(), context).await }
                };
                let made = agent::Task::new(&*task.id, run);
                match task.limit {
                    Some(limit) => made.timeout(Duration::from_secs(limit)).into(),
                    None => made.into(),
                }
            }
            Node::Agent(name, nodes) => {
                let made = Agent::new(self.model.clone()).instructions(&**name);
                let made = self.tools.iter().cloned().fold(made, Agent::tool);
                nodes
                    .iter()
                    .map(|node| self.build(node))
                    .fold(made, Agent::then)
                    .into()
            }
            Node::Sequence(nodes) => nodes
                .iter()
                .map(|node| self.build(node))
                .collect::<Sequence>()
                .into(),
            Node::Parallel(nodes) => nodes
                .iter()
                .map(|node| self.build(node))
                .collect::<Parallel>()
                .into(),
            Node::Catch(nodes) => {
                let [body, fallback] = &**nodes;
                let (workshop, fallback) = (self.clone(), fallback.clone());
                Catch::new(self.build(body))
                    .or(move |error| {
                        workshop.caught.lock().unwrap().push(error.to_string());
                        workshop.build(&fallback)
                    })
                    .into()
            }
        }
    }
}

/// The reply is all results.
pub(crate) fn reply_of(result: &RunResult) -> String {
    json!(result.steps).to_string()
}

/// Says all of an answer but its end.
pub(crate) fn write(call: &ModelCall, step: &Step, number: usize) {
    call.text(step.text(number));
    if let Some(calls) = step.rounds.get(number - 1) {
        for (place, asked) in (0..).zip(calls) {
            call.tool_call(place, &*asked.id, asked.tool.name(), asked.input());
        }
    } else if step.end != Deed::Works {
        // A call that is never made, since the answer breaks off behind it.
        call.tool_call(0, format!("{}.never", step.id), "fetch", json!({"n": 1}));
    }
}

pub(crate) fn end(call: ModelCall, step: &Step, number: usize) {
    if number <= step.rounds.len() {
        return call.finish(FinishReason::ToolCalls);
    }
    match step.end {
        Deed::Works | Deed::Hangs => call.finish(FinishReason::Stop),
        Deed::Fails => call.fail(ResponderError::new("no luck")),
        Deed::Panics => call.panic("oh no"),
        Deed::IsCut => call.cut(),
    }
}

pub(crate) fn work(call: ToolCall, end: Deed) {
    let done = json!({"done": call.context().call_id});
    match end {
        Deed::Works | Deed::Hangs => call.answer(done),
        Deed::Fails => call.fail(ResponderError::new("no luck")),
        Deed::Panics => call.panic("oh no"),
        Deed::IsCut => drop(call),
    }
}
