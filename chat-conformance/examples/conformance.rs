//! Every store of this project against the laws of stores, as one table: `cargo xtask conformance [--store NAME] [--json]`. It
//! judges nothing itself; a store of one's own is proved by `chat_conformance::store_laws!` in its own tests. What a store does
//! not claim, or its factory can't play, is counted on its own and never as passed.
#![allow(clippy::print_stdout, reason = "a command's output is its purpose")]

#[path = "../tests/common/mod.rs"]
mod stores;

use std::process::ExitCode;

use chat_conformance::{LawReport, Report, Verdict, run_store_laws, store_law_names};
use serde_json::json;

/// A store's name, and the laws run against it.
type Backend = (&'static str, fn() -> Report);

const BACKENDS: &[Backend] = &[
    ("memory", || run_store_laws(stores::Memory)),
    ("file", || run_store_laws(stores::Files::new())),
    ("sqlite", || run_store_laws(stores::Databases::new())),
];

const USAGE: &str = "usage: conformance [--store NAME] [--json]";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some(Args { store, json }) = Args::read(&args) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let chosen: Vec<&Backend> = BACKENDS
        .iter()
        .filter(|(name, _)| store.is_none_or(|store| store == *name))
        .collect();
    if chosen.is_empty() {
        let names: Vec<&str> = BACKENDS.iter().map(|(name, _)| *name).collect();
        eprintln!(
            "there is no store {}; there are {}",
            store.unwrap_or_default(),
            names.join(", ")
        );
        return ExitCode::from(2);
    }
    let reports: Vec<(&str, Report)> = chosen
        .into_iter()
        .map(|(name, run)| (*name, run()))
        .collect();
    if json {
        print_lines(&reports)
    } else {
        print_table(&reports)
    }
    if reports.iter().all(|(_, report)| report.is_sound()) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

struct Args<'a> {
    store: Option<&'a str>,
    json: bool,
}

impl<'a> Args<'a> {
    fn read(args: &'a [String]) -> Option<Self> {
        let mut read = Self {
            store: None,
            json: false,
        };
        let mut args = args.iter().map(String::as_str);
        while let Some(arg) = args.next() {
            match arg {
                "--json" => read.json = true,
                "--store" => read.store = Some(args.next()?),
                _ => return None,
            }
        }
        Some(read)
    }
}

/// One object a line, for programs.
fn print_lines(reports: &[(&str, Report)]) {
    for (store, report) in reports {
        for LawReport { name, verdict } in &report.laws {
            let why = match verdict {
                Verdict::Passed => None,
                Verdict::Failed(why) => Some(why.as_str()),
                Verdict::NotClaimed(why) => Some(*why),
            };
            println!(
                "{}",
                json!({"store": store, "law": name, "verdict": word(verdict), "why": why})
            );
        }
    }
}

/// Laws down, stores across; then why, where one is broken.
fn print_table(reports: &[(&str, Report)]) {
    let laws = store_law_names();
    let width = laws.iter().map(|law| law.len()).max().unwrap_or_default();
    let row = |first: &str, cells: &mut dyn Iterator<Item = &str>| {
        let cells: String = cells.map(|cell| format!("  {cell:<11}")).collect();
        println!("{}", format!("{first:width$}{cells}").trim_end());
    };
    row("LAW", &mut reports.iter().map(|(store, _)| *store));
    for (index, law) in laws.iter().enumerate() {
        row(
            law,
            &mut reports
                .iter()
                .map(|(_, report)| word(&report.laws[index].verdict)),
        );
    }
    println!();
    for (store, report) in reports {
        for (law, why) in report.failures() {
            println!("{store} breaks {law}: {why}\n");
        }
    }
    let count = |wanted: &str| {
        reports
            .iter()
            .flat_map(|(_, report)| &report.laws)
            .filter(|law| word(&law.verdict) == wanted)
            .count()
    };
    println!(
        "{} passed, {} failed, {} not claimed",
        count("passed"),
        count("failed"),
        count("not claimed")
    );
}

fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Passed => "passed",
        Verdict::Failed(_) => "failed",
        Verdict::NotClaimed(_) => "not claimed",
    }
}
