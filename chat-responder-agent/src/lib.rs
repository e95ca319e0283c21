//! A chat-core [`Responder`](chat_core::Responder) that answers each turn by a **workflow**: agents (a model, instructions,
//! tools) around steps, which run one after another, side by side, or with a fallback. The page `docs/workflows.md` of the
//! repository is the guide.
//!
//! ```
//! use std::time::Duration;
//! use chat_core::MemoryStore;
//! use chat_responder_agent::{Agent, AgentResponder, JsonSchema, Step, function_tool};
//! use chat_runtime::Chat;
//! use serde::Deserialize;
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Search {
//!     /// What to look for.
//!     words: String,
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let (model, mut script) = chat_conformance::ScriptedModel::new();
//! # tokio::spawn(async move {
//! #     script.call_asking("one rule").await.answer("Turns take turns.");
//! #     script.call_asking("Review").await.answer("One turn runs at a time.");
//! # });
//! // `model` is any LanguageModel, such as those of chat-responder-model.
//! let responder = AgentResponder::new("writer", move |turn| {
//!     let search = function_tool("search", "Searches the handbook.", |input: Search, _context| async move {
//!         Ok(format!("No page has {}.", input.words))
//!     });
//!     Agent::new(model.clone())
//!         .instructions("You write briefly and plainly.")
//!         .tool(search)
//!         .then(Step::new("draft").prompt(turn.conversation()))
//!         .then(Step::new("reply").prompt_with(|run| format!("Review, and write better:\n{}", run.text("draft"))))
//! })
//! .version("1")
//! .stream("reply") // the step whose text is the reply, shown as it is written
//! .timeout(Duration::from_secs(120));
//!
//! let session = Chat::new(responder, MemoryStore::new()).create_session().await?;
//! let reply = session.send("Tell me one rule of turns.").await?;
//! assert_eq!(&*reply.text, "One turn runs at a time.");
//! let run = reply.run.expect("an agent's reply has its run");
//! assert_eq!(run.text("draft").as_deref(), Some("Turns take turns."));
//! # Ok(())
//! # }
//! ```
//!
//! # What it promises
//! - **W1** A failure names its step, aborts what runs beside it, and can be caught; clocks stand while a person is asked.
//! - **W2** Every tool call has exactly one result, in call order, whatever went wrong.
//! - **W3** What a person approved runs once, with the arguments that were shown.
//! - **W4** One step's text is the reply as it is written. What contradicts it fails the turn.
//! - **W5** Steering is taken before the next model call of a running step, or refused.
//! - **W6** Cancel reaches every step and tool. Nothing is spawned: dropping a run drops all of it.
//! - **W7** A host starts and watches the very run that a turn uses. Its result is never stored.
//! - **W8** What a change or a delta costs does not grow with the trace or the text.

mod answer;
mod error;
mod responder;
mod run;
mod schema;
mod tool;
mod workflow;

pub use answer::IntoReply;
pub use error::{CheckError, StepError};
pub use responder::AgentResponder;
pub use run::{Run, RunEvents, RunIds, RunOptions};
/// What the schemas of tools' arguments and structured outputs are derived with.
pub use schemars;
pub use schemars::JsonSchema;
pub use tool::{FunctionTool, function_tool};
pub(crate) use workflow::MAX_NAME_BYTES;
pub use workflow::{
    Agent, Catch, IntoPrompt, MAX_DEPTH, Node, Parallel, Progress, Prompt, Sequence, Step, Task,
    TaskContext, check,
};

/// The examples of the page on workflows.
#[cfg(doctest)]
#[doc = include_str!("../../docs/workflows.md")]
struct Workflows;
