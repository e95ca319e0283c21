//! Every behavior of the corpus in `tests/servers`, as one table: `cargo xtask conformance --model [--json]`. Its last line is
//! `N passed, N failed`, and a failure is the exit status, too. With `--bodies FOLDER` it only writes down what each sends.
#![allow(clippy::print_stdout, reason = "a command's output is its purpose")]

#[path = "../tests/corpus/mod.rs"]
mod corpus;

use std::{fs, path::Path, process::ExitCode};

use corpus::Behavior;
use serde_json::json;

/// A behavior's name, itself where its file can be read, and what was wrong.
struct Row {
    name: String,
    behavior: Option<Behavior>,
    why: Option<String>,
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let json = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => false,
        ["--json"] => true,
        ["--bodies", folder] => {
            return match write_bodies(Path::new(folder)) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => {
                    eprintln!("servers: {folder}: {error}");
                    ExitCode::FAILURE
                }
            };
        }
        _ => {
            eprintln!("usage: servers [--json | --bodies FOLDER]");
            return ExitCode::from(2);
        }
    };
    let rows: Vec<Row> = corpus::corpus().into_iter().map(play).collect();
    if json {
        print_lines(&rows);
    } else {
        print_table(&rows);
    }
    if rows.iter().all(|row| row.why.is_none()) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn play((name, behavior): (String, Result<Behavior, String>)) -> Row {
    match behavior {
        Ok(behavior) => Row {
            why: judge(&name, &behavior).err(),
            name,
            behavior: Some(behavior),
        },
        Err(why) => Row {
            name,
            behavior: None,
            why: Some(why),
        },
    }
}

/// As it is, and cut into chunks at any bytes.
fn judge(name: &str, behavior: &Behavior) -> Result<(), String> {
    corpus::play(name, behavior)?;
    if corpus::bodies(behavior).is_some() {
        corpus::cut_anywhere(name, behavior)?;
    }
    Ok(())
}

/// What each behavior sends, a file for each answer: what a fuzzer begins with.
fn write_bodies(folder: &Path) -> std::io::Result<()> {
    fs::create_dir_all(folder)?;
    for (name, behavior) in corpus::corpus() {
        let answers = behavior.map(|behavior| corpus::bodies(&behavior));
        for (body, number) in answers.into_iter().flatten().flatten().zip(1..) {
            fs::write(folder.join(format!("{name}-{number}")), body)?;
        }
    }
    Ok(())
}

/// One object a line, for programs.
fn print_lines(rows: &[Row]) {
    for row in rows {
        let behavior = row.behavior.as_ref();
        let line = json!({
            "behavior": row.name,
            "about": behavior.map(|behavior| &behavior.about),
            "source": behavior.map(|behavior| &behavior.source),
            "proves": behavior.map(|behavior| &behavior.proves),
            "outcome": behavior.map(outcome),
            "verdict": word(row),
            "why": row.why,
        });
        println!("{line}");
    }
}

/// What comes of each behavior, and whether it did; then why, where it did not.
fn print_table(rows: &[Row]) {
    let widest = rows.iter().map(|row| row.name.len()).max();
    let width = widest.unwrap_or_default();
    println!(
        "{:width$}  {:<18}  {:<24}  VERDICT",
        "BEHAVIOR", "PROVES", "OUTCOME"
    );
    for row in rows {
        let (proves, outcome) = row
            .behavior
            .as_ref()
            .map_or_else(Default::default, |behavior| {
                (behavior.proves.join(" "), outcome(behavior))
            });
        println!(
            "{:width$}  {proves:<18}  {outcome:<24}  {}",
            row.name,
            word(row)
        );
    }
    println!();
    for row in rows {
        if let Some(why) = &row.why {
            println!("{}: {why}\n", row.name);
        }
    }
    let failed = rows.iter().filter(|row| row.why.is_some()).count();
    println!("{} passed, {failed} failed", rows.len() - failed);
}

/// What must come of it, in a word or two.
fn outcome(behavior: &Behavior) -> String {
    let gives = &behavior.gives;
    let end = match (&gives.error, &gives.finish) {
        (Some(error), _) => format!("error: {}", error.kind),
        (None, finish) => finish.clone().unwrap_or_default(),
    };
    match gives.retries.len() {
        0 => end,
        retries => format!("{retries} retries, {end}"),
    }
}

fn word(row: &Row) -> &'static str {
    match row.why {
        None => "passed",
        Some(_) => "failed",
    }
}
