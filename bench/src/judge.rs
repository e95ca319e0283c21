//! What a client got right of a behavior, point by point. Only what the behavior's file says, and a client can be asked for.

use std::fmt;

use crate::{
    clients::{Client, Outcome},
    corpus::{Behavior, Call, Gives, KEY, Played, Tokens},
};

/// One thing to get right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Point {
    /// An answer that is whole is no error.
    Whole,
    /// What went wrong is an error, and no short reply that passes for a whole one.
    Told,
    Text,
    Reasoning,
    Calls,
    Finish,
    Usage,
    /// The HTTP status is in the error.
    Status,
    /// The server's own words are in the error.
    Words,
    /// The key is in no error, and goes nowhere else.
    Secrets,
    /// Nothing is taken that nobody reads.
    Bounds,
}

impl Point {
    pub(crate) const ALL: [Self; 11] = [
        Self::Whole,
        Self::Told,
        Self::Text,
        Self::Reasoning,
        Self::Calls,
        Self::Finish,
        Self::Usage,
        Self::Status,
        Self::Words,
        Self::Secrets,
        Self::Bounds,
    ];

    pub(crate) fn question(self) -> &'static str {
        match self {
            Self::Whole => "a whole answer is no error",
            Self::Told => "a failure is an error, no short reply that passes for whole",
            Self::Text => "the text is all there, and nothing else",
            Self::Reasoning => "the reasoning is kept, apart from the text",
            Self::Calls => "every tool call is kept, whole",
            Self::Finish => "the finish reason is kept",
            Self::Usage => "the tokens used are kept",
            Self::Status => "the HTTP status is in the error",
            Self::Words => "the server's words are in the error",
            Self::Secrets => "the key is in no error and goes nowhere else",
            Self::Bounds => "nothing is read ahead of a reader that pauses",
        }
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Whole => "an error",
            Self::Told => "no error",
            Self::Text => "text",
            Self::Reasoning => "reasoning",
            Self::Calls => "calls",
            Self::Finish => "finish reason",
            Self::Usage => "usage",
            Self::Status => "status",
            Self::Words => "words",
            Self::Secrets => "key",
            Self::Bounds => "memory",
        })
    }
}

/// How a client did on one behavior.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    pub(crate) points: Vec<(Point, bool)>,
    /// It told no error, but gave no finish reason either: a caller who looks for one could tell.
    pub(crate) hinted: bool,
    pub(crate) stuck: bool,
}

impl Verdict {
    pub(crate) fn is_right(&self) -> bool {
        self.points.iter().all(|(_, right)| *right)
    }

    /// What is wrong, in words for a table.
    pub(crate) fn faults(&self) -> String {
        let wrong = self.points.iter().filter(|(_, right)| !right);
        let mut words: Vec<String> = wrong.map(|(point, _)| point.to_string()).collect();
        if self.stuck {
            words = vec!["never ends".to_owned()];
        }
        if words.is_empty() {
            "right".to_owned()
        } else {
            words.join(", ")
        }
    }
}

/// What must come of a behavior for a client that asks once: where the file has tools called and their results sent back, what the
/// model responder makes of the first answer, which the file's own test holds it to.
pub(crate) fn expected(behavior: &Behavior, ours: &Played) -> Gives {
    let gives = behavior.gives.clone();
    if behavior.ask.tools.is_empty() {
        return gives;
    }
    let Outcome {
        text,
        reasoning,
        calls,
        usage,
        finish,
        ..
    } = &ours.outcome;
    Gives {
        text: text.clone(),
        reasoning: reasoning.clone(),
        calls: calls.iter().map(copy).collect(),
        usage: usage.clone(),
        finish: finish.clone(),
        ..gives
    }
}

/// What the model responder writes in a secret's place.
const REDACTED: &str = "[redacted]";

/// Judges what a client made of a behavior.
pub(crate) fn judge(
    client: Client,
    behavior: &Behavior,
    gives: &Gives,
    played: &Played,
) -> Verdict {
    let found = &played.outcome;
    let mut points = Vec::new();
    let told = found.error.is_some() && !played.stuck;
    match &gives.error {
        Some(_) => points.push((Point::Told, told)),
        None => points.push((Point::Whole, found.error.is_none() && !played.stuck)),
    }
    if gives.text_bytes.is_some() || !gives.text.is_empty() || !found.text.is_empty() {
        let right = match gives.text_bytes {
            Some(bytes) => found.text.len() == bytes,
            None => found.text == gives.text,
        };
        points.push((Point::Text, right));
    }
    // OpenAI's own form, which the types keep to, has no field for it.
    if !gives.reasoning.is_empty() && client != Client::Typed {
        points.push((Point::Reasoning, found.reasoning == gives.reasoning));
    }
    match &gives.error {
        None => {
            if !gives.calls.is_empty() || !found.calls.is_empty() {
                points.push((Point::Calls, found.calls == gives.calls));
            }
            // `done` is the model responder's own word, by an option of its own; what was taken out of a word is judged by the key.
            if let Some(finish) = &gives.finish
                && finish != "done"
                && !finish.contains(REDACTED)
            {
                let right = found.finish.as_deref().map(plain) == Some(plain(finish));
                points.push((Point::Finish, right));
            }
            if let Some(usage) = &gives.usage {
                points.push((Point::Usage, has(found.usage.as_ref(), usage)));
            }
        }
        Some(error) => {
            let said = found.error.as_deref().unwrap_or_default();
            // What a 200 stands for is what the server says.
            if let Some(status) = error.status.filter(|status| *status != 200) {
                points.push((Point::Status, said.contains(&status.to_string())));
            }
            // What was taken out of the words is judged by the key.
            if let Some(words) = error
                .said
                .as_ref()
                .filter(|words| !words.contains(REDACTED))
            {
                points.push((Point::Words, bare(said).contains(&bare(words))));
            }
        }
    }
    let shows_key = found.error.as_ref().is_some_and(|said| said.contains(KEY));
    if shows_key || played.went_elsewhere || is_about_the_key(behavior) {
        points.push((Point::Secrets, !shows_key && !played.went_elsewhere));
    }
    if behavior.ask.pauses_at.is_some() {
        points.push((Point::Bounds, !played.took_too_much && !played.stuck));
    }
    Verdict {
        hinted: gives.error.is_some() && !told && found.finish.is_none(),
        stuck: played.stuck,
        points,
    }
}

fn is_about_the_key(behavior: &Behavior) -> bool {
    behavior.proves.iter().any(|proved| proved == "M6")
}

/// Servers and libraries write the same word in several ways.
fn plain(finish: &str) -> String {
    let word = finish.to_ascii_lowercase().replace('-', "_");
    match word.as_str() {
        "max_tokens" | "model_length" => "length".to_owned(),
        "function_call" => "tool_calls".to_owned(),
        _ => word,
    }
}

/// Without what quoting and wrapping add.
fn bare(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_whitespace() && *c != '\\')
        .collect()
}

fn has(found: Option<&Tokens>, wanted: &Tokens) -> bool {
    let Some(found) = found else { return false };
    let same = |found: Option<u64>, wanted: Option<u64>| wanted.is_none() || found == wanted;
    same(found.input, wanted.input)
        && same(found.output, wanted.output)
        && same(found.total, wanted.total)
}

fn copy(call: &Call) -> Call {
    Call {
        id: call.id.clone(),
        tool: call.tool.clone(),
        input: call.input.clone(),
    }
}
