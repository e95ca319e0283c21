//! What a model call can be told: sampling, limits, timeouts. Values only; nothing here checks what a provider allows.

use std::{fmt, time::Duration};

use chat_core::Redactor;
use serde_json::{Map, Value};

/// How a model answers (law M1). What is not set is not sent, and the server's own default holds.
///
/// ```
/// use chat_responder_model::{OpenAi, Settings};
/// # fn main() -> Result<(), chat_responder_model::EndpointError> {
/// let model = OpenAi::new("http://localhost:8080/v1")?
///     .model("qwen3")
///     .with_settings(Settings { temperature: Some(0.2), max_output_tokens: Some(400), ..Settings::default() });
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq)]
pub struct Settings {
    /// The most tokens the answer may hold. Sent as `max_completion_tokens` to OpenAI and Azure, as `max_tokens` elsewhere.
    pub max_output_tokens: Option<u32>,
    /// How freely it chooses: 0 hardly, 2 wildly.
    pub temperature: Option<f64>,
    /// It chooses among the likeliest tokens that add up to this probability.
    pub top_p: Option<f64>,
    /// It chooses among this many of the likeliest tokens. OpenAI itself refuses this one.
    pub top_k: Option<u32>,
    /// How strongly it avoids words it has used at all, from -2 to 2.
    pub presence_penalty: Option<f64>,
    /// How strongly it avoids words the more it has used them, from -2 to 2.
    pub frequency_penalty: Option<f64>,
    /// Texts that end the answer where it would write one.
    pub stop: Vec<String>,
    /// Makes equal requests give equal answers, as far as the server can.
    pub seed: Option<i64>,
    /// How often a request that failed before its first output is sent again (law M4); 2 unless set.
    pub max_retries: u32,
    /// Anything else for the request's body, laid over it field by field; `null` takes a field out. `stream` stays true.
    pub provider_options: Map<String, Value>,
    /// Takes an answer that ends with `[DONE]` and no finish reason as whole, for servers that never give one (law M3). Its
    /// finish reason is then `done`.
    pub done_suffices: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_output_tokens: None,
            temperature: None,
            top_p: None,
            top_k: None,
            presence_penalty: None,
            frequency_penalty: None,
            stop: Vec::new(),
            seed: None,
            max_retries: 2,
            provider_options: Map::new(),
            done_suffices: false,
        }
    }
}

impl fmt::Debug for Settings {
    /// Provider options are redacted: some servers take keys there (law M6).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let options = Redactor::default().json(&Value::Object(self.provider_options.clone()));
        f.debug_struct("Settings")
            .field("max_output_tokens", &self.max_output_tokens)
            .field("temperature", &self.temperature)
            .field("top_p", &self.top_p)
            .field("top_k", &self.top_k)
            .field("presence_penalty", &self.presence_penalty)
            .field("frequency_penalty", &self.frequency_penalty)
            .field("stop", &self.stop)
            .field("seed", &self.seed)
            .field("max_retries", &self.max_retries)
            .field("provider_options", &options)
            .field("done_suffices", &self.done_suffices)
            .finish()
    }
}

/// How long a model call waits, and for what. `None` waits for ever. Each has its own
/// [`ModelError::Timeout`](crate::ModelError::Timeout). Whatever a server sends counts as a piece, a comment that keeps the connection
/// open included: a server that sends nothing else is only held to the total.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// For the connection, TLS included; 10 seconds unless set.
    pub connect: Option<Duration>,
    /// From sending the request to the first byte of the answer; 5 minutes unless set: a long prompt takes its time.
    pub first_chunk: Option<Duration>,
    /// From one piece of the answer to the next; 2 minutes unless set.
    pub between_chunks: Option<Duration>,
    /// For the whole answer, retries included; none unless set: an answer that keeps coming is no failure.
    pub total: Option<Duration>,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Some(Duration::from_secs(10)),
            first_chunk: Some(Duration::from_secs(300)),
            between_chunks: Some(Duration::from_secs(120)),
            total: None,
        }
    }
}
