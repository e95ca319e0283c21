//! W6: cancel reaches every step and tool.

use chat_conformance::{ScriptedModel, ScriptedTool};
use chat_core::{ChatEvent, FinishReason, ToolOutcome, TraceStatus};
use chat_responder_agent::{Agent, Parallel, Step};
use serde_json::json;

use crate::support::{node, send, streaming, trace};

#[tokio::test]
async fn w6_c64_cancel_signals_the_deepest_tool_and_drops_what_does_not_heed_it() {
    let (model, mut script) = ScriptedModel::new();
    let (tool, mut tools) = ScriptedTool::new("fetch");
    let sent = send(streaming(move || {
        let inner = Agent::new(model.clone())
            .tool(tool.clone())
            .then(Step::new("reply").prompt("tools"));
        Agent::new(model.clone()).then(
            Parallel::new()
                .and(inner)
                .and(Step::new("other").prompt("text")),
        )
    }))
    .await;
    let other = script.call_asking("text").await;
    let call = script.call_asking("tools").await;
    call.tool_call(0, "a", "fetch", json!({}));
    call.finish(FinishReason::ToolCalls);
    let mut running = tools.next_call().await;
    sent.turn.cancel("enough");
    running.signaled().await;
    running.dropped().await;
    other.dropped().await;
    let (events, result) = sent.end().await;
    assert_eq!(result.unwrap_err().to_string(), "enough");
    assert!(events.iter().any(|event| matches!(
        event,
        ChatEvent::ToolExecutionEnd {
            outcome: ToolOutcome::Aborted,
            ..
        }
    )));
    assert_eq!(node(&trace(&events), "other").status, TraceStatus::Aborted);
}
