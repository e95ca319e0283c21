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
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
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

/// How long the server asks to wait: `retry-after-ms`, or `retry-after` in seconds or as a date.
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |text: &str| text.parse::<f64>().ok();
    let millis = text("retry-after-ms").and_then(number);
    if let Some(wait) = millis.and_then(|ms| Duration::try_from_secs_f64(ms / 1000.0).ok()) {
        return Some(wait);
    }
    let after = text(RETRY_AFTER.as_str())?;
    match number(after) {
        Some(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        // A date that has passed asks for no wait.
        None => httpdate::parse_http_date(after)
            .ok()
            .map(|date| date.duration_since(now).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m3_the_cause_is_found_in_code_status_or_words() {
        for (status, code, message, expected) in [
            (401, "", "no", Cause::Authentication),
            (403, "", "no", Cause::Authentication),
            (400, "invalid_api_key", "no", Cause::Authentication),
            (404, "", "no such path", Cause::NotFound),
            (
                400,
                "model_not_found invalid_request_error",
                "no",
                Cause::NotFound,
            ),
            (429, "", "slow down", Cause::RateLimit),
            (200, "rate_limit_exceeded", "slow down", Cause::RateLimit),
            (429, "insufficient_quota", "no", Cause::Quota),
            (402, "", "no", Cause::Quota),
            (
                400,
                "context_length_exceeded invalid_request_error",
                "no",
                Cause::Context,
            ),
            (400, "exceed_context_size_error", "no", Cause::Context),
            (
                400,
                "",
                "this model's maximum context length is 4096 tokens",
                Cause::Context,
            ),
            (
                200,
                "",
                "the request exceeds the available context size",
                Cause::Context,
            ),
            (413, "rate_limit_exceeded", "no", Cause::Context),
            (
                429,
                "rate_limit_exceeded",
                "request too large",
                Cause::Context,
            ),
            (400, "content_filter", "no", Cause::Filter),
            (403, "", "your input was flagged", Cause::Filter),
            (
                400,
                "invalid_argument",
                "api key not valid",
                Cause::Authentication,
            ),
            (
                400,
                "invalid_request_error",
                "model 'm' not found",
                Cause::NotFound,
            ),
            (498, "capacity_exceeded", "no", Cause::RateLimit),
            (
                400,
                "",
                "the input token count (1200293) exceeds the maximum number of tokens allowed (1048576).",
                Cause::Context,
            ),
            (
                400,
                "",
                "this model's maximum prompt length is 131072 but the request contains 136973 tokens.",
                Cause::Context,
            ),
            (
                422,
                "",
                "`inputs` tokens + `max_new_tokens` must be <= 8193",
                Cause::Context,
            ),
            (
                400,
                "model_max_prompt_tokens_exceeded",
                "no",
                Cause::Context,
            ),
            (
                400,
                "",
                "prompt token count of 93854 exceeds the limit of 90000",
                Cause::Context,
            ),
            (
                400,
                "invalid_parameter_error",
                "<400> internalerror.algo.invalidparameter: range of input length should be [1, 204800]",
                Cause::Context,
            ),
            (
                400,
                "invalid_request_error",
                "input length and `max_tokens` exceed context limit: 199759 + 8192 > 200000",
                Cause::Context,
            ),
            (
                400,
                "",
                "input length (160062 tokens) exceeds the maximum allowed length (59862 tokens).",
                Cause::Context,
            ),
            (
                400,
                "invalid_request_error",
                "invalid request: your request exceeded model token limit: 262144 (requested: 269030)",
                Cause::Context,
            ),
            (
                400,
                "invalid_request_error",
                "your credit balance is too low to access the anthropic api.",
                Cause::Quota,
            ),
            (429, "exceeded_current_quota_error", "no", Cause::Quota),
            (400, "", "incorrect api key provided", Cause::Authentication),
            (
                400,
                "invalid_argument",
                "missing or invalid authorization header.",
                Cause::Authentication,
            ),
            (
                400,
                "invalid_argument",
                "api key expired. please renew the api key.",
                Cause::Authentication,
            ),
            (400, "", "foo is not a valid model id", Cause::NotFound),
            (
                403,
                "unsupported_country_region_territory",
                "no",
                Cause::Request,
            ),
            (500, "", "insufficient balance (1008)", Cause::Quota),
            (200, "", "unexpected endpoint or method", Cause::NotFound),
            (400, "", "no", Cause::Request),
            (308, "", "it redirects", Cause::Request),
            (200, "invalid_request_error", "no", Cause::Request),
            (503, "unavailable_error", "loading model", Cause::Server),
            (500, "", "no", Cause::Server),
            (200, "", "no", Cause::Server),
        ] {
            assert_eq!(
                cause(status, code, message),
                expected,
                "{status} {code} {message}"
            );
        }
    }

    #[test]
    fn m4_retry_after_is_read_in_every_form() {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        for (name, value, expected) in [
            ("retry-after", "7", Some(Duration::from_secs(7))),
            ("retry-after", "1.5", Some(Duration::from_millis(1500))),
            ("retry-after-ms", "250", Some(Duration::from_millis(250))),
            (
                "retry-after",
                "Sun, 06 Nov 1994 08:50:37 GMT",
                Some(Duration::from_secs(60)),
            ),
            (
                "retry-after",
                "Sun, 06 Nov 1994 08:00:00 GMT",
                Some(Duration::ZERO),
            ),
            ("retry-after", "-1", None),
            ("retry-after-ms", "NaN", None),
            ("retry-after", "NaN", None),
            ("retry-after", "soon", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            assert_eq!(retry_after(&headers, now), expected, "{name}: {value}");
        }
    }
}
