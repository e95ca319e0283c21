//! Answers in forms that few servers send, and what a hostile one may try.

use super::*;
use crate::parse::MAX_VALUES;

#[test]
fn m3_a_whole_answer_may_be_as_long_as_an_event() {
    let text = "word ".repeat(1_000_000);
    let json =
        serde_json::json!({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]});
    for body in [
        json.to_string(),
        serde_json::to_string_pretty(&json).unwrap(),
    ] {
        let (events, end) = read(&body);
        assert_eq!(end, Ok(()));
        assert_eq!(text_of(&events), text);
    }
}

#[test]
fn m5_an_answer_has_no_more_tool_calls_than_can_be_told_apart_cheaply() {
    let call = |index: usize| format!(r#"{{"index":{index},"function":{{"name":"f"}}}}"#);
    let body = |count: usize| {
        let calls: Vec<_> = (0..count).map(call).collect();
        let chunk = format!(
            r#"{{"choices":[{{"delta":{{"tool_calls":[{}]}},"finish_reason":"tool_calls"}}]}}"#,
            calls.join(",")
        );
        stream_of(&[&chunk])
    };
    assert_eq!(read(&body(1024)).1, Ok(()));
    assert!(matches!(
        read(&body(1025)).1,
        Err(Fault::Malformed { what, .. }) if what.contains("1,024 tool calls")
    ));
}

#[test]
fn m3_a_message_instead_of_a_delta_is_the_answer_unless_anything_streamed() {
    for (chunks, text) in [
        // All in one event, or the reason behind it, or ever longer.
        (
            vec![r#"{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}"#],
            "Hi",
        ),
        (
            vec![
                r#"{"choices":[{"delta":null,"message":{"content":"Hi"}}]}"#,
                STOP,
            ],
            "Hi",
        ),
        (
            vec![
                r#"{"choices":[{"message":{"content":"H"}}]}"#,
                r#"{"choices":[{"message":{"content":"Hi"}}]}"#,
                STOP,
            ],
            "Hi",
        ),
        // Beside what streamed it counts for nothing.
        (
            vec![
                HI,
                r#"{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}"#,
            ],
            "Hi",
        ),
    ] {
        let (events, end) = read(&stream_of(&chunks));
        assert_eq!(
            (text_of(&events).as_str(), end),
            (text, Ok(())),
            "{chunks:?}"
        );
    }
}

#[test]
fn m3_a_finish_reason_that_says_the_model_gave_up_is_an_error() {
    for reason in [
        "error",
        "abort",
        "network_error",
        "network-error",
        "engine_overloaded",
        "MALFORMED_FUNCTION_CALL",
        "function_call_filter: malformed_function_call",
    ] {
        let chunk = format!(r#"{{"choices":[{{"delta":{{}},"finish_reason":"{reason}"}}]}}"#);
        let expected = said(&format!("the model stopped with {reason}"));
        check_fault(&stream_of(&[HI, &chunk]), "Hi", expected);
    }
}

#[test]
fn c43_what_came_with_an_error_is_given_first() {
    let beside = r#"{"choices":[{"delta":{"content":"Hi"}}],"error":{"message":"no"}}"#;
    check_fault(&stream_of(&[beside]), "Hi", said("no"));
    let within = r#"{"choices":[{"delta":{},"error":{"message":"no"},"finish_reason":"stop"}]}"#;
    check_fault(&stream_of(&[HI, within]), "Hi", said("no"));
}

#[test]
fn c43_words_beside_the_events_reach_the_error() {
    let body = format!("data: {HI}\n\nupstream connect error\n");
    let words = "upstream connect error".to_owned();
    check_fault(&body, "Hi", Fault::Truncated(Ended::Short, words));
    check_fault("event: error\ndata: overloaded\n", "", said("overloaded"));
}

#[test]
fn m3_an_event_of_another_name_is_a_sign_of_life_whatever_it_says() {
    let body = format!(
        "event: status\ndata: {{\"message\":\"queued\"}}\n\n{}",
        stream_of(&[HI, STOP])
    );
    let (events, end) = read(&body);
    assert_eq!((text_of(&events).as_str(), end), ("Hi", Ok(())));
}

#[test]
fn m2_events_without_empty_lines_between_them_are_read_all_the_same() {
    let body = stream_of(&[HI, HI, STOP]).replace("\n\n", "\n");
    let (events, end) = read(&body);
    assert_eq!((text_of(&events).as_str(), end), ("HiHi", Ok(())));
}

#[test]
fn t12_usage_that_is_told_in_parts_adds_up_and_zeros_take_nothing_back() {
    let body = stream_of(&[
        r#"{"choices":[],"usage":{"prompt_tokens":5}}"#,
        HI,
        STOP,
        r#"{"choices":[],"usage":{"completion_tokens":3}}"#,
        r#"{"choices":[],"usage":{"prompt_tokens":0,"completion_tokens":0}}"#,
    ]);
    let (events, _) = read(&body);
    let last = events.iter().rev().find_map(|event| match event {
        ModelEvent::Usage(usage) => Some(*usage),
        _ => None,
    });
    let expected = Usage {
        input_tokens: Some(5),
        output_tokens: Some(3),
        ..Usage::default()
    };
    assert_eq!(last, Some(expected));
}

#[test]
fn m2_a_refusal_that_repeats_the_text_is_said_once() {
    let body = stream_of(&[
        r#"{"choices":[{"delta":{"content":"no","refusal":"no"},"finish_reason":"stop"}]}"#,
    ]);
    assert_eq!(text_of(&read(&body).0), "no");
}

#[test]
fn c48_a_call_in_the_old_form_is_a_call() {
    let body = stream_of(&[
        r#"{"choices":[{"delta":{"function_call":{"name":"f","arguments":"{\"x\""}}}]}"#,
        r#"{"choices":[{"delta":{"function_call":{"arguments":": 1}"}}}]}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"function_call"}]}"#,
    ]);
    assert_eq!(
        calls_of(&read(&body).0),
        [("f".to_owned(), json!({"x": 1}))]
    );
}

#[test]
fn c47_a_call_that_was_cut_before_its_arguments_is_no_call_without_any() {
    let call = |reason: &str| {
        let chunk = format!(
            r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":0,"id":"a","function":{{"name":"rm","arguments":""}}}}]}},"finish_reason":"{reason}"}}]}}"#
        );
        calls_of(&read(&stream_of(&[&chunk])).0)
    };
    assert_eq!(call("length"), [("rm".to_owned(), json!(""))]);
    assert_eq!(call("content_filter"), [("rm".to_owned(), json!(""))]);
    assert_eq!(call("tool_calls"), [("rm".to_owned(), json!({}))]);
}

#[test]
fn m5_an_event_of_countless_values_is_refused_before_it_takes_its_memory() {
    let zeros = vec!["0"; MAX_VALUES + 1].join(",");
    for body in [
        format!("data: {{\"choices\":[{zeros}]}}\n\n"),
        format!("data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{zeros}]}}}}]}}\n\n"),
    ] {
        assert!(matches!(
            read(&body).1,
            Err(Fault::Malformed { what, .. }) if what.contains("100,000 values")
        ));
    }
    // Its size alone, or commas within a text, are no reason.
    let text = "a, [{".repeat(MAX_VALUES);
    let chunk = json!({"choices": [{"delta": {"content": text}, "logprobs": {}, "x": 1}]});
    let (events, end) = read(&stream_of(&[&chunk.to_string(), STOP]));
    assert_eq!((text_of(&events), end), (text, Ok(())));
}

#[test]
fn m3_a_message_beside_an_empty_delta_is_the_answer() {
    let body = stream_of(&[
        r#"{"choices":[{"delta":{"role":"assistant","content":""}}]}"#,
        r#"{"choices":[{"delta":{},"message":{"content":"Hi"},"finish_reason":"stop"}]}"#,
    ]);
    check_whole(&body, "Hi", FinishReason::Stop);
}

#[test]
fn m3_text_behind_a_finish_reason_says_that_the_answer_goes_on() {
    let mut reader = AnswerReader::new(false);
    let mut out = VecDeque::new();
    for (chunk, has_finished) in [(STOP, true), (HI, false)] {
        let read = reader.feed(format!("data: {chunk}\n\n").as_bytes(), &mut out);
        assert_eq!(
            (read, reader.has_finished()),
            (Ok(Progress::Reading), has_finished)
        );
    }
}

#[test]
fn m5_a_body_of_countless_values_is_refused_before_it_takes_its_memory() {
    let zeros = vec!["0"; MAX_VALUES + 1].join(",");
    for body in [
        format!(r#"{{"choices":[{zeros}]}}"#),
        format!("{{\n\"choices\":\n[{zeros}]}}"),
    ] {
        assert!(matches!(
            read(&body).1,
            Err(Fault::Malformed { what, .. }) if what.contains("100,000 values")
        ));
    }
    // Beside events, too.
    let body = format!("data: {HI}\n\n{{\"error\":\"no\",\"x\":[{zeros}]}}\n");
    assert!(matches!(read(&body).1, Err(Fault::Truncated(..))));
}

#[test]
fn m3_nothing_but_a_field_without_data_is_no_event() {
    check_fault("data:", "", truncated(Ended::Empty));
}

#[test]
fn m2_empty_details_of_reasoning_are_no_event() {
    for empty in ["null", "[]", "{}", "\"\""] {
        let chunk =
            format!(r#"{{"choices":[{{"delta":{{"content":"","reasoning_details":{empty}}}}}]}}"#);
        let (events, _) = read(&stream_of(&[&chunk]));
        assert_eq!(events, [], "{empty}");
    }
}

#[test]
fn m2_thoughts_beside_their_details_are_told() {
    let chunk = r#"{"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm"}]}],"reasoning_details":[{"id":1}]}}]}"#;
    let (events, _) = read(&stream_of(&[chunk]));
    let [ModelEvent::Reasoning { text, data, .. }] = events.as_slice() else {
        panic!("reasoning, not {events:?}")
    };
    assert_eq!(&**text, "Hm");
    let details = data.as_ref().map(|data| &data["reasoning_details"]);
    assert_eq!(details, Some(&json!([{"id": 1}])));
}

#[test]
fn m2_no_list_loses_what_is_beyond_its_bound_unsaid() {
    let piece = |text: &str| format!(r#"{{"function":{{"arguments":"{text}"}}}}"#);
    let mut pieces = vec![r#"{"id":"a","function":{"name":"f","arguments":""}}"#.to_owned()];
    pieces.extend(std::iter::repeat_n(piece(" "), 1030));
    let calls = format!(
        r#"{{"choices":[{{"delta":{{"tool_calls":[{}]}}}}]}}"#,
        pieces.join(",")
    );
    let choices = vec![r#"{"delta":{"content":"Hi"}}"#; 1030].join(",");
    let choices = format!(r#"{{"choices":[{choices}]}}"#);
    for chunk in [calls, choices] {
        let (_, end) = read(&stream_of(&[&chunk, STOP]));
        assert!(matches!(end, Err(Fault::Malformed { .. })), "{end:?}");
    }
}
