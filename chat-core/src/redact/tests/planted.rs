//! Laws J3 and P1 for JSON and texts at random (C66, C67): credentials of each form, and under each family of names, planted
//! anywhere, never come out; what only looks alike always does.

use proptest::{prelude::*, sample::select};
use serde_json::{Value, json};

use super::innocent::LOOK_ALIKES;
use crate::redact::Redactor;

/// What is planted: a text, and what of it must not come out.
type Plant = (String, String);

/// The words of names; each is written in all the ways that names are.
const NAMES: [&[&str]; 32] = [
    &["api", "key"],
    &["x", "api", "key"],
    &["openai", "api", "key"],
    &["apikey"],
    &["authorization"],
    &["proxy", "authorization"],
    &["password"],
    &["db", "password"],
    &["passwd"],
    &["pwd"],
    &["passphrase"],
    &["secret"],
    &["client", "secret"],
    &["secret", "key"],
    &["token"],
    &["access", "token"],
    &["refresh", "token"],
    &["csrf", "token"],
    &["cookie"],
    &["set", "cookie"],
    &["session", "cookie"],
    &["session", "token"],
    &["private", "key"],
    &["connection", "string"],
    &["credentials"],
    &["aws", "secret", "access", "key"],
    &["account", "key"],
    &["x", "functions", "key"],
    &["seed", "phrase"],
    &["otp"],
    &["sas", "token"],
    &["client", "assertion"],
];

/// How a text holds a name and its value.
const PLACES: [&str; 24] = [
    "{n}={v}",
    "{n}: {v}",
    "{n} = \"{v}\"",
    "{n}='{v}'",
    "\"{n}\": \"{v}\"",
    "'{n}': '{v}'",
    "\\\"{n}\\\":\\\"{v}\\\"",
    "(\"{n}\", \"{v}-1\")",
    "{n}: Some(\"{v}\")",
    "{n}: Secret { inner: \"{v}\" }",
    "map[a:1 {n}:{v} z:2]",
    "GET /?a=1&{n}={v}&b=2",
    "curl -H '{n}: {v}' https://example.org",
    "export {n}={v}",
    "<{n}>{v}</{n}>",
    "<{n} type=\"x\">{v}</{n}>",
    "<add key=\"{n}\" value=\"{v}\"/>",
    "- name: {n}\n  value: {v}",
    "[x]\n{n} = {v}\ny = 1",
    "a:\n  {n}: |\n    {v}\n  b: 1",
    "{n} := `{v}`",
    "'{n}' => string '{v}' (length=9)",
    "{\"name\": \"{n}\", \"value\": \"{v}\"}",
    "{n}=\"\"\"{v}\"\"\"",
];

/// A name as one of the ways to write it has it.
fn names() -> impl Strategy<Value = String> {
    (select(NAMES.to_vec()), 0..7_u8).prop_map(|(words, way)| {
        let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
        match way {
            0 => words.join("_"),
            1 => words.join("-"),
            2 => words.join("_").to_uppercase(),
            3 => words
                .iter()
                .map(|word| capital(word))
                .collect::<Vec<_>>()
                .join("-"),
            4 => words.iter().map(|word| capital(word)).collect(),
            5 => {
                words[0].to_owned()
                    + &words[1..]
                        .iter()
                        .map(|word| capital(word))
                        .collect::<String>()
            }
            _ => format!("app.{}", words.join(".")),
        }
    })
}

/// Credentials that say so by themselves.
fn formed() -> impl Strategy<Value = Plant> {
    prop_oneof![
        "sk-(proj-|ant-api03-)?[a-zA-Z0-9]{20,48}",
        "gh[pousr]_[a-zA-Z0-9]{36}",
        "github_pat_[a-zA-Z0-9]{22}_[a-zA-Z0-9]{59}",
        "glpat-[a-zA-Z0-9_-]{20}",
        "(AKIA|ASIA)[A-Z0-9]{16}",
        "xox[bpars]-[0-9]{10,12}-[a-zA-Z0-9]{24}",
        "[sr]k_live_[a-zA-Z0-9]{24}",
        "AIza[a-zA-Z0-9_-]{35}",
        "hvs\\.[a-zA-Z0-9]{24}",
        "eyJ[a-zA-Z0-9_-]{20}\\.[a-zA-Z0-9_-]{20,80}\\.[a-zA-Z0-9_-]{20}",
        "-----BEGIN (RSA |EC |OPENSSH )?PRIVATE KEY-----\n([a-zA-Z0-9+/]{64}\n){1,3}-----END PRIVATE KEY-----",
    ]
    .prop_map(|secret| (secret.clone(), secret))
}

/// Credentials that stand in a form of their own.
fn shaped() -> impl Strategy<Value = Plant> {
    let secret = "[a-zA-Z0-9]{3}[a-zA-Z][0-9][a-zA-Z0-9._~+-]{4,20}[a-zA-Z0-9]";
    let place = select(vec![
        "Bearer {}",
        "bearer {}",
        "Basic {}",
        "postgres://bob:{}@db:5432/app",
        "mongodb+srv://bob:{}@cluster.example.net",
        "redis://:{}@cache",
        "https://bob:{}@example.org/x?y=1",
        "curl -u bob:{} https://example.org",
        "--user 'bob:{}'",
        "bob:{}@tcp(db:3306)/app",
        "jdbc:oracle:thin:bob/{}@//db:1521/app",
        "https://hooks.slack.com/services/T0/B0/{}",
        "https://example.org/?sig={}&x=1",
        "login --password {} now",
        "machine h login bob password {}",
        "the password is {}",
        "password for bob: {}",
        "a?password%3D{}%26b",
        "| password | {} |",
        "session={}aB3dE5fG7hJ9kL1m",
    ]);
    (place, secret).prop_map(|(place, secret)| (place.replace("{}", &secret), secret))
}

/// Credentials under a name, in a text.
fn named() -> impl Strategy<Value = Plant> {
    let secret = "[a-zA-Z0-9!@#$%^*_+-][a-zA-Z0-9!@#$%^*()_+.,:-]{7,30}[a-zA-Z0-9]";
    (names(), select(PLACES.to_vec()), secret).prop_map(|(name, place, secret)| {
        (place.replace("{n}", &name).replace("{v}", &secret), secret)
    })
}

/// What stands around it in a text.
fn surrounded(plant: impl Strategy<Value = Plant>) -> impl Strategy<Value = Plant> {
    let before = select(vec![
        "",
        "\n",
        "error: ",
        "(",
        "\"",
        "he said '",
        "[x] ",
        "a, ",
        "at line 3:\n  ",
        "{\"a\": 1}\n",
        "é ",
        "> ",
    ]);
    let after = select(vec![
        "",
        "\n",
        " and more",
        "\nat line 3",
        ", b",
        " {\"a\": 1}",
        "; x",
        " é",
    ]);
    (before, plant, after)
        .prop_map(|(before, (text, secret), after)| (format!("{before}{text}{after}"), secret))
}

/// How deep something lies in JSON, and in what, from the inside.
#[derive(Debug, Clone)]
enum Layer {
    Field(String),
    Item(usize),
    Held,
    Said,
}

fn layers() -> impl Strategy<Value = Vec<Layer>> {
    let layer = prop_oneof![
        "[a-z]{1,2}(Input|_list|_x)?".prop_map(Layer::Field),
        (0..4_usize).prop_map(Layer::Item),
        Just(Layer::Held),
        Just(Layer::Said),
    ];
    prop::collection::vec(layer, 0..6)
}

fn inside(value: Value, layers: &[Layer]) -> Value {
    layers.iter().fold(value, |value, layer| match layer {
        Layer::Field(key) => json!({"a": 1, key: value, "zz": ["x"]}),
        Layer::Item(place) => {
            let mut items = vec![json!("x"), json!(2), json!(null), json!({"y": true})];
            items.insert(*place, value);
            items.into()
        }
        Layer::Held => value.to_string().into(),
        Layer::Said => format!("it failed with {value} at last").into(),
    })
}

/// Whether a secret is in JSON, at whatever level of quoting.
fn holds(value: &Value, secret: &str) -> bool {
    let plain = |text: &str| text.replace("\\n", "").replace(['\\', '\n'], "");
    plain(&value.to_string()).contains(&plain(secret))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn p1_j3_c67_what_is_planted_in_a_text_never_comes_out((text, secret) in surrounded(prop_oneof![formed(), shaped(), named()])) {
        let redactor = Redactor::default();
        let once = redactor.text(&text).into_owned();
        prop_assert!(!once.contains(&secret), "{once}");
        prop_assert_eq!(redactor.text(&once), once.clone());
    }

    #[test]
    fn p1_j3_c66_what_is_planted_in_json_never_comes_out(
        (text, secret) in surrounded(prop_oneof![formed(), shaped(), named()]),
        layers in layers(),
    ) {
        let redactor = Redactor::default();
        let clean = redactor.json(&inside(text.into(), &layers));
        prop_assert!(!holds(&clean, &secret), "{clean}");
        prop_assert_eq!(redactor.json(&clean), clean);
    }

    #[test]
    fn p1_j3_c67_what_stands_under_a_name_never_comes_out(
        name in names(),
        (before, secret, after) in ("\\PC{0,9}", "[a-zA-Z0-9]{12,20}", "(?s).{0,9}"),
        shape in 0..6_u8,
        layers in layers(),
    ) {
        let held = format!("{before}{secret}{after}");
        let plant = match shape {
            0 => json!({name: held}),
            1 => json!({name: [held, 1]}),
            2 => json!({name: {"inner": {"more": held}}}),
            3 => json!({"name": name, "value": held}),
            4 => json!([name, format!("{held}-1")]),
            _ => json!(["login", format!("--{name}"), format!("0{held}"), "now"]),
        };
        let redactor = Redactor::default();
        let clean = redactor.json(&inside(plant, &layers));
        prop_assert!(!holds(&clean, &secret), "{clean}");
        prop_assert_eq!(redactor.json(&clean), clean);
    }

    #[test]
    fn p1_j3_what_only_looks_alike_always_comes_out(
        texts in prop::collection::vec(select(LOOK_ALIKES.to_vec()), 1..4),
        words in prop::collection::vec(select(vec!["the", "run", "read", "4", "files;", "then", "it", "ended", "well.", "(so)"]), 0..8),
        layers in layers(),
    ) {
        let text = [texts.as_slice(), &[&words.join(" ")]].concat().join("\n\n");
        let redactor = Redactor::default();
        prop_assert_eq!(redactor.text(&text), text.clone());
        // What is said in prose is a text, and its quotes are only guessed at.
        let layers: Vec<Layer> = layers.into_iter().filter(|layer| !matches!(layer, Layer::Said)).collect();
        let value = inside(text.into(), &layers);
        prop_assert_eq!(redactor.json(&value), value);
    }
}
