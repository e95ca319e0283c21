//! W1: what stands in the place of a node that failed.

use chat_conformance::{ScriptedModel, ScriptedTool};
use chat_core::{ChatEvent, FinishReason, ModelRef, ResponderError, TraceStatus};
use chat_responder_agent::{Agent, Catch, Node, Parallel, RunOptions, Step, Task};
use serde_json::json;

use crate::support::{failure, ids, node, send, streaming, trace};

#[tokio::test]
async fn w1_an_agent_in_a_fallback_is_its_own() {
    let (model, mut script) = ScriptedModel::new();
    let (other, mut others) = ScriptedModel::new();
    let other = other.with_model(ModelRef::new("scripted", "other"));
    let (tool, mut tools) = ScriptedTool::new("fetch");
    let sent = send(streaming(move || {
        let (other, tool) = (other.clone(), tool.clone());
        let body = Step::new("draft").prompt("draft");
        Agent::new(model.clone())
            .instructions("Be brief.")
            .tool(ScriptedTool::new("unused").0)
            .then(Catch::new(body).or(move |error| {
                let why = error.to_string();
                Agent::new(other)
                    .instructions("Be kind.")
                    .tool(tool)
                    .then(Step::new("reply").prompt(why))
            }))
    }))
    .await;
    script
        .next_call()
        .await
        .fail(ResponderError::new("no route"));
    let call = others.next_call().await;
    let asked = crate::support::asked(&call);
    assert_eq!(asked, ["Be kind.", "step draft failed: no route"]);
    let offered: Vec<_> = call
        .request()
        .tools
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    assert_eq!(offered, ["fetch"]);
    call.tool_call(0, "a", "fetch", json!({}));
    call.finish(FinishReason::ToolCalls);
    tools.next_call().await.answer(json!("fetched"));
    others.next_call().await.answer("Sorry.");
    let (events, result) = sent.end().await;
    let reply = result.unwrap();
    assert_eq!(&*reply.text, "Sorry.");
    assert_eq!(reply.metadata.model, None, "two models answered");
    assert!(
        trace(&events)
            .iter()
            .all(|(_, node)| !node.status.is_open())
    );
    let calls: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            ChatEvent::StepStart { step, .. } => Some(format!("{step} begins")),
            ChatEvent::StepEnd { step, .. } => Some(format!("{step} ends")),
            _ => None,
        })
        .collect();
    assert_eq!(
        calls,
        [
            "draft begins",
            "draft ends",
            "reply begins",
            "reply ends",
            "reply begins",
            "reply ends"
        ]
    );
}

#[tokio::test]
async fn w1_a_fallback_that_still_waited_to_begin_is_aborted_too() {
    let (model, mut script) = ScriptedModel::new();
    // Others are in line for the one place before it fails.
    let fails = Task::new("fails", |_| async {
        tokio::task::yield_now().await;
        Err::<(), _>(ResponderError::new("no"))
    });
    let inner = Catch::new(fails).or(|_| Step::new("waits").prompt("waits"));
    let body = Parallel::new()
        .and(inner)
        .and(Agent::new(model.clone()).then(Step::new("works").prompt("works")));
    let workflow = Catch::new(body).or(|_| Task::new("so-be-it", |_| async { Ok(()) }));
    let workflow = Node::from(Agent::new(model).then(workflow));
    let run = workflow.start(RunOptions::default().concurrency(1), ids());
    let run = tokio::spawn(run.unwrap());
    script
        .call_asking("works")
        .await
        .fail(ResponderError::new("no"));
    let trace = run.await.unwrap().unwrap().trace;
    assert_eq!(node(&trace, "waits").status, TraceStatus::Aborted);
    assert!(trace.iter().all(|(_, node)| !node.status.is_open()));
}

#[tokio::test]
async fn w1_w4_a_fallback_of_a_step_that_streamed_fails_the_turn_unless_it_goes_on_from_it() {
    for (fallback, said) in [
        ("half a reply", Ok("half a reply")),
        ("another", Err("reply-contradicts")),
    ] {
        let (model, mut script) = ScriptedModel::new();
        let responder = streaming(move || {
            let body = Step::new("reply").prompt("Hello");
            let instead = Task::new("instead", move |_| async move { Ok(fallback) });
            Agent::new(model.clone()).then(Catch::new(body).or(|_| instead))
        });
        let sent = send(responder.reply(|run| run.text("instead"))).await;
        let call = script.next_call().await;
        call.text("half");
        call.fail(ResponderError::new("no"));
        let result = sent.end().await.1;
        match said {
            Ok(said) => assert_eq!(&*result.unwrap().text, said),
            Err(kind) => assert_eq!(failure(result).kind(), kind),
        }
    }
}

#[tokio::test]
async fn w1_a_fallback_may_fail_and_be_caught_in_its_turn() {
    let sent = send(streaming(|| {
        let fails = |id: &'static str| {
            Task::new(id, move |_| async move {
                Err::<u8, _>(ResponderError::new(format!("no {id}")).with_kind("none"))
            })
        };
        let inner = Catch::new(fails("one")).or(move |_| fails("two"));
        let (model, _) = ScriptedModel::new();
        Agent::new(model)
            .then(Catch::new(inner).or(move |error| {
                assert_eq!((error.step().as_str(), error.kind()), ("two", "none"));
                fails("three")
            }))
            .then(Step::new("reply").prompt("Hello"))
    }))
    .await;
    let (events, result) = sent.end().await;
    assert_eq!(failure(result).message(), "step three failed: no three");
    let tree = trace(&events);
    let status = |id| node(&tree, id).status;
    let failed = ["0", "0/0", "0/0/0", "one", "two", "three"].map(status);
    assert_eq!(failed, [TraceStatus::Failed; 6]);
    assert_eq!(status("reply"), TraceStatus::Aborted);
}
