//! A model of a server, ready to be asked. Holds what a call needs, and makes none by itself.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use chat_core::{LanguageModel, ModelEvent, ModelRef, ModelRequest, ResponderError};
use futures_util::stream::{self, BoxStream, StreamExt};
use reqwest::Client;

use crate::{ModelError, OpenAi, Settings, exchange::Exchange, request};

/// One model of an OpenAI-compatible server.
///
/// Each answer is one streamed request. It needs a tokio runtime with IO and time. A request that fails before its first
/// output is sent again as [`Settings::max_retries`] says, and each retry is told as a [`ModelEvent::Retry`] (law M4).
/// Dropping the stream closes the connection (law M5). Errors are [`ModelError`]s, kept as the source of the
/// [`ResponderError`].
///
/// ```no_run
/// use chat_core::{LanguageModel, Message, ModelEvent, ModelRequest};
/// use chat_responder_model::OpenAi;
/// use futures_util::StreamExt;
///
/// # async fn ask() -> Result<(), Box<dyn std::error::Error>> {
/// let model = OpenAi::from_env()?.model("gpt-5-mini");
/// let mut answer = model.stream(ModelRequest { messages: vec![Message::user("Hello")], ..Default::default() });
/// while let Some(event) = answer.next().await {
///     if let ModelEvent::Text(text) = event.map_err(|error| error.message().to_owned())? {
///         print!("{text}");
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct OpenAiModel {
    endpoint: Arc<OpenAi>,
    name: Arc<str>,
    settings: Arc<Settings>,
    /// Made at the first call, and shared by all clones: it keeps the open connections.
    client: Arc<OnceLock<Result<Client, ModelError>>>,
}

impl OpenAiModel {
    pub(crate) fn new(endpoint: OpenAi, name: Arc<str>) -> Self {
        Self {
            endpoint: Arc::new(endpoint),
            name,
            settings: Arc::default(),
            client: Arc::default(),
        }
    }

    /// Says how it answers.
    #[must_use]
    pub fn with_settings(mut self, settings: Settings) -> Self {
        if !settings.provider_options.is_empty() {
            Arc::make_mut(&mut self.endpoint).hide_options(&settings.provider_options);
        }
        Self {
            settings: Arc::new(settings),
            ..self
        }
    }

    /// How it answers.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) fn endpoint(&self) -> &OpenAi {
        &self.endpoint
    }

    pub(crate) fn name(&self) -> &Arc<str> {
        &self.name
    }

    pub(crate) fn client(&self) -> Result<&Client, ModelError> {
        self.client
            .get_or_init(|| build_client(&self.endpoint))
            .as_ref()
            .map_err(Clone::clone)
    }
}

impl LanguageModel for OpenAiModel {
    fn model(&self) -> ModelRef {
        ModelRef::new(self.endpoint.provider_name(), self.name.clone())
    }

    fn stream(
        &self,
        request: ModelRequest,
    ) -> BoxStream<'static, Result<ModelEvent, ResponderError>> {
        let body = request::body(&self.endpoint, &self.name, &self.settings, &request);
        let tools = request.tools.into_iter().map(|tool| tool.name).collect();
        stream::unfold(
            Exchange::new(self.clone(), body, tools),
            |mut exchange| async move {
                let item = exchange.next().await?;
                Some((item.map_err(ModelError::into_responder_error), exchange))
            },
        )
        .boxed()
    }
}

impl fmt::Debug for OpenAiModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAiModel")
            .field("endpoint", &self.endpoint)
            .field("name", &self.name)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

fn build_client(endpoint: &OpenAi) -> Result<Client, ModelError> {
    let mut builder = Client::builder()
        // A redirect would carry the key and the conversation to a place that nobody named.
        .redirect(reqwest::redirect::Policy::none())
        // Retries are told (law M4), so none may happen below us.
        .retry(reqwest::retry::never());
    if let Some(limit) = endpoint.waits().connect {
        builder = builder.connect_timeout(limit);
    }
    if endpoint.is_local() {
        builder = builder.no_proxy();
    }
    if !endpoint.is_tls() {
        // Plain HTTP must not depend on the machine having certificates.
        builder = builder.tls_certs_only([]);
    }
    builder
        .build()
        .map_err(|error| ModelError::Client(crate::failing::cause(&error).into()))
}
