//! What a caller, a model or a tool can get wrong: each is a clear error that names the step, and leaves the session usable.
//! The words are part of what is tested.

use std::time::Duration;

use chat_conformance::{ModelCall, ModelScript, ScriptedModel, ScriptedTool};
use chat_core::{FinishReason, ResponderError, Role, RunResult};
use chat_responder_agent::{
    Agent, AgentResponder, Catch, IntoReply, Node, Parallel, Sequence, Step, Task, function_tool,
};
use serde_json::{Value, json};

use crate::support::{failure, one_step, send};

/// What a model does where it is asked to do badly. It says "Hi" to everything else.
type Badly = fn(ModelCall);

async fn playing(mut script: ModelScript, badly: Badly) {
    loop {
        let call = script.next_call().await;
        if call.request().messages[0].to_text().starts_with("Badly") {
            badly(call);
        } else {
            call.answer("Hi");
        }
    }
}

fn never(_: ModelCall) {
    unreachable!("nothing asks the model to do badly")
}

/// What the first turn of such a responder fails with. The one behind it completes: its input is "Again".
async fn first_fails(
    responder: AgentResponder,
    script: ModelScript,
    badly: Badly,
) -> ResponderError {
    let played = tokio::spawn(playing(script, badly));
    let sent = send(responder).await;
    let session = sent.session.clone();
    let error = failure(sent.end().await.1);
    assert_eq!(&*session.ask("Again").await.unwrap(), "Hi");
    played.abort();
    error
}

/// The same for a workflow of the first turn.
async fn workflow_fails<N: Into<Node>>(
    workflow: impl Fn(ScriptedModel) -> N + Send + Sync + 'static,
    badly: Badly,
) -> String {
    let (model, script) = ScriptedModel::new();
    let responder = AgentResponder::new("test", move |turn| match &*turn.input {
        "Again" => one_step(&model).into(),
        _ => workflow(model.clone()).into(),
    });
    let error = first_fails(responder.stream("reply"), script, badly).await;
    error.message().to_owned()
}

/// The same for a function that takes the reply, which is the step's text where the turn is the second.
async fn reply_fails<R: IntoReply>(
    reply: impl Fn(&RunResult) -> R + Send + Sync + 'static,
) -> String {
    let (model, script) = ScriptedModel::new();
    let responder = AgentResponder::new("test", move |turn| {
        let id = if &*turn.input == "Again" {
            "again"
        } else {
            "first"
        };
        Agent::new(model.clone()).then(Step::new(id).prompt("Hello"))
    });
    let responder = responder.reply(move |run| match run.text("again") {
        Some(text) => Ok(Some(text.into())),
        None => reply(run).into_reply(),
    });
    let error = first_fails(responder, script, never).await;
    error.message().to_owned()
}

#[tokio::test]
async fn a_reply_function_that_panics_returns_nothing_or_an_error() {
    assert_eq!(
        reply_fails(|_| -> String { panic!("no") }).await,
        "what takes the reply from the result panicked: no"
    );
    assert_eq!(
        reply_fails(|run| run.text("frist")).await,
        "the run gave no reply; these did: first"
    );
    assert_eq!(
        reply_fails(|run| run.json::<u8>("first").map(|n| n.to_string())).await,
        "the result of step first does not read as asked: invalid type: string \"Hi\", expected u8"
    );
}

#[tokio::test]
async fn a_reply_function_that_contradicts_what_was_streamed() {
    let (model, script) = ScriptedModel::new();
    let responder = AgentResponder::new("test", move |turn| {
        let said = Task::new("said", {
            let input = turn.input.to_string();
            move |_| async move { Ok(input) }
        });
        one_step(&model).then(said)
    });
    let responder = responder.stream("reply").reply(|run| {
        let again = run.text("said").as_deref() == Some("Again");
        if again { "Hi" } else { "Ho" }
    });
    assert_eq!(
        first_fails(responder, script, never).await.message(),
        "the reply contradicts what was streamed of it: it has to begin with that text"
    );
}

#[tokio::test]
async fn workflows_that_are_not_valid() {
    let check = async |said: &str, workflow: fn(Agent) -> Node| {
        let error = workflow_fails(move |model| workflow(Agent::new(model)), never).await;
        assert_eq!(error, said);
    };
    check(
        "the workflow is not valid: no step reply is there to stream the reply: the steps are draft, rely",
        |agent| {
            agent
                .then(Step::new("draft").prompt("Hello"))
                .then(Step::new("rely").prompt("Hello"))
                .into()
        },
    )
    .await;
    check(
        "the workflow is not valid: reply is to stream the reply but is a task, which writes no text: name a step",
        |_| Task::new("reply", |_| async { Ok("Hi") }).into(),
    )
    .await;
    check(
        "the workflow is not valid: reply is the id of two steps or tasks, the second in agent > node 2: give each one of its own",
        |agent| {
            agent
                .then(Step::new("reply").prompt("Hello"))
                .then(Step::new("reply").prompt("Hello"))
                .into()
        },
    )
    .await;
    check(
        "step count failed: the workflow is not valid: reply is the id of two steps or tasks, the second in fallback: give each one of its own",
        |agent| {
            let fails = Task::new("count", |_| async {
                Err::<u8, _>(ResponderError::new("no"))
            });
            agent
                .then(Step::new("reply").prompt("Hello"))
                .then(Catch::new(fails).or(|_| Step::new("reply").prompt("Hello")))
                .into()
        },
    )
    .await;
    check(
        "the workflow is not valid: agent > node 2 > parallel has no nodes: give it one, or leave it out",
        |agent| {
            agent
                .then(Step::new("reply").prompt("Hello"))
                .then(Parallel::new())
                .into()
        },
    )
    .await;
    check(
        "the workflow is not valid: sequence has no nodes: give it one, or leave it out",
        |_| Sequence::new().into(),
    )
    .await;
    check(
        "the workflow is not valid: step reply has nothing to ask: give it a `prompt` with a message",
        |agent| agent.then(Step::new("reply")).into(),
    )
    .await;
    check(
        "the workflow is not valid: step reply stands in no agent, and has no model to ask: put it into an `Agent`",
        |_| Step::new("reply").prompt("Hello").into(),
    )
    .await;
    check(
        "the workflow is not valid: agent has two tools of the name look: give each a name of its own",
        |agent| {
            let look = || function_tool("look", "Looks.", |(): (), _| async { Ok(1) });
            agent
                .tool(look())
                .tool(look())
                .then(Step::new("reply").prompt("Hello"))
                .into()
        },
    )
    .await;
}

#[tokio::test]
async fn a_prompt_that_asks_for_what_is_not_there() {
    let error = workflow_fails(
        |model| {
            Agent::new(model)
                .then(Step::new("draft").prompt("Hello"))
                .then(Step::new("reply").prompt_with(|run| run.text("drft")))
        },
        never,
    )
    .await;
    assert_eq!(
        error,
        "step reply failed: no step drft gave a result, but draft"
    );
}

/// Asks for a tool, in every call.
fn asks_for_a_tool(call: ModelCall) {
    call.tool_call(0, "a", "look", json!({}));
    call.finish(FinishReason::ToolCalls);
}

#[tokio::test]
async fn models_that_answer_badly() {
    let check = async |said: &str, badly: Badly| {
        let error = workflow_fails(
            |model| Agent::new(model).then(Step::new("reply").prompt("Badly")),
            badly,
        );
        assert_eq!(error.await, said);
    };
    check(
        "step reply failed: the model scripted panicked: no",
        |call| call.panic("no"),
    )
    .await;
    check(
        "step reply failed: the model's answer was cut off: it ended without a finish",
        ModelCall::cut,
    )
    .await;
    check(
        "step reply failed: the model made two tool calls in one place, 0",
        |call| {
            call.tool_call(0, "a", "look", json!({}));
            asks_for_a_tool(call);
        },
    )
    .await;
    check(
        "step reply failed: the model asked for tools in all of its 16 calls",
        asks_for_a_tool,
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_never_returns() {
    let (tool, _tools) = ScriptedTool::new("look");
    let error = workflow_fails(
        move |model| {
            Agent::new(model).tool(tool.clone()).then(
                Step::new("reply")
                    .prompt("Badly")
                    .timeout(Duration::from_secs(30)),
            )
        },
        asks_for_a_tool,
    )
    .await;
    assert_eq!(
        error,
        "step reply failed: it ran out of its 30 s while the tool look was at work"
    );
}

/// What the model reads where a tool's result would be, as the reply of the turn; the turn behind it completes too.
async fn tool_gives(input: Value) -> String {
    let (model, script) = ScriptedModel::new();
    let mail = function_tool(
        "mail",
        "Does as it is told.",
        |pages: usize, _| async move {
            assert!(pages > 0, "no pages");
            Ok("x".repeat(pages * 1024 * 1024))
        },
    );
    let responder = AgentResponder::new("test", move |turn| {
        let prompt = match &*turn.input {
            "Again" => "Hello".to_owned(),
            _ => format!("Badly: {input}"),
        };
        Agent::new(model.clone())
            .tool(mail.clone())
            .then(Step::new("reply").prompt(prompt))
    });
    let played = tokio::spawn(playing(script, |call| {
        let messages = &call.request().messages;
        if let Some(result) = messages.iter().find(|said| said.role == Role::Tool) {
            let result = serde_json::to_string(&result.parts).unwrap();
            return call.answer(result);
        }
        let said = messages[0].to_text();
        let input = said.strip_prefix("Badly: ").unwrap();
        call.tool_call(0, "a", "mail", serde_json::from_str(input).unwrap());
        call.finish(FinishReason::ToolCalls);
    }));
    let sent = send(responder.stream("reply")).await;
    let session = sent.session.clone();
    let reply = sent.end().await.1.unwrap();
    assert_eq!(&*session.ask("Again").await.unwrap(), "Hi");
    played.abort();
    let parts: Value = serde_json::from_str(&reply.text).unwrap();
    parts[0]["result"]["error"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn tools_that_panic_return_too_much_or_are_given_what_does_not_fit() {
    for (input, said) in [
        (json!({"value": 0}), "the tool mail panicked: no pages"),
        (
            json!({"value": 10}),
            "the result has 10485762 bytes of JSON, and 262144 are allowed: ask for less",
        ),
        (
            json!({"value": "ten"}),
            "at /value: \"ten\" is not of type \"integer\"",
        ),
        (json!({}), "\"value\" is a required property"),
        (
            json!("{\"value\": 1"),
            "the arguments are no JSON object: EOF while parsing an object at line 1 column 11",
        ),
    ] {
        assert_eq!(tool_gives(input).await, said);
    }
}
