//! A chat-core [`Responder`](chat_core::Responder) that answers each turn by a **workflow**: agents (a model, instructions,
//! tools) around steps, which run one after another, side by side, or with a fallback.

mod answer;
mod error;
mod responder;
mod run;
mod schema;
mod tool;
mod workflow;

pub use answer::IntoReply;
pub use error::{CheckError, StepError};
/// What the schemas of tools' arguments and structured outputs are derived with.
pub use schemars;
pub use responder::AgentResponder;
pub use run::{Run, RunEvents, RunIds, RunOptions};
pub use schemars::JsonSchema;
pub use tool::{FunctionTool, function_tool};
pub use workflow::{
    Agent, Catch, IntoPrompt, MAX_DEPTH, Node, Parallel, Progress, Prompt, Sequence, Step, Task,
    TaskContext, check,
};
