//! W7: a host starts the very run that the turn uses; its result is on the reply.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use chat_conformance::{ScriptedModel, ScriptedTool};
use chat_core::{
    FinishReason, ModelRef, ResponderEvent, SteerRefused, TraceStatus, TraceTree, Usage,
};
use chat_responder_agent::{Agent, Node, Parallel, RunOptions, Step};
use futures_util::{FutureExt as _, StreamExt as _};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::{ask_for, failure, ids, kinds, node, one_step, send, streaming};

fn used(tokens: u64) -> Usage {
    Usage {
        output_tokens: Some(tokens),
        ..Usage::default()
    }
}

#[tokio::test]
async fn w7_a_host_observes_the_run_that_the_turn_uses_and_takes_nothing_from_it() {
    let (model, mut script) = ScriptedModel::new();
    let (mine, theirs) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (count, counts) = (mine.clone(), theirs.clone());
    let responder = streaming(move || one_step(&model))
        .version("3")
        .on_update(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
        })
        .start_run(move |workflow, options, ids| {
            let counts = counts.clone();
            let options = options.on_update(move |_| {
                counts.fetch_add(1, Ordering::Relaxed);
            });
            workflow.start(options, ids)
        });
    let sent = send(responder).await;
    let call = script.next_call().await;
    call.text("Hi");
    call.usage(used(3));
    call.finish(FinishReason::Stop);
    let (events, result) = sent.end().await;
    let updates = kinds(&events)
        .iter()
        .filter(|kind| **kind == "run-update")
        .count();
    assert_eq!(mine.load(Ordering::Relaxed), updates);
    assert_eq!(theirs.load(Ordering::Relaxed), updates);
    let reply = result.unwrap();
    assert_eq!(
        reply.metadata.model,
        Some(ModelRef::new("scripted", "scripted"))
    );
    assert_eq!(reply.metadata.usage, Some(used(3)));
    assert_eq!(reply.metadata.finish_reason, Some(FinishReason::Stop));
    let info = reply.metadata.responder.unwrap();
    assert_eq!((&*info.kind, info.version.as_deref()), ("agent", Some("3")));
    let run = reply.run.unwrap();
    assert_eq!(run.text("reply").as_deref(), Some("Hi"));
    assert_eq!(run.usage, Some(used(3)));
}

#[tokio::test]
async fn w7_a_hosts_signal_cancels_the_run_beside_the_turns_own() {
    let (model, mut script) = ScriptedModel::new();
    let signal = CancellationToken::new();
    let hosts = signal.clone();
    let responder = streaming(move || one_step(&model)).start_run(move |workflow, options, ids| {
        workflow.start(options.cancel(hosts.clone()), ids)
    });
    let sent = send(responder).await;
    let call = script.next_call().await;
    signal.cancel();
    call.dropped().await;
    assert_eq!(failure(sent.end().await.1).kind(), "canceled");
}

#[tokio::test]
async fn w7_a_run_without_a_turn_is_read_steered_and_answered_by_its_host() {
    let (model, mut script) = ScriptedModel::new();
    let (tool, mut tools) = ScriptedTool::new("deploy");
    let workflow = Node::from(one_step(&model).tool(tool.needing_approval()));
    let run = workflow.start(RunOptions::default(), ids()).unwrap();
    let (control, events) = (run.control(), run.events());
    let mut requests = Box::pin(run.events().filter_map(async |event| match event {
        ResponderEvent::ApprovalRequest(request) => Some(request),
        _ => None,
    }));
    let run = tokio::spawn(run);
    let call = script.next_call().await;
    call.tool_call(0, "a", "deploy", json!({}));
    call.finish(FinishReason::ToolCalls);
    let request = requests.next().await.unwrap();
    let steer = tokio::spawn(control.steer("with care".into()));
    tokio::task::yield_now().await;
    control.approve(&request.id);
    let running = tools.next_call().await;
    let key = &running.context().idempotency_key;
    assert!(key.starts_with("root/reply/deploy/"), "{key}");
    running.answer(json!("deployed"));
    let call = script.next_call().await;
    assert_eq!(call.request().messages[3].to_text(), "with care");
    steer.await.unwrap().unwrap();
    call.answer("done");
    let result = run.await.unwrap().unwrap();
    assert_eq!(result.text("reply").as_deref(), Some("done"));
    let events: Vec<_> = events.collect().await;
    assert!(
        matches!(events.last(), Some(ResponderEvent::RunUpdate(tree)) if *tree == result.trace)
    );
}

#[tokio::test]
async fn w7_a_run_that_is_dropped_stops_and_its_observers_see_how_it_was_left() {
    let (model, mut script) = ScriptedModel::new();
    let last = Arc::new(Mutex::new(TraceTree::default()));
    let seen = last.clone();
    let options = RunOptions::default().on_update(move |tree| *seen.lock().unwrap() = tree.clone());
    let mut run = Node::from(one_step(&model)).start(options, ids()).unwrap();
    let events = run.events();
    assert!(
        last.lock().unwrap().is_empty(),
        "nothing happens unless it is polled"
    );
    assert!((&mut run).now_or_never().is_none());
    let call = script.next_call().await;
    let steer = run.control().steer("too late".into());
    drop(run);
    call.dropped().await;
    assert!(matches!(steer.await, Err(SteerRefused::Ended)));
    let left = last.lock().unwrap().clone();
    assert_eq!(node(&left, "reply").status, TraceStatus::Aborted);
    let events: Vec<_> = events.collect().await;
    assert!(matches!(events.last(), Some(ResponderEvent::RunUpdate(tree)) if *tree == left));
}

#[tokio::test]
async fn no_more_steps_run_at_once_than_allowed_and_those_that_wait_begin_in_order() {
    let (model, mut script) = ScriptedModel::new();
    let steps: Parallel = (0..5)
        .map(|n| Step::new(format!("step-{n}")).prompt("Hello"))
        .collect();
    let workflow = Node::from(Agent::new(model).then(steps));
    let options = RunOptions::default().concurrency(2);
    let mut run = workflow.start(options, ids()).unwrap();
    let mut open = Vec::new();
    for n in 0..5 {
        assert!((&mut run).now_or_never().is_none());
        open.extend(std::iter::from_fn(|| script.try_next_call()));
        assert_eq!(open.len(), if n < 4 { 2 } else { 1 }, "after {n} steps");
        open.remove(0).answer("done");
    }
    assert_eq!(run.await.unwrap().steps.len(), 5);
}

#[tokio::test]
async fn w7_a_turn_sees_how_its_run_was_left_once_and_behind_all_else_that_was_open() {
    let (model, mut script) = ScriptedModel::new();
    let (tool, mut tools) = ScriptedTool::new("fetch");
    let signal = CancellationToken::new();
    let hosts = signal.clone();
    let responder = streaming(move || one_step(&model).tool(tool.clone())).start_run(
        move |workflow, options, ids| workflow.start(options.cancel(hosts.clone()), ids),
    );
    let sent = send(responder).await;
    ask_for(&mut script, "fetch", json!({})).await;
    let mut running = tools.next_call().await;
    signal.cancel();
    running.dropped().await;
    let (events, result) = sent.end().await;
    assert_eq!(failure(result).kind(), "canceled");
    let last = &kinds(&events)[events.len() - 4..];
    assert_eq!(
        last,
        [
            "tool-execution-start",
            "tool-execution-end",
            "run-update",
            "turn-end"
        ]
    );
}
