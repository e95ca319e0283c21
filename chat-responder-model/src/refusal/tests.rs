//! What a refusal is about, and how long it asks to wait, in the words of many servers.

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
        (
            "retry-after",
            "99999999999999999999",
            Some(LONGEST_RETRY_AFTER),
        ),
        ("retry-after", "inf", Some(LONGEST_RETRY_AFTER)),
        ("retry-after-ms", "1e99", Some(LONGEST_RETRY_AFTER)),
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
