//! Laws J1 and J2 for the codec, beside the golden files of `tests/`.

use proptest::prelude::*;

use super::*;
use crate::arbitrary;

fn error(text: &str) -> String {
    match Entry::decode(text) {
        Err(DecodeError::Invalid(what)) => what.to_string(),
        other => panic!("{text} gave {other:?}"),
    }
}

/// An entry of a type with these fields.
fn entry(kind: &str, fields: &str) -> String {
    let comma = if fields.is_empty() { "" } else { "," };
    format!(
        r#"{{"v":1,"seq":3,"id":"e3","at":"2026-01-31T09:30:00.000Z","type":"{kind}"{comma}{fields}}}"#
    )
}

const REQUIRED: [(&str, &[(&str, &str)]); 6] = [
    ("session.created", &[]),
    (
        "turn.accepted",
        &[("turnId", r#""t1""#), ("input", r#""Hi""#)],
    ),
    (
        "turn.steered",
        &[("turnId", r#""t1""#), ("input", r#""Hi""#)],
    ),
    (
        "turn.completed",
        &[
            ("turnId", r#""t1""#),
            ("text", r#""Hi""#),
            ("metadata", "{}"),
            ("responder", r#"{"kind":"model"}"#),
        ],
    ),
    (
        "turn.failed",
        &[
            ("turnId", r#""t1""#),
            ("error", r#"{"message":"m","kind":"k"}"#),
            ("responder", r#"{"kind":"model"}"#),
        ],
    ),
    ("turn.canceled", &[("turnId", r#""t1""#)]),
];

fn joined<'a>(fields: impl Iterator<Item = &'a (&'a str, &'a str)>) -> String {
    fields
        .map(|(name, value)| format!(r#""{name}":{value}"#))
        .collect::<Vec<_>>()
        .join(",")
}

#[test]
fn j1_an_entry_without_a_field_it_needs_is_refused_by_the_fields_name() {
    for (kind, fields) in REQUIRED {
        assert!(
            Entry::decode(&entry(kind, &joined(fields.iter()))).is_ok(),
            "{kind}"
        );
        for (missing, _) in fields {
            let what = error(&entry(
                kind,
                &joined(fields.iter().filter(|(name, _)| name != missing)),
            ));
            assert!(
                what.starts_with(&format!("{kind}: missing field `{missing}`")),
                "{what}"
            );
            // `null` is no value either.
            let null: Vec<_> = fields
                .iter()
                .map(|(n, value)| (*n, if n == missing { "null" } else { value }))
                .collect();
            assert!(
                error(&entry(kind, &joined(null.iter()))).contains("null"),
                "{kind} {missing}"
            );
        }
    }
    for head in ["v", "seq", "id", "at", "type"] {
        let mut fields: serde_json::Map<_, _> =
            serde_json::from_str(&entry("session.created", "")).unwrap();
        fields.remove(head);
        let what = error(&serde_json::Value::Object(fields).to_string());
        assert!(what.contains(&format!("missing field `{head}`")), "{what}");
    }
}

#[test]
fn j1_a_field_that_is_read_stands_there_once() {
    for (kind, fields) in REQUIRED {
        for field in fields {
            let twice = joined(fields.iter().chain([field]));
            assert!(
                error(&entry(kind, &twice)).contains("duplicate field"),
                "{twice}"
            );
        }
        assert!(
            error(&entry(
                kind,
                format!(r#"{},"v":1"#, joined(fields.iter())).trim_start_matches(',')
            ))
            .contains("duplicate field")
        );
    }
}

#[test]
fn j1_what_is_no_entry_is_refused() {
    for text in [
        "",
        "null",
        "7",
        "{",
        "{}",
        "{}{}",
        r#"[1,0,"e0","2026-01-31T09:30:00.000Z","x"]"#,
        r#"{"v":0,"seq":0,"id":"e0","at":"2026-01-31T09:30:00.000Z","type":"x"}"#,
        r#"{"v":1,"seq":-1,"id":"e0","at":"2026-01-31T09:30:00.000Z","type":"x"}"#,
        r#"{"v":1,"seq":1.0,"id":"e0","at":"2026-01-31T09:30:00.000Z","type":"x"}"#,
        r#"{"v":1,"seq":0,"id":"../e0","at":"2026-01-31T09:30:00.000Z","type":"x"}"#,
        r#"{"v":1,"seq":0,"id":"e0","at":"yesterday","type":"x"}"#,
        r#"{"v":1,"seq":0,"id":"e0","at":"2026-01-31T09:30:00.000Z","type":"x"} x"#,
        r#"{"v":1,"seq":0,"id":"e0","at":"2026-01-31T09:30:00.000Z","type":"x","y":nul}"#,
        "{\"v\":1,\"seq\":0,\"id\":\"e0\",\"at\":\"2026-01-31T09:30:00.000Z\",\"type\":\"x\",\"y\":\"a\nb\"}",
        "\u{feff}{}",
    ] {
        error(text);
    }
    // Labels are read as JSON values, which can't hold every number.
    assert!(
        error(&entry("session.created", r#""labels":{"n":1e400}"#)).contains("number out of range")
    );
}

proptest! {
    /// What is read in one pass is what a look at its type first would give, whatever else stands beside it.
    #[test]
    fn j1_both_ways_to_read_an_entry_agree(one in arbitrary::entry(), other in arbitrary::entry(), alike in any::<bool>()) {
        let fields = |entry: &Entry| -> serde_json::Map<String, serde_json::Value> {
            serde_json::from_str(&entry.encode()).unwrap()
        };
        let (mut text, beside) = (fields(&one), fields(&other));
        for (name, value) in beside {
            text.entry(name).or_insert(if alike { value } else { true.into() });
        }
        let text = serde_json::Value::Object(text).to_string();
        if let Some(usual) = usual::entry(&text) {
            let looked_at = by_type(&text).unwrap();
            prop_assert!(usual.is_same(&looked_at) && usual.at() == looked_at.at());
            prop_assert_eq!(usual.body(), looked_at.body());
        }
    }
}

#[test]
fn j1_what_a_journal_is_nearly_all_of_is_read_in_one_pass() {
    for (kind, fields) in REQUIRED {
        let usual = usual::entry(&entry(kind, &joined(fields.iter())));
        assert_eq!(
            usual.is_some(),
            matches!(kind, "turn.accepted" | "turn.completed"),
            "{kind}"
        );
    }
}

#[test]
fn j2_a_field_of_another_type_is_unknown_and_may_have_any_shape() {
    // What a canceled turn may also say of itself.
    let own = |kind: &str, fields: &[(&str, &str)], name: &str| {
        fields.iter().any(|(own, _)| *own == name) || (kind, name) == ("turn.canceled", "responder")
    };
    for (kind, fields) in REQUIRED {
        let others = REQUIRED.iter().flat_map(|(_, fields)| *fields);
        for (name, _) in others.filter(|(name, _)| !own(kind, fields, name)) {
            let text = entry(kind, &joined(fields.iter().chain([&(*name, "[1e400]")])));
            let read = Entry::decode(&text).unwrap();
            assert_eq!((&*read.encode(), read.body().kind()), (&*text, kind));
        }
    }
}

#[test]
fn j2_an_entry_on_many_lines_is_kept_on_one() {
    let pretty = "\r\n{\r\n  \"v\": 1, \"seq\": 0,\n\t\"id\": \"e0\",\r\"at\": \"2026-01-31T09:30:00.000Z\", \"type\": \"x\", \"n\": 1.10\n}\n";
    let kept = Entry::decode(pretty).unwrap().encode();
    assert_eq!(
        &*kept,
        "{    \"v\": 1, \"seq\": 0, \t\"id\": \"e0\", \"at\": \"2026-01-31T09:30:00.000Z\", \"type\": \"x\", \"n\": 1.10 }"
    );
    assert_eq!(Entry::decode(&kept).unwrap().encode(), kept);
}

#[test]
fn j1_a_deep_entry_is_read_or_refused_without_harm() {
    let deep =
        |open: &str, close: &str| format!("{}1{}", open.repeat(20_000), close.repeat(20_000));
    for value in [deep("[", "]"), deep(r#"{"a":"#, "}")] {
        let unknown = entry("x", &format!(r#""y":{value}"#));
        assert_eq!(&*Entry::decode(&unknown).unwrap().encode(), unknown);
        assert!(
            error(&entry(
                "session.created",
                &format!(r#""labels":{{"y":{value}}}"#)
            ))
            .contains("recursion limit")
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn j1_any_entry_is_read_as_it_was_written(entry in arbitrary::entry()) {
        let text = entry.encode();
        prop_assert!(!text.contains(['\r', '\n']));
        let read = Entry::decode(&text).unwrap();
        prop_assert!(read.is_same(&entry));
        prop_assert_eq!(read.at(), entry.at());
        prop_assert_eq!(read.body(), entry.body());
        prop_assert_eq!(read.encode(), text);
    }

    #[test]
    fn j1_reading_never_panics_whatever_was_done_to_an_entry(
        entry in arbitrary::entry(),
        cut in any::<prop::sample::Index>(),
        change in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut bytes = entry.encode().as_bytes().to_vec();
        let place = change.index(bytes.len());
        bytes[place] = byte;
        bytes.truncate(cut.index(bytes.len()) + 1);
        let text = String::from_utf8_lossy(&bytes);
        if let Ok(read) = Entry::decode(&text) {
            prop_assert_eq!(Entry::decode(&read.encode()).unwrap(), read);
        }
    }

    #[test]
    fn j1_reading_never_panics_on_any_text(text in "\\PC*") {
        let _ = Entry::decode(&text);
    }
}
