//! W1: what fails names its step, stops its siblings, and can be caught; clocks stand while a person is asked.

use std::time::Duration;

use chat_conformance::{ScriptedModel, ScriptedTool};
use chat_core::{
    ApprovalOutcome, ChatEvent, FinishReason, ResponderError, ToolOutcome, TraceStatus,
};
use chat_responder_agent::{Agent, AgentResponder, Catch, Parallel, Sequence, Step, Task};
use serde_json::json;

use crate::support::{failure, kinds, node, one_step, say, send, streaming, trace};

#[tokio::test]
async fn w1_a_failure_names_its_step_and_keeps_its_kind() {
    let (model, mut script) = ScriptedModel::new();
    let sent = send(streaming(move || one_step(&model))).await;
    script
        .next_call()
        .await
        .fail(ResponderError::new("no route").with_kind("connect"));
    let (events, result) = sent.end().await;
    let error = failure(result);
    assert_eq!(error.message(), "step reply failed: no route");
    assert_eq!(error.kind(), "connect");
    assert_eq!(node(&trace(&events), "reply").status, TraceStatus::Failed);
}

#[tokio::test]
async fn w1_siblings_of_what_failed_are_aborted_and_a_fallback_takes_over() {
    let (model, mut script) = ScriptedModel::new();
    let sent = send(streaming(move || {
        let branches = Parallel::new().and(Step::new("slow").prompt("slow")).and(
            Sequence::new()
                .then(Step::new("bad").prompt("bad"))
                .then(Step::new("never").prompt("never")),
        );
        Agent::new(model.clone())
            .then(Catch::new(branches).or(|error| {
                let why = error.to_string();
                Task::new("fallback", move |_| async move { Ok(why) })
            }))
            .then(Step::new("reply").prompt_with(|run| run.text("fallback")))
    }))
    .await;
    let slow = script.call_asking("slow").await;
    slow.text("half");
    script
        .call_asking("bad")
        .await
        .fail(ResponderError::new("broken"));
    slow.dropped().await;
    let call = script.next_call().await;
    assert_eq!(
        call.request().messages[0].to_text(),
        "step bad failed: broken"
    );
    call.text("well");
    call.finish(FinishReason::Stop);
    let (events, result) = sent.end().await;
    let reply = result.unwrap();
    assert_eq!(&*reply.text, "well");
    let tree = &reply.run.unwrap().trace;
    let status = |id| node(tree, id).status;
    assert_eq!(
        ["slow", "slow/model-1", "bad", "never", "fallback", "reply"].map(status),
        [
            TraceStatus::Aborted,
            TraceStatus::Aborted,
            TraceStatus::Failed,
            TraceStatus::Aborted,
            TraceStatus::Done,
            TraceStatus::Done
        ]
    );
    let ends = kinds(&events)
        .iter()
        .filter(|kind| **kind == "step-end")
        .count();
    assert_eq!(ends, 3, "of the aborted call too");
    assert!(tree.iter().all(|(_, node)| !node.status.is_open()));
}

#[tokio::test(start_paused = true)]
async fn w1_a_timeout_names_what_ran_out_and_what_was_at_work() {
    let (model, mut script) = ScriptedModel::new();
    let sent = send(streaming(move || {
        Agent::new(model.clone()).then(
            Step::new("reply")
                .prompt("Hello")
                .timeout(Duration::from_secs(30)),
        )
    }))
    .await;
    let call = script.next_call().await;
    tokio::time::advance(Duration::from_secs(30)).await;
    call.dropped().await;
    let error = failure(sent.end().await.1);
    assert_eq!(
        error.message(),
        "step reply failed: it ran out of its 30 s while the model scripted was at work"
    );
    assert_eq!(error.kind(), "timeout");
}

#[tokio::test(start_paused = true)]
async fn w1_a_runs_timeout_says_so() {
    let (model, mut script) = ScriptedModel::new();
    let responder = streaming(move || one_step(&model)).timeout(Duration::from_millis(1500));
    let sent = send(responder).await;
    let call = script.next_call().await;
    tokio::time::advance(Duration::from_millis(1500)).await;
    call.dropped().await;
    let error = failure(sent.end().await.1);
    assert_eq!(
        error.message(),
        "the run ran out of its 1500 ms while the model scripted of step reply was at work"
    );
}

#[tokio::test(start_paused = true)]
async fn w1_c63_clocks_of_step_and_run_stand_while_a_person_is_asked() {
    let (model, mut script) = ScriptedModel::new();
    let (tool, mut tools) = ScriptedTool::new("deploy");
    let tool = tool.needing_approval();
    let responder = streaming(move || {
        Agent::new(model.clone()).tool(tool.clone()).then(
            Step::new("reply")
                .prompt("Hello")
                .timeout(Duration::from_secs(10)),
        )
    })
    .timeout(Duration::from_secs(20));
    let mut sent = send(responder).await;
    let call = script.next_call().await;
    call.tool_call(0, "c1", "deploy", json!({}));
    call.finish(FinishReason::ToolCalls);
    let request = sent.request().await;
    tokio::time::advance(Duration::from_secs(3600)).await;
    sent.turn.approve(&request.id).unwrap();
    tools.next_call().await.answer(json!("done"));
    say(&mut script, "Deployed").await;
    let (events, result) = sent.end().await;
    assert_eq!(&*result.unwrap().text, "Deployed");
    assert!(
        events
            .iter()
            .any(|event| matches!(event, ChatEvent::ToolResult { .. }))
    );
}

/// The error of a turn whose model says "Hi" to whatever it is asked.
async fn failing(responder: impl FnOnce(ScriptedModel) -> AgentResponder) -> ResponderError {
    let (model, mut script) = ScriptedModel::new();
    let sent = send(responder(model.clone())).await;
    let played = async {
        loop {
            script.next_call().await.answer("Hi");
        }
    };
    tokio::select! {
        (_, result) = sent.end() => failure(result),
        () = played => unreachable!(),
    }
}

#[tokio::test]
async fn w1_a_panic_in_callers_code_fails_the_turn_and_is_named() {
    let check = async |said: &str, responder: Box<dyn FnOnce(ScriptedModel) -> AgentResponder>| {
        let error = failing(responder).await;
        assert_eq!((error.message(), error.kind()), (said, "panic"));
    };
    check(
        "the workflow of agent test panicked: no",
        Box::new(|_| streaming(|| -> Agent { panic!("no") })),
    )
    .await;
    check(
        "step reply failed: the prompt of step reply panicked: no",
        Box::new(|model| {
            streaming(move || {
                let step = Step::new("reply").prompt_with(|_| -> String { panic!("no") });
                Agent::new(model.clone()).then(step)
            })
        }),
    )
    .await;
    check(
        "step count failed: the task count panicked: no",
        Box::new(|model| {
            streaming(move || {
                let task = Task::new("count", |_| async { panic!("no") as Result<u8, _> });
                one_step(&model).then(task)
            })
        }),
    )
    .await;
    check(
        "step count failed: the fallback after \"step count failed: no\" panicked: no",
        Box::new(|model| {
            streaming(move || {
                let task = Task::new("count", |_| async {
                    Err::<u8, _>(ResponderError::new("no"))
                });
                one_step(&model).then(Catch::new(task).or(|_| -> Task { panic!("no") }))
            })
        }),
    )
    .await;
    check(
        "what takes the reply from the result panicked: no",
        Box::new(|model| streaming(move || one_step(&model)).reply(|_| -> String { panic!("no") })),
    )
    .await;
    check(
        "an observer of the run panicked: no",
        Box::new(|model| streaming(move || one_step(&model)).on_update(|_| panic!("no"))),
    )
    .await;
    check(
        "what starts the runs of agent test panicked: no",
        Box::new(|model| streaming(move || one_step(&model)).start_run(|_, _, _| panic!("no"))),
    )
    .await;
}

#[tokio::test]
async fn w1_a_text_that_is_not_there_fails_the_step_or_task_that_asked() {
    let error = failing(|model| {
        streaming(move || {
            let task = Task::new(
                "count",
                |run| async move { Ok(run.progress.text("drft").len()) },
            );
            one_step(&model).then(task)
        })
    })
    .await;
    assert_eq!(error.kind(), "result-missing");
    assert!(error.message().contains("count") && error.message().contains("drft"));
}

#[tokio::test]
async fn w1_a_model_that_never_stops_asking_for_tools_fails_its_step() {
    let (model, mut script) = ScriptedModel::new();
    let (tool, mut tools) = ScriptedTool::new("fetch");
    let sent = send(streaming(move || {
        Agent::new(model.clone())
            .tool(tool.clone())
            .then(Step::new("reply").prompt("Hello").max_calls(2))
    }))
    .await;
    for n in 0..2 {
        let call = script.next_call().await;
        call.tool_call(0, "a", "fetch", json!({}));
        call.finish(FinishReason::ToolCalls);
        if n == 0 {
            tools.next_call().await.answer(json!("more"));
        }
    }
    let error = failure(sent.end().await.1);
    assert_eq!(error.kind(), "too-many-calls");
    assert!(
        tools.try_next_call().is_none(),
        "what nobody would read is not run"
    );
}

#[tokio::test(start_paused = true)]
async fn w1_a_step_that_runs_out_of_time_under_a_catch_closes_all_it_opened() {
    let (model, mut script) = ScriptedModel::new();
    let (tool, mut tools) = ScriptedTool::new("fetch");
    let tool = tool.needing_approval_if(|input| input["ask"] == true);
    let mut sent = send(streaming(move || {
        let slow = Step::new("slow")
            .prompt("slow")
            .timeout(Duration::from_secs(5));
        let body = Parallel::new()
            .and(slow)
            .and(Step::new("asks").prompt("asks"));
        Agent::new(model.clone())
            .tool(tool.clone())
            .then(Catch::new(body).or(|_| Step::new("reply").prompt("reply")))
    }))
    .await;
    let call = script.call_asking("slow").await;
    call.tool_call(0, "a", "fetch", json!({"ask": false}));
    call.finish(FinishReason::ToolCalls);
    let mut running = tools.next_call().await;
    let call = script.call_asking("asks").await;
    call.tool_call(0, "a", "fetch", json!({"ask": true}));
    call.finish(FinishReason::ToolCalls);
    let request = sent.request().await;
    tokio::time::advance(Duration::from_secs(5)).await;
    running.dropped().await;
    say(&mut script, "so be it").await;
    let (events, result) = sent.end().await;
    assert_eq!(&*result.unwrap().text, "so be it");
    let place = |wanted: fn(&ChatEvent) -> bool| events.iter().position(wanted).unwrap();
    let reply = place(|event| matches!(event, ChatEvent::TextDelta { .. }));
    let aborted = place(|event| {
        matches!(
            event,
            ChatEvent::ToolExecutionEnd {
                outcome: ToolOutcome::Aborted,
                ..
            }
        )
    });
    let withdrawn = place(|event| {
        matches!(
            event,
            ChatEvent::ApprovalResolved {
                outcome: ApprovalOutcome::Withdrawn,
                ..
            }
        )
    });
    assert!(aborted < withdrawn && withdrawn < reply);
    assert_eq!(request.id.as_str(), "asks/1");
    let tree = trace(&events);
    assert_eq!(node(&tree, "asks/tool-1").status, TraceStatus::Aborted);
    assert!(tree.iter().all(|(_, node)| !node.status.is_open()));
}
