//! The laws that every responder has to keep, over an agent with a tool: R, and what T asks of responders.

use std::sync::Arc;

use chat_conformance::ResponderFactory;
use chat_core::{
    FinishReason, LanguageModel, ModelEvent, ModelRef, ModelRequest, Responder, ResponderError,
    Role,
};
use chat_responder_agent::{Agent, AgentResponder, Step, function_tool};
use futures_util::stream::{self, BoxStream, StreamExt as _};
use serde_json::json;

/// Asks for a tool, then says back what it was asked, and goes on for ever where that is wanted.
#[derive(Clone)]
struct Echo {
    endless: bool,
}

impl LanguageModel for Echo {
    fn model(&self) -> ModelRef {
        ModelRef::new("test", "echo")
    }

    fn stream(
        &self,
        request: ModelRequest,
    ) -> BoxStream<'static, Result<ModelEvent, ResponderError>> {
        let has_result = request.messages.iter().any(|said| said.role == Role::Tool);
        if !has_result {
            let call = ModelEvent::ToolCall {
                index: 0,
                call_id: "c".into(),
                tool: "look".into(),
                input: json!({}).into(),
            };
            let end = ModelEvent::Finish(FinishReason::ToolCalls);
            return stream::iter([Ok(call), Ok(end)]).boxed();
        }
        let text = ModelEvent::Text(request.messages[0].to_text().into());
        let said = stream::iter([Ok(text)]);
        if self.endless {
            return said.chain(stream::pending()).boxed();
        }
        let end = ModelEvent::Finish(FinishReason::Stop);
        said.chain(stream::iter([Ok(end)])).boxed()
    }
}

struct Agents;

fn agent(endless: bool) -> Arc<dyn Responder> {
    let responder = AgentResponder::new("echo", move |turn| {
        let look = |(): (), _| async { Ok("seen") };
        Agent::new(Echo { endless })
            .tool(function_tool("look", "Looks.", look))
            .then(Step::new("reply").prompt(turn.input.clone()))
    });
    Arc::new(responder.stream("reply"))
}

impl ResponderFactory for Agents {
    async fn answering(&self) -> Arc<dyn Responder> {
        agent(false)
    }
    async fn endless(&self) -> Arc<dyn Responder> {
        agent(true)
    }
}

chat_conformance::responder_laws!(Agents);
