//! Puts tool calls together from their pieces. Every call a model made comes out, however its server numbers them (C48).

use std::{ops::Range, sync::Arc};

use chat_core::{CallId, ModelEvent};
use serde_json::{Value, json};

use crate::{json_end::JsonEnd, wire::ToolCallDelta};

/// The most the id of a tool call or the name of its tool may hold, in bytes; servers write some dozens, and take 64 for a name.
pub(crate) const MAX_NAME_BYTES: usize = 256;

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
    /// How many lists of pieces there were.
    list: u64,
}

/// What tells which call a piece belongs to.
struct Piece<'a> {
    index: Option<u64>,
    id: &'a str,
    name: &'a str,
    /// Without white space around them.
    arguments: &'a str,
}

#[derive(Debug)]
struct Call {
    wire_index: Option<u64>,
    wire_id: String,
    call_id: CallId,
    tool: String,
    arguments: String,
    /// Where in them the white space around them ends and begins: it may be long, and is asked about with each piece.
    within: Range<usize>,
    /// Where the arguments are in their JSON.
    end: JsonEnd,
    /// The list of pieces in which it was last named.
    named_in: Option<u64>,
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
        let mut name = delta.function.name;
        name.truncate(name.floor_char_boundary(MAX_NAME_BYTES));
        let piece = Piece {
            index: delta.index,
            id: &delta.id,
            name: &name,
            arguments: arguments.trim(),
        };
        let again = self.calls.iter().position(|call| call.is_repeated(&piece));
        let found = again.or_else(|| self.place_of(&piece));
        let (name, arguments) = match again {
            // Told whole once more: there is nothing new in it.
            Some(_) => Default::default(),
            None => (name, arguments),
        };
        let place = match found {
            Some(place) => place,
            None if self.calls.len() == MAX_CALLS => return Err(TooManyCalls),
            None => {
                let place = self.calls.len();
                let mut call = Call::new(place, delta.index, delta.id);
                // Results are told apart by their ids alone.
                while self.calls.iter().any(|other| other.call_id == call.call_id) {
                    call.call_id = format!("{}-{place}", call.call_id).into();
                }
                self.calls.push(call);
                place
            }
        };
        let index = u32::try_from(place).unwrap_or(u32::MAX);
        let call = &mut self.calls[place];
        call.named_in = Some(self.list)
            .filter(|_| !name.is_empty())
            .or(call.named_in);
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
        call.write(&arguments);
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

    /// A list of pieces begins.
    pub(crate) fn begin_list(&mut self) {
        self.list += 1;
    }

    /// The call that a piece goes on with; the newest of several.
    fn place_of(&self, piece: &Piece<'_>) -> Option<usize> {
        let last = self.calls.len().checked_sub(1)?;
        let continues = |call: &Call| {
            // Nobody names one call twice in one list, unless as the same call.
            let is_named = !piece.name.is_empty() && call.named_in == Some(self.list);
            let is_other = is_named && !(piece.name == call.tool && call.has_id(piece.id));
            !is_other && call.continues(piece)
        };
        if piece.index.is_none() && piece.id.is_empty() {
            // It belongs to the call that is being written, or to none.
            return Some(last).filter(|last| continues(&self.calls[*last]));
        }
        if let Some(place) = self.calls.iter().rposition(continues) {
            return Some(place);
        }
        // No call begins without a name or an id of its own: some servers number the pieces of one.
        let same_id = self.calls.iter().rposition(|call| call.has_id(piece.id));
        same_id
            .or(Some(last).filter(|_| piece.id.is_empty()))
            .filter(|_| piece.name.is_empty())
    }

    /// All calls, whole. Of an answer that is cut, the last one is as far as it came: where that is before its first argument, it is
    /// not a call without arguments.
    pub(crate) fn complete(self, is_cut: bool) -> impl Iterator<Item = ModelEvent> {
        let last = self.calls.len().saturating_sub(1);
        (0..)
            .zip(self.calls)
            .enumerate()
            .map(move |(place, (index, call))| ModelEvent::ToolCall {
                index,
                call_id: call.call_id,
                tool: call.tool.into(),
                input: Arc::new(match call.arguments {
                    arguments if is_cut && place == last => cut_input(arguments),
                    arguments => input(arguments),
                }),
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
            within: 0..0,
            end: JsonEnd::default(),
            named_in: None,
        }
    }

    /// Writes on its arguments.
    fn write(&mut self, piece: &str) {
        let words = piece.trim_start();
        let start = self.arguments.len() + piece.len() - words.len();
        let words = words.trim_end();
        if !words.is_empty() {
            if self.within.is_empty() {
                self.within.start = start;
            }
            self.within.end = start + words.len();
        }
        self.arguments.push_str(piece);
        self.end.read(piece);
    }

    /// Its arguments so far, without the white space around them.
    fn trimmed(&self) -> &str {
        &self.arguments[self.within.clone()]
    }

    fn has_id(&self, id: &str) -> bool {
        !id.is_empty() && id == self.wire_id
    }

    /// Whether a piece goes on with this call. Some servers number every call 0, others leave out number or id, some repeat id and
    /// name with every piece, and others change the id: a name tells best.
    fn continues(&self, piece: &Piece<'_>) -> bool {
        let same_index = piece.index.is_none() || piece.index == self.wire_index;
        let same_id = piece.id.is_empty() || piece.id == self.wire_id;
        if piece.name.is_empty() {
            return same_index && (same_id || piece.index.is_some());
        }
        let begins = match (piece.name == self.tool, self.arguments.is_empty()) {
            // A name in pieces, as far as number or id hold them together.
            (false, true) => piece.index.is_none() && piece.id.is_empty() && !self.tool.is_empty(),
            (false, false) => true,
            // Named once more: the next call of the same tool, where the arguments begin once more.
            (true, _) => {
                let begins_again = self.end.is_whole() && piece.arguments.starts_with('{');
                // Empty ones may stand for those that are still to come.
                let is_first = self.has_id(piece.id) && self.trimmed() == NONE;
                begins_again && !is_first
            }
        };
        same_index && same_id && !begins
    }

    /// Whether a piece tells this whole call once more, as some servers do at its end.
    fn is_repeated(&self, piece: &Piece<'_>) -> bool {
        // Where calls have ids, one without is none of its own.
        let is_numbered = piece.index.is_some() && piece.index == self.wire_index;
        let is_unnamed = piece.id.is_empty() && !self.wire_id.is_empty() && is_numbered;
        (self.has_id(piece.id) || is_unnamed)
            && piece.name == self.tool
            && self.end.is_whole()
            && piece.arguments == self.trimmed()
    }
}

/// How servers write that there are no arguments.
const NONE: &str = "{}";

/// Arguments that may lack their end: they are whole where they read as JSON.
fn cut_input(arguments: String) -> Value {
    serde_json::from_str(&arguments).unwrap_or(Value::String(arguments))
}

/// The arguments as JSON. Models write nothing where a tool takes nothing; what is no JSON stays the text it is.
fn input(arguments: String) -> Value {
    if arguments.trim().is_empty() {
        return Value::Object(serde_json::Map::new());
    }
    let json = serde_json::from_str(&arguments).ok();
    // What some gateways begin with, before they know of any.
    let behind_none = || serde_json::from_str(arguments.trim_start().strip_prefix(NONE)?).ok();
    json.or_else(behind_none)
        .unwrap_or(Value::String(arguments))
}

#[cfg(test)]
mod tests;
