//! Law P3 for values at random: never over the limit, one line, nothing harmful, no cluster cut.

use std::collections::HashSet;

use chat_core::{Redactor, is_harmless, one_line};
use proptest::prelude::*;
use serde_json::{Value, json};
use unicode_segmentation::UnicodeSegmentation;

use crate::summary::{line, summarize};

/// Clusters that don't grow together with each other, of up to 21 characters.
const CLUSTERS: [&str; 13] = [
    "a",
    "Ω",
    "漢",
    " ",
    "/",
    "\"",
    "e\u{301}\u{323}",
    "नि",
    "\u{1112}\u{1161}\u{11ab}",
    "1\u{fe0f}\u{20e3}",
    "🇩🇪",
    "👩\u{200d}👩\u{200d}👧\u{200d}👦",
    "Z\u{301}\u{302}\u{303}\u{304}\u{305}\u{306}\u{307}\u{308}\u{309}\u{30a}\u{30b}\u{30c}\u{30d}\u{30e}\u{30f}\u{310}\u{311}\u{312}\u{313}\u{314}",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn p3_any_value_at_any_limit_is_one_harmless_line_within_it(value in values(odd().boxed()), room in rooms()) {
        let redactor = Redactor::default().with_secret("redact");
        let text = value.to_string();
        for summary in [summarize(&value, room, &redactor), line(&text, room, &redactor), summarize(&json!(text), room, &redactor)] {
            prop_assert!(summary.chars().count() <= room, "{summary}");
            prop_assert!(summary.chars().all(is_harmless), "{summary:?}");
            prop_assert_eq!(summary.is_empty(), room == 0);
        }
    }

    #[test]
    fn p3_no_cluster_of_any_text_is_cut(value in values(clusters().boxed()), room in rooms()) {
        let clusters: HashSet<_> = CLUSTERS.into();
        let summary = summarize(&value, room, &Redactor::default());
        for cluster in summary.graphemes(true) {
            let is_ours = cluster.len() == 1 || cluster == "…";
            prop_assert!(is_ours || clusters.contains(cluster), "{cluster:?} in {summary:?}");
        }
    }

    #[test]
    fn p3_the_text_before_the_cut_ends_where_a_cluster_does(text in odd(), room in 2_usize..60) {
        let text = text.replace(|c: char| !is_harmless(c) || c.is_whitespace(), "\u{2603}");
        let shown = line(&text, room, &Redactor::default());
        let clean = Redactor::default().text(&text).into_owned();
        let line = one_line(&clean);
        match shown.strip_suffix('…').filter(|_| shown != line) {
            Some(head) => {
                prop_assert!(line.starts_with(head));
                prop_assert!(line.grapheme_indices(true).any(|(at, _)| at == head.len()), "{head:?} of {line:?}");
            }
            None => prop_assert_eq!(shown, line),
        }
    }
}

/// What would stand on the character in front of it, or under the one behind it.
const CLINGING: [&str; 10] = [
    "\u{301}", "\u{93e}", "\u{200d}", "\u{fe0f}", "\u{600}", "\u{d4e}", "\u{feff}", "\u{200b}",
    "a", "b/",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn p3_no_mark_of_a_text_stands_on_what_is_written_around_it(
        pieces in prop::collection::vec(prop::sample::select(CLINGING.to_vec()), 1..24), room in 0_usize..40,
    ) {
        let text = pieces.concat();
        for value in [
            json!(text),
            json!([text]),
            json!({ "k": text }),
            json!({ text.clone(): 1, "k": [text, text] }),
            json!([text.repeat(100)]),
        ] {
            let summary = summarize(&value, room, &Redactor::default());
            prop_assert!(summary.chars().count() <= room, "{summary}");
            for cluster in summary.graphemes(true).filter(|cluster| cluster.contains(['"', '…', '[', ']', '{', '}', ':', ',', ' '])) {
                prop_assert_eq!(cluster.chars().count(), 1, "{:?} in {:?}", cluster, summary);
            }
        }
    }
}

fn rooms() -> impl Strategy<Value = usize> {
    prop_oneof![0_usize..30, 30_usize..300]
}

/// JSON of some texts.
fn values(texts: BoxedStrategy<String>) -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        2 => prop::sample::select(vec![
            json!(null), json!(true), json!(0), json!(u64::MAX), json!(i64::MIN), json!(f64::MAX), json!(5e-324), json!(0.1),
        ]),
        5 => texts.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(7, 80, 12, move |inner| {
        prop_oneof![
            3 => prop::collection::vec(inner.clone(), 0..12).prop_map(Value::from),
            3 => prop::collection::vec((texts.clone(), inner.clone()), 0..12).prop_map(|fields| fields.into_iter().collect()),
            1 => inner.prop_map(|value| value.to_string().into()),
        ]
    })
}

fn clusters() -> impl Strategy<Value = String> {
    let few = prop::collection::vec(prop::sample::select(CLUSTERS.to_vec()), 0..40)
        .prop_map(|few| few.concat());
    (few, prop_oneof![9 => Just(1_usize), 1 => Just(200)])
        .prop_map(|(few, times)| few.repeat(times))
}

/// Texts of all that is odd in Unicode and in JSON.
fn odd() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "\r\n",
            "\n",
            "\t",
            "  ",
            "\u{b}",
            "\0",
            "\u{1b}[31m",
            "\u{1b}[",
            "\u{9b}",
            "\u{7f}",
            "\u{85}",
            "\u{200d}",
            "\u{301}",
            "\u{600}",
            "\u{202e}",
            "\u{2066}",
            "\u{2069}",
            "\u{2028}",
            "\u{a0}",
            "\u{3000}",
            "\u{feff}",
            "🇩",
            "👩\u{200d}",
            "👧🏽",
            "\u{1100}",
            "\u{11a8}",
            "क\u{94d}",
            "\"",
            "'",
            "`",
            "\\",
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            "{\"a\":1}",
            "[1]",
            "…",
            "/",
            "[redacted]",
            "redact",
            "password=",
            "https://",
            "a",
            "word ",
        ])
        .prop_map(str::to_owned),
        any::<char>().prop_map(String::from),
        "\\PC{1,6}",
        Just("\u{336}".repeat(40)),
        Just("long ".repeat(400)),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}
