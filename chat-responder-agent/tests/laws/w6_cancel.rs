//! W6: cancel reaches every step and tool.

use chat_conformance::{ScriptedModel, ScriptedTool};
use chat_core::{ChatEvent, FinishReason, ToolOutcome, TraceStatus};
use chat_responder_agent::{Agent, Parallel, Step, Task};
use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::support::{ask_for, failure, node, one_step, say, send, streaming, trace};

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

#[tokio::test]
async fn w6_a_task_is_signaled_too_and_dropped_where_it_does_not_heed_it() {
    let (tell, mut told) = mpsc::unbounded_channel();
    let sent = send(
        streaming(move || {
            let tell = tell.clone();
            let task = Task::new("count", |run| async move {
                // Dropped with the task.
                let (_held, dropped) = tokio::sync::oneshot::channel::<()>();
                tell.send((run.cancel, dropped)).unwrap();
                std::future::pending::<Result<(), _>>().await
            });
            let (model, _) = ScriptedModel::new();
            Parallel::new()
                .and(task)
                .and(Agent::new(model).then(Step::new("reply").prompt("Hello")))
        })
        .concurrency(1),
    )
    .await;
    let (token, dropped) = told.recv().await.unwrap();
    assert!(!token.is_cancelled());
    sent.turn.cancel("enough");
    token.cancelled().await;
    dropped.await.unwrap_err();
    assert_eq!(sent.end().await.1.unwrap_err().to_string(), "enough");
}

#[tokio::test]
async fn w6_a_hosts_own_signal_reaches_tools_and_models_as_the_turns_does() {
    let (model, mut script) = ScriptedModel::new();
    let (tool, mut tools) = ScriptedTool::new("fetch");
    let signal = CancellationToken::new();
    let hosts = signal.clone();
    let responder = streaming(move || {
        Parallel::new()
            .and(Agent::new(model.clone()).then(Step::new("other").prompt("text")))
            .and(
                Agent::new(model.clone())
                    .tool(tool.clone())
                    .then(Step::new("reply").prompt("tools")),
            )
    })
    .start_run(move |workflow, options, ids| workflow.start(options.cancel(hosts.clone()), ids));
    let sent = send(responder).await;
    let other = script.call_asking("text").await;
    let call = script.call_asking("tools").await;
    call.tool_call(0, "a", "fetch", json!({}));
    call.finish(FinishReason::ToolCalls);
    let mut running = tools.next_call().await;
    signal.cancel();
    running.signaled().await;
    running.dropped().await;
    other.dropped().await;
    assert_eq!(
        failure(sent.end().await.1).message(),
        "the run was canceled"
    );
}

#[tokio::test]
async fn w6_what_a_tool_left_behind_on_purpose_is_not_signaled_once_it_is_done() {
    let (model, mut script) = ScriptedModel::new();
    let (tool, mut tools) = ScriptedTool::new("fetch");
    let sent = send(streaming(move || one_step(&model).tool(tool.clone()))).await;
    ask_for(&mut script, "fetch", json!({})).await;
    let running = tools.next_call().await;
    let token = running.context().cancel.clone();
    running.answer(json!("begun"));
    say(&mut script, "done").await;
    assert_eq!(&*sent.end().await.1.unwrap().text, "done");
    assert!(!token.is_cancelled());
}
