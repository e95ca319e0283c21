//! W7: a host starts the very run that the turn uses; its result is on the reply.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use chat_conformance::ScriptedModel;
use chat_core::{FinishReason, ModelRef, Usage};
use tokio_util::sync::CancellationToken;

use crate::support::{failure, kinds, one_step, send, streaming};

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
