//! Messages: what a model reads. Built from a transcript when asked for; never stored.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{CallId, ToolName};

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Instructions.
    System,
    /// The person.
    User,
    /// The model.
    Assistant,
    /// A tool's result.
    Tool,
}

/// One piece of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase"
)]
#[non_exhaustive]
pub enum Part {
    /// Text.
    Text {
        /// The text.
        text: Arc<str>,
    },
    /// A model's reasoning, which some servers want back beside the tool calls it led to, within one run.
    Reasoning {
        /// The text.
        text: Arc<str>,
        /// What the provider wants back with it, as it wrote it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        data: Option<Arc<Value>>,
    },
    /// A tool call that the model made.
    ToolCall {
        /// The call's id.
        call_id: CallId,
        /// The tool's name.
        tool: ToolName,
        /// Its arguments.
        input: Arc<Value>,
    },
    /// A tool call's result.
    ToolResult {
        /// The call's id.
        call_id: CallId,
        /// The tool's name.
        tool: ToolName,
        /// The result as the model will see it.
        result: Arc<Value>,
    },
}

/// One message: a role and its parts. Texts are shared, so a clone copies none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said, in order.
    pub parts: Vec<Part>,
}

impl Message {
    /// A message of one text.
    #[must_use]
    pub fn text(role: Role, text: impl Into<Arc<str>>) -> Self {
        Self {
            role,
            parts: vec![Part::Text { text: text.into() }],
        }
    }

    /// What a person says.
    #[must_use]
    pub fn user(text: impl Into<Arc<str>>) -> Self {
        Self::text(Role::User, text)
    }

    /// What a model says.
    #[must_use]
    pub fn assistant(text: impl Into<Arc<str>>) -> Self {
        Self::text(Role::Assistant, text)
    }

    /// Instructions.
    #[must_use]
    pub fn system(text: impl Into<Arc<str>>) -> Self {
        Self::text(Role::System, text)
    }

    /// A model's tool call, such as in an exchange that shows a model how its tools are called.
    #[must_use]
    pub fn tool_call(
        call_id: impl Into<CallId>,
        tool: impl Into<ToolName>,
        input: impl Into<Arc<Value>>,
    ) -> Self {
        let (call_id, tool, input) = (call_id.into(), tool.into(), input.into());
        Self {
            role: Role::Assistant,
            parts: vec![Part::ToolCall {
                call_id,
                tool,
                input,
            }],
        }
    }

    /// A tool's result, behind the call it answers.
    #[must_use]
    pub fn tool_result(
        call_id: impl Into<CallId>,
        tool: impl Into<ToolName>,
        result: impl Into<Arc<Value>>,
    ) -> Self {
        let (call_id, tool, result) = (call_id.into(), tool.into(), result.into());
        Self {
            role: Role::Tool,
            parts: vec![Part::ToolResult {
                call_id,
                tool,
                result,
            }],
        }
    }

    /// The message's texts as one; reasoning and tool parts are left out.
    #[must_use]
    pub fn to_text(&self) -> String {
        self.parts
            .iter()
            .filter_map(|part| match part {
                Part::Text { text } => Some(&**text),
                Part::Reasoning { .. } | Part::ToolCall { .. } | Part::ToolResult { .. } => None,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_messages_text_leaves_reasoning_and_tools_out() {
        let mut message = Message::assistant("One, ");
        message.parts.extend([
            Part::Reasoning {
                text: "hm".into(),
                data: None,
            },
            Part::ToolCall {
                call_id: "c1".into(),
                tool: "search".into(),
                input: json!({"q": 1}).into(),
            },
            Part::ToolResult {
                call_id: "c1".into(),
                tool: "search".into(),
                result: json!("found").into(),
            },
            Part::Text { text: "two".into() },
        ]);
        assert_eq!(message.to_text(), "One, two");
        let json = serde_json::to_value(&message).unwrap();
        assert_eq!(
            json,
            json!({"role": "assistant", "parts": [
                {"type": "text", "text": "One, "},
                {"type": "reasoning", "text": "hm"},
                {"type": "tool-call", "callId": "c1", "tool": "search", "input": {"q": 1}},
                {"type": "tool-result", "callId": "c1", "tool": "search", "result": "found"},
                {"type": "text", "text": "two"},
            ]})
        );
        assert_eq!(serde_json::from_value::<Message>(json).unwrap(), message);
    }

    #[test]
    fn a_tool_call_and_its_result_are_messages_of_one_part() {
        let call = Message::tool_call("c1", "search", json!({"q": 1}));
        let result = Message::tool_result("c1", "search", json!("found"));
        assert_eq!(
            serde_json::to_value([call, result]).unwrap(),
            json!([
                {"role": "assistant", "parts": [
                    {"type": "tool-call", "callId": "c1", "tool": "search", "input": {"q": 1}}]},
                {"role": "tool", "parts": [
                    {"type": "tool-result", "callId": "c1", "tool": "search", "result": "found"}]},
            ])
        );
    }

    #[test]
    fn each_role_speaks_its_text() {
        for (message, role) in [
            (Message::user("x"), Role::User),
            (Message::assistant("x"), Role::Assistant),
            (Message::system("x"), Role::System),
        ] {
            assert_eq!(message, Message::text(role, "x"));
            assert_eq!((message.role, message.to_text().as_str()), (role, "x"));
        }
    }
}
