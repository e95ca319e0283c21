//! A step: a prompt for a model, whose calls go on until it has answered.

use std::{fmt, sync::Arc, time::Duration};

use chat_core::{OutputSchema, StepId};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::schema::{self, Form, Misfit, Shape};

use super::{IntoPrompt, Progress, Prompt, PromptSource};

/// How many model calls a step may make, unless it says otherwise.
const MAX_CALLS: u32 = 16;

/// Asks the agent's model, runs the tools it asks for, and goes on until it answers without asking for any. Its result is the
/// text of the last answer, or a value where it has an [`output`](Self::output).
pub struct Step {
    pub(crate) id: StepId,
    pub(crate) prompt: Option<PromptSource>,
    pub(crate) stream: bool,
    pub(crate) output: Option<Output>,
    pub(crate) max_calls: u32,
    pub(crate) timeout: Option<Duration>,
}

impl Step {
    /// A step without a prompt. Steps and tasks of one workflow share one space of ids.
    #[must_use]
    pub fn new(id: impl Into<StepId>) -> Self {
        Self {
            id: id.into(),
            prompt: None,
            stream: false,
            output: None,
            max_calls: MAX_CALLS,
            timeout: None,
        }
    }

    /// What the model reads: a text as the person's message, or messages.
    #[must_use]
    pub fn prompt(self, prompt: impl Into<Prompt>) -> Self {
        Self {
            prompt: Some(PromptSource::Fixed(prompt.into())),
            ..self
        }
    }

    /// What the model reads, made of what earlier steps gave once the step's turn has come. An error or a panic in it fails the
    /// step.
    ///
    /// ```
    /// use chat_responder_agent::Step;
    /// let review = Step::new("review").prompt_with(|run| format!("Review this:\n{}", run.text("draft")));
    /// let count = Step::new("count").prompt_with(|run| {
    ///     let items = run.json::<Vec<String>>("list");
    ///     items.map(|items| format!("Are these {} all?\n{}", items.len(), items.join("\n")))
    /// });
    /// ```
    #[must_use]
    pub fn prompt_with<P: IntoPrompt>(
        self,
        prompt: impl FnOnce(&Progress) -> P + Send + 'static,
    ) -> Self {
        let make = Box::new(|progress: &Progress| prompt(progress).into_prompt());
        Self {
            prompt: Some(PromptSource::Made(make)),
            ..self
        }
    }

    /// Shows the text as it is written: the trace carries it live, and the result is all that the step wrote over its calls, not
    /// only its last answer.
    #[must_use]
    pub fn stream(self) -> Self {
        Self {
            stream: true,
            ..self
        }
    }

    /// Asks for a value of a type instead of text. What the type can't be read from is told the model once, and then fails the
    /// step.
    ///
    /// The schema is made one that servers take which are strict about it, as OpenAI's is: every field has to be there (an
    /// `Option` may be `null`) and no others. A type that is no object is asked for inside of one.
    ///
    /// ```
    /// use chat_responder_agent::{JsonSchema, Step};
    /// #[derive(JsonSchema, serde::Deserialize)]
    /// struct Verdict { sound: bool, why: Option<String> }
    /// let judge = Step::new("judge").prompt("Is this sound? 1 + 1 = 3").output::<Verdict>();
    /// ```
    #[must_use]
    pub fn output<T: JsonSchema + DeserializeOwned>(self) -> Self {
        Self {
            output: Some(Output::of::<T>()),
            ..self
        }
    }

    /// Asks for a value that fits a JSON schema instead of text. The schema is sent as it is.
    #[must_use]
    pub fn output_schema(self, schema: OutputSchema) -> Self {
        Self {
            output: Some(Output::from(schema)),
            ..self
        }
    }

    /// How many model calls it may make, from 1: 16 unless set. A model that still asks for tools then fails the step.
    #[must_use]
    pub fn max_calls(self, max_calls: u32) -> Self {
        Self { max_calls, ..self }
    }

    /// How long it may take. Waiting for a person does not count (law W1).
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self {
            timeout: Some(timeout),
            ..self
        }
    }
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Step")
            .field("id", &self.id)
            .field("prompt", &self.prompt.is_some())
            .field("stream", &self.stream)
            .field(
                "output",
                &self.output.as_ref().map(|output| &output.schema.name),
            )
            .field("max_calls", &self.max_calls)
            .field("timeout", &self.timeout)
            .finish()
    }
}

/// The value a step is to give.
pub(crate) struct Output {
    /// As the model is told of it.
    pub(crate) schema: OutputSchema,
    shape: Shape,
    form: Form,
    /// Whether the type can be read from the value.
    reads: fn(&Value) -> Result<(), serde_json::Error>,
}

impl Output {
    fn of<T: JsonSchema + DeserializeOwned>() -> Self {
        let (schema, form) = schema::output_of::<T>();
        Self {
            form,
            reads: |value| T::deserialize(value).map(drop),
            ..Self::from(schema)
        }
    }

    /// The value that an answer's text holds; if none, what is wrong with the text.
    pub(crate) fn read(&self, text: &str) -> Result<Arc<Value>, Misfit> {
        let object: Value = serde_json::from_str(unfenced(text)).map_err(|error| {
            let reason = format!("the answer is no JSON: {error}");
            Misfit::new(&reason, &reason)
        })?;
        self.shape.validate(&object)?;
        let value = self.form.value(&object);
        (self.reads)(value).map_err(|error| {
            Misfit::new(&error.to_string(), "it fits the schema but not the type")
        })?;
        Ok(match self.form {
            Form::Whole => object.into(),
            Form::Inside | Form::Nothing => value.clone().into(),
        })
    }

    /// Whether the schema itself is sound; if not, why.
    pub(crate) fn compile(&self) -> Result<(), Arc<str>> {
        self.shape.compile()
    }
}

impl From<OutputSchema> for Output {
    fn from(schema: OutputSchema) -> Self {
        Self {
            shape: Shape::new(schema.schema.clone()),
            schema,
            form: Form::Whole,
            reads: |_| Ok(()),
        }
    }
}

/// What stands in the one block of code that a text is, as many models write JSON; any other text as it is.
fn unfenced(text: &str) -> &str {
    const FENCE: &str = "```";
    let block = text
        .trim()
        .strip_prefix(FENCE)
        .and_then(|text| text.strip_suffix(FENCE))
        .and_then(|text| text.split_once('\n'));
    match block {
        Some((language, code)) if language.trim().chars().all(char::is_alphanumeric) => code,
        Some(_) | None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(JsonSchema, Deserialize)]
    #[expect(dead_code, reason = "read to see whether it can be")]
    struct Verdict {
        sound: bool,
        why: Option<String>,
    }

    fn read(step: Step, text: &str) -> Result<Value, String> {
        let value = step.output.map(|output| output.read(text)).unwrap();
        value
            .map(|value| (*value).clone())
            .map_err(|misfit| misfit.told.to_string())
    }

    #[test]
    fn an_answer_is_read_as_the_output_or_says_what_does_not_fit() {
        let check = |text: &str, expected: Result<Value, &str>| {
            let verdict = read(Step::new("judge").output::<Verdict>(), text);
            assert_eq!(verdict, expected.map_err(str::to_owned));
        };
        let sound = json!({"sound": true, "why": null});
        check(&format!(" {sound}\n"), Ok(sound.clone()));
        check(&format!("```json\n{sound}\n```\n"), Ok(sound.clone()));
        check(&format!("```\n{sound}```"), Ok(sound));
        check(
            "```json\n{}\n```\n```json\n{}\n```",
            Err("the answer is no JSON: trailing characters at line 2 column 1"),
        );
        check(
            "Sure:\n```json\n{}\n```",
            Err("the answer is no JSON: expected value at line 1 column 1"),
        );
        check(
            "Sure: {}",
            Err("the answer is no JSON: expected value at line 1 column 1"),
        );
        check(
            "",
            Err("the answer is no JSON: EOF while parsing a value at line 1 column 0"),
        );
        check(
            "{}",
            Err("\"sound\" is a required property; \"why\" is a required property"),
        );
        check(
            r#"{"sound": 1, "why": null}"#,
            Err("at /sound: 1 is not of type \"boolean\""),
        );
    }

    #[test]
    fn an_output_that_is_no_object_comes_out_of_the_one_it_was_asked_for_in() {
        let list = read(
            Step::new("list").output::<Vec<u8>>(),
            r#"{"value": [1, 2]}"#,
        );
        assert_eq!(list, Ok(json!([1, 2])));
        assert_eq!(
            read(Step::new("list").output::<()>(), "{}"),
            Ok(json!(null))
        );
    }

    #[test]
    fn what_the_schema_takes_and_the_type_does_not_is_a_misfit() {
        let misfit = read(Step::new("n").output::<u32>(), r#"{"value": 5000000000}"#);
        assert_eq!(
            misfit.unwrap_err(),
            "invalid value: integer `5000000000`, expected u32"
        );
    }

    #[test]
    fn a_schema_of_ones_own_is_sent_as_it_is() {
        let schema = OutputSchema {
            name: "any".into(),
            schema: Arc::new(json!({"type": "array", "items": {"type": "integer"}})),
        };
        let step = || Step::new("list").output_schema(schema.clone());
        assert_eq!(
            step().output.map(|output| output.schema),
            Some(schema.clone())
        );
        assert_eq!(read(step(), "[1]"), Ok(json!([1])));
        assert!(read(step(), "[true]").unwrap_err().starts_with("at /0: "));
    }
}
