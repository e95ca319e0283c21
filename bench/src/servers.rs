//! Plays the corpus to each client, and writes what each got right as tables.

use std::fmt::Write;

use anyhow::Result;

use crate::{
    clients::Client,
    corpus::{self, Behavior, Played},
    judge::{self, Point, Verdict},
};

/// Behaviors of one server, by how their files' names begin; the rest are of any server.
const FAMILIES: &[(&str, &[&str])] = &[
    ("OpenAI", &["openai-"]),
    ("Azure OpenAI", &["azure-"]),
    ("Gemini", &["gemini-"]),
    ("Mistral", &["mistral-"]),
    (
        "DeepSeek, Moonshot, MiniMax",
        &["deepseek-", "moonshot-", "minimax-"],
    ),
    ("Groq", &["groq-"]),
    ("OpenRouter, Poolside", &["openrouter-", "poolside-"]),
    ("Ollama, LM Studio", &["ollama-", "lm-studio-"]),
    ("llama.cpp", &["llama-cpp-python-", "llama-cpp-"]),
    ("vLLM, SGLang", &["vllm-", "sglang-"]),
];
const FAILS: &str = "any server, and it fails";
const ANSWERS: &str = "any server, and it answers oddly";

/// One behavior and how each of [`Client::PLAYED`] did.
struct Row {
    name: String,
    family: &'static str,
    verdicts: Vec<Verdict>,
}

/// Plays everything, and gives the tables.
pub(crate) fn tables() -> Result<String> {
    let mut rows = Vec::new();
    for (name, behavior) in corpus::corpus()? {
        rows.push(row(name, &behavior)?);
    }
    let mut out = String::new();
    families(&rows, &mut out)?;
    points(&rows, &mut out)?;
    hints(&rows, &mut out)?;
    faults(&rows, &mut out)?;
    Ok(out)
}

fn row(name: String, behavior: &Behavior) -> Result<Row> {
    let played = Client::PLAYED
        .iter()
        .map(|client| corpus::play(*client, behavior))
        .collect::<Result<Vec<Played>>>()?;
    let gives = judge::expected(behavior, &played[0]);
    let verdicts = Client::PLAYED
        .iter()
        .zip(&played)
        .map(|(client, played)| judge::judge(*client, behavior, &gives, played))
        .collect();
    let named = FAMILIES
        .iter()
        .find(|(_, starts)| starts.iter().any(|start| name.starts_with(start)));
    let family = match (named, &gives.error) {
        (Some((family, _)), _) => family,
        (None, Some(_)) => FAILS,
        (None, None) => ANSWERS,
    };
    Ok(Row {
        name,
        family,
        verdicts,
    })
}

fn head(first: &str, out: &mut String) -> Result<()> {
    let names: Vec<&str> = Client::PLAYED.iter().map(|client| client.name()).collect();
    writeln!(out, "\n| {first} | {} |", names.join(" | "))?;
    writeln!(out, "| --- |{}", " ---: |".repeat(names.len()))?;
    Ok(())
}

fn families(rows: &[Row], out: &mut String) -> Result<()> {
    head("behaviors that are right in every point", out)?;
    let named = FAMILIES.iter().map(|(family, _)| *family);
    for family in named.chain([ANSWERS, FAILS]) {
        let of_it: Vec<&Row> = rows.iter().filter(|row| row.family == family).collect();
        counts(family, &of_it, out)?;
    }
    counts("**all**", &rows.iter().collect::<Vec<_>>(), out)
}

fn counts(what: &str, rows: &[&Row], out: &mut String) -> Result<()> {
    write!(out, "| {what} |")?;
    for client in 0..Client::PLAYED.len() {
        let right = rows.iter().filter(|row| row.verdicts[client].is_right());
        write!(out, " {} of {} |", right.count(), rows.len())?;
    }
    writeln!(out)?;
    Ok(())
}

fn points(rows: &[Row], out: &mut String) -> Result<()> {
    head("point by point", out)?;
    for point in Point::ALL {
        write!(out, "| {} |", point.question())?;
        for client in 0..Client::PLAYED.len() {
            let judged = rows.iter().flat_map(|row| &row.verdicts[client].points);
            let judged: Vec<bool> = judged
                .filter(|(of, _)| *of == point)
                .map(|(_, right)| *right)
                .collect();
            let right = judged.iter().filter(|right| **right).count();
            match judged.len() {
                0 => write!(out, " not judged |")?,
                count => write!(out, " {right} of {count} |")?,
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

/// How many of the failures that were not told could still be seen by a caller who looks for the finish reason.
fn hints(rows: &[Row], out: &mut String) -> Result<()> {
    write!(
        out,
        "| failures that were no error, but left the finish reason out |"
    )?;
    for client in 0..Client::PLAYED.len() {
        let hinted = rows.iter().filter(|row| row.verdicts[client].hinted);
        write!(out, " {} |", hinted.count())?;
    }
    writeln!(out)?;
    write!(out, "| waits that never end |")?;
    for client in 0..Client::PLAYED.len() {
        let stuck = rows.iter().filter(|row| row.verdicts[client].stuck);
        write!(out, " {} |", stuck.count())?;
    }
    writeln!(out)?;
    Ok(())
}

fn faults(rows: &[Row], out: &mut String) -> Result<()> {
    head("what is wrong, where it is not right for all", out)?;
    let mut right = Vec::new();
    for row in rows {
        if row.verdicts.iter().all(Verdict::is_right) {
            right.push(format!("`{}`", row.name));
            continue;
        }
        let cells: Vec<String> = row.verdicts.iter().map(Verdict::faults).collect();
        writeln!(out, "| `{}` | {} |", row.name, cells.join(" | "))?;
    }
    writeln!(out, "\nRight for all: {}.", right.join(", "))?;
    Ok(())
}
