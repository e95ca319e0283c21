//! Request bodies as the server reads them.

use std::sync::Arc;

use serde_json::json;

use super::*;

fn sent(base: &str, settings: Settings, request: ModelRequest) -> Value {
    let body = body(&OpenAi::new(base).unwrap(), "m", &settings, &request);
    serde_json::from_slice(&body).unwrap()
}

#[test]
fn m1_a_bare_request_says_no_more_than_it_must() {
    let request = ModelRequest {
        messages: vec![Message::user("Hi")],
        ..Default::default()
    };
    assert_eq!(
        sent("http://host/v1", Settings::default(), request),
        json!({
            "model": "m",
            "messages": [{"role": "user", "content": "Hi"}],
            "stream": true,
            "stream_options": {"include_usage": true},
        })
    );
}

#[test]
fn m1_settings_are_sent_and_options_lie_over_them() {
    let options = json!({
        "temperature": 0.9, "stream": false, "stream_options": null, "reasoning": {"effort": "low"}, "seed": null,
    });
    let settings = Settings {
        max_output_tokens: Some(5),
        temperature: Some(0.2),
        top_p: Some(0.5),
        top_k: Some(40),
        presence_penalty: Some(0.1),
        frequency_penalty: Some(-0.1),
        stop: vec!["END".into()],
        seed: Some(7),
        provider_options: options.as_object().unwrap().clone(),
        ..Settings::default()
    };
    let expected = json!({
        "model": "m", "messages": [], "stream": true, "max_tokens": 5, "temperature": 0.9, "top_p": 0.5, "top_k": 40,
        "presence_penalty": 0.1, "frequency_penalty": -0.1, "stop": ["END"], "reasoning": {"effort": "low"},
    });
    assert_eq!(
        sent("http://host/v1", settings.clone(), ModelRequest::default()),
        expected
    );
    for (url, is_openai) in [
        ("https://api.openai.com/v1", true),
        ("https://eu.api.openai.com/v1", true),
        ("https://n.openai.azure.com/openai/deployments/d", true),
        (
            "https://n.cognitiveservices.azure.com/openai/deployments/d",
            true,
        ),
        ("https://n.services.ai.azure.com/openai/v1", true),
        ("https://n.services.ai.azure.com/models", false),
        ("https://azure.com.example/openai", false),
    ] {
        let sent = sent(url, settings.clone(), ModelRequest::default());
        let (new, old) = (sent.get("max_completion_tokens"), sent.get("max_tokens"));
        let (given, left_out) = if is_openai { (new, old) } else { (old, new) };
        assert_eq!((given, left_out), (Some(&json!(5)), None), "{url}");
    }
}

#[test]
fn options_inside_an_object_leave_the_rest_of_it() {
    let mut below = json!({"a": {"b": 1, "c": 2}, "d": 3});
    lay_over(
        &mut below,
        json!({"a": {"b": 9}, "d": {"e": {}}}).as_object().unwrap(),
    );
    assert_eq!(below, json!({"a": {"b": 9, "c": 2}, "d": {"e": {}}}));
}

#[test]
fn c49_calls_results_and_the_reasoning_behind_them_go_back() {
    let details = |text: &str| Some(Arc::new(json!({"reasoning_details": [{"text": text}]})));
    let call = Part::ToolCall {
        call_id: "a".into(),
        tool: "f".into(),
        input: Arc::new(json!({"x": 1})),
    };
    let messages = vec![
        Message {
            role: Role::Assistant,
            parts: vec![
                Part::Reasoning {
                    text: "so ".into(),
                    data: details("so "),
                },
                Part::Reasoning {
                    text: "it is".into(),
                    data: details("it is"),
                },
                call,
            ],
        },
        Message {
            role: Role::Tool,
            parts: vec![
                Part::ToolResult {
                    call_id: "a".into(),
                    tool: "f".into(),
                    result: Arc::new(json!("text")),
                },
                Part::ToolResult {
                    call_id: "b".into(),
                    tool: "g".into(),
                    result: Arc::new(json!([1])),
                },
            ],
        },
        Message {
            role: Role::Assistant,
            parts: vec![Part::Reasoning {
                text: "hm".into(),
                data: None,
            }],
        },
    ];
    let spec = ToolSpec {
        name: "f".into(),
        description: "does f".into(),
        input_schema: Arc::new(json!({})),
    };
    let output = OutputSchema {
        name: "out".into(),
        schema: Arc::new(json!({"type": "object"})),
    };
    let request = ModelRequest {
        messages,
        tools: vec![spec],
        output: Some(output),
    };
    let sent = sent("http://host/v1", Settings::default(), request);
    assert_eq!(
        sent["messages"],
        json!([
            {
                "role": "assistant",
                "tool_calls": [{"type": "function", "id": "a", "function": {"name": "f", "arguments": "{\"x\":1}"}}],
                "reasoning_content": "so it is",
                "reasoning_details": [{"text": "so "}, {"text": "it is"}],
            },
            {"role": "tool", "tool_call_id": "a", "content": "text"},
            {"role": "tool", "tool_call_id": "b", "content": "[1]"},
            {"role": "assistant", "content": ""},
        ])
    );
    assert_eq!(sent["tools"][0]["function"]["name"], "f");
    assert_eq!(sent["response_format"]["json_schema"]["strict"], true);
}

#[test]
fn c60_arguments_that_are_no_object_go_back_inside_of_one() {
    let check = |input: Value, arguments: Value| {
        let call = Part::ToolCall {
            call_id: "a".into(),
            tool: "f".into(),
            input: Arc::new(input),
        };
        let request = ModelRequest {
            messages: vec![Message {
                role: Role::Assistant,
                parts: vec![call],
            }],
            ..Default::default()
        };
        let sent = sent("http://host/v1", Settings::default(), request);
        let written = &sent["messages"][0]["tool_calls"][0]["function"]["arguments"];
        let read: Value = serde_json::from_str(written.as_str().unwrap()).unwrap();
        assert_eq!(read, arguments);
    };
    check(json!({}), json!({}));
    check(json!("{\"x\": "), json!({"invalid": "{\"x\": "}));
    check(json!([1]), json!({"invalid": "[1]"}));
    check(json!(null), json!({"invalid": "null"}));
}
