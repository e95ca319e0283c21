//! Redaction against the texts that libFuzzer chooses: `cargo xtask fuzz redaction`. A planted secret never comes out, and what was
//! redacted once is not changed by redacting it again (law P1).
#![no_main]

use chat_core::Redactor;
use chat_trace::summarize;
use serde_json::Value;

const SECRET: &str = "zq7-Xw9_planted";
const BEGINNING: &str = "zq7-Xw9_";

libfuzzer_sys::fuzz_target!(|case: (String, String, String, u8)| {
    let (before, behind, key, limit) = case;
    let around = [&before, &behind, &key];
    if around.iter().any(|text| text.contains(BEGINNING)) {
        // The fuzzer found out how the secret begins, and no redactor can tell that from the secret cut short.
        return;
    }
    let redactor = Redactor::default().with_secret(SECRET);

    let text = format!("{before}{SECRET}{behind}");
    let once = redactor.text(&text).into_owned();
    assert!(!once.contains(SECRET), "{once}");
    assert_eq!(redactor.text(&once), once);

    let json = serde_json::json!({ key: [text, { "password": SECRET }] });
    let clean = redactor.json(&json);
    assert!(!clean.to_string().contains(SECRET), "{clean}");
    assert_eq!(redactor.json(&clean), clean);

    // JSON inside a string, and a summary of it at any length.
    let inside = Value::from(json.to_string());
    assert!(!redactor.json(&inside).to_string().contains(SECRET));
    for value in [&json, &inside] {
        let summary = summarize(value, limit.into(), &redactor);
        assert!(summary.chars().count() <= limit.into(), "{summary}");
        assert!(!summary.contains(BEGINNING), "{summary}");
    }
    if let Ok(json) = serde_json::from_str::<Value>(&before) {
        let _ = summarize(&json, limit.into(), &redactor);
        let _ = redactor.json(&json);
    }
});
