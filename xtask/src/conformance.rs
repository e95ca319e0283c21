//! `cargo xtask conformance`: every store against the laws of stores; with `--model`, the model responder against a corpus of
//! server behaviors; with `--model --server`, against the demo's own server. What is judged is linked into an example of the crate
//! that judges it, so that xtask itself depends on none.

use std::process::Command;

use anyhow::Result;

use crate::workspace::Workspace;
use crate::{demo, process, programs};

pub(crate) fn run(workspace: &Workspace, args: &[&str]) -> Result<()> {
    let (name, args) = match args {
        ["--model", "--server"] => return demo::check_responder(workspace),
        ["--model", args @ ..] => ("servers", args),
        args => ("conformance", args),
    };
    let mut conformance = Command::new(programs::example(workspace, name)?);
    process::run(conformance.args(args))
}
