//! Writes one row: all that it says comes from one node or one request, redacted, on one line and bounded (laws P1 and P3).

use std::sync::Arc;

use chat_core::{ApprovalRequest, ModelRef, PartialText, Redactor, TraceNode};
use serde_json::Value;

use crate::{
    ProjectOptions, RowKind, RowStatus, TraceRow,
    ids::of_approval,
    options::SUMMARY_CHARS,
    summary::{Size, WINDOW, beginning, line, summarize},
    title,
};

/// How long the name of a row is at most, in characters.
const NAME_CHARS: usize = 64;
/// How long a provider's and a model's name are at most, in characters.
const MODEL_CHARS: usize = 128;

/// Where a row stands.
pub(crate) struct Site {
    pub(crate) parent: Option<Arc<str>>,
    pub(crate) depth: usize,
}

/// What a node's row is made from.
pub(crate) struct Source<'a> {
    pub(crate) node: &'a TraceNode,
    pub(crate) kind: RowKind,
    /// How many of its direct children failed.
    pub(crate) failed: u32,
}

/// Writes rows.
pub(crate) struct Writer<'a> {
    redactor: &'a Redactor,
    chars: usize,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(options: &'a ProjectOptions) -> Self {
        Self {
            redactor: &options.redactor,
            chars: options.summary_chars,
        }
    }

    /// The row of a node.
    pub(crate) fn node(&self, source: &Source<'_>, id: Arc<str>, site: Site) -> TraceRow {
        let node = source.node;
        let name = self.name(&node.name, source.kind);
        TraceRow {
            id,
            parent: site.parent,
            depth: site.depth,
            kind: source.kind,
            title: title::title(node, source.kind, &name, source.failed).into(),
            name,
            status: status(node),
            started_at: node.started_at,
            duration_ms: duration_ms(node),
            model: node.model.as_ref().map(|model| self.model(model)),
            usage: node.usage,
            input: node.input.as_deref().and_then(|value| self.summary(value)),
            output: self.output(node),
            approval_id: None,
            error: self.error(node),
        }
    }

    /// The row of a node that had another row before: what did not change is not read again.
    pub(crate) fn again(
        &self,
        source: &Source<'_>,
        before: &TraceNode,
        row: &TraceRow,
    ) -> TraceRow {
        let node = source.node;
        let name = if same(&before.name, &node.name) {
            row.name.clone()
        } else {
            self.name(&node.name, source.kind)
        };
        let title = title::title(node, source.kind, &name, source.failed);
        let is_same = |one: &Option<Arc<Value>>, two: &Option<Arc<Value>>| match (one, two) {
            (Some(one), Some(two)) => Arc::ptr_eq(one, two),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        let input = if is_same(&before.input, &node.input) {
            row.input.clone()
        } else {
            node.input.as_deref().and_then(|value| self.summary(value))
        };
        let model = if before.model == node.model {
            row.model.clone()
        } else {
            node.model.as_ref().map(|model| self.model(model))
        };
        TraceRow {
            id: row.id.clone(),
            parent: row.parent.clone(),
            depth: row.depth,
            kind: source.kind,
            title: if *title == *row.title {
                row.title.clone()
            } else {
                title.into()
            },
            name,
            status: status(node),
            started_at: node.started_at,
            duration_ms: duration_ms(node),
            model,
            usage: node.usage,
            input,
            output: self.output(node),
            approval_id: None,
            error: self.error(node),
        }
    }

    /// The row of a request that waits for an answer.
    pub(crate) fn approval(&self, request: &ApprovalRequest, site: Site) -> TraceRow {
        let name = self.line(request.tool_name.as_str(), NAME_CHARS);
        let name = named(name, RowKind::Tool);
        TraceRow {
            id: of_approval(&request.id),
            parent: site.parent,
            depth: site.depth,
            kind: RowKind::Approval,
            title: title::approval(&name).into(),
            name: name.into(),
            status: Some(RowStatus::Pending),
            started_at: Some(request.requested_at),
            duration_ms: None,
            model: None,
            usage: None,
            input: self.summary(&request.input),
            output: None,
            approval_id: Some(request.id.clone()),
            error: None,
        }
    }

    fn line(&self, text: &str, chars: usize) -> String {
        line(text, chars, self.redactor)
    }

    /// A text on one line: the very same where nothing had to be done to it.
    fn shared(&self, text: &Arc<str>, chars: usize) -> Arc<str> {
        let line = self.line(text, chars);
        if line == **text {
            text.clone()
        } else {
            line.into()
        }
    }

    fn name(&self, name: &Arc<str>, kind: RowKind) -> Arc<str> {
        let line = self.shared(name, NAME_CHARS);
        if is_blank(&line) {
            named(String::new(), kind).into()
        } else {
            line
        }
    }

    fn model(&self, model: &ModelRef) -> ModelRef {
        ModelRef {
            provider: self.shared(&model.provider, MODEL_CHARS),
            model_id: self.shared(&model.model_id, MODEL_CHARS),
        }
    }

    fn summary(&self, value: &Value) -> Option<Arc<str>> {
        let summary = summarize(value, self.chars, self.redactor);
        (!summary.is_empty()).then(|| summary.into())
    }

    fn output(&self, node: &TraceNode) -> Option<Arc<str>> {
        let text = &node.partial_text;
        if node.status.is_open() && !text.is_empty() {
            // Its pieces are never walked while there are more to come (law W8).
            let so_far = self.line(&format!("{} so far", Size::Bytes(text.len())), self.chars);
            return (!so_far.is_empty()).then(|| so_far.into());
        }
        match &node.output {
            Some(output) if is_its_error(output, node) => None,
            Some(output) => self.summary(output),
            None if text.is_empty() => None,
            None => self.ended(text),
        }
    }

    /// A text that has ended, as far as it is looked at.
    fn ended(&self, text: &PartialText) -> Option<Arc<str>> {
        let mut head = String::with_capacity(text.len().min(WINDOW));
        for piece in text.pieces() {
            let room = WINDOW - head.len();
            head.push_str(&piece[..piece.floor_char_boundary(room)]);
            if piece.len() > room {
                break;
            }
        }
        let summary = beginning(&head, text.len(), self.chars, self.redactor);
        (!summary.is_empty()).then(|| summary.into())
    }

    fn error(&self, node: &TraceNode) -> Option<Arc<str>> {
        let error = node.error.as_ref()?;
        let line = self.line(&error.message, self.chars.max(SUMMARY_CHARS));
        (!line.is_empty()).then(|| line.into())
    }
}

fn same(one: &Arc<str>, two: &Arc<str>) -> bool {
    Arc::ptr_eq(one, two) || one == two
}

/// What is called nothing is called by its kind.
fn named(name: String, kind: RowKind) -> String {
    if !is_blank(&name) {
        return name;
    }
    let kind = match kind {
        RowKind::Agent => "agent",
        RowKind::Step => "step",
        RowKind::Task => "task",
        RowKind::Parallel => "parallel",
        RowKind::Catch => "catch",
        RowKind::Model => "model",
        RowKind::Tool => "tool",
        RowKind::Approval => "approval",
    };
    kind.to_owned()
}

/// Whether nothing of a name can be seen.
fn is_blank(name: &str) -> bool {
    // Those of Unicode's default ignorable code points that names are met with, and the blank of Braille.
    name.chars().all(|c| {
        c.is_whitespace()
            || matches!(c,
                '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
                | '\u{ffa0}' | '\u{e0000}'..='\u{e0fff}')
    })
}

fn status(node: &TraceNode) -> Option<RowStatus> {
    use chat_core::TraceStatus;
    match node.status {
        TraceStatus::Pending | TraceStatus::Waiting => Some(RowStatus::Pending),
        TraceStatus::Running => Some(RowStatus::Running),
        TraceStatus::Done => None,
        TraceStatus::Failed => Some(RowStatus::Error),
        TraceStatus::Aborted => Some(RowStatus::Stopped),
    }
}

/// Whether what came out is the node's error and nothing else, `{"error": ".."}`: what a model reads of a tool that failed.
fn is_its_error(output: &Value, node: &TraceNode) -> bool {
    let (Some(fields), Some(error)) = (output.as_object(), &node.error) else {
        return false;
    };
    let said = fields.get("error").and_then(Value::as_str);
    fields.len() == 1 && said == Some(&*error.message)
}

/// A clock that was set back in between gives 0.
fn duration_ms(node: &TraceNode) -> Option<u64> {
    let millis = node.ended_at?.as_millis() - node.started_at?.as_millis();
    Some(u64::try_from(millis).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use chat_core::{Timestamp, TraceKind, TraceStatus};
    use serde_json::json;

    use super::*;

    #[test]
    fn p2_a_name_of_which_nothing_can_be_seen_is_none() {
        let options = ProjectOptions::default();
        for name in [
            "",
            " \n",
            "\u{200b}",
            "\u{feff}\u{2060} ",
            "\u{e0061}\u{fe0f}",
            "\u{3164}\u{2800}",
        ] {
            let given = Writer::new(&options).name(&name.into(), RowKind::Step);
            assert_eq!(&*given, "step", "{name:?}");
            assert_eq!(named(name.to_owned(), RowKind::Tool), "tool");
        }
        for name in ["a", "\u{200b}.", "漢", "👧"] {
            assert_eq!(named(name.to_owned(), RowKind::Tool), name);
        }
    }

    #[test]
    fn p3_a_clock_that_was_set_back_gives_no_negative_duration() {
        let at = |millis| Timestamp::from_millis(millis).ok();
        let mut node = TraceNode::new("a", TraceKind::Task, "a");
        for (started, ended, expected) in [
            (at(5), at(12), Some(7)),
            (at(12), at(5), Some(0)),
            (None, at(5), None),
            (at(5), None, None),
        ] {
            (node.started_at, node.ended_at) = (started, ended);
            assert_eq!(duration_ms(&node), expected);
        }
    }

    fn row(change: impl FnOnce(&mut TraceNode)) -> TraceRow {
        let mut node = TraceNode::new("a", TraceKind::Step, "a");
        change(&mut node);
        let options = ProjectOptions::default().secret("hunter2!");
        let kind = RowKind::Step;
        let source = Source {
            node: &node,
            kind,
            failed: 0,
        };
        let site = Site {
            parent: None,
            depth: 0,
        };
        Writer::new(&options).node(&source, "a".into(), site)
    }

    #[test]
    fn p1_an_output_is_what_is_there() {
        let output = |status, text: &str, output: Option<&str>| {
            let row = row(|node| {
                node.status = status;
                node.partial_text = text.into();
                node.output = output.map(|output| Arc::new(output.into()));
            });
            row.output.map(|output| output.to_string())
        };
        for (status, text, value, expected) in [
            (TraceStatus::Running, "", None, None),
            (
                TraceStatus::Running,
                "Once hunter2!",
                None,
                Some("13 bytes so far"),
            ),
            (
                TraceStatus::Running,
                "",
                Some("done hunter2!"),
                Some("done [redacted]"),
            ),
            (
                TraceStatus::Done,
                "Once",
                Some("Once upon"),
                Some("Once upon"),
            ),
            (
                TraceStatus::Failed,
                "Once hunter2!",
                None,
                Some("Once [redacted]"),
            ),
        ] {
            assert_eq!(output(status, text, value).as_deref(), expected);
        }
    }

    #[test]
    fn an_error_is_told_once() {
        for (value, expected) in [
            (json!({"error": "no luck"}), None),
            (
                json!({"error": "try later"}),
                Some("{error: \"try later\"}"),
            ),
            (
                json!({"error": "no luck", "code": 7}),
                Some("{code: 7, error: \"no luck\"}"),
            ),
            (json!("no luck"), Some("no luck")),
        ] {
            let row = row(|node| {
                node.status = TraceStatus::Failed;
                node.output = Some(Arc::new(value));
                node.error = Some(chat_core::RecordedError::of("no luck", "error", None));
            });
            assert_eq!(row.output.as_deref(), expected);
            assert_eq!(row.error.as_deref(), Some("no luck"));
        }
    }

    #[test]
    fn p1_every_text_of_a_row_is_redacted() {
        let secret = "say hunter2! now";
        let row = row(|node| {
            node.id = secret.into();
            node.name = secret.into();
            node.status = TraceStatus::Failed;
            node.model = Some(ModelRef::new(secret, secret));
            node.input = Some(Arc::new(secret.into()));
            node.output = Some(Arc::new(secret.into()));
            node.error = Some(chat_core::RecordedError {
                message: secret.into(),
                kind: secret.into(),
                retryable: None,
            });
        });
        let json = serde_json::to_string(&row).unwrap();
        assert!(!json.contains("hunter2"), "{json}");
        assert_eq!(json.matches("[redacted]").count(), 7, "{json}");
    }

    #[test]
    fn what_is_called_nothing_is_called_by_its_kind() {
        let row = row(|node| node.name = " ".into());
        assert_eq!((&*row.name, &*row.title), ("step", "step not started"));
    }
}
