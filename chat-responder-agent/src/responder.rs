//! Answers turns by workflows: one is rendered for each turn and run, and the caller takes the reply from its result.

use std::{fmt, sync::Arc, time::Duration};

use chat_core::{
    Execution, Responder, ResponderError, ResponderInfo, RunResult, StepId, ToolCallRef,
    ToolOutcome, TraceTree, TurnRequest,
};
use serde_json::Value;

use crate::{
    Node,
    answer::{self, Answer, Answering, IntoReply},
    run::{EventQueue, Run, RunEvents, RunIds, RunOptions, caught},
};

type Render = dyn Fn(&TurnRequest) -> Node + Send + Sync;
type StartRun = dyn Fn(Node, RunOptions, RunIds) -> Result<Run, ResponderError> + Send + Sync;

/// Answers each turn by a workflow (laws W1 to W8).
///
/// The workflow is rendered for each turn from what the turn asks; nothing reaches a model but what the workflow passes. Say
/// which text is the reply: of which step as it is written ([`stream`](Self::stream)), what is taken from the result
/// ([`reply`](Self::reply)), or both.
///
/// ```
/// use std::time::Duration;
/// use chat_core::LanguageModel;
/// use chat_responder_agent::{Agent, AgentResponder, Step};
///
/// fn responder(model: impl LanguageModel + Clone) -> AgentResponder {
///     AgentResponder::new("engineer", move |turn| {
///         Agent::new(model.clone())
///             .instructions("You ship code.")
///             .then(Step::new("draft").prompt(turn.conversation()))
///             .then(Step::new("reply").prompt_with(|run| format!("Review this:\n{}", run.text("draft"))).stream())
///     })
///     .version("1")
///     .stream("reply")
///     .timeout(Duration::from_secs(120))
/// }
/// ```
pub struct AgentResponder {
    id: Arc<str>,
    version: Option<Arc<str>>,
    render: Arc<Render>,
    start_run: Arc<StartRun>,
    reply: Option<Arc<answer::Take>>,
    options: RunOptions,
}

impl AgentResponder {
    /// A responder of this id, which the journal names. `render` is called once a turn and returns right away.
    #[must_use]
    pub fn new<N: Into<Node>>(
        id: impl Into<Arc<str>>,
        render: impl Fn(&TurnRequest) -> N + Send + Sync + 'static,
    ) -> Self {
        Self {
            id: id.into(),
            version: None,
            render: Arc::new(move |turn| render(turn).into()),
            start_run: Arc::new(|workflow, options, ids| workflow.start(options, ids)),
            reply: None,
            options: RunOptions::default(),
        }
    }

    /// Says which version of it answers: set it anew whenever a prompt, model or workflow changes.
    #[must_use]
    pub fn version(self, version: impl Into<Arc<str>>) -> Self {
        Self {
            version: Some(version.into()),
            ..self
        }
    }

    /// The step whose text is the reply, shown as it is written (law W4).
    #[must_use]
    pub fn stream(mut self, step: impl Into<StepId>) -> Self {
        self.options.reply = Some(step.into());
        self
    }

    /// Takes the reply from what the run came to. Unless set, it is the text of the step that is streamed.
    ///
    /// What was streamed has to be the reply's beginning: what is left over arrives as one last delta, and a reply that
    /// contradicts what was read already fails the turn (law W4). A reply that is not there fails it too.
    #[must_use]
    pub fn reply<R: IntoReply>(
        self,
        reply: impl Fn(&RunResult) -> R + Send + Sync + 'static,
    ) -> Self {
        Self {
            reply: Some(Arc::new(move |result| reply(result).into_reply())),
            ..self
        }
    }

    /// At most so many steps and tasks of a turn at once. No bound unless set.
    #[must_use]
    pub fn concurrency(self, steps: usize) -> Self {
        self.with_options(|options| options.concurrency(steps))
    }

    /// How long a turn's run may take. Waiting for a person does not count (law W1).
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        self.with_options(|options| options.timeout(timeout))
    }

    /// Adds an observer of every turn's trace: see [`RunOptions::on_update`].
    #[must_use]
    pub fn on_update(self, observe: impl Fn(&TraceTree) + Send + Sync + 'static) -> Self {
        self.with_options(|options| options.on_update(observe))
    }

    /// Adds a hook that may rewrite tools' results: see [`RunOptions::on_tool_result`].
    #[must_use]
    pub fn on_tool_result(
        self,
        rewrite: impl Fn(&ToolCallRef, ToolOutcome, Value) -> Value + Send + Sync + 'static,
    ) -> Self {
        self.with_options(|options| options.on_tool_result(rewrite))
    }

    /// Starts the runs in the host's own way (law W7). It gets the workflow, the options with the turn's signal and events set
    /// already, to be added to, and the ids; the run it returns is the one that the turn polls. Returns right away. A run that was
    /// started with other options than those fails the turn.
    ///
    /// ```
    /// use chat_responder_agent::AgentResponder;
    /// fn watched(responder: AgentResponder) -> AgentResponder {
    ///     responder.start_run(|workflow, options, ids| {
    ///         let turn = ids.turn_id.clone();
    ///         let options = options.on_update(move |tree| eprintln!("{turn}: {} nodes", tree.len()));
    ///         workflow.start(options, ids)
    ///     })
    /// }
    /// ```
    #[must_use]
    pub fn start_run(
        self,
        start: impl Fn(Node, RunOptions, RunIds) -> Result<Run, ResponderError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            start_run: Arc::new(start),
            ..self
        }
    }

    fn with_options(mut self, change: impl FnOnce(RunOptions) -> RunOptions) -> Self {
        self.options = change(self.options);
        self
    }

    fn begin(&self, request: &TurnRequest) -> Result<Execution, ResponderError> {
        if self.reply.is_none() && self.options.reply.is_none() {
            let unnamed = format!(
                "agent {} does not say what its reply is: name the step whose text it is with `stream`, or take it from the result with `reply`",
                self.id
            );
            return Err(ResponderError::new(unnamed)
                .with_kind("reply-missing")
                .with_retryable(false));
        }
        let place = || format!("the workflow of agent {}", self.id);
        let workflow = caught(place, || (self.render)(request))?;
        let queue = Arc::new(EventQueue::of_turn());
        let mut options = self.options.clone();
        // In front of what others add: the token that tools get hangs on it.
        options.cancel.insert(0, request.cancel.clone());
        options.readers.push(queue.clone());
        let ids = RunIds {
            session_id: request.session_id.clone(),
            turn_id: request.turn_id.clone(),
            root_turn_id: request.root_turn_id.clone(),
        };
        let place = || format!("what starts the runs of agent {}", self.id);
        let run = caught(place, || (self.start_run)(workflow, options, ids))??;
        if !run.tells(&queue) {
            let unwatched = format!(
                "what starts the runs of agent {} did not use the options it was given: start the run with those, or with more added to them",
                self.id
            );
            return Err(ResponderError::new(unwatched)
                .with_kind("workflow-invalid")
                .with_retryable(false));
        }
        let control = run.control();
        let answer = Answer {
            stream: self.options.reply.clone(),
            take: self.reply.clone(),
        };
        let (answering, settled) = Answering::new(run, RunEvents(queue), answer);
        // The events drive the run; the result is what it came to. No task is needed, and dropping the execution drops the run.
        let execution = Execution::new(async move {
            settled.await.unwrap_or_else(|_| {
                let dropped = "the events were dropped before the run had ended";
                Err(ResponderError::new(dropped))
            })
        });
        Ok(execution.with_events(answering).with_control(control))
    }
}

impl Responder for AgentResponder {
    fn respond(&self, request: TurnRequest) -> Execution {
        self.begin(&request)
            .unwrap_or_else(|error| Execution::new(std::future::ready(Err(error))))
    }

    fn info(&self) -> ResponderInfo {
        ResponderInfo {
            id: Some(self.id.clone()),
            version: self.version.clone(),
            ..ResponderInfo::of_kind("agent")
        }
    }
}

impl fmt::Debug for AgentResponder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentResponder")
            .field("id", &self.id)
            .field("version", &self.version)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
