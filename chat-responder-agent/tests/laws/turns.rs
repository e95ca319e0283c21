//! What the laws of turns and journals ask of a turn that a workflow answers: T7, T9, T12, J3, P1, and any runtime.

use std::sync::Arc;

use chat_conformance::{ScriptedModel, ScriptedTool};
use chat_core::{FinishReason, MemoryStore, ResponderError, TurnStatus, Usage};
use chat_responder_agent::{Agent, AgentResponder, Parallel, Step, Task, function_tool};
use chat_runtime::Chat;
use serde_json::json;

use crate::support::{ask_for, failure, journal, node, one_step, send, streaming, trace};

fn used(tokens: u64) -> Usage {
    Usage {
        output_tokens: Some(tokens),
        ..Usage::default()
    }
}

#[tokio::test]
async fn t9_a_retry_runs_under_the_idempotency_keys_of_the_first_turn() {
    let (model, mut script) = ScriptedModel::new();
    let (tool, mut tools) = ScriptedTool::new("pay");
    let sent = send(streaming(move || {
        let key = Task::new(
            "key",
            |run| async move { Ok(run.idempotency_key.to_string()) },
        );
        Agent::new(model.clone())
            .tool(tool.clone())
            .then(key)
            .then(Step::new("reply").prompt_with(|run| run.text("key")))
    }))
    .await;
    let session = sent.session.clone();
    let mut turn = sent.turn.clone();
    let mut keys = Vec::new();
    for _ in 0..3 {
        let call = script.next_call().await;
        let of_task = call.request().messages[0].to_text();
        call.tool_call(0, "a", "pay", json!({}));
        call.finish(FinishReason::ToolCalls);
        let running = tools.next_call().await;
        let context = running.context().clone();
        assert_eq!(context.turn_id, *turn.id());
        assert_eq!(context.session_id, *session.id());
        keys.push((of_task, context.idempotency_key.to_string()));
        turn.cancel("again");
        turn.result().await.unwrap_err();
        turn = session.retry(turn.id());
    }
    let first = sent.turn.id();
    assert_eq!(keys[0].0, format!("{first}/key"));
    assert!(keys[0].1.starts_with(&format!("{first}/reply/pay/")));
    assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
}

#[tokio::test]
async fn t12_usage_so_far_is_kept_where_a_turn_fails_or_is_canceled() {
    for cancels in [false, true] {
        let (model, mut script) = ScriptedModel::new();
        let sent = send(streaming(move || {
            Agent::new(model.clone())
                .then(Step::new("draft").prompt("draft"))
                .then(Step::new("reply").prompt("reply"))
        }))
        .await;
        let call = script.next_call().await;
        call.usage(used(3));
        call.answer("a draft");
        let call = script.next_call().await;
        call.usage(used(4));
        call.usage(used(5));
        call.heard().await;
        if cancels {
            sent.turn.cancel("enough");
        } else {
            call.fail(ResponderError::new("no"));
        }
        let (session, id) = (sent.session.clone(), sent.turn.id().clone());
        sent.end().await.1.unwrap_err();
        let record = session.find(&id).unwrap();
        assert_eq!(record.metadata.usage, Some(used(8)));
        let status = if cancels {
            TurnStatus::Canceled
        } else {
            TurnStatus::Failed
        };
        assert_eq!(record.status, status);
    }
}

#[tokio::test]
async fn t7_what_was_streamed_before_a_failure_is_in_no_later_context() {
    let (model, mut script) = ScriptedModel::new();
    let responder = AgentResponder::new("test", move |turn| {
        Agent::new(model.clone()).then(Step::new("reply").prompt(turn.conversation()))
    });
    let sent = send(responder.stream("reply")).await;
    let call = script.next_call().await;
    call.text("half");
    call.fail(ResponderError::new("no"));
    let session = sent.session.clone();
    sent.end().await.1.unwrap_err();
    let next = session.send("Again");
    let call = script.next_call().await;
    let asked = crate::support::asked(&call);
    assert_eq!(asked, ["Again"]);
    call.answer("whole");
    assert_eq!(&*next.await.unwrap().text, "whole");
}

#[tokio::test]
async fn j3_c49_the_journal_has_the_input_and_the_reply_and_nothing_of_the_run() {
    let (model, mut script) = ScriptedModel::new();
    let look = function_tool("look", "tool-description", |(): (), _| async {
        Ok("tool-output")
    });
    let sent = send(
        streaming(move || {
            Agent::new(model.clone())
                .name("agent-name")
                .instructions("instructions")
                .tool(look.clone())
                .then(Step::new("draft").prompt("step-prompt"))
                .then(Step::new("reply").prompt("Hello"))
        })
        .version("7"),
    )
    .await;
    script.next_call().await.answer("step-result");
    let call = script.next_call().await;
    call.reasoning_with_data("reasoning-text", json!("reasoning-data"));
    call.tool_call(0, "call-id", "look", json!({"unknown": "tool-input"}));
    call.finish(FinishReason::ToolCalls);
    let call = script.next_call().await;
    let sent_back = serde_json::to_string(&call.request().messages).unwrap();
    assert!(
        sent_back.contains("reasoning-data"),
        "within the run it is kept"
    );
    call.usage(used(3));
    call.answer("The reply");
    let (store, session) = (sent.store.clone(), sent.session.clone());
    let reply = sent.end().await.1.unwrap();
    assert!(reply.run.is_some());
    let journal = journal(&store, &session).await;
    let outcome: serde_json::Value = serde_json::from_str(journal.lines().last().unwrap()).unwrap();
    assert_eq!(outcome["text"], "The reply");
    assert_eq!(
        outcome["metadata"],
        json!({
            "model": {"provider": "scripted", "modelId": "scripted"},
            "usage": {"outputTokens": 3},
            "finishReason": "stop",
        })
    );
    assert_eq!(
        outcome["responder"],
        json!({"kind": "agent", "id": "test", "version": "7"})
    );
    for kept_out in [
        "agent-name",
        "instructions",
        "tool-description",
        "step-prompt",
        "step-result",
        "draft",
        "reasoning",
        "call-id",
        "tool-input",
        "tool-output",
        "look",
    ] {
        assert!(!journal.contains(kept_out), "{kept_out} in {journal}");
    }
}

#[tokio::test]
async fn p1_c66_secrets_in_errors_reach_no_model_event_trace_or_journal() {
    const SECRET: &str = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789";
    let (model, mut script) = ScriptedModel::new();
    let fetch = function_tool("fetch", "Fetches.", |(): (), _| async {
        let refused = format!("401 for Authorization: Bearer {SECRET}");
        Err::<(), _>(ResponderError::new(refused))
    });
    let sent = send(streaming(move || {
        let last = Task::new("last", |_| async {
            let refused = format!("connect postgres://me:{SECRET}@db/x failed, api_key={SECRET}");
            Err::<(), _>(ResponderError::new(refused))
        });
        one_step(&model).tool(fetch.clone()).then(last)
    }))
    .await;
    ask_for(&mut script, "fetch", json!({})).await;
    let call = script.next_call().await;
    let asked = serde_json::to_string(&call.request().messages).unwrap();
    assert!(
        asked.contains("401 for") && !asked.contains(SECRET),
        "{asked}"
    );
    call.answer("done");
    let (store, session, turn) = (
        sent.store.clone(),
        sent.session.clone(),
        sent.turn.id().clone(),
    );
    let (events, result) = sent.end().await;
    failure(result);
    let record = session.find(&turn).unwrap();
    let error = record.error.unwrap().message;
    assert!(
        error.starts_with("step last failed: connect postgres://"),
        "{error}"
    );
    for event in &events {
        let event = serde_json::to_string(event).unwrap();
        assert!(!event.contains(SECRET), "{event}");
    }
    let tree = trace(&events);
    assert!(node(&tree, "reply/tool-1").error.is_some() && node(&tree, "last").error.is_some());
    let journal = journal(&store, &session).await;
    assert!(
        journal.contains("postgres") && !journal.contains(SECRET),
        "{journal}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn turns_that_are_answered_on_many_threads_do_not_mix() {
    let (model, mut script) = ScriptedModel::new();
    tokio::spawn(async move {
        loop {
            let call = script.next_call().await;
            tokio::spawn(async move {
                let messages = &call.request().messages;
                let said = messages[0].to_text();
                if messages.len() == 1 {
                    call.tool_call(0, "a", "echo", json!({ "value": said }));
                    call.tool_call(1, "b", "echo", json!({ "value": "b" }));
                    call.finish(FinishReason::ToolCalls);
                } else {
                    let results = serde_json::to_value(&messages[2].parts).unwrap();
                    call.answer(format!("{said}={}", results[0]["result"]));
                }
            });
        }
    });
    let echo = function_tool("echo", "Echoes.", |said: String, _| async {
        tokio::task::yield_now().await;
        Ok(said)
    });
    let responder = AgentResponder::new("test", move |turn| {
        let both: Parallel = ["one", "two"]
            .into_iter()
            .map(|id| Step::new(id).prompt(format!("{id} {}", turn.input)))
            .collect();
        Agent::new(model.clone()).tool(echo.clone()).then(both)
    });
    let responder =
        responder.reply(|run| Some(format!("{} {}", run.text("one")?, run.text("two")?)));
    let chat = Arc::new(Chat::new(responder, MemoryStore::new()));
    let turns = (0..50).map(|n| {
        let chat = chat.clone();
        tokio::spawn(async move {
            let session = chat.create_session().await.unwrap();
            let reply = session.ask(n.to_string()).await.unwrap();
            assert_eq!(*reply, *format!("one {n}=\"one {n}\" two {n}=\"two {n}\""));
        })
    });
    futures_util::future::try_join_all(turns).await.unwrap();
}
