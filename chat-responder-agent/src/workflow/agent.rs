//! A model with instructions and tools, around the steps that use them.

use std::{fmt, sync::Arc};

use chat_core::{LanguageModel, Tool, ToolSpec};
use serde_json::Value;

use crate::schema::{Shape, bounded};

use super::{Node, Nodes};

/// The most bytes of JSON that a tool's result may have, unless the agent says otherwise.
pub(crate) const MAX_RESULT_BYTES: usize = 256 * 1024;

/// A model, its instructions and its tools, around nodes that run one after another. The steps within it ask this model, with
/// these instructions and tools; an agent within an agent is its own and inherits nothing.
///
/// ```
/// use chat_core::{LanguageModel, TurnRequest};
/// use chat_responder_agent::{Agent, Step};
///
/// fn engineer(model: impl LanguageModel, turn: &TurnRequest) -> Agent {
///     Agent::new(model)
///         .name("engineer")
///         .instructions("You ship code.")
///         .then(Step::new("draft").prompt(turn.conversation()))
///         .then(Step::new("reply").prompt_with(|run| format!("Review this:\n{}", run.text("draft"))).stream())
/// }
/// ```
pub struct Agent {
    pub(crate) name: Option<Arc<str>>,
    pub(crate) model: Arc<dyn LanguageModel>,
    pub(crate) instructions: Option<Arc<str>>,
    pub(crate) tools: Vec<AgentTool>,
    pub(crate) max_result_bytes: usize,
    pub(crate) nodes: Nodes,
}

impl Agent {
    /// An agent without instructions, tools or steps.
    #[must_use]
    pub fn new(model: impl LanguageModel) -> Self {
        Self {
            name: None,
            model: Arc::new(model),
            instructions: None,
            tools: Vec::new(),
            max_result_bytes: MAX_RESULT_BYTES,
            nodes: Nodes::default(),
        }
    }

    /// Names it in errors and traces.
    #[must_use]
    pub fn name(self, name: impl Into<Arc<str>>) -> Self {
        Self {
            name: Some(name.into()),
            ..self
        }
    }

    /// Tells the model what it is here for. Never stored (law J3).
    #[must_use]
    pub fn instructions(self, instructions: impl Into<Arc<str>>) -> Self {
        Self {
            instructions: Some(instructions.into()),
            ..self
        }
    }

    /// Gives the model a tool. Each needs a name of its own within the agent.
    #[must_use]
    pub fn tool(mut self, tool: impl Tool) -> Self {
        self.tools.push(AgentTool::new(Arc::new(tool)));
        self
    }

    /// How many bytes of JSON a tool's result may have: 256 KiB unless set. A longer one becomes an error that says so.
    #[must_use]
    pub fn max_result_bytes(self, max_result_bytes: usize) -> Self {
        Self {
            max_result_bytes,
            ..self
        }
    }

    /// Adds a node behind the others.
    #[must_use]
    pub fn then(mut self, node: impl Into<Node>) -> Self {
        self.nodes.push(node.into());
        self
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent")
            .field("name", &self.name)
            .field("model", &self.model.model())
            .field("instructions", &self.instructions.is_some())
            .field("tools", &self.tools)
            .field("nodes", &self.nodes)
            .finish_non_exhaustive()
    }
}

/// A tool of an agent, with what was asked of it once: its spec, and its schema made ready to judge arguments.
#[derive(Clone)]
pub(crate) struct AgentTool {
    pub(crate) tool: Arc<dyn Tool>,
    pub(crate) spec: ToolSpec,
    shape: Arc<Shape>,
}

impl AgentTool {
    fn new(tool: Arc<dyn Tool>) -> Self {
        let spec = tool.spec();
        let shape = Arc::new(Shape::new(spec.input_schema.clone()));
        Self { tool, spec, shape }
    }

    /// Whether arguments fit the schema; if not, what is wrong where, bounded and for the model to read.
    pub(crate) fn validate(&self, input: &Value) -> Result<(), Arc<str>> {
        let misfit = match self.shape.validate(input) {
            Ok(()) => return Ok(()),
            Err(misfit) => misfit.told,
        };
        // A text is what the model wrote, where that was no JSON.
        let Value::String(text) = input else {
            return Err(misfit);
        };
        let broken = serde_json::from_str::<Value>(text).err();
        Err(broken.map_or(misfit, |error| {
            bounded(&format!("the arguments are no JSON object: {error}"))
        }))
    }

    /// Whether the schema itself is sound; if not, why.
    pub(crate) fn compile(&self) -> Result<(), Arc<str>> {
        self.shape.compile()
    }
}

impl fmt::Debug for AgentTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.spec.name.fmt(f)
    }
}
