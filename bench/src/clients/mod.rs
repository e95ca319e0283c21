//! The clients under comparison, each used as its own documentation shows it.

mod async_openai;
mod genai;
mod ours;
mod rig;

use std::{error::Error, time::Duration};

use anyhow::{Result, bail};
use serde_json::{Value, json};

use crate::corpus::{Ask, Call, Reader, Tokens};

/// A client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Client {
    /// chat-responder-model alone.
    Model,
    /// It with chat-runtime around it, a memory store, and a turn whose events are read.
    Chat,
    /// async-openai with a small struct through `byot`.
    Byot,
    /// async-openai with its own types.
    Typed,
    Genai,
    Rig,
}

impl Client {
    pub(crate) const MEASURED: [Self; 6] = [
        Self::Chat,
        Self::Model,
        Self::Byot,
        Self::Typed,
        Self::Genai,
        Self::Rig,
    ];
    pub(crate) const PLAYED: [Self; 4] = [Self::Model, Self::Byot, Self::Typed, Self::Genai];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Model => "chat-responder-model",
            Self::Chat => "a whole chat of ours",
            Self::Byot => "async-openai, `byot`",
            Self::Typed => "async-openai, typed",
            Self::Genai => "genai",
            Self::Rig => "rig",
        }
    }

    /// One word for the command line.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Chat => "chat",
            Self::Byot => "byot",
            Self::Typed => "typed",
            Self::Genai => "genai",
            Self::Rig => "rig",
        }
    }

    /// Asks once, and reads until the answer ends or the first error comes.
    pub(crate) async fn read(self, setup: &Setup, reader: &mut Reader) -> Result<Outcome> {
        match self {
            Self::Model => ours::read(setup, reader).await,
            Self::Byot => async_openai::read_byot(setup, reader).await,
            Self::Typed => async_openai::read_typed(setup, reader).await,
            Self::Genai => genai::read(setup, reader).await,
            Self::Chat | Self::Rig => bail!("{} is only measured", self.name()),
        }
    }

    /// Reads an answer at this base URL, and gives each piece of text to `take`.
    pub(crate) async fn stream(self, base: &str, take: &mut dyn Take) -> Result<()> {
        match self {
            Self::Model => ours::stream_model(base, take).await,
            Self::Chat => ours::stream_chat(base, take).await,
            Self::Byot => async_openai::stream_byot(base, take).await,
            Self::Typed => async_openai::stream_typed(base, take).await,
            Self::Genai => genai::stream(base, take).await,
            Self::Rig => rig::stream(base, take).await,
        }
    }
}

/// What is done with each piece of text where cost is measured.
pub(crate) trait Take: Send {
    /// Takes a piece, and says how long to sleep before the next one is read.
    fn take(&mut self, piece: &str) -> Option<Duration>;
}

/// Has a piece taken, and sleeps as long as told.
async fn give(take: &mut dyn Take, piece: &str) {
    if let Some(pause) = take.take(piece) {
        tokio::time::sleep(pause).await;
    }
}

/// How a client is set up for a behavior: the same for all.
#[derive(Debug)]
pub(crate) struct Setup {
    /// With `/v1` and no slash behind it.
    pub(crate) base: String,
    pub(crate) max_retries: u32,
    pub(crate) done_suffices: bool,
    pub(crate) connect: Duration,
    pub(crate) first_chunk: Duration,
    pub(crate) between_chunks: Duration,
    pub(crate) total: Option<Duration>,
}

impl Setup {
    pub(crate) fn new(ask: &Ask, url: &str) -> Self {
        let limit = |name: &str| ask.timeouts.get(name).copied().map(Duration::from_secs);
        // The model responder's own defaults.
        let or = |name: &str, default| limit(name).unwrap_or(Duration::from_secs(default));
        Self {
            base: format!("{url}/v1"),
            max_retries: ask.max_retries,
            done_suffices: ask.done_suffices,
            connect: or("connect", 10),
            first_chunk: or("first_chunk", 300),
            between_chunks: or("between_chunks", 120),
            total: limit("total"),
        }
    }

    /// The HTTP client for those that bring none of their own, with the limits it knows.
    fn http(&self) -> reqwest::Result<reqwest::Client> {
        let mut builder = reqwest::Client::builder()
            .connect_timeout(self.connect)
            .read_timeout(self.first_chunk.min(self.between_chunks));
        if let Some(total) = self.total {
            builder = builder.timeout(total);
        }
        builder.build()
    }
}

/// What came out of a client.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) text: String,
    pub(crate) reasoning: String,
    pub(crate) calls: Vec<Call>,
    pub(crate) usage: Option<Tokens>,
    /// In OpenAI's word for it.
    pub(crate) finish: Option<String>,
    /// All that the error and its causes say, to people and to programs.
    pub(crate) error: Option<String>,
}

impl Outcome {
    fn fail(&mut self, error: &(dyn Error + 'static)) {
        let causes = std::iter::successors(Some(error), |cause| (*cause).source());
        let said: Vec<String> = causes.map(|cause| format!("{cause} {cause:?}")).collect();
        self.error = Some(said.join("\n"));
    }
}

/// The request's body where it is written by hand.
fn body() -> Value {
    json!({
        "model": "tiny",
        "messages": [{"role": "user", "content": "Hello"}],
        "stream": true,
        "stream_options": {"include_usage": true},
    })
}

/// A call's arguments as JSON; as the text they are where that is none.
fn arguments(text: String) -> Value {
    if text.is_empty() {
        return json!({});
    }
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}
