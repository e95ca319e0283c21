//! Why a model gave no answer: one variant a remedy, each with the server's own words, none with a key (law M6).

use std::{fmt, sync::Arc, time::Duration};

use chat_core::ResponderError;

/// Why a model gave no answer.
///
/// None of them says that it was canceled: who cancels drops the answer, and nobody is left to tell. A canceled turn says so itself
/// (`TurnError::Canceled`).
///
/// It reaches a turn's error as the source of its [`ResponderError`]:
///
/// ```
/// use chat_core::ResponderError;
/// use chat_responder_model::ModelError;
///
/// fn wait_for(error: &ResponderError) -> Option<std::time::Duration> {
///     let error: &ModelError = error.source()?.downcast_ref()?;
///     error.refusal()?.retry_after
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The server can't be reached.
    #[error("no server can be reached at {url}: {cause}; start it, or correct the base URL")]
    Connect {
        /// Where it should be.
        url: Arc<str>,
        /// Why not.
        cause: Arc<str>,
    },
    /// The API key is missing, wrong, or allows too little.
    #[error("the API key was refused {0}; check the key, and that it belongs to this server")]
    Authentication(Box<Refusal>),
    /// There is no such model, or no such path.
    #[error(
        "the server does not know the model {model} {refusal}; check its name, and where the base URL ends (often in /v1)"
    )]
    NotFound {
        /// The model asked for.
        model: Arc<str>,
        /// What the server said.
        refusal: Box<Refusal>,
    },
    /// Too many requests.
    #[error("the server takes no more requests for now {refusal}; {later}", refusal = .0, later = later(.0.retry_after))]
    RateLimited(Box<Refusal>),
    /// The account has no credit left.
    #[error("the account has no credit left {0}; add some, or use another key")]
    Quota(Box<Refusal>),
    /// The conversation is longer than the model can read.
    #[error("the conversation is longer than the model can read {0}; give it a shorter context")]
    ContextTooLong(Box<Refusal>),
    /// The provider's content filter refused the request. (A filter that stops an answer is a finish reason.)
    #[error("the provider's content filter refused the request {0}; say it in other words")]
    ContentFiltered(Box<Refusal>),
    /// The server refused the request for another reason.
    #[error("the server refused the request {0}")]
    Rejected(Box<Refusal>),
    /// The server failed, before its answer or in the middle of it.
    #[error("the server failed {0}")]
    Server(Box<Refusal>),
    /// The answer ended before the server said that it was whole (law M3).
    #[error("the answer from {url} was cut off{}: {cause}", request(request_id))]
    Truncated {
        /// Who answered.
        url: Arc<str>,
        /// How it ended.
        cause: Arc<str>,
        /// The server's id of the request, where it gave one.
        request_id: Option<Arc<str>>,
    },
    /// Something took too long.
    #[error(
        "{url} took longer than {} to {which}{}; raise the timeout where that is to be expected",
        seconds(*limit),
        request(request_id)
    )]
    Timeout {
        /// What did.
        which: TimeoutKind,
        /// The limit.
        limit: Duration,
        /// Who was asked.
        url: Arc<str>,
        /// The server's id of the request, where its answer had begun with one.
        request_id: Option<Arc<str>>,
    },
    /// The server answered with something that is no answer.
    #[error(
        "{url} sent {what}{}; is it an OpenAI-compatible chat-completions server?{}",
        request(request_id),
        excerpt_of(excerpt)
    )]
    Protocol {
        /// Who answered.
        url: Arc<str>,
        /// What came.
        what: Arc<str>,
        /// How it begins.
        excerpt: Arc<str>,
        /// The server's id of the request, where it gave one.
        request_id: Option<Arc<str>>,
    },
    /// The HTTP client can't be set up on this machine.
    #[error("the HTTP client can't be set up: {0}")]
    Client(Arc<str>),
}

/// What ran out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TimeoutKind {
    /// The time to connect.
    Connect,
    /// The time to the first byte of the answer.
    FirstChunk,
    /// The time between two pieces of the answer.
    BetweenChunks,
    /// The time for the whole answer.
    Total,
}

/// How a server refused: its status and its own words, redacted and bounded to [`MAX_SAID_BYTES`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Who refused.
    pub url: Arc<str>,
    /// The HTTP status. Where the refusal came inside an answer it is the one that the words name, or else 200.
    pub status: u16,
    /// What it said; empty where it said nothing.
    pub said: Arc<str>,
    /// Its code or type, such as `context_length_exceeded`; empty where it gave none.
    pub code: Arc<str>,
    /// Its id of the request, for its support; where it gave one.
    pub request_id: Option<Arc<str>>,
    /// How long it asks to wait before the next try, where it says so.
    pub retry_after: Option<Duration>,
}

/// The most a [`Refusal`] keeps of a server's words, in bytes.
pub const MAX_SAID_BYTES: usize = 1024;

impl ModelError {
    /// One word that programs can match.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Connect { .. } => "unreachable",
            Self::Authentication(_) => "authentication",
            Self::NotFound { .. } => "model-not-found",
            Self::RateLimited(_) => "rate-limited",
            Self::Quota(_) => "quota",
            Self::ContextTooLong(_) => "context-too-long",
            Self::ContentFiltered(_) => "content-filtered",
            Self::Rejected(_) => "rejected",
            Self::Server(_) => "server",
            Self::Truncated { .. } => "truncated",
            Self::Timeout { .. } => "timeout",
            Self::Protocol { .. } => "protocol",
            Self::Client(_) => "client",
        }
    }

    /// Whether the same request may well succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Connect { .. }
            | Self::RateLimited(_)
            | Self::Server(_)
            | Self::Truncated { .. }
            | Self::Timeout { .. } => true,
            // The server itself says so: it waited too long for us, or another request was in the way.
            Self::Rejected(refusal) => matches!(refusal.status, 408 | 409 | 425),
            Self::Authentication(_)
            | Self::NotFound { .. }
            | Self::Quota(_)
            | Self::ContextTooLong(_)
            | Self::ContentFiltered(_)
            | Self::Protocol { .. }
            | Self::Client(_) => false,
        }
    }

    /// How the server refused, where it did.
    #[must_use]
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Authentication(refusal)
            | Self::NotFound { refusal, .. }
            | Self::RateLimited(refusal)
            | Self::Quota(refusal)
            | Self::ContextTooLong(refusal)
            | Self::ContentFiltered(refusal)
            | Self::Rejected(refusal)
            | Self::Server(refusal) => Some(refusal),
            Self::Connect { .. }
            | Self::Truncated { .. }
            | Self::Timeout { .. }
            | Self::Protocol { .. }
            | Self::Client(_) => None,
        }
    }

    /// The server's id of the request, for its support; where it gave one.
    #[must_use]
    pub fn request_id(&self) -> Option<&str> {
        match self {
            Self::Truncated { request_id, .. }
            | Self::Timeout { request_id, .. }
            | Self::Protocol { request_id, .. } => request_id.as_deref(),
            Self::Connect { .. }
            | Self::Client(_)
            | Self::Authentication(_)
            | Self::NotFound { .. }
            | Self::RateLimited(_)
            | Self::Quota(_)
            | Self::ContextTooLong(_)
            | Self::ContentFiltered(_)
            | Self::Rejected(_)
            | Self::Server(_) => self.refusal()?.request_id.as_deref(),
        }
    }

    /// The error as a responder fails with it. (`?` would lose its kind, as for any other error.)
    #[must_use]
    pub fn into_responder_error(self) -> ResponderError {
        ResponderError::new(self.to_string())
            .with_kind(self.kind())
            .with_retryable(self.is_retryable())
            .with_source(self)
    }
}

impl fmt::Display for TimeoutKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connect => "accept a connection",
            Self::FirstChunk => "begin its answer",
            Self::BetweenChunks => "go on with its answer",
            Self::Total => "end its answer",
        })
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "(status {} from {}", self.status, self.url)?;
        if let Some(id) = &self.request_id {
            write!(f, ", request {id}")?;
        }
        f.write_str(")")?;
        match (&*self.said, &*self.code) {
            ("", "") => Ok(()),
            ("", code) => write!(f, ": {code}"),
            (said, _) => write!(f, ": {}", said.trim_end_matches('.')),
        }
    }
}

fn later(retry_after: Option<Duration>) -> String {
    match retry_after {
        Some(wait) => format!("try again in {}", seconds(wait)),
        None => "try again later".to_owned(),
    }
}

fn seconds(duration: Duration) -> String {
    format!("{} s", duration.as_secs_f64())
}

fn request(id: &Option<Arc<str>>) -> String {
    id.as_ref()
        .map_or_else(String::new, |id| format!(" (request {id})"))
}

fn excerpt_of(excerpt: &str) -> String {
    if excerpt.is_empty() {
        String::new()
    } else {
        format!(" It begins: {excerpt}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_say_what_happened_where_and_what_to_do() {
        let refusal = Refusal {
            url: "http://localhost:8080/v1".into(),
            status: 429,
            said: "Slow down.".into(),
            code: "rate_limit".into(),
            request_id: Some("req-1".into()),
            retry_after: Some(Duration::from_millis(1500)),
        };
        let error = ModelError::RateLimited(Box::new(refusal));
        assert_eq!(
            error.to_string(),
            "the server takes no more requests for now (status 429 from http://localhost:8080/v1, request req-1): Slow down; \
             try again in 1.5 s"
        );
        let error = ModelError::Timeout {
            which: TimeoutKind::FirstChunk,
            limit: Duration::from_secs(300),
            url: "http://localhost:8080/v1".into(),
            request_id: None,
        };
        assert_eq!(
            error.to_string(),
            "http://localhost:8080/v1 took longer than 300 s to begin its answer; raise the timeout where that is to be expected"
        );
    }

    #[test]
    fn errors_are_small_enough_to_return() {
        assert!(size_of::<ModelError>() <= 80, "{}", size_of::<ModelError>());
    }
}
