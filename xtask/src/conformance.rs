//! `cargo xtask conformance`: every store against the laws of stores. The suites and the stores are linked into an example
//! of `chat-conformance`, so that xtask itself depends on none of them.

use std::process::Command;

use anyhow::Result;

use crate::workspace::Workspace;
use crate::{process, programs};

pub(crate) fn run(workspace: &Workspace, args: &[&str]) -> Result<()> {
    let mut conformance = Command::new(programs::example(workspace, "conformance")?);
    process::run(conformance.args(args))
}
