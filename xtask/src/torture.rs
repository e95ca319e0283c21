//! `cargo xtask torture`: real processes and real faults at the stores. All of it is an example of `chat-conformance`, which has the stores;
//! this runs it and reads its closing line.

use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::workspace::Workspace;
use crate::{process, programs};

pub(crate) fn run(workspace: &Workspace, args: &[&str]) -> Result<()> {
    process::run(&mut command(workspace, args)?)
}

/// Runs it and gives its closing line.
pub(crate) fn closing_line(workspace: &Workspace, args: &[&str]) -> Result<String> {
    let mut command = command(workspace, args)?;
    let mut last = None;
    process::tee(&mut command, |line| last = Some(line.to_owned()))?;
    let last = last.filter(|line| line.contains(" passed, "));
    let line = last.with_context(|| format!("`{}` came to no end", process::shown(&command)))?;
    ensure!(
        !line.starts_with("0 passed, 0 failed"),
        "nothing was played: {line}"
    );
    Ok(line)
}

fn command(workspace: &Workspace, args: &[&str]) -> Result<Command> {
    let mut torture = Command::new(programs::example(workspace, "torture")?);
    torture.args(args);
    Ok(torture)
}
