//! What a workflow waits for, and what is said and asked on the way.

use chat_core::{Message, Part};
use serde_json::{Value, json};

use crate::plan::{Call, Deed, Person, Step, Task, Tool};

/// What a workflow waits for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Wait<'a> {
    /// The nth answer of a step's model.
    Model(&'a Step, usize),
    Tool(&'a Call),
    Person(&'a Call),
    Task(&'a Task),
}

impl Wait<'_> {
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Model(step, number) => format!("model {}/{number}", step.id),
            Self::Tool(call) => format!("tool {}", call.id),
            Self::Person(call) => format!("person {}", call.id),
            Self::Task(task) => format!("task {}", task.id),
        }
    }

    /// The step or task that waits.
    pub(crate) fn of(&self) -> &str {
        match self {
            Self::Model(step, _) => &step.id,
            Self::Tool(call) | Self::Person(call) => call.id.split('.').next().unwrap_or_default(),
            Self::Task(task) => &task.id,
        }
    }

    /// Whether it will ever come.
    pub(crate) fn comes(&self) -> bool {
        match self {
            Self::Model(step, number) => *number <= step.rounds.len() || step.end != Deed::Hangs,
            Self::Tool(call) => call.end != Deed::Hangs,
            Self::Person(call) => call.person != Person::StaysAway,
            Self::Task(task) => task.end != Deed::Hangs,
        }
    }
}

impl Step {
    pub(crate) fn text(&self, number: usize) -> String {
        format!("{} says {number}", self.id)
    }

    /// An answer that asks for tools, as the model reads it back.
    pub(crate) fn answer(&self, number: usize) -> Message {
        let mut message = Message::assistant(self.text(number));
        message
            .parts
            .extend(self.rounds[number - 1].iter().map(|call| Part::ToolCall {
                call_id: (&*call.id).into(),
                tool: call.tool.name().into(),
                input: call.input().into(),
            }));
        message
    }
}

impl Call {
    pub(crate) fn input(&self) -> Value {
        if self.fits {
            json!({"n": 1, "for": self.id})
        } else {
            json!({"n": "one"})
        }
    }

    /// Why it can't run, where it can't.
    pub(crate) fn refusal(&self) -> Option<String> {
        if self.tool == Tool::Missing {
            let tools = Tool::ALL.map(Tool::name).join(", ");
            return Some(format!("there is no tool missing; there are: {tools}"));
        }
        if !self.fits {
            return Some(r#"at /n: "one" is not of type "integer""#.into());
        }
        (self.tool == Tool::Unsure)
            .then(|| "what tells whether the tool unsure needs approval panicked: hm".to_owned())
    }
}
