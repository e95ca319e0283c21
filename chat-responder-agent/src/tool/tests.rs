//! Tools made of functions: their schemas, their arguments, when they ask.

use std::sync::atomic::{AtomicU32, Ordering};

use chat_core::{SessionId, TurnId};
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::*;

#[derive(JsonSchema, Deserialize)]
struct Deploy {
    environment: String,
}

/// A word that only its own `Deserialize` knows to be wrong.
#[derive(JsonSchema, Deserialize)]
#[serde(try_from = "String")]
#[schemars(with = "String")]
struct Even(String);

impl TryFrom<String> for Even {
    type Error = String;
    fn try_from(word: String) -> Result<Self, String> {
        match word.len() % 2 {
            0 => Ok(Self(word)),
            _ => Err(format!("{word} has an odd length")),
        }
    }
}

fn context() -> ToolContext {
    ToolContext {
        cancel: CancellationToken::new(),
        session_id: SessionId::parse("s1").unwrap(),
        turn_id: TurnId::parse("t1").unwrap(),
        root_turn_id: TurnId::parse("t1").unwrap(),
        step: "step".into(),
        call_id: "c1".into(),
        idempotency_key: "t1/step/1".into(),
    }
}

fn call(tool: &impl Tool, input: Value) -> Result<Value, ResponderError> {
    let call = tool.call(Arc::new(input), context());
    call.now_or_never().expect("nothing to wait for")
}

#[test]
fn w2_a_function_gets_its_arguments_and_gives_its_result() {
    let deploy = function_tool("deploy", "Deploys.", |input: Deploy, context| async move {
        Ok((input.environment, context.idempotency_key.to_string()))
    });
    let spec = deploy.spec();
    assert_eq!(spec.name, "deploy".into());
    assert_eq!(&*spec.description, "Deploys.");
    assert_eq!(spec.input_schema["required"], json!(["environment"]));
    let result = call(&deploy, json!({"environment": "prod"})).unwrap();
    assert_eq!(result, json!(["prod", "t1/step/1"]));
    assert!(!deploy.is_exclusive());
}

#[test]
fn w2_an_input_of_any_type_is_asked_for_as_an_object() {
    let shout = function_tool("shout", "", |word: String, _| async move {
        Ok(word.to_uppercase())
    });
    assert_eq!(shout.spec().input_schema["type"], "object");
    assert_eq!(call(&shout, json!({"value": "hey"})).unwrap(), "HEY");
    let now = function_tool("now", "", |(): (), _| async move { Ok(7) });
    assert_eq!(now.spec().input_schema["type"], "object");
    assert_eq!(call(&now, json!({})).unwrap(), 7);
}

#[test]
fn w2_an_error_of_a_function_is_the_calls_error() {
    let parse = function_tool("parse", "", |word: String, _| async move {
        Ok(word.parse::<u8>()?)
    });
    let error = call(&parse, json!({"value": "x"})).unwrap_err();
    assert_eq!(error.message(), "invalid digit found in string");
}

#[test]
fn w2_what_only_the_type_refuses_never_runs_and_is_not_asked_about() {
    let ran = Arc::new(AtomicU32::new(0));
    let counted = ran.clone();
    let tool = function_tool("even", "", move |even: Even, _| {
        counted.fetch_add(1, Ordering::Relaxed);
        async move { Ok(even.0) }
    })
    .needs_approval_if(|_| true);
    assert!(!Tool::needs_approval(&tool, &json!({"value": "odd"})));
    let error = call(&tool, json!({"value": "odd"})).unwrap_err();
    assert_eq!(error.kind(), "bad-arguments");
    assert_eq!(error.message(), "odd has an odd length");
    assert_eq!(ran.load(Ordering::Relaxed), 0);
    assert!(Tool::needs_approval(&tool, &json!({"value": "even"})));
    // The schema takes it, since it is one integer written in two ways.
    let count = function_tool("count", "", |n: u8, _| async move { Ok(n) }).needs_approval();
    assert!(!Tool::needs_approval(&count, &json!({"value": 5.0})));
    assert!(Tool::needs_approval(&count, &json!({"value": 5})));
}

#[test]
fn w3_approval_is_never_always_or_by_the_arguments() {
    let tool = || function_tool("deploy", "", |_: Deploy, _| async move { Ok(()) });
    let (staging, prod) = (
        json!({"environment": "staging"}),
        json!({"environment": "prod"}),
    );
    let asks = |tool: &FunctionTool<Deploy>| {
        [&staging, &prod].map(|input| Tool::needs_approval(tool, input))
    };
    assert_eq!(asks(&tool()), [false, false]);
    assert_eq!(asks(&tool().needs_approval()), [true, true]);
    let by_input = tool().needs_approval_if(|input| input.environment == "prod");
    assert_eq!(asks(&by_input), [false, true]);
    assert!(tool().exclusive().is_exclusive());
}

#[test]
fn w2_an_error_result_is_bounded_and_tells_no_secret() {
    assert_eq!(error_result("no route"), json!({"error": "no route"}));
    let secret = "sk-abcdefghijklmnopqrstuvwxyz0123456789";
    assert!(!error_result(secret).to_string().contains(secret));
    assert!(json_len(&error_result(&"x".repeat(1_000_000))) < 2100);
}

#[test]
fn the_length_is_that_of_the_text() {
    for value in [json!(null), json!({"a": [1, 2.5, "\n\u{1}ü\""]})] {
        assert_eq!(json_len(&value), value.to_string().len());
    }
}

#[test]
fn t4_levels_are_counted_however_many_there_are() {
    let nested = |levels: usize| (1..levels).fold(json!([]), |value, _| Value::Array(vec![value]));
    assert!(!is_too_deep(&json!("flat")));
    assert!(!is_too_deep(&nested(MAX_LEVELS)));
    assert!(is_too_deep(&nested(MAX_LEVELS + 1)));
    assert!(is_too_deep(&nested(2000)));
}
