//! `cargo xtask ci`: all that must hold of a commit, in one command. Every stage runs, whatever the ones before it said;
//! the last line is `N passed, N failed, N skipped`. It changes no file of the project.

mod tally;

use std::io::IsTerminal;
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use self::tally::Tally;
use crate::workspace::Workspace;
use crate::{conformance, demo, process, tidy, torture};

type Stage = fn(&Workspace) -> Result<Tally>;

/// What quickly says that something is wrong comes first.
const STAGES: &[(&str, Stage)] = &[
    ("fmt", fmt),
    ("clippy", clippy),
    ("tidy", tidy),
    ("doc", doc),
    ("test", test),
    ("doctest", doctest),
    ("outside", outside),
    ("conformance", conformance),
    ("torture", torture),
    ("demo", demo),
];

pub(crate) fn run(workspace: &Workspace, only: &[&str]) -> Result<ExitCode> {
    if let Some(unknown) = only
        .iter()
        .find(|name| STAGES.iter().all(|(stage, _)| stage != *name))
    {
        let names: Vec<&str> = STAGES.iter().map(|(name, _)| *name).collect();
        bail!("ci has no stage {unknown}; it has {}", names.join(", "));
    }
    let mut total = Tally::default();
    let mut summary = Vec::new();
    for (name, stage) in STAGES
        .iter()
        .filter(|(name, _)| only.is_empty() || only.contains(name))
    {
        println!("\n==> {name}");
        let started = Instant::now();
        let (tally, note) = match stage(workspace) {
            Ok(tally) if tally.failed == 0 => (tally, "ok".to_owned()),
            Ok(tally) => (tally, "FAILED".to_owned()),
            Err(error) if error.is::<demo::Unavailable>() => {
                (Tally::SKIPPED, format!("skipped: {error}"))
            }
            Err(error) => (Tally::FAILED, format!("FAILED: {error:#}")),
        };
        let line = format!(
            "{name:<12} {:>6.1} s  {:<40} {note}",
            started.elapsed().as_secs_f32(),
            tally.to_string()
        );
        println!("{line}");
        summary.push(line);
        total += tally;
    }
    println!("\n{}\n\n{total}", summary.join("\n"));
    Ok(if total.failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn fmt(workspace: &Workspace) -> Result<Tally> {
    check(workspace.cargo(&["fmt", "--all", "--check"]))
}

fn clippy(workspace: &Workspace) -> Result<Tally> {
    check(workspace.cargo(&[
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ]))
}

fn tidy(workspace: &Workspace) -> Result<Tally> {
    let report = tidy::look(workspace)?;
    let verdict = if report.findings.is_empty() {
        Tally::PASSED
    } else {
        Tally::FAILED
    };
    Ok(Tally {
        skipped: report.skipped.len(),
        ..verdict
    })
}

fn doc(workspace: &Workspace) -> Result<Tally> {
    let mut command = workspace.cargo(&["doc", "--workspace", "--no-deps"]);
    command.env("RUSTDOCFLAGS", "-D warnings");
    check(command)
}

fn test(workspace: &Workspace) -> Result<Tally> {
    // Tests of the command run this example as a user does; among all targets cargo builds examples as tests only.
    check(workspace.cargo(&["build", "--workspace", "--example", "engineer"]))?;
    tests(workspace.cargo(&["test", "--workspace", "--all-targets", "--no-fail-fast"]))
}

fn doctest(workspace: &Workspace) -> Result<Tally> {
    tests(workspace.cargo(&["test", "--workspace", "--doc", "--no-fail-fast"]))
}

/// Packages that are in no workspace, lest others build what only they need: they must not rot unseen. (The fuzz targets of
/// the model responder are left to `cargo xtask fuzz`: they build all its dependencies once more, for flags of their own.)
fn outside(workspace: &Workspace) -> Result<Tally> {
    let mut total = Tally::default();
    for package in ["bench", "chat-trace/fuzz"] {
        let manifest = format!("{package}/Cargo.toml");
        let mut command = workspace.cargo(&["check", "--locked", "--manifest-path"]);
        command.arg(workspace.root.join(manifest));
        // One folder for all, beside what the workspace builds.
        command.args(["--target-dir", "target/outside"]);
        total += check(command)?;
    }
    Ok(total)
}

fn conformance(workspace: &Workspace) -> Result<Tally> {
    conformance::run(workspace, &[])?;
    Ok(Tally::PASSED)
}

/// A short, bounded part of it: seconds of kills and one round of everything else. What can't be played here is skipped by name.
fn torture(workspace: &Workspace) -> Result<Tally> {
    if cfg!(not(target_os = "linux")) {
        println!("skipped: torture runs on Linux only");
        return Ok(Tally::SKIPPED);
    }
    let line = torture::closing_line(workspace, &["--seconds", "4"])?;
    Tally::of_closing_line(&line).with_context(|| format!("{line:?} is no closing line"))
}

/// The real thing, end to end: the command, a server, a model, and the journal on disk; then how the responder bears with it.
fn demo(workspace: &Workspace) -> Result<Tally> {
    demo::once(workspace)?;
    demo::check_responder(workspace)?;
    Ok(Tally::PASSED)
}

fn check(mut command: Command) -> Result<Tally> {
    process::run(hermetic(&mut command))?;
    Ok(Tally::PASSED)
}

fn tests(mut command: Command) -> Result<Tally> {
    let mut tally = Tally::default();
    let status = process::tee(hermetic(&mut command), |line| {
        tally += Tally::of_test_result(line).unwrap_or_default()
    })?;
    // Cargo fails without a failed test where a test program was not built or did not come to its end.
    if !status.success() && tally.failed == 0 {
        tally.failed = 1;
        println!(
            "`{}` failed ({status}) and no test said so",
            process::shown(&command)
        );
    }
    if tally == Tally::default() {
        Err(anyhow::anyhow!("no test ran"))
            .with_context(|| format!("`{}`", process::shown(&command)))
    } else {
        Ok(tally)
    }
}

/// Nothing of this user's may decide a check: no server and key, no accepting of changed snapshots.
fn hermetic(command: &mut Command) -> &mut Command {
    for name in [
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "CHAT_MODEL",
        "CHAT_STORE",
        "INSTA_FORCE_UPDATE",
        "INSTA_FORCE_PASS",
    ] {
        command.env_remove(name);
    }
    if std::io::stdout().is_terminal() {
        command.env("CARGO_TERM_COLOR", "always");
    }
    // A changed snapshot fails and is written nowhere; a failure that proptest finds is kept as a new regression.
    command.env("INSTA_UPDATE", "no")
}
