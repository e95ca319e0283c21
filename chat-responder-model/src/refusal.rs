//! Tells from a server's status and words what a refusal is about. Knows the forms of many servers, and sends nothing.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use reqwest::{
    Response,
    header::{HeaderMap, RETRY_AFTER},
};

use crate::{MAX_SAID_BYTES, ModelError, OpenAiModel, Refusal, said::Said};

/// What the head of an answer says about it.
pub(crate) struct Answered {
    status: u16,
    request_id: Option<String>,
    retry_after: Option<Duration>,
}

impl Answered {
    pub(crate) fn of(response: &Response) -> Self {
        let headers = response.headers();
        let text = |name: &str| {
            let text = headers.get(name).and_then(|value| value.to_str().ok());
            text.filter(|text| !text.is_empty())
        };
        let request_id = ["x-request-id", "request-id", "apim-request-id", "cf-ray"]
            .into_iter()
            .find_map(text);
        Self {
            status: response.status().as_u16(),
            request_id: request_id.map(str::to_owned),
            retry_after: retry_after(headers, SystemTime::now()),
        }
    }
}

impl Answered {
    /// The server's id of the request, fit to show.
    pub(crate) fn request_id(&self, model: &OpenAiModel) -> Option<Arc<str>> {
        let id = self.request_id.as_deref()?;
        Some(model.endpoint().words().shown(id, 128))
    }
}

/// The error that a refusal is.
pub(crate) fn classify(model: &OpenAiModel, answered: &Answered, said: &Said) -> ModelError {
    let shown = |text: &str, limit| model.endpoint().words().shown(text, limit);
    // Inside an answer the status is 200, and the words may name the one that is meant.
    let status = match answered.status {
        200..300 => said.status.unwrap_or(answered.status),
        refused => refused,
    };
    let refusal = Box::new(Refusal {
        url: model.endpoint().shown(),
        status,
        said: shown(&said.message, MAX_SAID_BYTES),
        code: shown(&said.code, 64),
        request_id: answered.request_id(model),
        retry_after: answered.retry_after.or(said.retry_after),
    });
    match cause(
        status,
        &said.code.to_ascii_lowercase(),
        &said.message.to_ascii_lowercase(),
    ) {
        Cause::Quota => ModelError::Quota(refusal),
        Cause::Context => ModelError::ContextTooLong(refusal),
        Cause::Filter => ModelError::ContentFiltered(refusal),
        Cause::Authentication => ModelError::Authentication(refusal),
        Cause::NotFound => ModelError::NotFound {
            model: Arc::clone(model.name()),
            refusal,
        },
        Cause::RateLimit => ModelError::RateLimited(refusal),
        Cause::Request => ModelError::Rejected(refusal),
        Cause::Server => ModelError::Server(refusal),
    }
}

/// What a refusal is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    Quota,
    Context,
    Filter,
    Authentication,
    NotFound,
    RateLimit,
    Request,
    Server,
}

/// Codes first: they say more than a status. Then the status. The message's own words decide only what is a 400 for all.
fn cause(status: u16, code: &str, message: &str) -> Cause {
    let coded = |marks: &[&str]| marks.iter().any(|mark| code.contains(mark));
    let worded = |marks: &[&str]| marks.iter().any(|mark| message.contains(mark));
    // The last two are Moonshot's code and Anthropic's words.
    if coded(&[
        "insufficient_quota",
        "insufficient_balance",
        "billing",
        "exceeded_current_quota",
    ]) || status == 402
        || worded(&["insufficient balance", "credit balance is too low"])
    {
        return Cause::Quota;
    }
    // Above what a whole minute allows is a rate limit by its code, and no wait can help.
    if coded(&[
        "context_length_exceeded",
        "exceed_context_size",
        "max_prompt_tokens_exceeded",
    ]) || status == 413
        || worded(&["request too large"])
    {
        return Cause::Context;
    }
    if coded(&["content_filter", "content_policy", "responsibleaipolicy"])
        || status == 403 && worded(&["moderation", "flagged"])
    {
        return Cause::Filter;
    }
    if coded(&["invalid_api_key", "authentication_error"]) {
        return Cause::Authentication;
    }
    if coded(&["model_not_found", "invalid_model"]) {
        return Cause::NotFound;
    }
    if coded(&["rate_limit", "capacity_exceeded"]) {
        return Cause::RateLimit;
    }
    let too_long = &[
        "context length",
        "context window",
        "context size",
        "maximum context",
        "prompt is too long",
        "input is too long",
        // Gemini, xAI, and Hugging Face's server.
        "exceeds the maximum number of tokens",
        "maximum prompt length",
        "`max_new_tokens` must be",
        // GitHub Copilot, DashScope, Anthropic, SGLang, and Moonshot.
        "prompt token count of",
        "range of input length should be",
        "exceed context limit",
        "exceeds the maximum allowed length",
        "exceeded model token limit",
    ];
    match status {
        400 | 422 if worded(too_long) => Cause::Context,
        // Gemini has the status 400 for all that is wrong with a key.
        400 if worded(&[
            "api key not valid",
            "invalid api key",
            "incorrect api key",
            "api key expired",
            "authorization header",
        ]) =>
        {
            Cause::Authentication
        }
        // OpenRouter, DeepSeek.
        400 if worded(&["is not a valid model id", "model not exist"]) => Cause::NotFound,
        // No other key helps where a provider serves nobody.
        403 if coded(&["unsupported_country"]) => Cause::Request,
        // llama-server's router, about a name it does not know.
        400 if message.starts_with("model '") && message.ends_with("' not found") => {
            Cause::NotFound
        }
        401 | 403 => Cause::Authentication,
        404 => Cause::NotFound,
        429 => Cause::RateLimit,
        300..500 => Cause::Request,
        _ if worded(too_long) => Cause::Context,
        _ if coded(&["invalid_request"]) => Cause::Request,
        // LM Studio's 404, which has the status 200.
        200 if worded(&["unexpected endpoint"]) => Cause::NotFound,
        _ => Cause::Server,
    }
}

/// What stands for a wait beyond all time, as which it is refused: it must not be taken for none.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(u32::MAX as u64);

/// So many seconds; `None` where that is no wait.
pub(crate) fn wait(seconds: f64) -> Option<Duration> {
    (seconds >= 0.0).then(|| {
        Duration::try_from_secs_f64(seconds)
            .map_or(LONGEST_RETRY_AFTER, |wait| wait.min(LONGEST_RETRY_AFTER))
    })
}

/// How long the server asks to wait: `retry-after-ms`, or `retry-after` in seconds or as a date.
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |text: &str| text.parse::<f64>().ok();
    let millis = text("retry-after-ms").and_then(number);
    if let Some(wait) = millis.and_then(|ms| wait(ms / 1000.0)) {
        return Some(wait);
    }
    let after = text(RETRY_AFTER.as_str())?;
    match number(after) {
        Some(seconds) => wait(seconds),
        // A date that has passed asks for no wait.
        None => httpdate::parse_http_date(after)
            .ok()
            .map(|date| date.duration_since(now).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests;
