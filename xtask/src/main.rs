//! The project's own commands, as `cargo xtask COMMAND`. Nothing here is part of what the project ships; it runs cargo and
//! reads what it says, so that anyone can do on their machine all that CI does.
#![allow(clippy::print_stdout, reason = "a command's output is its purpose")]

mod ci;
mod conformance;
mod demo;
mod fuzz;
mod process;
mod programs;
mod tidy;
mod torture;
mod workspace;

use std::process::ExitCode;

use anyhow::{Result, bail};
use workspace::Workspace;

const HELP: &str = "\
cargo xtask COMMAND

  demo [\"QUESTION\"]     a conversation with a small model that runs here, and the journal it leaves
  demo --serve          that model's server alone, until Ctrl-C or the end of standard input
  ci [STAGE...]         all that CI checks, or only the named stages; closes with `N passed, N failed, N skipped`
  tidy                  the layers, manifests, sources and laws, each proved or listed as a finding
  conformance [ARGS]    every store against the laws of stores (--store NAME, --json), or with --model first, the model
                        responder against the corpus of server behaviors (--json), or (--server) the demo's own server
  torture [ARGS]        the stores under kills, full disks, failed syncs and power loss (--seconds N, --seed N, --store NAME,
                        --only SECTION)
  fuzz [TARGET] [ARGS]  what reads untrusted bytes (reader, trace, redaction) against those of a fuzzer, with cargo-fuzz on
                        nightly (-max_total_time=300)
  bench [ARGS]          the benchmarks; what follows goes to `cargo bench`

With OPENAI_BASE_URL or OPENAI_API_KEY set, demo uses that server and downloads nothing.";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match run(&args) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[&str]) -> Result<ExitCode> {
    if let [] | ["help" | "--help" | "-h", ..] = args {
        println!("{HELP}");
        return Ok(ExitCode::SUCCESS);
    }
    let workspace = Workspace::load()?;
    match args {
        ["demo", "--serve"] => demo::serve(&workspace)?,
        ["demo"] => demo::run(&workspace, None)?,
        ["demo", question] if !question.starts_with('-') => demo::run(&workspace, Some(question))?,
        ["ci", stages @ ..] => return ci::run(&workspace, stages),
        ["tidy"] => return tidy::run(&workspace),
        ["conformance", args @ ..] => conformance::run(&workspace, args)?,
        ["torture", args @ ..] => torture::run(&workspace, args)?,
        ["fuzz", args @ ..] => fuzz::run(&workspace, args)?,
        ["bench", args @ ..] => {
            process::run(
                workspace
                    .cargo(&["bench", "--workspace", "--benches"])
                    .args(args),
            )?;
        }
        _ => bail!("no such command: {}\n\n{HELP}", args.join(" ")),
    }
    Ok(ExitCode::SUCCESS)
}
