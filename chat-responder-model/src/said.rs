//! What a server says went wrong, in whatever form it says it (C43, C45). Reads, and decides nothing.

use serde_json::Value;

/// A server's own words about a failure, as it wrote them: neither redacted nor bounded yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) message: String,
    /// Its code or type, such as `context_length_exceeded`; several are joined by a space.
    pub(crate) code: String,
    /// The HTTP status it names in the words themselves.
    pub(crate) status: Option<u16>,
}

impl Said {
    /// The words of a whole body: JSON of a known form, or else the text as it is.
    pub(crate) fn of_body(body: &str) -> Self {
        let json = serde_json::from_str::<Value>(body).ok();
        json.and_then(|json| Self::of_error(&json))
            .unwrap_or_else(|| Self::of_text(body.trim()))
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
        match &json["error"] {
            // Some servers write the field into every chunk, and leave it empty.
            Value::Null | Value::Bool(false) => {}
            Value::String(text) if text.is_empty() => {}
            Value::Object(error) if error.is_empty() => {}
            Value::Array(errors) if errors.is_empty() => {}
            error => return Some(Self::of_object(error, json)),
        }
        let is_error = ["object", "type"]
            .iter()
            .any(|field| json[field] == "error");
        let has_words = ["detail", "message", "errors"]
            .iter()
            .any(|field| !json[field].is_null());
        (is_error || has_words && json.get("choices").is_none())
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
        Self {
            message,
            code: code.join(" "),
            status: marks.iter().find_map(|mark| status(mark)),
        }
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
                let items: Vec<String> = items
                    .iter()
                    .map(|item| words(item).unwrap_or_else(|| item.to_string()))
                    .collect();
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

/// A code that is an HTTP status, as a number or as text.
fn status(mark: &Value) -> Option<u16> {
    let number = mark.as_u64().or_else(|| mark.as_str()?.parse().ok())?;
    u16::try_from(number)
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
            "no; nor that",
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
        assert!(!is_error(r#"{"timings":{}}"#));
    }
}
