//! A server that speaks the chat-completions API: where it is, what it wants to be sent, how long to wait for it.
//! Checked once here; nothing after this refuses a key or a URL for its form.

use std::{fmt, sync::Arc};

use async_openai::config::{Config as _, OPENAI_API_BASE, OpenAIConfig};
use chat_core::Redactor;
use reqwest::{
    Url,
    header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue},
};

use serde_json::{Map, Value};

use crate::{OpenAiModel, Secret, Timeouts, words::Words};

/// An OpenAI-compatible server.
///
/// ```
/// use chat_responder_model::OpenAi;
/// # fn main() -> Result<(), chat_responder_model::EndpointError> {
/// let local = OpenAi::new("http://localhost:8080/v1")?.model("qwen3");
/// let router = OpenAi::new("https://openrouter.ai/api/v1")?.api_key("sk-or-...")?.header("x-title", "My chat")?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct OpenAi {
    config: OpenAIConfig,
    base: Url,
    has_key: bool,
    header_names: Vec<HeaderName>,
    words: Words,
    provider: Option<Arc<str>>,
    timeouts: Timeouts,
}

/// Why an endpoint can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EndpointError {
    /// The environment names no key, and no other server than OpenAI's.
    #[error(
        "OPENAI_API_KEY is not set: set it to your key, or OPENAI_BASE_URL to a server that wants none"
    )]
    NoKey,
    /// The base URL is no URL of a server. The URL itself is not shown: it may hold a password.
    #[error("the base URL {0}; write it like https://api.openai.com/v1")]
    BaseUrl(Arc<str>),
    /// The key can't be sent.
    #[error("the API key holds a character that can't be sent in a header; copy it again")]
    Key,
    /// A header can't be sent.
    #[error(
        "the header {name:?} can't be sent: its name or value holds a character that a header can't hold"
    )]
    Header {
        /// Its name.
        name: String,
    },
}

impl OpenAi {
    /// The server that the environment names: its key from `OPENAI_API_KEY`, its URL from `OPENAI_BASE_URL` (OpenAI's own
    /// unless set; the key may then be missing, as local servers want none).
    ///
    /// # Errors
    /// [`EndpointError`] says which variable to set, or what is wrong with its value.
    pub fn from_env() -> Result<Self, EndpointError> {
        Self::from_vars(|name| std::env::var(name).ok())
    }

    fn from_vars(var: impl Fn(&str) -> Option<String>) -> Result<Self, EndpointError> {
        let var = |name| var(name).filter(|value| !value.trim().is_empty());
        match (var("OPENAI_BASE_URL"), var("OPENAI_API_KEY")) {
            (None, None) => Err(EndpointError::NoKey),
            (None, Some(key)) => Self::new(OPENAI_API_BASE)?.api_key(key),
            (Some(base), None) => Self::new(base),
            (Some(base), Some(key)) => Self::new(base)?.api_key(key),
        }
    }

    /// The server at a URL, up to where its API begins: `https://api.openai.com/v1`. A user and password in it are sent as
    /// such, and never shown. A query goes with every request, and only its `api-version` may be shown: Azure's is
    /// `https://NAME.openai.azure.com/openai/deployments/DEPLOYMENT?api-version=2024-10-21`, with the key as the header `api-key`.
    ///
    /// # Errors
    /// [`EndpointError::BaseUrl`] where it is no `http` or `https` URL, or has a fragment.
    pub fn new(base_url: impl AsRef<str>) -> Result<Self, EndpointError> {
        let refuse = |why: &str| EndpointError::BaseUrl(why.into());
        let base = Url::parse(base_url.as_ref().trim())
            .map_err(|error| refuse(&format!("is no URL ({error})")))?;
        if !matches!(base.scheme(), "http" | "https") {
            return Err(refuse("is neither http nor https"));
        }
        if base.fragment().is_some() {
            return Err(refuse("has a fragment"));
        }
        let mut api_base = base.clone();
        api_base.set_query(None);
        // The default config reads the environment; what this endpoint sends is what it was told, so all of it is set.
        let config = OpenAIConfig::new()
            .with_api_base(api_base.as_str().trim_end_matches('/'))
            .with_api_key("")
            .with_org_id("")
            .with_project_id("");
        let mut words = Words::default();
        words.hide_parts(&base);
        Ok(Self {
            config,
            base,
            has_key: false,
            header_names: Vec::new(),
            words,
            provider: None,
            timeouts: Timeouts::default(),
        })
    }

    pub(crate) fn hide_options(&mut self, options: &Map<String, Value>) {
        self.words.hide_options(options);
    }

    /// Sets the API key, sent as a bearer token. Servers that want it elsewhere take it as a [`header`](Self::header).
    ///
    /// # Errors
    /// [`EndpointError::Key`] where it holds what a header can't.
    pub fn api_key(mut self, key: impl Into<Secret>) -> Result<Self, EndpointError> {
        let key = key.into();
        if key.expose().is_empty() || HeaderValue::from_str(key.expose()).is_err() {
            return Err(EndpointError::Key);
        }
        self.config = self.config.with_api_key(key.expose());
        self.has_key = true;
        self.words.hide_value(key.expose());
        Ok(self)
    }

    /// Sends a header with every request. Its value is held for a secret, and never shown.
    ///
    /// # Errors
    /// [`EndpointError::Header`] where its name or value holds what a header can't.
    pub fn header(
        mut self,
        name: impl AsRef<str>,
        value: impl Into<Secret>,
    ) -> Result<Self, EndpointError> {
        let (name, value) = (name.as_ref(), value.into());
        let refused = || EndpointError::Header {
            // A whole header given for a name would show its value.
            name: Redactor::default().text(name).into_owned(),
        };
        let header_name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| refused())?;
        self.config = self
            .config
            .with_header(header_name.clone(), value.expose())
            .map_err(|_| refused())?;
        self.header_names.push(header_name);
        self.words.hide_value(value.expose());
        Ok(self)
    }

    /// Names the provider, as recorded with every turn. Unless set, `openai` for OpenAI, the host for others.
    #[must_use]
    pub fn provider(self, name: impl Into<Arc<str>>) -> Self {
        Self {
            provider: Some(name.into()),
            ..self
        }
    }

    /// Says how long to wait for what.
    #[must_use]
    pub fn timeouts(self, timeouts: Timeouts) -> Self {
        Self { timeouts, ..self }
    }

    /// A model of this server. Any number of models can be made of clones of one endpoint.
    #[must_use]
    pub fn model(self, name: impl Into<Arc<str>>) -> OpenAiModel {
        OpenAiModel::new(self, name.into())
    }

    pub(crate) fn provider_name(&self) -> Arc<str> {
        match (&self.provider, self.host()) {
            (Some(name), _) => name.clone(),
            (None, "api.openai.com") => "openai".into(),
            (None, host) => host.into(),
        }
    }

    /// Whether this is OpenAI, or OpenAI as Azure serves it.
    pub(crate) fn is_openai(&self) -> bool {
        let host = self.host();
        // The same resource of Azure answers under several hosts, and OpenAI's models under this path.
        let is_azure = host.ends_with(".azure.com") && self.base.path().starts_with("/openai");
        let is_its_own = host == "api.openai.com" || host.ends_with(".api.openai.com");
        is_its_own || host.ends_with(".openai.azure.com") || is_azure
    }

    /// Whether the server is on this machine, where no proxy can lead.
    pub(crate) fn is_local(&self) -> bool {
        match self.base.host_str().unwrap_or_default() {
            "localhost" | "[::1]" => true,
            host => host
                .parse::<std::net::Ipv4Addr>()
                .is_ok_and(|address| address.is_loopback()),
        }
    }

    pub(crate) fn is_tls(&self) -> bool {
        self.base.scheme() == "https"
    }

    /// Where answers come from.
    pub(crate) fn completions_url(&self) -> String {
        let url = self.config.url("/chat/completions");
        match self.base.query() {
            Some(query) => format!("{url}?{query}"),
            None => url,
        }
    }

    /// What every request carries.
    pub(crate) fn headers(&self) -> HeaderMap {
        let mut headers = self.config.headers();
        if !self.has_key && !self.header_names.contains(&AUTHORIZATION) {
            // Without a key the config would send an empty one, which some servers refuse.
            headers.remove(AUTHORIZATION);
        }
        for value in headers.values_mut() {
            // Keeps them out of whatever the HTTP client prints (law M6).
            value.set_sensitive(true);
        }
        headers
    }

    /// The URL as errors show it: without user, password and query.
    pub(crate) fn shown(&self) -> Arc<str> {
        let mut base = self.base.clone();
        base.set_query(None);
        // Both fail only for URLs that have no host, which `new` refuses.
        let _ = base.set_username("");
        let _ = base.set_password(None);
        base.as_str().trim_end_matches('/').into()
    }

    pub(crate) fn waits(&self) -> Timeouts {
        self.timeouts
    }

    pub(crate) fn words(&self) -> &Words {
        &self.words
    }

    fn host(&self) -> &str {
        self.base.host_str().unwrap_or_default()
    }
}

impl fmt::Debug for OpenAi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAi")
            .field("base_url", &self.shown())
            .field("has_key", &self.has_key)
            .field("headers", &self.header_names)
            .field("provider", &self.provider_name())
            .field("timeouts", &self.timeouts)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vars(key: Option<&str>, base: Option<&str>) -> Result<OpenAi, EndpointError> {
        OpenAi::from_vars(|name| match name {
            "OPENAI_API_KEY" => key.map(str::to_owned),
            "OPENAI_BASE_URL" => base.map(str::to_owned),
            _ => None,
        })
    }

    #[test]
    fn the_environment_names_key_and_server_and_the_error_says_what_to_set() {
        let error = vars(None, None).unwrap_err();
        assert!(error.to_string().contains("OPENAI_API_KEY"), "{error}");
        assert_eq!(vars(Some(" "), Some("")).unwrap_err(), EndpointError::NoKey);
        let openai = vars(Some("key\n"), None).unwrap();
        assert_eq!(
            openai.completions_url(),
            "https://api.openai.com/v1/chat/completions"
        );
        assert_eq!(openai.headers()[AUTHORIZATION], "Bearer key");
        assert_eq!(&*openai.provider_name(), "openai");
        let local = vars(None, Some("http://localhost:8080/v1/")).unwrap();
        assert_eq!(
            local.completions_url(),
            "http://localhost:8080/v1/chat/completions"
        );
        assert!(local.headers().is_empty());
        assert_eq!(&*local.provider_name(), "localhost");
    }

    #[test]
    fn what_can_not_be_sent_is_refused_at_once() {
        for bad in [
            "",
            "localhost:8080",
            "/v1",
            "ftp://host/v1",
            "https://host/v1#here",
            "https://",
        ] {
            assert!(
                matches!(OpenAi::new(bad), Err(EndpointError::BaseUrl(_))),
                "{bad:?}"
            );
        }
        let openai = OpenAi::new("https://host/v1").unwrap();
        assert_eq!(
            openai.clone().api_key("a\nb").unwrap_err(),
            EndpointError::Key
        );
        assert_eq!(openai.clone().api_key("").unwrap_err(), EndpointError::Key);
        assert!(matches!(
            openai.clone().header("a b", "x"),
            Err(EndpointError::Header { .. })
        ));
        let refused = openai
            .clone()
            .header("authorization: Bearer canary-key", "");
        assert!(!refused.unwrap_err().to_string().contains("canary"));
        assert!(matches!(
            openai.header("a", "x\ny"),
            Err(EndpointError::Header { .. })
        ));
    }

    #[test]
    fn m1_a_query_of_the_base_url_goes_behind_the_path() {
        for (base, url) in [
            (
                "https://host/v1?api-version=1",
                "https://host/v1/chat/completions?api-version=1",
            ),
            (
                "https://host/v1/?a=1&b=%20",
                "https://host/v1/chat/completions?a=1&b=%20",
            ),
            ("https://host?a=1", "https://host/chat/completions?a=1"),
        ] {
            assert_eq!(OpenAi::new(base).unwrap().completions_url(), url);
        }
    }

    #[test]
    fn m6_an_endpoint_shows_neither_key_nor_header_nor_password() {
        let openai = OpenAi::new("https://user:pass-word@host/v1?key=canary-query").unwrap();
        let openai = openai
            .api_key("canary-key")
            .unwrap()
            .header("x-token", "Basic canary-token")
            .unwrap();
        let shown = format!("{openai:?}");
        assert!(shown.contains("https://host/v1"), "{shown}");
        for secret in ["canary-key", "canary-token", "canary-query", "pass-word"] {
            assert!(!shown.contains(secret), "{shown}");
        }
        let refused = format!(
            "{:?}",
            OpenAi::new("https//user:pass-word@host").unwrap_err()
        );
        assert!(!refused.contains("pass-word"), "{refused}");
    }
}
