//! What a failed answer is told as: the error of each way to fail, with where it was asked and the server's id of the request.

use std::{error::Error, sync::Arc};

use crate::{
    MAX_SAID_BYTES, ModelError, OpenAiModel, TimeoutKind,
    answer::{Ended, Fault},
    limit::Limit,
    refusal::{self, Answered},
};

/// An answer that fails.
pub(crate) struct Failing<'a> {
    model: &'a OpenAiModel,
    /// The head of the answer, once there is one.
    answered: Option<&'a Answered>,
}

impl<'a> Failing<'a> {
    pub(crate) fn new(model: &'a OpenAiModel, answered: Option<&'a Answered>) -> Self {
        Self { model, answered }
    }

    /// What was read says that it failed, or makes no sense.
    pub(crate) fn fault(&self, fault: Fault) -> ModelError {
        match (fault, self.answered) {
            (Fault::Said(said), Some(answered)) => refusal::classify(self.model, answered, &said),
            (Fault::Said(said), None) => self.no_answer(&said.message, ""),
            (Fault::Malformed { what, excerpt }, _) => self.no_answer(what, &excerpt),
            (Fault::Truncated(ended, words), _) => {
                let how = match ended {
                    Ended::Short => "it ended without a finish reason",
                    Ended::Done => {
                        "it ended with [DONE] and no finish reason; where that is how this server ends every answer, set \
                         `done_suffices`"
                    }
                    Ended::Empty => {
                        "it ended without a single event, as some servers do where the context is too long"
                    }
                };
                if words.is_empty() {
                    self.truncated(how)
                } else {
                    self.truncated(&format!("{how}; beside its events it said: {words}"))
                }
            }
        }
    }

    /// The request could not be sent, or no head of an answer came.
    pub(crate) fn not_sent(&self, error: &reqwest::Error) -> ModelError {
        let waits = self.model.endpoint().waits();
        match (error.is_connect(), error.is_timeout(), waits.connect) {
            (true, true, Some(limit)) => ModelError::Timeout {
                which: TimeoutKind::Connect,
                limit,
                url: self.url(),
                request_id: None,
            },
            (true, _, _) => ModelError::Connect {
                url: self.url(),
                cause: self.shown(&cause(error)),
            },
            (false, _, _) => {
                let cause = cause(error);
                if cause.starts_with("invalid HTTP") {
                    return self.no_answer(&format!("what is no HTTP ({cause})"), "");
                }
                self.truncated(&format!("the connection broke before it began ({cause})"))
            }
        }
    }

    /// The connection broke within the answer.
    pub(crate) fn broke(&self, error: &reqwest::Error) -> ModelError {
        self.truncated(&format!("the connection broke ({})", cause(error)))
    }

    /// What came is no answer. The excerpt is as the server wrote it.
    pub(crate) fn no_answer(&self, what: &str, excerpt: &str) -> ModelError {
        ModelError::Protocol {
            url: self.url(),
            what: self.shown(what),
            excerpt: self.model.endpoint().words().shown(excerpt, 200),
            request_id: self.request_id(),
        }
    }

    pub(crate) fn timed_out(&self, limit: Limit) -> ModelError {
        ModelError::Timeout {
            which: limit.which,
            limit: limit.limit,
            url: self.url(),
            request_id: self.request_id(),
        }
    }

    fn truncated(&self, cause: &str) -> ModelError {
        ModelError::Truncated {
            url: self.url(),
            cause: self.shown(cause),
            request_id: self.request_id(),
        }
    }

    fn url(&self) -> Arc<str> {
        self.model.endpoint().shown()
    }

    fn request_id(&self) -> Option<Arc<str>> {
        self.answered?.request_id(self.model)
    }

    fn shown(&self, text: &str) -> Arc<str> {
        self.model.endpoint().words().shown(text, MAX_SAID_BYTES)
    }
}

/// The innermost cause, which says best what is wrong. The outermost says only that sending failed, and shows the URL, which
/// may hold a password.
pub(crate) fn cause(error: &reqwest::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes
        .last()
        .map_or_else(|| "no cause is known".to_owned(), ToString::to_string)
}
