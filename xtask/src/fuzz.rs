//! `cargo xtask fuzz`: the model responder's reader against the bytes that a fuzzer chooses, beginning with the bodies of the
//! corpus of server behaviors. It needs cargo-fuzz and a nightly compiler, which nothing else here does.

use std::process::Command;

use anyhow::{Context, Result};

use crate::workspace::Workspace;
use crate::{process, programs};

/// What follows goes to libFuzzer, such as `-max_total_time=300`.
pub(crate) fn run(workspace: &Workspace, args: &[&str]) -> Result<()> {
    process::stdout(Command::new("cargo").args(["fuzz", "--version"]))
        .context("cargo-fuzz is missing: cargo install cargo-fuzz")?;
    let fuzz = workspace.root.join("chat-responder-model/fuzz");
    let (found, seeds) = (fuzz.join("corpus/reader"), fuzz.join("corpus/seeds"));
    std::fs::create_dir_all(&found)?;
    let mut bodies = Command::new(programs::example(workspace, "servers")?);
    process::run(bodies.arg("--bodies").arg(&seeds))?;
    process::run(
        Command::new("cargo")
            .args(["+nightly", "fuzz", "run", "reader"])
            .args([&found, &seeds])
            .arg("--")
            .args(["-max_len=4096", "-timeout=10", "-print_final_stats=1"])
            .args(args)
            .current_dir(&fuzz),
    )
}
