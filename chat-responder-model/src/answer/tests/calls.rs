//! Tool calls in every way in which servers number them, cut anywhere (C48).

use chat_core::CallId;
use proptest::{collection::vec, sample::Index};
use serde_json::Map;

use super::*;

/// In which of a call's pieces something is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Never,
    First,
    Always,
}

/// What number the pieces bear.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Number {
    Own,
    Zero,
    None,
}

/// A way to tell calls apart: their numbers, ids and names.
type Style = (Number, Told, Told);

const STYLES: [Style; 14] = [
    (Number::Own, Told::First, Told::First),
    (Number::Own, Told::Always, Told::First),
    (Number::Own, Told::Always, Told::Always),
    (Number::Own, Told::Never, Told::First),
    (Number::Own, Told::Never, Told::Always),
    (Number::Zero, Told::First, Told::First),
    (Number::Zero, Told::Always, Told::First),
    (Number::Zero, Told::Always, Told::Always),
    (Number::Zero, Told::Never, Told::First),
    (Number::Zero, Told::Never, Told::Always),
    (Number::None, Told::First, Told::First),
    (Number::None, Told::Always, Told::Always),
    (Number::None, Told::Never, Told::First),
    (Number::None, Told::Never, Told::Always),
];

#[derive(Debug, Clone)]
struct Made {
    tool: &'static str,
    input: Value,
    cuts: Vec<Index>,
}

fn made() -> impl Strategy<Value = Made> {
    let tool = prop::sample::select(&["f", "g", "get_weather"][..]);
    let fields = vec(("[a-c]", r#"[a{}\[\]\\",:é ]{0,6}"#), 0..3);
    (tool, fields, vec(any::<Index>(), 0..4)).prop_map(|(tool, fields, cuts)| Made {
        tool,
        // One within the other.
        input: fields.into_iter().fold(json!({}), |inner, (name, text)| {
            let fields = [(name, inner), ("text".to_owned(), text.into())];
            Value::Object(Map::from_iter(fields))
        }),
        cuts,
    })
}

/// The pieces of a call, as this style tells them.
fn pieces(style: Style, place: usize, call: &Made) -> Vec<Value> {
    let (number, ids, names) = style;
    let text = call.input.to_string();
    // Where nothing but a name begins a call, it comes with the beginning of its arguments: without, none could tell it from a
    // name that is repeated.
    let least = usize::from(number != Number::Own && ids == Told::Never);
    let place_of = |cut: &Index| text.floor_char_boundary(least + cut.index(text.len()));
    let mut cuts: Vec<usize> = call.cuts.iter().map(place_of).collect();
    cuts.extend([0, text.len()]);
    cuts.sort_unstable();
    let pieces = cuts.windows(2).enumerate().map(|(at, cut)| {
        let mut function = json!({"arguments": text[cut[0]..cut[1]]});
        let is_told = |told| told == Told::Always || told == Told::First && at == 0;
        if is_told(names) {
            function["name"] = call.tool.into();
        }
        let mut piece = json!({ "function": function });
        if is_told(ids) {
            piece["id"] = format!("id-{place}").into();
        }
        match number {
            Number::Own => piece["index"] = place.into(),
            Number::Zero => piece["index"] = 0.into(),
            Number::None => {}
        }
        piece
    });
    pieces.collect()
}

/// One piece of each call by turns, as some servers send calls that have numbers of their own.
fn by_turns(calls: Vec<Vec<Value>>) -> Vec<Value> {
    let longest = calls.iter().map(Vec::len).max().unwrap_or(0);
    let turns = (0..longest).flat_map(|at| calls.iter().filter_map(move |call| call.get(at)));
    turns.cloned().collect()
}

proptest! {
    #[test]
    fn c48_every_call_comes_out_once_whole_and_in_order_however_it_is_numbered_and_cut(
        style in prop::sample::select(&STYLES[..]),
        calls in vec(made(), 1..5),
        interleave in any::<bool>(),
        a_list in 1..4_usize,
        cuts in vec(any::<Index>(), 0..10),
    ) {
        let (number, ids, names) = style;
        let told: Vec<_> = calls.iter().enumerate().map(|(place, call)| pieces(style, place, call)).collect();
        let pieces = if interleave && number == Number::Own { by_turns(told) } else { told.concat() };
        // Two names in one list are two calls, where no id says that they are one.
        let a_list = if ids == Told::Never && names == Told::Always { 1 } else { a_list };
        let mut chunks: Vec<String> = pieces
            .chunks(a_list)
            .map(|list| json!({"choices": [{"delta": {"tool_calls": list}}]}).to_string())
            .collect();
        chunks.push(STOP.to_owned());
        let body = stream_of(&chunks.iter().map(String::as_str).collect::<Vec<_>>());
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(body.len() + 1)).collect();
        cuts.extend([0, body.len()]);
        cuts.sort_unstable();
        let (events, end) = read_pieces(false, cuts.windows(2).map(|cut| &body.as_bytes()[cut[0]..cut[1]]));
        prop_assert_eq!(end, Ok(()));

        let expected: Vec<_> = calls.iter().map(|call| (call.tool.to_owned(), call.input.clone())).collect();
        prop_assert_eq!(calls_of(&events), expected, "{}", body);
        // What was told on the way is the same.
        let mut started: Vec<(CallId, String, String)> = Vec::new();
        for event in &events {
            match event {
                ModelEvent::ToolCallStart { index, call_id, tool } => {
                    prop_assert_eq!(*index as usize, started.len());
                    started.push((call_id.clone(), tool.to_string(), String::new()));
                }
                ModelEvent::ToolCallDelta { index, name_fragment, arguments_fragment } => {
                    let call = &mut started[*index as usize];
                    call.1.push_str(name_fragment.as_deref().unwrap_or_default());
                    call.2.push_str(arguments_fragment.as_deref().unwrap_or_default());
                }
                ModelEvent::ToolCall { index, call_id, .. } => prop_assert_eq!(&started[*index as usize].0, call_id),
                _ => {}
            }
        }
        for (call, (_, tool, arguments)) in calls.iter().zip(&started) {
            prop_assert_eq!((tool.as_str(), arguments), (call.tool, &call.input.to_string()));
        }
        let ids: std::collections::BTreeSet<_> = started.iter().map(|(id, ..)| id.as_str().to_owned()).collect();
        prop_assert_eq!(ids.len(), calls.len());
    }
}
