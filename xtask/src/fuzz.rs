//! `cargo xtask fuzz`: what reads untrusted bytes, against the bytes that a fuzzer chooses. It needs cargo-fuzz and a nightly
//! compiler, which nothing else here does.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::workspace::Workspace;
use crate::{process, programs};

/// The packages of targets, with their targets. Each is a workspace of its own.
pub(crate) const PACKAGES: &[(&str, &[&str])] = &[
    ("chat-responder-model/fuzz", &["reader"]),
    ("chat-trace/fuzz", &["trace", "redaction"]),
];

/// One target where it is named, or else all, one after another. What follows goes to libFuzzer, such as `-max_total_time=300`.
pub(crate) fn run(workspace: &Workspace, args: &[&str]) -> Result<()> {
    process::stdout(Command::new("cargo").args(["fuzz", "--version"]))
        .context("cargo-fuzz is missing: cargo install cargo-fuzz")?;
    let all = PACKAGES.iter().flat_map(|(package, targets)| {
        let package = workspace.root.join(package);
        targets.iter().map(move |target| (package.clone(), *target))
    });
    let (only, args) = match args {
        [target, rest @ ..] if !target.starts_with('-') => (Some(*target), rest),
        args => (None, args),
    };
    let wanted: Vec<(PathBuf, &str)> = all
        .filter(|(_, target)| only.is_none_or(|only| only == *target))
        .collect();
    anyhow::ensure!(
        !wanted.is_empty(),
        "there is no such target: {}; there are {}",
        only.unwrap_or_default(),
        PACKAGES
            .iter()
            .flat_map(|(_, targets)| *targets)
            .copied()
            .collect::<Vec<_>>()
            .join(", ")
    );
    for (package, target) in wanted {
        println!("\n==> {target}");
        one(workspace, &package, target, args)?;
    }
    Ok(())
}

fn one(workspace: &Workspace, package: &Path, target: &str, args: &[&str]) -> Result<()> {
    let mut corpora = vec![package.join("corpus").join(target)];
    std::fs::create_dir_all(&corpora[0])?;
    if target == "reader" {
        // It begins with the bodies of the corpus of server behaviors.
        let seeds = package.join("corpus/seeds");
        let mut bodies = Command::new(programs::example(workspace, "servers")?);
        process::run(bodies.arg("--bodies").arg(&seeds))?;
        corpora.push(seeds);
    }
    process::run(
        Command::new("cargo")
            .args(["+nightly", "fuzz", "run", target])
            .args(corpora)
            .arg("--")
            .args(["-max_len=4096", "-timeout=10", "-print_final_stats=1"])
            .args(args)
            .current_dir(package),
    )
}
