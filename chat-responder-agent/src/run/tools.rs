//! The tool calls of one answer: side by side but for exclusive ones, each with exactly one result, in call order (laws W2, W3).

use std::sync::Arc;

use chat_core::{
    ApprovalRequest, CallId, Decision, Part, ResponderError, ResponderEvent, ToolCallRef,
    ToolContext, ToolOutcome, TraceKind, TraceNode, TraceStatus,
};
use futures_util::{StreamExt as _, stream::FuturesUnordered};
use serde_json::Value;
use tokio::sync::RwLock;

use crate::{
    tool::{error_result, json_len, shallow},
    workflow::AgentTool,
};

use super::{
    approvals::Asked,
    call::Called,
    caught::{Caught, caught},
    node::OpenNode,
    open_tool::OpenTool,
    state::now,
    step::{StepScope, Written},
};

/// Runs all calls of an answer, and gives their results in call order.
pub(crate) async fn run(scope: &StepScope, written: &mut Written, calls: Vec<Called>) -> Vec<Part> {
    let mut results: Vec<_> = calls.iter().map(|_| None).collect();
    let mut jobs: Vec<_> = calls
        .into_iter()
        .map(|call| {
            written.tools += 1;
            Job::new(scope, written, call)
        })
        .collect();
    if jobs.iter().any(Job::is_to_ask) && scope.is_out_of_time() {
        // The clock ends this in the same poll. A person who was asked now would agree to what can't run.
        std::future::pending::<()>().await;
    }
    show(scope, &mut jobs);
    // All are asked for before any runs: a person sees every request at once.
    for job in &mut jobs {
        job.ask(scope);
    }
    let turns = RwLock::new(());
    let mut running: FuturesUnordered<_> = jobs
        .into_iter()
        .enumerate()
        .map(|(place, job)| {
            let turns = &turns;
            async move { (place, job.run(scope, turns).await) }
        })
        .collect();
    while let Some((place, result)) = running.next().await {
        results[place] = Some(result);
    }
    results.into_iter().flatten().collect()
}

/// Puts all calls of an answer into the trace: one commit.
fn show(scope: &StepScope, jobs: &mut [Job]) {
    let StepScope {
        state, id, node, ..
    } = scope;
    state.commit(|live| {
        for job in jobs {
            let name = live.names.take(format!("{id}/tool-{}", job.ordinal));
            let mut tool = TraceNode::new(name, TraceKind::Tool, job.call.tool.as_str());
            tool.call_id = Some(job.call.call_id.clone());
            tool.input = Some(job.input.clone());
            if job.is_to_ask() {
                tool.status = TraceStatus::Waiting;
            }
            let index = live.tree.push(Some(*node), tool);
            job.node = Some(OpenNode::new(state, index));
        }
    });
}

/// One call on its way to its result.
struct Job {
    call: Arc<ToolCallRef>,
    /// The id as the model reads it back.
    id: CallId,
    input: Arc<Value>,
    idempotency_key: Arc<str>,
    /// Which tool call of its step it is, from 1.
    ordinal: u32,
    verdict: Verdict,
    asked: Option<Asked>,
    open: OpenTool,
    node: Option<OpenNode>,
}

/// What is to be done with a call.
enum Verdict {
    /// It can't run: no such tool, arguments that don't fit.
    Refuse(ResponderError),
    Run(AgentTool),
    /// It runs once a person has agreed.
    Ask(AgentTool),
}

/// A call that has its result.
struct Outcome {
    outcome: ToolOutcome,
    result: Result<Value, ResponderError>,
}

impl Job {
    fn new(scope: &StepScope, written: &mut Written, called: Called) -> Self {
        let verdict = Verdict::of(scope, &called).unwrap_or_else(Verdict::Refuse);
        let Called {
            call,
            id,
            input,
            open,
        } = called;
        let root = &scope.state.ids.root_turn_id;
        let idempotency_key = written.keys.of(root, &scope.id, &call.tool, &input);
        Self {
            call,
            id,
            input,
            idempotency_key,
            ordinal: written.tools,
            verdict,
            asked: None,
            open,
            node: None,
        }
    }

    fn is_to_ask(&self) -> bool {
        matches!(self.verdict, Verdict::Ask(_))
    }

    fn ask(&mut self, scope: &StepScope) {
        if !self.is_to_ask() {
            return;
        }
        let request = ApprovalRequest {
            id: format!("{}/{}", scope.id, self.ordinal).into(),
            call_id: self.call.call_id.clone(),
            tool_name: self.call.tool.clone(),
            input: self.input.clone(),
            step: scope.id.clone(),
            requested_at: now(),
        };
        self.asked = Some(Asked::ask(&scope.state, request, scope.clocks()));
    }

    async fn run(mut self, scope: &StepScope, turns: &RwLock<()>) -> Part {
        let outcome = self.outcome(scope, turns).await;
        self.finish(scope, outcome)
    }

    async fn outcome(&mut self, scope: &StepScope, turns: &RwLock<()>) -> Outcome {
        let tool = match &self.verdict {
            Verdict::Refuse(error) => return Outcome::not_run(ToolOutcome::Error, error.clone()),
            Verdict::Run(tool) | Verdict::Ask(tool) => tool.clone(),
        };
        if let Some(asked) = self.asked.take() {
            if let Decision::Deny(reason) = asked.await {
                return Outcome::not_run(ToolOutcome::Denied, denied(reason.as_deref()));
            }
            if let Some(node) = &self.node {
                node.pend();
            }
        }
        let place = || format!("the tool {}", self.call.tool);
        let is_exclusive = match caught(place, || tool.tool.is_exclusive()) {
            Ok(is_exclusive) => is_exclusive,
            Err(panicked) => return Outcome::not_run(ToolOutcome::Error, panicked),
        };
        // First come, first served: one that must be alone is not overtaken.
        let (_beside, _alone) = if is_exclusive {
            (None, Some(turns.write().await))
        } else {
            (Some(turns.read().await), None)
        };
        if let Some(node) = &self.node {
            node.begin();
        }
        self.open.begin();
        let cancel = scope.cancel.child_token();
        let context = ToolContext {
            cancel: cancel.clone(),
            session_id: scope.state.ids.session_id.clone(),
            turn_id: scope.state.ids.turn_id.clone(),
            root_turn_id: scope.state.ids.root_turn_id.clone(),
            step: scope.id.clone(),
            call_id: self.call.call_id.clone(),
            idempotency_key: self.idempotency_key.clone(),
        };
        let unwanted = cancel.drop_guard();
        let result = match caught(place, || tool.tool.call(self.input.clone(), context)) {
            Ok(work) => Caught::new(work, place).await.flatten(),
            Err(panicked) => Err(panicked),
        };
        // What the tool left behind on purpose may go on.
        unwanted.disarm();
        let outcome = match &result {
            Ok(_) => ToolOutcome::Ok,
            Err(_) => ToolOutcome::Error,
        };
        Outcome { outcome, result }
    }

    /// Makes an outcome what the model gets, and tells everyone.
    fn finish(self, scope: &StepScope, outcome: Outcome) -> Part {
        let StepScope { state, agent, .. } = scope;
        let Outcome {
            mut outcome,
            result,
        } = outcome;
        let mut error = result.as_ref().err().cloned();
        let raw = result.unwrap_or_else(|error| error_result(error.message()));
        let result = match state
            .hooked(&self.call, outcome, raw)
            .and_then(|result| bounded(result, agent.max_result_bytes))
        {
            Ok(result) => result,
            Err(broken) => {
                let result = error_result(broken.message());
                error = Some(broken);
                result
            }
        };
        if error.is_some() && outcome == ToolOutcome::Ok {
            outcome = ToolOutcome::Error;
        }
        if !state.hooks.is_empty() {
            error = error.map(|error| rewritten(&result, error.kind()));
        }
        let result = Arc::new(result);
        if let Some(node) = self.node {
            let output = Some(result.clone());
            match &error {
                None => node.done(|node| node.output = output),
                Some(error) => node.failed(error, |node| node.output = output),
            }
        }
        self.open.end(outcome);
        state.emit(ResponderEvent::ToolResult {
            call_id: self.call.call_id.clone(),
            tool: self.call.tool.clone(),
            result: result.clone(),
        });
        Part::ToolResult {
            call_id: self.id,
            tool: self.call.tool.clone(),
            result,
        }
    }
}

/// The error of a call whose result went through hooks: nobody sees what they took out.
fn rewritten(result: &Value, kind: &str) -> ResponderError {
    let text = result.get("error").and_then(Value::as_str);
    ResponderError::new(text.unwrap_or("the call failed").to_owned()).with_kind(kind.to_owned())
}

/// At most so many bytes of JSON, and no deeper than it can be written.
fn bounded(result: Value, limit: usize) -> Result<Value, ResponderError> {
    let result = shallow(result)?;
    let bytes = json_len(&result);
    if bytes <= limit {
        return Ok(result);
    }
    let error =
        format!("the result has {bytes} bytes of JSON, and {limit} are allowed: ask for less");
    Err(ResponderError::new(error).with_kind("result-too-long"))
}

fn denied(reason: Option<&str>) -> ResponderError {
    let error = match reason {
        Some(reason) => format!("a person denied this call: {reason}"),
        None => "a person denied this call".to_owned(),
    };
    ResponderError::new(error).with_kind("denied")
}

impl Verdict {
    fn of(scope: &StepScope, called: &Called) -> Result<Self, ResponderError> {
        let Called { call, input, .. } = called;
        let tools = &scope.agent.tools;
        let Some(tool) = tools.iter().find(|tool| tool.spec.name == call.tool) else {
            let names: Vec<_> = tools.iter().map(|tool| tool.spec.name.as_str()).collect();
            let error = match names.as_slice() {
                [] => format!("there is no tool {}, nor any other", call.tool),
                [_, ..] => format!(
                    "there is no tool {}; there are: {}",
                    call.tool,
                    names.join(", ")
                ),
            };
            return Err(ResponderError::new(error).with_kind("unknown-tool"));
        };
        tool.validate(input)
            .map_err(|misfit| ResponderError::new(misfit).with_kind("bad-arguments"))?;
        let needs_approval = caught(
            || format!("what tells whether the tool {} needs approval", call.tool),
            || tool.tool.needs_approval(input),
        )?;
        Ok(if needs_approval {
            Self::Ask(tool.clone())
        } else {
            Self::Run(tool.clone())
        })
    }
}

impl Outcome {
    fn not_run(outcome: ToolOutcome, error: ResponderError) -> Self {
        Self {
            outcome,
            result: Err(error),
        }
    }
}
