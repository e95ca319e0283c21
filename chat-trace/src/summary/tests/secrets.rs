//! Law P1 for summaries: no planted credential comes out, whole or in part, wherever it stands and wherever the text is cut.

use chat_core::Redactor;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::summary::{beginning, line, summarize, text::WINDOW};

/// How many characters of a credential in a row are too many.
const PART: usize = 8;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn p1_no_credential_in_a_text_comes_out(
        (planted, secret, is_known) in planted(),
        room in 1_usize..300,
        place in places(),
        behind in prop_oneof![Just(0_usize), 0_usize..300, Just(100_000)],
    ) {
        let mut redactor = Redactor::default();
        if is_known {
            redactor = redactor.with_secret(&secret);
        }
        let text = format!("{}{planted}\n{}", filler(place.at(room, redactor.longest_secret())), filler(behind));
        let quoted = json!({"inner": [&text], "n": 1}).to_string();
        let values = [
            json!(text),
            json!({"a": 1, "text": text}),
            json!(["one", text, "two"]),
            json!([{"deep": [text]}]),
            json!({ text.clone(): true }),
            json!(quoted),
            json!({ "body": quoted }),
        ];
        let mut shown: Vec<String> = values.iter().map(|value| summarize(value, room, &redactor)).collect();
        shown.push(line(&text, room, &redactor));
        shown.push(line(&quoted, room, &redactor));
        let head = &text[..text.floor_char_boundary(WINDOW)];
        shown.push(beginning(head, text.len(), room, &redactor));
        shown.push(summarize(&json!(text), 20 * room, &redactor));
        for summary in shown {
            prop_assert!(part_of(&secret, &summary).is_none(), "{summary}");
        }
    }

    #[test]
    fn p1_nothing_under_a_credentials_name_comes_out(secret in "[a-zA-Z0-9]{12,60}", room in 1_usize..300, pin in 100_000_000_u64..) {
        let values = [
            json!({ "password": secret }),
            json!({"a": {"API-Key": {"v": [secret]}, "b": 1}}),
            json!([["x-api-key", format!("{secret}0A")]]),
            json!({"headers": [{"name": "Authorization", "value": secret}]}),
            json!({ "access_token": pin }),
            json!({ "note": pin }),
            json!({"n": {"client_secret": secret}}),
        ];
        let redactor = Redactor::default().with_secret(pin.to_string());
        let pin = pin.to_string();
        for value in values {
            let text = value.to_string();
            for summary in [
                summarize(&value, room, &redactor),
                summarize(&json!({"text": text, "list": [text]}), room, &redactor),
                line(&text, room, &redactor),
            ] {
                prop_assert!(part_of(&secret, &summary).is_none(), "{summary}");
                prop_assert!(!summary.contains(&pin), "{summary}");
            }
        }
    }
}

/// The first part of a credential that stands in a text.
fn part_of(secret: &str, text: &str) -> Option<String> {
    let secret: Vec<char> = secret.chars().collect();
    let parts = secret
        .windows(PART)
        .map(|part| part.iter().collect::<String>());
    parts.into_iter().find(|part| text.contains(part))
}

/// A credential with what stands around it, itself, and whether it is known only because the host said so.
fn planted() -> impl Strategy<Value = (String, String, bool)> {
    let formed = prop_oneof![
        "sk-[a-zA-Z0-9]{20,40}",
        "ghp_[a-zA-Z0-9]{36}",
        "eyJ[a-zA-Z0-9_-]{20}\\.[a-zA-Z0-9_-]{20}\\.[a-zA-Z0-9_-]{20}",
        "-----BEGIN PRIVATE KEY-----\n([a-zA-Z0-9+/]{64}\n){1,60}-----END PRIVATE KEY-----",
    ]
    .prop_map(|secret| (secret.clone(), secret, false));
    let named = (
        "[a-zA-Z0-9]{12,40}[0-9]",
        prop::sample::select(vec![
            "Authorization: Bearer {}",
            "password={}",
            "{\"apiKey\": \"{}\"}",
            "postgres://bob:{}@db/app",
            "Cookie: sid={}",
        ]),
    )
        .prop_map(|(secret, around)| (around.replace("{}", &secret), secret, false));
    let known = prop_oneof![
        "[a-zé漢🙂]{9,30}",
        "[a-z]{4} [a-z]{4} [a-z]{6}",
        "[a-z]{5}[\"\\\\'][a-z]{9}",
        "[a-z ]{20}[a-z]{2000}",
    ]
    .prop_map(|secret| secret.trim().to_owned())
    .prop_map(|secret| (secret.clone(), secret, true));
    prop_oneof![formed, named, known]
}

/// Where a credential begins.
#[derive(Debug, Clone)]
enum Place {
    Early(usize),
    /// Before the end of what is looked at of one text.
    LookedAt(usize),
    /// Before the end of all that is looked at.
    Window(usize),
}

fn places() -> impl Strategy<Value = Place> {
    prop_oneof![
        (0_usize..320).prop_map(Place::Early),
        (0_usize..120).prop_map(Place::LookedAt),
        (0_usize..120).prop_map(Place::Window),
    ]
}

impl Place {
    fn at(&self, room: usize, longest: usize) -> usize {
        match *self {
            Self::Early(at) => at,
            Self::LookedAt(before) => (8 * room + 2 * (longest + 1024)).saturating_sub(before),
            Self::Window(before) => WINDOW - before,
        }
    }
}

/// So many bytes of which so few characters are left that what stands behind them is shown, where it is looked at.
fn filler(bytes: usize) -> String {
    let mut filler = format!("x{}", " ".repeat(999)).repeat(bytes / 1000 + 1);
    filler.truncate(bytes.saturating_sub(1));
    filler + " "
}

#[test]
fn p1_a_known_secret_stays_hidden_at_every_cut() {
    let secret = "correct-horse-battery";
    let redactor = Redactor::default().with_secret(secret);
    for before in 0..60 {
        let text = format!("{}{secret} {}", "y".repeat(before), "z".repeat(4500));
        for room in (1 + before % 7..90).step_by(7) {
            for value in [
                json!(text),
                json!({"a": text, "b": text}),
                Value::from(vec![text.as_str()]),
            ] {
                let summary = summarize(&value, room, &redactor);
                assert!(part_of(secret, &summary).is_none(), "{summary}");
            }
        }
    }
}

#[test]
fn p1_a_known_secret_stays_hidden_whatever_white_space_is_joined_in_it() {
    let redactor = Redactor::default().with_secret("p@ss word of 3");
    let hidden = "say [redacted] now";
    for space in [
        " ",
        "  ",
        " \n ",
        "\t",
        "\r\n",
        "\u{a0}",
        "\u{2003}",
        "\u{3000}",
        "\u{2028}",
        "\u{b}",
        " \u{1b}[1m ",
    ] {
        let text = format!("say {} now", ["p@ss", "word", "of", "3"].join(space));
        assert_eq!(summarize(&json!(text), 99, &redactor), hidden, "{space:?}");
        assert_eq!(line(&text, 99, &redactor), hidden, "{space:?}");
        for (value, expected) in [
            (json!([text]), format!("[\"{hidden}\"]")),
            (
                json!({"a": {"b": text}}),
                format!("{{a: {{b: \"{hidden}\"}}}}"),
            ),
            (json!({ text.clone(): 1 }), format!("{{\"{hidden}\": 1}}")),
        ] {
            assert_eq!(summarize(&value, 99, &redactor), expected, "{space:?}");
        }
    }
}

#[test]
fn p1_a_known_secret_with_more_white_space_than_is_looked_at_shows_no_part() {
    let secret = "correct-horse battery-staple";
    let redactor = Redactor::default().with_secret(secret);
    for spaces in (0..6_000).step_by(97) {
        let torn = secret.replace(' ', &" \n".repeat(spaces + 1));
        for before in [0, 10, 400] {
            let text = format!("{}{torn} {}", "y ".repeat(before), "z ".repeat(4500));
            for room in [20, 120, 900] {
                let summary = summarize(&json!(text), room, &redactor);
                assert!(part_of(secret, &summary).is_none(), "{summary}");
            }
        }
    }
}

#[test]
fn p1_what_is_hidden_on_one_line_takes_nothing_of_the_next() {
    let text = "password: abc\nCookie: sid=abcdef\n  done in  3 s";
    let shown = "password: [redacted] Cookie: [redacted] done in 3 s";
    for redactor in [
        Redactor::default(),
        Redactor::default().with_secret("hunter2!"),
    ] {
        assert_eq!(summarize(&json!(text), 99, &redactor), shown);
    }
}
