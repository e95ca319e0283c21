//! An agent with a tool that needs a person's approval.
//!
//! ```sh
//! cargo run --example engineer                               # a conversation; approvals are asked on the terminal
//! cargo run --example engineer -- ask "Deploy to staging."
//! ```
//! The model is the one that `OPENAI_API_KEY`, `OPENAI_BASE_URL` and `CHAT_MODEL` name; `cargo xtask demo --serve` runs one here.

use std::process::ExitCode;

use chat_cli::{MODEL_VARIABLES, Program};
use chat_core::{LanguageModel, Message, Tool};
use chat_responder_agent::{Agent, AgentResponder, Step, function_tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize, JsonSchema)]
struct Deploy {
    /// Where to: staging or prod.
    environment: String,
}

fn deploy() -> impl Tool {
    let description = "Deploys the newest build to an environment.";
    function_tool("deploy", description, |input: Deploy, context| async move {
        // What really deploys is handed the key, so that a turn that is retried deploys nothing twice.
        Ok(json!({"deployed": input.environment, "job": context.idempotency_key}))
    })
    .needs_approval()
    .exclusive()
}

/// An exchange that shows how the tool is called: small models call it well only once they have seen that.
fn exchange() -> [Message; 4] {
    [
        Message::user("Deploy to staging."),
        Message::tool_call("example", "deploy", json!({"environment": "staging"})),
        Message::tool_result("example", "deploy", json!({"deployed": "staging"})),
        Message::assistant("Result: deployed to staging."),
    ]
}

/// Answers by one step, whose model may deploy.
pub(crate) fn engineer(model: impl LanguageModel + Clone) -> AgentResponder {
    AgentResponder::new("engineer", move |turn| {
        let conversation = turn.conversation();
        Agent::new(model.clone())
            .instructions("You deploy software for your team, and say what came of it.")
            .tool(deploy())
            .then(
                Step::new("reply")
                    .prompt([exchange().to_vec(), conversation].concat())
                    .stream(),
            )
    })
    .version("1")
    .stream("reply")
}

fn main() -> ExitCode {
    Program::new("engineer")
        .about("Deploys software, once you have agreed")
        .variables(MODEL_VARIABLES)
        .run(|| Ok(engineer(chat_cli::model_from_env()?)))
}
