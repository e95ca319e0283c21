//! What a server says went wrong, in whatever form it says it (C43, C45). Reads, and decides nothing.

use std::time::Duration;

use serde_json::Value;

use crate::{parse::parse, refusal::wait};

/// A server's own words about a failure, as it wrote them: neither redacted nor bounded yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) message: String,
    /// Its code or type, such as `context_length_exceeded`; several are joined by a space.
    pub(crate) code: String,
    /// The HTTP status it names in the words themselves.
    pub(crate) status: Option<u16>,
    /// How long it asks to wait, in the words themselves.
    pub(crate) retry_after: Option<Duration>,
}

impl Said {
    /// The words of a whole body: JSON of a known form, also where it is written as an event, or else the text as it is.
    pub(crate) fn of_body(body: &str) -> Self {
        let events = body.lines().filter_map(|line| line.strip_prefix("data:"));
        std::iter::once(body)
            .chain(events)
            .filter_map(|text| serde_json::from_str::<Value>(text).ok())
            .find_map(|json| Self::of_error(&json))
            .unwrap_or_else(|| Self::of_text(body.trim()))
    }

    /// An error told as text outside any event: as JSON, or as a field `error` that no event stream has.
    pub(crate) fn of_stray_line(line: &str) -> Option<Self> {
        match line.strip_prefix("error:") {
            Some(error) => {
                let error = parse(error).ok()?;
                Some(Self::of_object(&error, &Value::Null))
            }
            None => Self::of_error(&parse(line).ok()?),
        }
    }

    /// Plain words.
    pub(crate) fn of_text(text: &str) -> Self {
        Self {
            message: text.to_owned(),
            ..Self::default()
        }
    }

    /// The words of a JSON value that may be an error; `None` where it is none.
    pub(crate) fn of_error(json: &Value) -> Option<Self> {
        // Google's servers put each error into a list.
        let json = json
            .as_array()
            .and_then(|list| list.first())
            .unwrap_or(json);
        let told = [
            &json["error"],
            &json["x_groq"]["error"],
            // OpenRouter's place for what its provider says.
            &json["choices"][0]["error"],
        ];
        if let Some(error) = told.into_iter().find(|error| is_told(error)) {
            return Some(Self::of_object(error, json));
        }
        // MiniMax writes this into every answer, with code 0 where all is well.
        let base = &json["base_resp"];
        if base["status_code"].as_i64().is_some_and(|code| code != 0) {
            return Some(Self {
                code: base["status_code"].to_string(),
                ..Self::of_text(base["status_msg"].as_str().unwrap_or_default())
            });
        }
        let is_error = ["object", "type"]
            .iter()
            .any(|field| json[field] == "error");
        // Zhipu and DashScope put a code beside their `msg`.
        let has_words = ["detail", "message", "errors"]
            .iter()
            .any(|field| is_told(&json[field]))
            || is_told(&json["msg"]) && is_told(&json["code"]);
        // Some say with every event that all is well.
        let is_fine = number_of(&json["code"]).is_some_and(|code| matches!(code, 0 | 200));
        (is_error || has_words && !is_fine && json.get("choices").is_none())
            .then(|| Self::of_object(json, &Value::Null))
    }

    /// The words of an error object, with those beside it where it has none of its own.
    fn of_object(error: &Value, beside: &Value) -> Self {
        let mut message = words(error)
            .or_else(|| words(beside))
            .unwrap_or_else(|| error.to_string());
        // Gateways put what the provider behind them said here, and only "Provider returned error" in the message.
        if let Some(raw) = error["metadata"]["raw"].as_str() {
            message = format!("{message}: {raw}");
        }
        let marks = [
            &error["code"],
            &error["type"],
            &error["status"],
            &beside["code"],
        ];
        let code: Vec<&str> = marks
            .iter()
            .filter_map(|mark| mark.as_str())
            .filter(|mark| !mark.is_empty())
            .collect();
        let statuses = [
            &error["status_code"],
            &error["http_code"],
            &beside["status_code"],
        ];
        Self {
            message,
            code: code.join(" "),
            status: marks.iter().chain(&statuses).find_map(|mark| status(mark)),
            retry_after: retry_delay(&error["details"]),
        }
    }
}

/// Whether a field for errors holds one: some servers write it into every chunk, and leave it empty.
fn is_told(error: &Value) -> bool {
    match error {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(errors) => !errors.is_empty(),
        Value::Bool(true) | Value::Number(_) => true,
    }
}

/// The message of an error in the fields where servers put it.
fn words(error: &Value) -> Option<String> {
    if let Value::String(text) = error {
        return Some(text.clone());
    }
    ["message", "msg", "detail", "error", "errors", "description"]
        .iter()
        .find_map(|field| match &error[field] {
            Value::String(text) if !text.is_empty() => Some(text.clone()),
            // Lists of what is wrong with the request.
            Value::Array(items) if !items.is_empty() => {
                let items: Vec<String> = items.iter().map(item).collect();
                Some(items.join("; "))
            }
            nested @ Value::Object(_) => words(nested),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => None,
        })
}

/// One of several things that are wrong, and where.
fn item(item: &Value) -> String {
    let words = words(item).unwrap_or_else(|| item.to_string());
    let Some(place) = item["loc"].as_array() else {
        return words;
    };
    let place: Vec<String> = place
        .iter()
        .map(|step| {
            step.as_str()
                .map_or_else(|| step.to_string(), str::to_owned)
        })
        .collect();
    format!("{words} ({})", place.join("."))
}

/// Google's way to say how long to wait: `"retryDelay": "34.5s"` in one of the details.
fn retry_delay(details: &Value) -> Option<Duration> {
    let delays = details
        .as_array()?
        .iter()
        .filter_map(|detail| detail["retryDelay"].as_str());
    let mut seconds = delays.filter_map(|delay| delay.strip_suffix('s')?.parse().ok());
    seconds.find_map(wait)
}

fn number_of(mark: &Value) -> Option<u64> {
    mark.as_u64().or_else(|| mark.as_str()?.parse().ok())
}

/// A code that is an HTTP status, as a number or as text.
fn status(mark: &Value) -> Option<u16> {
    u16::try_from(number_of(mark)?)
        .ok()
        .filter(|number| (400..600).contains(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(body: &str, message: &str, code: &str, status: Option<u16>) {
        let expected = Said {
            message: message.into(),
            code: code.into(),
            status,
            retry_after: None,
        };
        assert_eq!(Said::of_body(body), expected, "{body}");
    }

    #[test]
    fn c45_words_are_found_in_every_form_of_body() {
        check(
            r#"{"error":{"message":"no","type":"t","code":"c"}}"#,
            "no",
            "c t",
            None,
        );
        check(
            r#"{"error":{"message":"no","code":429}}"#,
            "no",
            "",
            Some(429),
        );
        check(
            r#"{"error":{"message":"no","code":"503"}}"#,
            "no",
            "503",
            Some(503),
        );
        check(r#"{"error":"no"}"#, "no", "", None);
        check(
            r#"{"error":"Bad Request","message":"no"}"#,
            "Bad Request",
            "",
            None,
        );
        check(r#"{"error":true,"message":"no"}"#, "no", "", None);
        check(r#"{"detail":"no"}"#, "no", "", None);
        check(
            r#"{"detail":[{"loc":["body"],"msg":"no"},{"msg":"nor that"}]}"#,
            "no (body); nor that",
            "",
            None,
        );
        check(
            r#"{"object":"error","message":"no","code":40301}"#,
            "no",
            "",
            None,
        );
        check(r#"{"message":"no","code":500}"#, "no", "", Some(500));
        check(
            r#"{"error":{"message":"Provider returned error","metadata":{"raw":"no"}}}"#,
            "Provider returned error: no",
            "",
            None,
        );
        check(
            r#"{"error":{"code":401}}"#,
            r#"{"code":401}"#,
            "",
            Some(401),
        );
        check("rate limit exceeded\n", "rate limit exceeded", "", None);
        check("", "", "", None);
        check(r#"{"odd":1}"#, r#"{"odd":1}"#, "", None);
    }

    #[test]
    fn c43_an_error_is_told_from_an_ordinary_chunk() {
        let is_error =
            |chunk: &str| Said::of_error(&serde_json::from_str(chunk).unwrap()).is_some();
        assert!(is_error(r#"{"choices":[],"error":{"message":"no"}}"#));
        assert!(is_error(r#"{"object":"error","message":"no"}"#));
        assert!(is_error(r#"{"detail":"no"}"#));
        assert!(!is_error(
            r#"{"choices":[{"delta":{"content":"an error"}}],"error":null}"#
        ));
        assert!(!is_error(r#"{"choices":[],"error":{}}"#));
        assert!(!is_error(r#"{"choices":[],"message":"x"}"#));
        assert!(!is_error(r#"{"usage":{"total_tokens":1},"message":""}"#));
        assert!(is_error(r#"{"code":1302,"msg":"no"}"#));
        assert!(!is_error(r#"{"msg":"no"}"#));
        assert!(!is_error(r#"{"code":0,"msg":"success"}"#));
        assert!(!is_error(r#"{"code":"200","message":"OK","sid":"s"}"#));
        assert!(is_error(
            r#"{"choices":[{"delta":{},"error":{"code":502,"message":"no"}}]}"#
        ));
        assert!(!is_error(r#"{"choices":[{"delta":{},"error":null}]}"#));
        assert!(!is_error(r#"{"timings":{}}"#));
    }
}
