//! Laws J3 and P1 for texts at random: no planted secret comes out, and twice is once.

use proptest::prelude::*;
use serde_json::json;

use super::{clean, innocent::LOOK_ALIKES};
use crate::redact::{MARK, Redactor};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn p1_j3_a_planted_secret_never_comes_out(
        (planted, secret) in planted(),
        before in prop::sample::select(LOOK_ALIKES.to_vec()),
        after in prop::sample::select(LOOK_ALIKES.to_vec()),
        newline in any::<bool>(),
    ) {
        let text = if newline { format!("{before}\n{planted}\n{after}") } else { format!("{before} {planted} {after}") };
        let clean = clean(&text);
        prop_assert!(!clean.contains(&secret), "{clean}");
        // Not even most of it.
        prop_assert!(!clean.contains(&secret[secret.len() / 2..]), "{clean}");
        let json = Redactor::default().json(&json!({"error": [text.clone()], "inner": json!({"text": text}).to_string()}));
        prop_assert!(!json.to_string().contains(&secret), "{json}");
    }

    #[test]
    fn p1_redacting_twice_is_once_and_nothing_panics(text in texts()) {
        clean(&text);
        let redactor = Redactor::default().with_secret("token=abc").with_secret("redacted");
        let once = redactor.text(&text).into_owned();
        let again = redactor.text(&once).into_owned();
        prop_assert_eq!(again, once);
    }
}

/// Secrets of every form, each with a place in which it stands.
fn planted() -> impl Strategy<Value = (String, String)> {
    let bare = prop_oneof![
        "sk-[a-zA-Z0-9]{20,40}",
        "sk-proj-[a-z0-9]{24}",
        "gh[pousr]_[a-zA-Z0-9]{36}",
        "github_pat_[a-zA-Z0-9]{22}_[a-zA-Z0-9]{30}",
        "AKIA[A-Z0-9]{16}",
        "xox[bp]-[0-9]{12}-[a-zA-Z0-9]{24}",
        "AIza[a-zA-Z0-9_-]{35}",
        "eyJ[a-zA-Z0-9_-]{20}\\.[a-zA-Z0-9_-]{20}\\.[a-zA-Z0-9_-]{20}",
        "-----BEGIN PRIVATE KEY-----\n([a-zA-Z0-9+/]{64}\n){1,3}-----END PRIVATE KEY-----",
    ]
    .prop_map(|secret| (secret.clone(), secret));
    let value = "[a-zA-Z0-9!@#$%^*()_+-][a-zA-Z0-9!@#$%^*()_+.,:-]{7,30}[a-zA-Z0-9]";
    let place = prop::sample::select(vec![
        "password={}",
        "api_key={}",
        "X-Api-Key: {}",
        "\"client_secret\": \"{}\"",
        "\\\"password\\\":\\\"{}\\\"",
        "passwd='{}'",
        "Authorization: Bearer {}",
        "authorization=Basic {}",
        "Cookie: sid={}; b=c",
        "?access_token={}&a=b",
        "secret: Secret { s: \"{}\" }",
        "password: Some(\"{}\")",
        "postgres://bob:{}@db/app",
        "<secret>{}</secret>",
        "API key: {}",
    ]);
    let named = (value, place).prop_map(|(secret, place)| (place.replace("{}", &secret), secret));
    prop_oneof![bare, named]
}

/// Texts of all that means something to the scanner.
fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "password",
            "token",
            "Bearer",
            "basic",
            "authorization",
            "cookie",
            "api key",
            "key",
            "secret",
            "invalid",
            "=",
            ":",
            "://",
            "@",
            "\"",
            "'",
            "\\",
            "\\n",
            "\n",
            " ",
            "&",
            "?",
            ";",
            ",",
            ".",
            "(",
            ")",
            "[",
            "]",
            "{",
            "}",
            "<",
            ">",
            "/",
            "-----BEGIN X-----",
            "-----END X-----",
            "sk-",
            "ghp_",
            "eyJhbGciOi",
            "AKIAIOSFODNN7EXAMPLE",
            "abcdef0123456789abcd",
            "abc1234",
            "null",
            MARK,
            "redacted",
            "Some",
            "user",
            "é",
            "--token",
            "b\"",
            "password=",
            "\\\"",
        ])
        .prop_map(str::to_owned),
        "[ -~]{1,4}",
        "\\PC{1,3}",
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}
