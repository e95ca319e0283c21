//! A chat-core [`LanguageModel`](chat_core::LanguageModel) over any OpenAI-compatible server, and the [`ModelResponder`] that
//! makes a whole chat of it. It calls no tools, keeps nothing, and prints no key.
//!
//! ```no_run
//! use chat_core::{LanguageModel, Responder};
//! use chat_responder_model::{ModelResponder, OpenAi, Settings};
//!
//! # fn main() -> Result<(), chat_responder_model::EndpointError> {
//! // What a chat wants: OPENAI_API_KEY and OPENAI_BASE_URL say whom to ask.
//! let responder = ModelResponder::new(OpenAi::from_env()?.model("gpt-5-mini"))
//!     .instructions("You explain software briefly and plainly.");
//! assert_eq!(&*responder.info().kind, "model");
//!
//! // A server of one's own, with settings.
//! let model = OpenAi::new("http://localhost:8080/v1")?
//!     .model("qwen3")
//!     .with_settings(Settings { temperature: Some(0.2), ..Settings::default() });
//! assert_eq!(&*model.model().provider, "localhost");
//! # Ok(())
//! # }
//! ```
//!
//! # What it promises
//! - **M1** Instructions, context, input, in this order; [`Settings`] and [`Timeouts`].
//! - **M2** Every piece of text is an event, and the pieces add up to the reply. Reasoning is never part of it.
//! - **M3** An answer is whole only if the server says so; anything else is a [`ModelError`] with the server's own words.
//! - **M4** A request is sent again only before its first output, and each time is told.
//! - **M5** Dropping the answer closes the connection. Nothing reads ahead of the reader: what is held at most is one piece
//!   of the body, one event of up to 8 MiB (or an answer in one piece, up to as much), and the text of the tool calls being written.
//! - **M6** A [`Secret`] prints as `[secret]`, and is taken out of whatever a server says.

mod answer;
mod endpoint;
mod error;
mod exchange;
mod failing;
mod finish;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;
mod json_end;
mod limit;
mod mend;
mod model;
mod parse;
mod plain;
mod reasoning;
mod refusal;
mod request;
mod responder;
mod said;
mod secret;
mod settings;
mod sse;
mod tool_calls;
mod usage;
mod wire;
mod words;

pub use endpoint::{EndpointError, OpenAi};
pub use error::{MAX_SAID_BYTES, ModelError, Refusal, TimeoutKind};
pub use model::OpenAiModel;
pub use responder::ModelResponder;
pub use secret::Secret;
pub use settings::{Settings, Timeouts};
