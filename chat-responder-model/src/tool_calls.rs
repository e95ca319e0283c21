//! Puts tool calls together from their pieces. Every call a model made comes out, however its server numbers them (C48).

use std::sync::Arc;

use chat_core::{CallId, ModelEvent};
use serde_json::{Value, json};

use crate::wire::ToolCallDelta;

/// The most the id of a tool call or the name of its tool may hold, in bytes; servers write some dozens, and take 64 for a name.
const MAX_NAME_BYTES: usize = 256;

/// The most tool calls that one answer may hold: OpenAI's API takes 128 tools, and models call a few at once. Without a bound a
/// server could have each piece looked for among hundreds of thousands.
const MAX_CALLS: usize = 1024;

/// An answer with more than [`MAX_CALLS`] tool calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooManyCalls;

/// The tool calls of one answer, in the order they began.
#[derive(Debug, Default)]
pub(crate) struct ToolCalls {
    calls: Vec<Call>,
}

#[derive(Debug)]
struct Call {
    wire_index: Option<u64>,
    wire_id: String,
    call_id: CallId,
    tool: String,
    arguments: String,
}

impl ToolCalls {
    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Reads one piece, and tells of it.
    pub(crate) fn read(
        &mut self,
        delta: ToolCallDelta,
        out: &mut impl Extend<ModelEvent>,
    ) -> Result<(), TooManyCalls> {
        let arguments = match delta.function.arguments {
            Value::Null => String::new(),
            Value::String(text) => text,
            json @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
                json.to_string()
            }
        };
        let name = delta.function.name;
        let found = self
            .calls
            .iter()
            .rposition(|call| call.continues(delta.index, &delta.id, &name));
        // A piece with neither number nor id belongs to the call that is being written.
        let place = match found {
            Some(place) => place,
            None if self.calls.len() == MAX_CALLS => return Err(TooManyCalls),
            None => {
                let place = self.calls.len();
                self.calls.push(Call::new(place, delta.index, delta.id));
                place
            }
        };
        let index = u32::try_from(place).unwrap_or(u32::MAX);
        let call = &mut self.calls[place];
        let mut name_fragment = None;
        // Some servers repeat the whole name with every piece.
        if name != call.tool {
            let left = MAX_NAME_BYTES.saturating_sub(call.tool.len());
            let more = &name[..name.floor_char_boundary(left)];
            call.tool.push_str(more);
            name_fragment = Some(more).filter(|more| !more.is_empty()).map(Arc::from);
        }
        if found.is_none() {
            let tool = call.tool.as_str().into();
            out.extend([ModelEvent::ToolCallStart {
                index,
                call_id: call.call_id.clone(),
                tool,
            }]);
            name_fragment = None;
        }
        if !delta.extra_content.is_null() {
            // It belongs to the call alone, and comes back to it by the call's id.
            let extra =
                json!({"tool_calls": [{"id": call.call_id, "extra_content": delta.extra_content}]});
            out.extend([ModelEvent::Reasoning {
                text: "".into(),
                kind: Some("extra_content".into()),
                data: Some(extra.into()),
            }]);
        }
        call.arguments.push_str(&arguments);
        let arguments_fragment = (!arguments.is_empty()).then(|| arguments.into());
        if name_fragment.is_some() || arguments_fragment.is_some() {
            out.extend([ModelEvent::ToolCallDelta {
                index,
                name_fragment,
                arguments_fragment,
            }]);
        }
        Ok(())
    }

    /// All calls, whole.
    pub(crate) fn complete(self) -> impl Iterator<Item = ModelEvent> {
        (0..)
            .zip(self.calls)
            .map(|(index, call)| ModelEvent::ToolCall {
                index,
                call_id: call.call_id,
                tool: call.tool.into(),
                input: Arc::new(input(call.arguments)),
            })
    }
}

impl Call {
    fn new(place: usize, wire_index: Option<u64>, wire_id: String) -> Self {
        let call_id = match &wire_id[..wire_id.floor_char_boundary(MAX_NAME_BYTES)] {
            "" => format!("call-{place}"),
            id => id.to_owned(),
        };
        Self {
            wire_index,
            wire_id,
            call_id: call_id.into(),
            tool: String::new(),
            arguments: String::new(),
        }
    }

    /// Whether a piece of this number, id and name goes on with this call. An id that differs begins a call of its own even under a
    /// number that is taken, since some servers number every call 0; but only with a name, since others change the id.
    fn continues(&self, index: Option<u64>, id: &str, name: &str) -> bool {
        if index.is_none() && id.is_empty() {
            // Only a name can tell: one that comes when arguments were written already is another call's.
            return name.is_empty() || name == self.tool || self.arguments.is_empty();
        }
        let same_index = index.is_none() || index == self.wire_index;
        let same_id = id.is_empty() || id == self.wire_id;
        same_index && (same_id || index.is_some() && name.is_empty())
    }
}

/// The arguments as JSON. Models write nothing where a tool takes nothing; what is no JSON stays the text it is.
fn input(arguments: String) -> Value {
    if arguments.trim().is_empty() {
        return Value::Object(serde_json::Map::new());
    }
    serde_json::from_str(&arguments).unwrap_or(Value::String(arguments))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(deltas: Value, expected: &[(&str, &str, Value)]) {
        let mut calls = ToolCalls::default();
        let mut events = Vec::new();
        for delta in serde_json::from_value::<Vec<ToolCallDelta>>(deltas.clone()).unwrap() {
            calls.read(delta, &mut events).unwrap();
        }
        let complete: Vec<_> = calls.complete().collect();
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
}
