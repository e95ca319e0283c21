//! Laws P1 and P3 for summaries: how they read, what they never show, what they cost.

mod cost;
mod properties;
mod realistic;
mod secrets;

use serde_json::json;

use super::*;

/// What a value reads like with room for so many characters.
fn check(value: &Value, cases: &[(usize, &str)]) {
    for (room, expected) in cases {
        let summary = summarize(value, *room, &Redactor::default());
        assert_eq!(summary, *expected, "{room} characters");
    }
}

#[test]
fn p3_a_scalar_is_shown_whole_or_not_at_all() {
    check(
        &json!(-12.5),
        &[(9, "-12.5"), (5, "-12.5"), (4, "…"), (1, "…"), (0, "")],
    );
    check(&json!(null), &[(4, "null"), (3, "…")]);
    check(&json!(true), &[(4, "true")]);
    check(&json!(""), &[(2, "\"\""), (1, "…"), (0, "")]);
    check(&json!(" \n"), &[(9, "\"\"")]);
}

#[test]
fn p3_a_text_has_no_quotes_and_its_length_behind_it_where_it_is_cut() {
    check(
        &json!("one\ttwo\r\n\n  three four five six seven eight nine ten "),
        &[
            (48, "one two three four five six seven eight nine ten"),
            (47, "one two three four five six seven e… (53 chars)"),
            (20, "one two three four…"),
            (5, "one…"),
            (1, "…"),
            (0, ""),
        ],
    );
    check(
        &json!("a".repeat(10_345_678)),
        &[(33, "aaaaaaaaaaaaaaaaaaaaaa… (10.3 MB)"), (4, "aaa…")],
    );
}

#[test]
fn p3_the_keys_of_an_object_come_before_its_values() {
    check(
        &json!({"path": "notes.txt", "find": "a".repeat(100), "replace": "b".repeat(100), "all": true}),
        &[
            (
                52,
                r#"{all: true, find: "aa…", path: "n…", replace: "bb…"}"#,
            ),
            (47, r#"{all: true, find: "…", path: "…", replace: "…"}"#),
            (46, r#"{all: true, find: "aaaaaaaaaaaaaa…", … 2 more}"#),
            (21, "{all: true, … 3 more}"),
            (20, "{4 keys}"),
            (7, "…"),
            (0, ""),
        ],
    );
}

#[test]
fn p3_what_does_not_fit_is_counted() {
    check(
        &json!((0..2000).collect::<Vec<_>>()),
        &[
            (30, "[0, 1, 2, 3, 4, … 1,995 more]"),
            (17, "[0, … 1,999 more]"),
            (16, "[2,000 items]"),
        ],
    );
    check(&json!([]), &[(2, "[]"), (1, "…")]);
    check(&json!({}), &[(2, "{}"), (1, "…")]);
    check(&json!({"a": {}, "b": [[]]}), &[(99, "{a: {}, b: [[]]}")]);
    check(
        &json!([[[[[1], {}, {"a": 1}]]]]),
        &[(99, "[[[[[1 item], {}, {1 key}]]]]")],
    );
}

#[test]
fn p3_json_in_a_text_is_shown_as_what_it_holds() {
    let inner = json!({"ok": true, "ids": [1, 2]}).to_string();
    check(&json!(inner), &[(99, "{ids: [1, 2], ok: true}")]);
    check(
        &json!({"body": inner}),
        &[(99, "{body: {ids: [1, 2], ok: true}}")],
    );
    // What is none stays a text.
    check(&json!("[12:30] started"), &[(99, "[12:30] started")]);
    check(&json!("{curly}"), &[(99, "{curly}")]);
    let log = "[2026-03-01 12:30] started\n".repeat(10_000);
    check(
        &json!(log),
        &[(39, "[2026-03-01 12:30] started… (270.0 kB)")],
    );
    let long = json!(vec!["a"; 50_000]).to_string();
    check(&json!(long), &[(99, "[JSON, 200.0 kB]"), (9, "…")]);
}

#[test]
fn p3_no_text_can_pass_for_what_stands_beside_it() {
    check(
        &json!({"a\", b": "x\", c: \"y", "d": "it's \"so\"", "e": "'\"`"}),
        &[(99, r#"{'a", b': 'x", c: "y', d: `it's "so"`, e: "'\"`"}"#)],
    );
    check(
        &json!({"": 1, "a b": 2, "ä_1": 3}),
        &[(99, r#"{"": 1, "a b": 2, ä_1: 3}"#)],
    );
}

#[test]
fn p3_of_a_path_the_end_is_shown() {
    check(
        &json!({"path": "crates/core/src/redact/scan.rs"}),
        &[(30, r#"{path: "…/src/redact/scan.rs"}"#)],
    );
    check(
        &json!({"url": "https://example.org/crates/core"}),
        &[(20, r#"{url: "https://ex…"}"#)],
    );
}

#[test]
fn p3_what_commands_a_terminal_is_taken_out_or_shown() {
    check(
        &json!("\u{1b}[1;32mok\u{1b}[0m \u{1b}[ \u{1b}]0;title\u{7} 10%\r20% a\u{202e}b\u{2028}c"),
        &[(99, "ok ␛[ ␛]0;title␇ 10% 20% a\u{fffd}b c")],
    );
}

#[test]
fn p3_a_cluster_is_shown_whole_or_not_at_all() {
    let family = "👩\u{200d}👩\u{200d}👧\u{200d}👦";
    let zalgo = format!("Z{}", "\u{301}".repeat(500));
    check(
        &json!(format!("{family}{family}")),
        &[
            (14, &format!("{family}{family}")),
            (13, &format!("{family}…")),
            (8, &format!("{family}…")),
            (7, "…"),
        ],
    );
    check(&json!(format!("a{zalgo}b")), &[(300, "a… (503 chars)")]);
    check(&json!("🇩🇪🇫🇷🇮🇹"), &[(5, "🇩🇪🇫🇷…"), (4, "🇩🇪…")]);
    // What is looked at ends within one of them.
    for spaces in 0..300 {
        let text = format!("{}{}", " ".repeat(spaces), family.repeat(200));
        let summary = summarize(&json!(text), 20, &Redactor::default());
        let shown = summary.trim_end_matches('…');
        assert!(shown.split(family).all(str::is_empty), "{summary}");
    }
    // And within the only one.
    check(&json!("\u{301}".repeat(50_000)), &[(300, "… (100.0 kB)")]);
}

#[test]
fn p3_a_line_is_a_text_and_nothing_else() {
    let redactor = Redactor::default();
    for (text, room, expected) in [
        ("read_file", 64, "read_file"),
        ("read_file", 9, "read_file"),
        ("read_file", 8, "read_fi…"),
        ("a\nb", 64, "a b"),
        ("", 64, ""),
        (r#"{"a": [1, 2.50]}"#, 64, r#"{"a": [1, 2.50]}"#),
        (
            r#"[{"name": "x-api-key", "value": "abc"}]"#,
            64,
            r#"[{"name":"x-api-key","value":"[redacted]"}]"#,
        ),
    ] {
        assert_eq!(line(text, room, &redactor), expected);
    }
    let long = json!(vec!["a"; 50_000]).to_string();
    assert_eq!(line(&long, 64, &redactor), "[JSON, 200.0 kB]");
}
