//! Laws J3 and P1 for secrets that the host knows: in each form that texts have them in.

use std::borrow::Cow;

use data_encoding::{BASE64, BASE64URL_NOPAD};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::redact::Redactor;

#[test]
fn p1_a_known_secret_is_taken_out_wherever_it_stands() {
    let redactor = Redactor::default()
        .with_secret("correct horse")
        .with_secret("horse \"battery\"\n")
        .with_secret("short");
    assert_eq!(
        redactor.text("say correct horse \"battery\" now"),
        "say [redacted] now"
    );
    assert_eq!(
        redactor.text(r#"{"a":"horse \"battery\""}"#),
        r#"{"a":"[redacted]"}"#
    );
    assert_eq!(
        redactor.text("short"),
        "short",
        "too short to be looked for"
    );
    assert_eq!(
        redactor.text("correct horsecorrect horse"),
        "[redacted][redacted]",
        "what only touches is not one"
    );
    assert!(matches!(redactor.text("nothing"), Cow::Borrowed("nothing")));
    assert_eq!(format!("{redactor:?}"), "Redactor { secrets: 2 }");
    let mark = Redactor::default().with_secret("redacted");
    assert_eq!(mark.text("[redacted] redacted"), "[redacted] [redacted]");
}

#[test]
fn p1_c67_a_known_secret_is_found_in_each_form_it_travels_in() {
    let redactor = Redactor::default().with_secret("p@ss \"wörd\"/+!");
    for text in [
        r#"p@ss "wörd"/+!"#,
        r#"p@ss \"wörd\"/+!"#,
        r#"p@ss \\\"wörd\\\"/+!"#,
        "p%40ss%20%22w%C3%B6rd%22%2F%2B%21",
        "p%40ss%20%22w%c3%b6rd%22%2f%2b%21",
        "p%40ss+%22w%C3%B6rd%22%2F%2B%21",
        "p%40ss%20%22w%C3%B6rd%22%2F%2B!",
        "cEBzcyAid8O2cmQiLysh",
    ] {
        assert_eq!(redactor.text(text), "[redacted]", "{text}");
        assert_eq!(redactor.text(&format!("a, {text} b")), "a, [redacted] b");
    }
}

#[test]
fn p1_a_known_secret_of_digits_is_no_number_of_json() {
    let redactor = Redactor::default().with_secret("1234567890");
    assert_eq!(
        redactor.json(&json!({"n": 1234567890, "m": 12345})),
        json!({"n": "[redacted]", "m": 12345})
    );
}

#[test]
fn p1_the_longest_secret_is_that_of_its_longest_form() {
    assert_eq!(Redactor::default().longest_secret(), 0);
    assert_eq!(Redactor::default().with_secret("short").longest_secret(), 0);
    let redactor = Redactor::default().with_secret("päss word");
    assert_eq!(redactor.longest_secret(), "p%C3%A4ss%20word".len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn p1_j3_a_known_secret_never_comes_out(
        secret in "[!-~äß]([ -~äß\n\"\\\\]){4,40}[a-zA-Z0-9]{2}",
        before in "[ -~]{0,9}",
        after in "[ -~]{0,9}",
        depth in 0..4_usize,
    ) {
        let redactor = Redactor::default().with_secret("another secret").with_secret(&secret);
        let user = format!("{before}{secret}{after}");
        let inside = BASE64.encode(secret.as_bytes());
        let core = &inside[4..inside.len() - 4];
        let mut value = json!([before, {"x": format!("{before}{secret}{after}"), "y": [BASE64.encode(user.as_bytes()), BASE64URL_NOPAD.encode(user.as_bytes())]}]);
        for _ in 0..depth {
            value = json!({"inner": value.to_string()});
        }
        let clean = redactor.json(&value);
        for text in strings(&clean) {
            prop_assert!(!text.contains(&secret), "{text}");
            prop_assert!(!text.contains(core), "{text}");
            for base64 in text.split(|c: char| !c.is_ascii_alphanumeric() && !"+/-_=".contains(c)) {
                let bytes = BASE64.decode(base64.as_bytes()).or_else(|_| BASE64URL_NOPAD.decode(base64.as_bytes()));
                prop_assert!(!bytes.is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(&secret)), "{text}");
            }
        }
        let once = redactor.text(&user).into_owned();
        prop_assert!(!once.contains(&secret));
        prop_assert_eq!(redactor.text(&once), once.clone());
        prop_assert_eq!(redactor.json(&clean), clean);
        prop_assert!(redactor.longest_secret() >= secret.len());
    }
}

/// All strings of a value, and of the JSON in them.
fn strings(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => {
            let inner = serde_json::from_str::<Value>(text)
                .ok()
                .filter(|inner| !inner.is_number());
            let mut all = inner.map(|inner| strings(&inner)).unwrap_or_default();
            all.push(text.clone());
            all
        }
        Value::Array(items) => items.iter().flat_map(strings).collect(),
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(key, value)| [vec![key.clone()], strings(value)].concat())
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}
