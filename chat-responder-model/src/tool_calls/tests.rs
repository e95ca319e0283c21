//! Tool calls in the pieces in which servers send them.

use serde_json::json;

use super::*;

#[track_caller]
fn check(deltas: Value, expected: &[(&str, &str, Value)]) {
    let mut calls = ToolCalls::default();
    let mut events = Vec::new();
    for delta in serde_json::from_value::<Vec<ToolCallDelta>>(deltas.clone()).unwrap() {
        calls.begin_list();
        calls.read(delta, &mut events).unwrap();
    }
    let complete: Vec<_> = calls.complete(false).collect();
    let expected: Vec<_> = (0..)
        .zip(expected)
        .map(|(index, (call_id, tool, input))| ModelEvent::ToolCall {
            index,
            call_id: (*call_id).into(),
            tool: (*tool).into(),
            input: Arc::new(input.clone()),
        })
        .collect();
    assert_eq!(complete, expected, "{deltas}");
    let starts = events
        .iter()
        .filter(|event| matches!(event, ModelEvent::ToolCallStart { .. }))
        .count();
    assert_eq!(starts, complete.len());
}

/// Reads lists of pieces, as events bring them.
#[track_caller]
fn check_lists(lists: Value, expected: &[(&str, Value)]) {
    let mut calls = ToolCalls::default();
    let mut events = Vec::new();
    for list in serde_json::from_value::<Vec<Vec<ToolCallDelta>>>(lists.clone()).unwrap() {
        calls.begin_list();
        for delta in list {
            calls.read(delta, &mut events).unwrap();
        }
    }
    let complete: Vec<_> = calls
        .complete(false)
        .filter_map(|event| match event {
            ModelEvent::ToolCall {
                tool,
                input,
                call_id,
                ..
            } => Some((call_id, tool.to_string(), (*input).clone())),
            _ => None,
        })
        .collect();
    let told: Vec<_> = complete
        .iter()
        .map(|(_, tool, input)| (tool.as_str(), input.clone()))
        .collect();
    assert_eq!(told, expected, "{lists}");
    let ids: std::collections::BTreeSet<_> = complete.iter().map(|(id, ..)| id).collect();
    assert_eq!(ids.len(), complete.len(), "{lists}");
}

#[test]
fn c48_calls_that_share_a_number_or_have_none_are_told_apart_by_their_names() {
    let f = |arguments: &str| json!({"function": {"name": "f", "arguments": arguments}});
    let g = |arguments: &str| json!({"function": {"name": "g", "arguments": arguments}});
    let with = |mut piece: Value, field: &str, value: Value| {
        piece[field] = value;
        piece
    };
    let numbered = |piece: Value| with(piece, "index", json!(0));
    let both = [("f", json!({"a": 1})), ("g", json!({"b": 2}))];
    let twice = [("f", json!({"a": 1})), ("f", json!({"a": 2}))];
    let bare = [("f", json!({})), ("g", json!({}))];
    let (one, two, next) = (r#"{"a":1}"#, r#"{"b":2}"#, r#"{"a":2}"#);
    // In one list, and in two.
    check_lists(json!([[numbered(f(one)), numbered(g(two))]]), &both);
    check_lists(json!([[numbered(f(one))], [numbered(g(two))]]), &both);
    check_lists(json!([[f(one), f(next)]]), &twice);
    check_lists(json!([[f(one)], [f(next)]]), &twice);
    check_lists(json!([[numbered(f(one))], [numbered(f(next))]]), &twice);
    check_lists(json!([[f(""), g("")]]), &bare);
    check_lists(json!([[f("")], [g("")]]), &bare);
    // In one list two names are two calls, even where nothing else tells them apart.
    check_lists(json!([[numbered(f("")), numbered(g(""))]]), &bare);
    let equal = [bare[0].clone(), bare[0].clone()];
    check_lists(json!([[f(""), f("")]]), &equal);
    let same_id = |piece| with(piece, "id", json!("x"));
    check_lists(json!([[same_id(f(one)), same_id(g(two))]]), &both);
    check_lists(json!([[same_id(f(one))], [same_id(g(two))]]), &both);
    // Numbers as text.
    let named = |piece, index: &str| with(piece, "index", json!(index));
    let rest = json!({"index": "0", "function": {"arguments": "1}"}});
    check_lists(
        json!([[named(f("{\"a\":"), "0")], [named(g(two), "1")], [rest]]),
        &both,
    );
    // A name in every piece goes on with its call, also where the pieces have no id.
    check_lists(
        json!([
            [numbered(f("{\"a\""))],
            [numbered(f(":"))],
            [numbered(f("1}"))]
        ]),
        &both[..1],
    );
}

#[test]
fn c48_every_call_is_kept_however_it_comes() {
    let piece = |index: Value, id: &str, name: &str, arguments: &str| json!({"index": index, "id": id, "function": {"name": name, "arguments": arguments}});
    let (f, g) = (("a", "f", json!({"x": 1})), ("b", "g", json!({})));
    let both = [f.clone(), g.clone()];
    // Pieces, as OpenAI sends them.
    check(
        json!([
            piece(json!(0), "a", "f", ""),
            piece(json!(0), "", "", "{\"x\""),
            piece(json!(0), "", "", ": 1}"),
            piece(json!(1), "b", "g", "{}")
        ]),
        &both,
    );
    // Interleaved.
    check(
        json!([
            piece(json!(0), "a", "f", "{\"x\""),
            piece(json!(1), "b", "g", "{}"),
            piece(json!(0), "", "", ": 1}")
        ]),
        &both,
    );
    // Whole, all under number 0; whole, without numbers; numbers from 1.
    check(
        json!([
            piece(json!(0), "a", "f", "{\"x\":1}"),
            piece(json!(0), "b", "g", "{}")
        ]),
        &both,
    );
    check(
        json!([
            piece(json!(null), "a", "f", "{\"x\":1}"),
            piece(json!(null), "b", "g", "")
        ]),
        &both,
    );
    check(
        json!([
            piece(json!(1), "a", "f", "{\"x\":1}"),
            piece(json!(2), "b", "g", "{}")
        ]),
        &both,
    );
    // The id and the name repeated with every piece.
    check(
        json!([
            piece(json!(0), "a", "f", "{\"x\""),
            piece(json!(0), "a", "f", ":1}")
        ]),
        std::slice::from_ref(&f),
    );
    // Neither number nor id after the first; arguments that are JSON; no id at all; no JSON.
    check(
        json!([piece(json!(0), "a", "f", "{\"x\""), {"function": {"arguments": ":1}"}}]),
        std::slice::from_ref(&f),
    );
    check(
        json!([{"id": "a", "function": {"name": "f", "arguments": {"x": 1}}}]),
        &[f],
    );
    check(
        json!([{"function": {"name": "f", "arguments": "{"}}]),
        &[("call-0", "f", json!("{"))],
    );
    check(
        json!([{"function": {"name": "f", "arguments": "1"}}, {"function": {"name": "g", "arguments": "2"}}]),
        &[("call-0", "f", json!(1)), ("call-1", "g", json!(2))],
    );
    // The name in pieces.
    check(
        json!([piece(json!(0), "b", "ge", ""), piece(json!(0), "", "t", "")]),
        &[("b", "get", json!({}))],
    );
}
#[test]
fn ids_and_names_are_bounded_whatever_a_server_writes() {
    let long = "é".repeat(MAX_NAME_BYTES);
    let cut = &long[..MAX_NAME_BYTES];
    let piece = json!({"index": 0, "id": long, "function": {"name": long}});
    check(json!([piece, piece]), &[(cut, cut, json!({}))]);
}

#[test]
fn c48_a_call_that_is_told_whole_once_more_is_one_call() {
    let f = |id: Value, index: Value| json!({"index": index, "id": id, "function": {"name": "f", "arguments": r#"{"a":1}"#}});
    let one = [("f", json!({"a": 1}))];
    // With its id, under another number as well; with its number, where the others have ids.
    check_lists(
        json!([[f(json!("x"), json!(0))], [f(json!("x"), json!(0))]]),
        &one,
    );
    check_lists(
        json!([[f(json!("x"), json!(0)), f(json!("x"), json!(1))]]),
        &one,
    );
    check_lists(
        json!([[f(json!("x"), json!(0))], [f(json!(null), json!(0))]]),
        &one,
    );
    // In pieces, and then whole.
    let start = json!({"index": 0, "id": "x", "function": {"name": "f", "arguments": "{\"a\""}});
    let rest = json!({"index": 0, "function": {"arguments": ":1}"}});
    check_lists(json!([[start], [rest], [f(json!("x"), json!(0))]]), &one);
    // Other arguments are another call, whatever its id says; so is a call where none has an id.
    let other =
        json!({"index": 0, "id": "x", "function": {"name": "f", "arguments": r#"{"a":2}"#}});
    let both = [("f", json!({"a": 1})), ("f", json!({"a": 2}))];
    check_lists(json!([[f(json!("x"), json!(0))], [other]]), &both);
    let twice = [one[0].clone(), one[0].clone()];
    check_lists(
        json!([[f(json!(""), json!(0))], [f(json!(""), json!(0))]]),
        &twice,
    );
}

#[test]
fn c48_a_piece_that_names_no_call_goes_on_with_the_one_that_is_written() {
    let start = |index: u64, id: &str, name: &str| json!({"index": index, "id": id, "function": {"name": name, "arguments": ""}});
    let rest =
        |index: u64, arguments: &str| json!({"index": index, "function": {"arguments": arguments}});
    // Numbers that count the pieces.
    check_lists(
        json!([[start(0, "x", "f")], [rest(1, "{\"a\"")], [rest(2, ":1}")]]),
        &[("f", json!({"a": 1}))],
    );
    // An id whose name is still to come is a call of its own.
    let late = json!({"index": 1, "id": "y"});
    let name = json!({"index": 1, "function": {"name": "g", "arguments": "{}"}});
    check_lists(
        json!([[start(0, "x", "f")], [rest(0, "{}")], [late], [name]]),
        &[("f", json!({})), ("g", json!({}))],
    );
    // Two pieces of one call in one list, named in both or not.
    let named = |arguments: &str| json!({"index": 0, "id": "x", "function": {"name": "f", "arguments": arguments}});
    let one = [("f", json!({"a": 1}))];
    check_lists(json!([[named("{\"a\""), rest(0, ":1}")]]), &one);
    check_lists(json!([[named("{\"a\""), named(":1}")]]), &one);
}

#[test]
fn c48_empty_arguments_that_come_first_are_none() {
    let piece = |arguments: &str| json!({"index": 0, "id": "x", "function": {"name": "f", "arguments": arguments}});
    let rest = |arguments: &str| json!({"index": 0, "function": {"arguments": arguments}});
    let one = [("f", json!({"a": 1}))];
    check_lists(
        json!([[piece("{}")], [rest("{\"a\"")], [rest(":1}")]]),
        &one,
    );
    check_lists(json!([[piece("{}")], [piece("{\"a\":1}")]]), &one);
    check_lists(json!([[piece("{}")]]), &[("f", json!({}))]);
}

#[test]
fn m5_no_call_is_read_anew_for_each_piece() {
    // Arguments that look whole, long, and are asked about for each of many pieces: as many reads would take minutes.
    let mut calls = ToolCalls::default();
    let long = format!("{{\"a\":\"{}\"}}", "x".repeat(8 * 1024 * 1024));
    let piece = |arguments: &str| ToolCallDelta {
        index: Some(0),
        function: crate::wire::FunctionDelta {
            name: "f".into(),
            arguments: arguments.into(),
        },
        ..ToolCallDelta::default()
    };
    for arguments in [long.as_str(), "}"]
        .into_iter()
        .chain(std::iter::repeat_n("{}", 1000))
    {
        calls.begin_list();
        calls.read(piece(arguments), &mut Vec::new()).unwrap();
    }
    assert_eq!(calls.complete(false).count(), 1001);
}

#[test]
fn m5_no_white_space_is_read_anew_for_each_piece() {
    // White space around arguments that look whole, asked about for each of many pieces: as many reads would take minutes.
    let blank = " ".repeat(8 * 1024 * 1024);
    for arguments in [format!("{blank}{{}}"), format!("{{}}{blank}")] {
        let mut calls = ToolCalls::default();
        let piece = |arguments: &str| ToolCallDelta {
            index: Some(0),
            id: "x".into(),
            function: crate::wire::FunctionDelta {
                name: "f".into(),
                arguments: arguments.into(),
            },
            ..ToolCallDelta::default()
        };
        for arguments in
            std::iter::once(arguments.as_str()).chain(std::iter::repeat_n("{}", 10_000))
        {
            calls.begin_list();
            calls.read(piece(arguments), &mut Vec::new()).unwrap();
        }
        assert_eq!(calls.complete(false).count(), 1);
    }
}

#[test]
fn no_two_calls_have_one_id() {
    let call = |id: &str, name: &str| json!({"index": 0, "id": id, "function": {"name": name, "arguments": "{}"}});
    let lists = json!([
        [call("x", "f")],
        [call("x-2", "g")],
        [call("x", "h")],
        [call("x-2-2", "i")]
    ]);
    check_lists(
        lists,
        &[
            ("f", json!({})),
            ("g", json!({})),
            ("h", json!({})),
            ("i", json!({})),
        ],
    );
}
