//! The run: which sections, on which stores, in a mount namespace of its own; then the table and the closing line. Each section proves
//! one thing by itself and says its figures.

mod backend;
mod crew;
mod disk;
mod entries;
mod failed_sync;
mod fairness;
mod findings;
mod full_disk;
mod kills;
mod lab;
mod ledger;
mod lines;
mod mounts;
mod no_room;
mod power_loss;
mod read_only;
mod sanity;
mod scene;
mod seen;
mod short_writes;
mod strace;
mod switch;
mod system_calls;
mod task;
mod worker;

use std::{ffi::OsString, process::ExitCode};

use backend::Backend;
use lab::{Lab, Outcome, Unproved};
use task::{Task, WORKER};

type Section = fn(&Lab, Backend) -> Outcome;

const SECTIONS: &[(&str, Section)] = &[
    ("sanity", sanity::run),
    ("kills", kills::run),
    ("fairness", fairness::run),
    ("full-disk", full_disk::run),
    ("short-writes", short_writes::run),
    ("read-only", read_only::run),
    ("failed-sync", failed_sync::run),
    ("system-calls", system_calls::run),
    ("power-loss", power_loss::run),
];

const USAGE: &str = "usage: torture [--seconds N] [--seed N] [--store NAME] [--only SECTION]";

pub(crate) fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    if args.first().is_some_and(|first| first == WORKER) {
        return match Task::from_args(&args[1..]) {
            Some(task) => worker::play(&task),
            None => ExitCode::from(2),
        };
    }
    let words: Vec<&str> = args.iter().filter_map(|arg| arg.to_str()).collect();
    let options = match Options::read(&words) {
        Ok(options) => options,
        Err(why) => {
            eprintln!("torture: {why}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    // Comes back only where there is no such namespace to be had.
    let no_mounts = mounts::enter_own_namespace(&args).err();
    match run(options, no_mounts) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("torture: {error}");
            ExitCode::FAILURE
        }
    }
}

struct Options {
    seconds: u64,
    seed: u64,
    backends: Vec<Backend>,
    sections: Vec<(&'static str, Section)>,
}

impl Options {
    fn read(args: &[&str]) -> Result<Self, String> {
        let mut read = Self {
            seconds: 60,
            seed: fastrand::u64(..1 << 32),
            backends: Backend::ALL.to_vec(),
            sections: SECTIONS.to_vec(),
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let value = args.next().ok_or_else(|| format!("what is {arg}?"))?;
            let number = || {
                value
                    .parse()
                    .map_err(|_| format!("{value} is no number for {arg}"))
            };
            match *arg {
                "--seconds" => read.seconds = number()?,
                "--seed" => read.seed = number()?,
                "--store" => {
                    let backend = Backend::of_name(value);
                    read.backends =
                        vec![backend.ok_or_else(|| format!("there is no store {value}"))?];
                }
                "--only" => {
                    read.sections.retain(|(name, _)| name == value);
                    if read.sections.is_empty() {
                        return Err(format!("there is no section {value}"));
                    }
                }
                _ => return Err(format!("what is {arg}?")),
            }
        }
        Ok(read)
    }
}

fn run(options: Options, no_mounts: Option<String>) -> std::io::Result<ExitCode> {
    let Options {
        seconds,
        seed,
        backends,
        sections,
    } = options;
    let lab = Lab::new(seed, seconds, backends, no_mounts)?;
    println!("torture: seed {seed}, {seconds} seconds of kills");
    let mut rows = Vec::new();
    for (section, run) in sections {
        for backend in lab.backends.clone() {
            if lab.is_stopped() {
                break;
            }
            lab.progress(format_args!("{section} {}", backend.name()));
            let row = Row {
                section,
                store: backend.name(),
                outcome: run(&lab, backend),
            };
            lab.progress(row.to_string());
            rows.push(row);
        }
    }
    println!(
        "\n{:<13} {:<7} {:<8} FIGURES",
        "SECTION", "STORE", "VERDICT"
    );
    rows.iter().for_each(|row| println!("{row}"));
    let count = |word: &str| rows.iter().filter(|row| row.word() == word).count();
    let failed = count("failed").max(usize::from(lab.is_stopped()));
    println!(
        "\n{} passed, {failed} failed, {} skipped",
        count("passed"),
        count("skipped")
    );
    Ok(if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// What one section came to with one store.
struct Row {
    section: &'static str,
    store: &'static str,
    outcome: Outcome,
}

impl Row {
    fn word(&self) -> &'static str {
        match self.outcome {
            Ok(_) => "passed",
            Err(Unproved::Failed(_)) => "failed",
            Err(Unproved::Skipped(_)) => "skipped",
        }
    }
}

impl std::fmt::Display for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words = match &self.outcome {
            Ok(words) | Err(Unproved::Failed(words) | Unproved::Skipped(words)) => words,
        };
        let (section, store, word) = (self.section, self.store, self.word());
        write!(f, "{section:<13} {store:<7} {word:<8} {words}")
    }
}
