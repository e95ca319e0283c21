//! The form of a behavior's file. `servers/README.md` describes it for whoever writes one.

use std::{collections::BTreeMap, fs, path::Path};

use serde::Deserialize;
use serde_json::{Map, Value};

/// One way in which a server behaves, and what must come of it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Behavior {
    pub(crate) about: String,
    pub(crate) source: String,
    /// The laws and cases it is about.
    pub(crate) proves: Vec<String>,
    #[serde(default)]
    pub(crate) ask: Ask,
    #[serde(rename = "answer")]
    pub(crate) answers: Vec<Answer>,
    pub(crate) gives: Gives,
}

/// What the reader is told.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Ask {
    /// What follows the server's address in the base URL.
    pub(crate) base: String,
    pub(crate) key: bool,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) max_retries: u32,
    pub(crate) done_suffices: bool,
    /// Provider options.
    pub(crate) options: Map<String, Value>,
    /// Provider options that are null, which TOML has no word for.
    pub(crate) without: Vec<String>,
    /// In seconds, by name.
    pub(crate) timeouts: BTreeMap<String, u64>,
    /// Tools and their results: where one is called, the model is asked again with its result.
    pub(crate) tools: BTreeMap<String, Value>,
    /// With this much text, the reader pauses until the server is told to wait.
    pub(crate) pauses_at: Option<String>,
}

impl Default for Ask {
    fn default() -> Self {
        Self {
            base: "/v1".to_owned(),
            key: true,
            headers: BTreeMap::new(),
            max_retries: 0,
            done_suffices: false,
            options: Map::new(),
            without: Vec::new(),
            timeouts: BTreeMap::new(),
            tools: BTreeMap::new(),
            pauses_at: None,
        }
    }
}

/// What the server does with one request.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    /// Whether it sends a head and frames its chunks; else only the bytes as they stand.
    pub(crate) head: bool,
    pub(crate) send: Vec<Step>,
    pub(crate) end: End,
    pub(crate) sees: Sees,
}

impl Default for Answer {
    fn default() -> Self {
        Self {
            status: 200,
            headers: [("content-type".to_owned(), "text/event-stream".to_owned())].into(),
            head: true,
            send: Vec::new(),
            end: End::default(),
            sees: Sees::default(),
        }
    }
}

/// One thing that the server does; it does the next one once the reader has done all it can.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum Step {
    /// Sends one event with this data, in one chunk.
    Event(String),
    /// Sends this text as one chunk, as often as said.
    Text {
        text: String,
        #[serde(default = "once")]
        times: usize,
    },
    /// Sends these bytes as one chunk.
    Hex { hex: String },
    /// Goes on once the reader was given just this text.
    Given { given: String },
    /// Lets this many seconds pass.
    Pass { pass: u64 },
    /// Sends events of this many KiB of text, this many, to a reader that pauses, which may take so many of them and no more.
    Flood {
        flood: usize,
        of_kib: usize,
        taken_at_most: usize,
    },
    /// Sends these pieces, each as one chunk and all at once.
    #[serde(skip)]
    Pieces(Vec<Vec<u8>>),
}

impl Step {
    /// The bytes it sends, where that is all it does.
    pub(crate) fn bytes(&self) -> Option<Vec<u8>> {
        match self {
            Self::Event(data) => Some(format!("data: {data}\n\n").into_bytes()),
            Self::Text { text, times } => Some(text.repeat(*times).into_bytes()),
            Self::Hex { hex } => Some(bytes_of(hex)),
            Self::Pieces(pieces) => Some(pieces.concat()),
            Self::Given { .. } | Self::Pass { .. } | Self::Flood { .. } => None,
        }
    }
}

fn once() -> usize {
    1
}

/// How the server ends its answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum End {
    /// As the protocol asks.
    #[default]
    Clean,
    /// It closes the connection where it stands.
    Cut,
    /// It keeps the connection open.
    Never,
}

/// What the server must have been sent.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Sees {
    pub(crate) path: Option<String>,
    /// Headers with their values; an empty one is missing.
    pub(crate) headers: BTreeMap<String, String>,
    /// Fields of the body, at any depth.
    pub(crate) body: Value,
    /// JSON pointers to what the body must not have.
    pub(crate) lacks: Vec<String>,
}

/// What must come out; what is not named must not come.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Gives {
    pub(crate) text: String,
    /// Instead of a text that is too long to write down.
    pub(crate) text_bytes: Option<usize>,
    pub(crate) reasoning: String,
    pub(crate) calls: Vec<Call>,
    pub(crate) usage: Option<Tokens>,
    pub(crate) finish: Option<String>,
    pub(crate) retries: Vec<Retry>,
    pub(crate) error: Option<Failure>,
}

/// A tool call.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) tool: String,
    pub(crate) input: Value,
}

/// Tokens used, as far as known.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Tokens {
    pub(crate) input: Option<u64>,
    pub(crate) output: Option<u64>,
    pub(crate) total: Option<u64>,
    pub(crate) reasoning: Option<u64>,
    pub(crate) cached: Option<u64>,
}

/// A retry that was told.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Retry {
    pub(crate) kind: String,
    /// In seconds; where not said, the wait is the reader's own to choose.
    pub(crate) after: Option<f64>,
}

/// How it fails.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Failure {
    pub(crate) kind: String,
    pub(crate) status: Option<u16>,
    /// The server's words, whole.
    pub(crate) said: Option<String>,
    pub(crate) code: Option<String>,
    pub(crate) request_id: Option<String>,
    /// In seconds.
    pub(crate) retry_after: Option<f64>,
    /// Parts of the message.
    #[serde(default)]
    pub(crate) says: Vec<String>,
}

/// The bytes of their hexadecimal digits, with spaces between them or none.
fn bytes_of(hex: &str) -> Vec<u8> {
    let digits: String = hex.split_whitespace().collect();
    let pairs = (0..digits.len()).step_by(2);
    pairs
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).expect("two digits a byte"))
        .collect()
}

/// Every behavior of the corpus, by name; or why a file is none.
pub(crate) fn corpus() -> Vec<(String, Result<Behavior, String>)> {
    corpus_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/servers"))
}

/// Every behavior of this folder.
pub(crate) fn corpus_in(folder: &Path) -> Vec<(String, Result<Behavior, String>)> {
    let files = fs::read_dir(folder).expect("the corpus is beside its tests");
    let mut behaviors: Vec<_> = files
        .map(|file| file.expect("the corpus can be listed").path())
        .filter(|file| file.file_name().is_none_or(|name| name != "README.md"))
        .map(|file| {
            let name = file.file_stem().unwrap_or_default().to_string_lossy();
            (name.into_owned(), read(&file))
        })
        .collect();
    behaviors.sort_by(|(one, _), (other, _)| one.cmp(other));
    behaviors
}

fn read(file: &Path) -> Result<Behavior, String> {
    if file.extension().is_none_or(|end| end != "toml") {
        return Err("only .toml files are played".to_owned());
    }
    let text = fs::read_to_string(file).map_err(|error| error.to_string())?;
    toml::from_str(&text).map_err(|error| error.to_string())
}
