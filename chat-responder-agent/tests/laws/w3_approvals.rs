//! W3: a person is asked before, and what was approved runs once, with the arguments that were shown.

use chat_conformance::{ScriptedModel, ScriptedTool};
use chat_core::{
    AnswerError, ApprovalOutcome, ChatEvent, FinishReason, ResponderError, ToolOutcome, TraceStatus,
};
use chat_responder_agent::{Agent, Catch, Node, Parallel, RunOptions, Step};
use serde_json::json;

use crate::support::{ask_for, ids, kinds, node, one_step, send, streaming, trace};

#[tokio::test]
async fn w3_c61_c62_all_approvals_are_shown_at_once_and_each_approved_call_runs_once() {
    let (model, mut script) = ScriptedModel::new();
    let (tool, mut tools) = ScriptedTool::new("deploy");
    let tool = tool.needing_approval_if(|input| input["env"] != "test");
    let mut sent = send(streaming(move || {
        Agent::new(model.clone())
            .tool(tool.clone())
            .then(Step::new("reply").prompt("Hello"))
    }))
    .await;
    let call = script.next_call().await;
    for (index, env) in (0..).zip(["prod", "test", "stage"]) {
        call.tool_call(index, format!("c{index}"), "deploy", json!({ "env": env }));
    }
    call.finish(FinishReason::ToolCalls);
    let (first, second) = (sent.request().await, sent.request().await);
    assert!(!kinds(&sent.seen).contains(&"tool-execution-start"));
    assert_ne!(first.id, second.id);
    assert_eq!(*first.input, json!({"env": "prod"}));
    assert_eq!(sent.turn.requests().len(), 2);
    tools.next_call().await.answer(json!("tested"));
    sent.turn.approve(&first.id).unwrap();
    let approved = tools.next_call().await;
    assert_eq!(approved.input(), &*first.input);
    approved.answer(json!("deployed"));
    assert!(sent.turn.approve(&first.id).is_err());
    sent.turn.deny(&second.id, "not now").unwrap();
    let call = script.next_call().await;
    let results = serde_json::to_value(&call.request().messages[2].parts).unwrap();
    assert_eq!(results[0]["result"], "deployed");
    assert_eq!(results[1]["result"], "tested");
    assert_eq!(
        results[2]["result"],
        json!({"error": "a person denied this call: not now"})
    );
    assert!(tools.try_next_call().is_none());
    call.text("done");
    call.finish(FinishReason::Stop);
    let (events, result) = sent.end().await;
    assert_eq!(&*result.unwrap().text, "done");
    let denied = events.iter().filter(|event| {
        matches!(
            event,
            ChatEvent::ToolExecutionEnd {
                outcome: ToolOutcome::Denied,
                ..
            }
        )
    });
    assert_eq!(denied.count(), 1);
}

#[tokio::test]
async fn w3_cancel_withdraws_what_was_asked() {
    let (model, mut script) = ScriptedModel::new();
    let (tool, _tools) = ScriptedTool::new("deploy");
    let tool = tool.needing_approval();
    let mut sent = send(streaming(move || {
        Agent::new(model.clone())
            .tool(tool.clone())
            .then(Step::new("reply").prompt("Hello"))
    }))
    .await;
    let call = script.next_call().await;
    call.tool_call(0, "a", "deploy", json!({}));
    call.finish(FinishReason::ToolCalls);
    let request = sent.request().await;
    sent.turn.cancel("enough");
    assert!(sent.turn.approve(&request.id).is_err());
    let (events, result) = sent.end().await;
    assert_eq!(result.unwrap_err().to_string(), "enough");
    assert!(events.iter().any(|event| matches!(
        event,
        ChatEvent::ApprovalResolved { id, outcome: ApprovalOutcome::Withdrawn, .. } if *id == request.id
    )));
}

#[tokio::test]
async fn w3_what_was_approved_and_waits_for_its_turn_waits_for_no_person() {
    let (model, mut script) = ScriptedModel::new();
    let (push, mut pushes) = ScriptedTool::new("push");
    let push = push
        .exclusive()
        .needing_approval_if(|input| input["ask"] == true);
    let mut sent = send(streaming(move || one_step(&model).tool(push.clone()))).await;
    let call = script.next_call().await;
    call.tool_call(0, "a", "push", json!({"ask": false}));
    call.tool_call(1, "b", "push", json!({"ask": true}));
    call.finish(FinishReason::ToolCalls);
    let alone = pushes.next_call().await;
    let request = sent.request().await;
    assert_eq!(
        node(&trace(&sent.seen), "reply/tool-2").status,
        TraceStatus::Waiting
    );
    sent.turn.approve(&request.id).unwrap();
    let status = sent
        .until(|event| match event {
            ChatEvent::RunUpdate { tree, .. } => {
                Some(node(tree, "reply/tool-2").status).filter(|s| *s != TraceStatus::Waiting)
            }
            _ => None,
        })
        .await;
    assert_eq!(status, TraceStatus::Pending);
    assert!(pushes.try_next_call().is_none());
    alone.answer(json!(1));
    pushes.next_call().await.answer(json!(2));
    script.next_call().await.answer("done");
    let (events, _) = sent.end().await;
    assert_eq!(
        node(&trace(&events), "reply/tool-2").status,
        TraceStatus::Done
    );
}

#[tokio::test]
async fn r2_w3_an_answer_to_what_is_not_pending_is_an_error_and_runs_nothing() {
    let (model, mut script) = ScriptedModel::new();
    let (tool, mut tools) = ScriptedTool::new("deploy");
    let tool = tool.needing_approval();
    let mut sent = send(streaming(move || {
        let body = Parallel::new()
            .and(Step::new("fails").prompt("fails"))
            .and(Step::new("asks").prompt("asks"));
        let caught = Catch::new(body).or(|_| Step::new("reply").prompt("reply"));
        Agent::new(model.clone()).tool(tool.clone()).then(caught)
    }))
    .await;
    let fails = script.call_asking("fails").await;
    let asks = script.call_asking("asks").await;
    asks.tool_call(0, "a", "deploy", json!({"n": 1}));
    asks.tool_call(1, "b", "deploy", json!({"n": 2}));
    asks.finish(FinishReason::ToolCalls);
    let (first, second) = (
        sent.request().await.id.clone(),
        sent.request().await.id.clone(),
    );
    let unknown = "asks/3".into();
    assert!(matches!(sent.turn.approve(&unknown), Err(AnswerError::Unknown(id)) if id == unknown));
    sent.turn.approve(&first).unwrap();
    let answered = [sent.turn.approve(&first), sent.turn.deny(&first, "no")];
    assert!(
        answered
            .iter()
            .all(|answer| matches!(answer, Err(AnswerError::Answered(_))))
    );
    let mut running = tools.next_call().await;
    assert_eq!(running.input()["n"], 1);
    assert_eq!(sent.turn.requests().len(), 1);
    fails.fail(ResponderError::new("no"));
    running.dropped().await;
    let reply = script.call_asking("reply").await;
    assert!(sent.turn.requests().is_empty());
    assert!(matches!(
        sent.turn.approve(&second),
        Err(AnswerError::Withdrawn(_))
    ));
    reply.answer("done");
    let turn = sent.turn.clone();
    assert_eq!(&*sent.end().await.1.unwrap().text, "done");
    assert!(matches!(
        turn.approve(&second),
        Err(AnswerError::NotRunning(_))
    ));
    assert!(
        tools.try_next_call().is_none(),
        "what was approved ran once, and nothing else"
    );
}

#[tokio::test]
async fn w3_an_approved_call_runs_with_what_was_shown_and_a_denial_of_one_denies_no_other() {
    let (model, mut script) = ScriptedModel::new();
    let (tool, mut tools) = ScriptedTool::new("deploy");
    let tool = tool.needing_approval();
    let mut sent = send(streaming(move || one_step(&model).tool(tool.clone()))).await;
    for n in 1..=2 {
        ask_for(&mut script, "deploy", json!({ "n": n })).await;
        let request = sent.request().await;
        assert_eq!(request.id.as_str(), format!("reply/{n}"));
        assert_eq!(
            (request.tool_name.as_str(), request.call_id.as_str()),
            ("deploy", "a")
        );
        assert_eq!(*request.input, json!({ "n": n }));
        if n == 1 {
            sent.turn.deny(&request.id, None::<String>).unwrap();
        } else {
            sent.turn.approve(&request.id).unwrap();
        }
    }
    let running = tools.next_call().await;
    assert_eq!(running.input(), &json!({"n": 2}));
    running.answer(json!("deployed"));
    let call = script.next_call().await;
    let results = serde_json::to_value(&call.request().messages).unwrap();
    assert_eq!(
        results[2]["parts"][0]["result"],
        json!({"error": "a person denied this call"})
    );
    assert_eq!(results[4]["parts"][0]["result"], "deployed");
    call.answer("done");
    assert_eq!(&*sent.end().await.1.unwrap().text, "done");
}

#[tokio::test]
async fn w3_a_host_that_answers_what_was_never_asked_or_twice_runs_nothing_more() {
    let (model, mut script) = ScriptedModel::new();
    let (tool, mut tools) = ScriptedTool::new("deploy");
    let workflow = Node::from(one_step(&model).tool(tool.needing_approval()));
    let run = workflow.start(RunOptions::default(), ids()).unwrap();
    let control = run.control();
    let run = tokio::spawn(run);
    let call = script.next_call().await;
    call.tool_call(0, "a", "deploy", json!({"n": 1}));
    call.tool_call(1, "b", "deploy", json!({"n": 2}));
    call.finish(FinishReason::ToolCalls);
    tokio::task::yield_now().await;
    control.approve(&"reply/3".into());
    control.approve(&"reply/1".into());
    control.approve(&"reply/1".into());
    control.deny(&"reply/1".into(), None);
    let running = tools.next_call().await;
    assert_eq!(running.input()["n"], 1);
    running.answer(json!("deployed"));
    control.deny(&"reply/2".into(), None);
    script.next_call().await.answer("done");
    assert_eq!(
        run.await.unwrap().unwrap().text("reply").as_deref(),
        Some("done")
    );
    assert!(tools.try_next_call().is_none());
}
