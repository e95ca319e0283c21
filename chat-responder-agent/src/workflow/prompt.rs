//! What a step's model is asked: messages that are there from the start, or made of what earlier steps gave.

use std::sync::Arc;

use chat_core::{Message, ResponderError};

use super::Progress;

/// What a step's model reads behind the agent's instructions: messages, in order.
///
/// ```
/// use chat_core::Message;
/// use chat_responder_agent::Prompt;
/// assert_eq!(Prompt::from("Hello").messages(), [Message::user("Hello")]);
/// assert_eq!(Prompt::from(vec![Message::user("Hi"), Message::assistant("Hello")]).messages().len(), 2);
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Prompt(pub(crate) Vec<Message>);

impl Prompt {
    /// The messages.
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        &self.0
    }
}

impl From<&str> for Prompt {
    fn from(text: &str) -> Self {
        Self(vec![Message::user(text)])
    }
}
impl From<String> for Prompt {
    fn from(text: String) -> Self {
        Self(vec![Message::user(text)])
    }
}
impl From<Arc<str>> for Prompt {
    fn from(text: Arc<str>) -> Self {
        Self(vec![Message::user(text)])
    }
}
impl From<Message> for Prompt {
    fn from(message: Message) -> Self {
        Self(vec![message])
    }
}
impl From<Vec<Message>> for Prompt {
    fn from(messages: Vec<Message>) -> Self {
        Self(messages)
    }
}

/// What a function that makes a prompt may return: whatever a [`Prompt`] is made from, or a result of it. An error fails the step.
pub trait IntoPrompt {
    /// The prompt.
    ///
    /// # Errors
    /// Why there is none.
    fn into_prompt(self) -> Result<Prompt, ResponderError>;
}

impl<T: Into<Prompt>> IntoPrompt for T {
    fn into_prompt(self) -> Result<Prompt, ResponderError> {
        Ok(self.into())
    }
}
impl<T: Into<Prompt>, E: Into<ResponderError>> IntoPrompt for Result<T, E> {
    fn into_prompt(self) -> Result<Prompt, ResponderError> {
        self.map(Into::into).map_err(Into::into)
    }
}

/// Makes a prompt of what earlier steps gave.
type MakePrompt = Box<dyn FnOnce(&Progress) -> Result<Prompt, ResponderError> + Send>;

/// Where a step's prompt comes from.
pub(crate) enum PromptSource {
    Fixed(Prompt),
    Made(MakePrompt),
}

impl PromptSource {
    /// The prompt. A text that was asked for and is not there is an error, whatever was made without it. Runs the caller's
    /// function: a panic in it comes out here.
    pub(crate) fn make(self, progress: &Progress) -> Result<Prompt, ResponderError> {
        let prompt = match self {
            Self::Fixed(prompt) => prompt,
            Self::Made(make) => make(progress)?,
        };
        progress.all_there()?;
        Ok(prompt)
    }
}
