//! The answer reader against what real servers send, whole and cut at any byte.

use proptest::prelude::*;

use serde_json::json;

use super::*;

type Read = (Vec<ModelEvent>, Result<(), Fault>);

fn read_pieces<'b>(done_suffices: bool, pieces: impl IntoIterator<Item = &'b [u8]>) -> Read {
    let mut reader = AnswerReader::new(done_suffices);
    let mut out = VecDeque::new();
    for piece in pieces {
        match reader.feed(piece, &mut out) {
            Ok(Progress::Reading) => {}
            Ok(Progress::Whole) => return (out.into(), Ok(())),
            Err(fault) => return (out.into(), Err(fault)),
        }
    }
    let end = reader.end(&mut out);
    (out.into(), end)
}

fn read(body: &str) -> Read {
    read_pieces(false, [body.as_bytes()])
}

/// A body of chunks, each given as JSON text, and `[DONE]`.
fn stream_of(chunks: &[&str]) -> String {
    chunks
        .iter()
        .chain(&["[DONE]"])
        .map(|chunk| format!("data: {chunk}\n\n"))
        .collect()
}

fn text_of(events: &[ModelEvent]) -> String {
    let texts = events.iter().filter_map(|event| {
        if let ModelEvent::Text(text) = event {
            Some(&**text)
        } else {
            None
        }
    });
    texts.collect()
}

fn calls_of(events: &[ModelEvent]) -> Vec<(String, Value)> {
    let calls = events.iter().filter_map(|event| match event {
        ModelEvent::ToolCall { tool, input, .. } => Some((tool.to_string(), (**input).clone())),
        _ => None,
    });
    calls.collect()
}

#[track_caller]
fn check_whole(body: &str, text: &str, reason: FinishReason) {
    let (events, end) = read(body);
    assert_eq!(end, Ok(()), "{body}");
    assert_eq!(text_of(&events), text, "{body}");
    assert_eq!(events.last(), Some(&ModelEvent::Finish(reason)), "{body}");
}

#[track_caller]
fn check_fault(body: &str, text: &str, fault: Fault) {
    let (events, end) = read(body);
    assert_eq!(text_of(&events), text, "{body}");
    assert_eq!(end, Err(fault), "{body}");
}

const HI: &str = r#"{"choices":[{"index":0,"delta":{"content":"Hi"}}]}"#;
const STOP: &str = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;

fn truncated(ended: Ended) -> Fault {
    Fault::Truncated(ended, String::new())
}

fn said(message: &str) -> Fault {
    Fault::Said(Said::of_text(message))
}

#[test]
fn m2_every_delta_is_an_event_and_reasoning_is_no_text() {
    let body = stream_of(&[
        r#"{"choices":[{"delta":{"role":"assistant","content":null}}]}"#,
        r#"{"choices":[{"delta":{"reasoning_content":"hm"}}]}"#,
        r#"{"choices":[{"delta":{"reasoning":"hm","reasoning_content":"hm"}}]}"#,
        r#"{"choices":[{"delta":{"reasoning":"so"}}]}"#,
        HI,
        r#"{"choices":[{"delta":{"content":" there"}}]}"#,
        STOP,
    ]);
    let (events, end) = read(&body);
    assert_eq!(end, Ok(()));
    let reasoning = |text: &str, kind: &str, data: Option<Value>| ModelEvent::Reasoning {
        text: text.into(),
        kind: Some(kind.into()),
        data: data.map(Into::into),
    };
    assert_eq!(
        events,
        [
            reasoning("hm", "reasoning_content", None),
            reasoning("hm", "reasoning_content", None),
            reasoning("so", "reasoning", Some(json!({"reasoning": ""}))),
            ModelEvent::Text("Hi".into()),
            ModelEvent::Text(" there".into()),
            ModelEvent::Finish(FinishReason::Stop),
        ]
    );
}

#[test]
fn m2_a_llama_server_answer_is_read_whole() {
    // As llama-server sends it: a first chunk with null content, the usage in a chunk of its own, timings beside it.
    let body = stream_of(&[
        r#"{"choices":[{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null}}],"created":1,"id":"c","model":"m","object":"chat.completion.chunk"}"#,
        r#"{"choices":[{"finish_reason":null,"index":0,"delta":{"content":"Hi"}}],"created":1,"id":"c","model":"m","object":"chat.completion.chunk"}"#,
        r#"{"choices":[{"finish_reason":"stop","index":0,"delta":{}}],"created":1,"id":"c","model":"m","object":"chat.completion.chunk"}"#,
        r#"{"choices":[],"created":1,"id":"c","model":"m","object":"chat.completion.chunk","usage":{"completion_tokens":2,"prompt_tokens":9,"total_tokens":11,"prompt_tokens_details":{"cached_tokens":4}},"timings":{"prompt_n":9}}"#,
    ]);
    let usage = Usage {
        input_tokens: Some(9),
        output_tokens: Some(2),
        total_tokens: Some(11),
        cached_input_tokens: Some(4),
        reasoning_tokens: None,
    };
    let expected = [
        ModelEvent::Text("Hi".into()),
        ModelEvent::Usage(usage),
        ModelEvent::Finish(FinishReason::Stop),
    ];
    assert_eq!(read(&body), (expected.into(), Ok(())));
}

#[test]
fn c40_an_empty_finish_reason_is_none() {
    let hi = r#"{"choices":[{"delta":{"content":"Hi"},"finish_reason":""}]}"#;
    check_whole(&stream_of(&[hi, STOP]), "Hi", FinishReason::Stop);
    check_fault(&format!("data: {hi}\n\n"), "Hi", truncated(Ended::Short));
}

#[test]
fn c41_an_empty_usage_is_unknown() {
    let body = stream_of(&[
        r#"{"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}],"usage":{}}"#,
    ]);
    let (events, _) = read(&body);
    assert_eq!(
        events,
        [
            ModelEvent::Text("Hi".into()),
            ModelEvent::Finish(FinishReason::Stop)
        ]
    );
}

#[test]
fn c43_an_error_in_any_chunk_keeps_the_servers_message() {
    let error = r#"{"choices":[{"delta":{"content":""},"finish_reason":"error"}],"error":{"message":"overloaded"}}"#;
    check_fault(&stream_of(&[HI, error]), "Hi", said("overloaded"));
    check_fault(
        &stream_of(&[HI, STOP, r#"{"error":"overloaded"}"#]),
        "Hi",
        said("overloaded"),
    );
    check_fault(
        &format!("data: {HI}\n\nevent: error\ndata: overloaded\n\n"),
        "Hi",
        said("overloaded"),
    );
    check_fault(
        &format!("data: {HI}\n\nevent: error\ndata: {{\"message\":\"overloaded\"}}\n\n"),
        "Hi",
        said("overloaded"),
    );
    let bare = r#"{"choices":[{"delta":{},"finish_reason":"error"}]}"#;
    check_fault(
        &stream_of(&[HI, bare]),
        "Hi",
        said("the model stopped with error"),
    );
}

#[test]
fn c44_an_answer_is_whole_only_with_a_finish_reason() {
    check_fault(&format!("data: {HI}\n\n"), "Hi", truncated(Ended::Short));
    check_fault("", "", truncated(Ended::Empty));
    check_fault(": ping\n\n", "", truncated(Ended::Empty));
    check_fault(&stream_of(&[HI]), "Hi", truncated(Ended::Done));
    // Cut in the middle of an event.
    check_fault(
        &format!("data: {HI}\n\ndata: {}", &STOP[..20]),
        "Hi",
        truncated(Ended::Short),
    );
    // A finish reason is enough, with or without what usually follows it.
    check_whole(
        &format!("data: {HI}\n\ndata: {STOP}\n\n"),
        "Hi",
        FinishReason::Stop,
    );
    check_whole(
        &format!("data: {HI}\n\ndata: {STOP}"),
        "Hi",
        FinishReason::Stop,
    );
}

#[test]
fn m3_done_alone_suffices_only_where_the_caller_says_so() {
    let body = stream_of(&[HI]);
    let expected = [
        ModelEvent::Text("Hi".into()),
        ModelEvent::Finish(FinishReason::Other("done".into())),
    ];
    assert_eq!(
        read_pieces(true, [body.as_bytes()]),
        (expected.into(), Ok(()))
    );
    let (_, end) = read_pieces(true, [format!("data: {HI}\n\n").as_bytes()]);
    assert_eq!(end, Err(truncated(Ended::Short)), "no [DONE] either");
}

#[test]
fn m3_a_body_that_is_no_event_stream_is_told() {
    check_fault(r#"{"error":{"message":"no"}}"#, "", said("no"));
    check_fault("{\n  \"detail\": \"no\"\n}\n", "", said("no"));
    let page = "<html>Welcome</html>";
    check_fault(
        page,
        "",
        Fault::Malformed {
            what: "a body that is no event stream",
            excerpt: page.into(),
        },
    );
    check_fault(
        "data: nonsense\n\n",
        "",
        Fault::Malformed {
            what: "an event that is no JSON",
            excerpt: "nonsense".into(),
        },
    );
}

#[test]
fn m3_an_event_of_any_size_is_not_waited_for() {
    let mut reader = AnswerReader::new(false);
    let mut out = VecDeque::new();
    let piece = vec![b'x'; 1024 * 1024];
    let end = (0..9).try_for_each(|_| reader.feed(&piece, &mut out).map(|_| ()));
    assert_eq!(
        end,
        Err(Fault::Malformed {
            what: "an event of more than 8 MiB",
            excerpt: String::new()
        })
    );
}

#[test]
fn c47_a_length_stop_is_told_as_such_and_so_are_other_words() {
    for (word, reason) in [
        ("length", FinishReason::Length),
        ("content_filter", FinishReason::ContentFilter),
        ("STOP", FinishReason::Stop),
        ("eos", FinishReason::Other("eos".into())),
    ] {
        let stop = STOP.replace("stop", word);
        check_whole(&stream_of(&[HI, &stop]), "Hi", reason);
    }
}

#[test]
fn c48_tool_calls_beside_the_finish_reason_are_kept() {
    let body = stream_of(&[
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}},{"index":1,"id":"b","function":{"name":"g","arguments":"{}"}}]},"finish_reason":"stop"}]}"#,
    ]);
    let (events, end) = read(&body);
    assert_eq!(end, Ok(()));
    let whole: Vec<_> = events
        .iter()
        .filter_map(|event| {
            if let ModelEvent::ToolCall { index, tool, .. } = event {
                Some((*index, tool.as_str()))
            } else {
                None
            }
        })
        .collect();
    assert_eq!(whole, [(0, "f"), (1, "g")]);
}

#[test]
fn only_the_first_of_several_choices_is_the_answer() {
    let other = r#"{"choices":[{"index":1,"delta":{"content":"no"},"finish_reason":"length"}]}"#;
    check_whole(&stream_of(&[HI, other, STOP]), "Hi", FinishReason::Stop);
}

#[test]
fn a_refusal_is_text_and_signs_of_life_are_nothing() {
    let refusal = r#"{"choices":[{"delta":{"refusal":"I won't."}}]}"#;
    check_whole(&stream_of(&[refusal, STOP]), "I won't.", FinishReason::Stop);
    check_whole(
        &format!(
            ": ping\n\nevent: ping\ndata: now\n\n{}",
            stream_of(&[HI, STOP])
        ),
        "Hi",
        FinishReason::Stop,
    );
}

proptest! {
    #[test]
    fn however_a_stream_is_cut_its_events_are_the_same(
        texts in prop::collection::vec(r#"[a-z\\"é\u{1f600} ]{0,5}"#, 0..12),
        ending in 0..4_usize,
        end_of_line in prop_oneof![Just("\n"), Just("\r\n"), Just("\r")],
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..10),
    ) {
        let mut chunks: Vec<String> =
            texts.iter().map(|text| json!({"choices": [{"delta": {"content": text}}]}).to_string()).collect();
        chunks.extend(match ending {
            0 => vec![STOP.to_owned(), "[DONE]".to_owned()],
            1 => vec![STOP.to_owned(), json!({"choices": [], "usage": {"total_tokens": 3}}).to_string(), "[DONE]".to_owned()],
            2 => vec![json!({"error": {"message": "no"}}).to_string()],
            _ => vec![],
        });
        let body: String = chunks.iter().map(|chunk| format!("data: {chunk}{end_of_line}{end_of_line}")).collect();
        let bytes = body.as_bytes();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let whole = read_pieces(false, [bytes]);
        prop_assert_eq!(&read_pieces(false, cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]])), &whole);
        prop_assert_eq!(text_of(&whole.0), texts.concat());
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read_pieces(true, [bytes.as_slice()]);
    }
}

mod calls;
mod odd;
