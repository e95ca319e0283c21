//! Two steps: the first drafts a reply, the second reviews the draft and writes the reply, which is shown as it is written.
//!
//! ```sh
//! cargo run --example draft_and_review -- ask "What is a journal?"
//! ```
//! The model is the one that `OPENAI_API_KEY`, `OPENAI_BASE_URL` and `CHAT_MODEL` name; `cargo xtask demo --serve` runs one here.

use std::process::ExitCode;

use chat_cli::{MODEL_VARIABLES, Program};
use chat_core::{LanguageModel, Message};
use chat_responder_agent::{Agent, AgentResponder, Step};

pub(crate) const REVIEW: &str =
    "Review what you wrote: is it right, brief and plain? Then write it once more, better.";

/// Only the second step's text is the reply: the draft stays in the run's trace.
pub(crate) fn draft_and_review(model: impl LanguageModel + Clone) -> AgentResponder {
    AgentResponder::new("draft-and-review", move |turn| {
        let conversation = turn.conversation();
        Agent::new(model.clone())
            .instructions("You explain software briefly and plainly.")
            .then(Step::new("draft").prompt(conversation.clone()))
            .then(
                Step::new("reply")
                    .prompt_with(move |run| {
                        let draft = Message::assistant(run.text("draft"));
                        [conversation, vec![draft, Message::user(REVIEW)]].concat()
                    })
                    .stream(),
            )
    })
    .version("1")
    .stream("reply")
}

fn main() -> ExitCode {
    Program::new("draft_and_review")
        .about("Answers twice, the second time with the first answer in view")
        .variables(MODEL_VARIABLES)
        .run(|| Ok(draft_and_review(chat_cli::model_from_env()?)))
}
