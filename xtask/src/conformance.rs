//! `cargo xtask conformance`: every store against the laws of stores. The suites and the stores are linked into an example
//! of `chat-conformance`, so that xtask itself depends on none of them.

use anyhow::Result;

use crate::process;
use crate::workspace::Workspace;

pub(crate) fn run(workspace: &Workspace, args: &[&str]) -> Result<()> {
    let run = [
        "run",
        "--quiet",
        "--package",
        "chat-conformance",
        "--example",
        "conformance",
        "--",
    ];
    process::run(workspace.cargo(&run).args(args))
}
