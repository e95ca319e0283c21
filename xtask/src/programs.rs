//! Programs of this workspace, built; cargo says where they are.

use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::process;
use crate::workspace::Workspace;

/// An example of any crate. Built as the tests of the whole workspace are, so that whoever ran those builds nothing anew.
pub(crate) fn example(workspace: &Workspace, name: &str) -> Result<PathBuf> {
    program(workspace, &["--workspace", "--example", name], name)
}

/// A program among what cargo builds with these arguments.
pub(crate) fn program(workspace: &Workspace, which: &[&str], name: &str) -> Result<PathBuf> {
    let mut build = workspace.cargo(&["build", "--message-format=json-render-diagnostics"]);
    build.args(which).stderr(Stdio::inherit());
    executable(&process::stdout(&mut build)?, name)
        .with_context(|| format!("cargo built no `{name}`"))
}

/// The program of this name among cargo's messages, one JSON object a line.
fn executable(messages: &str, name: &str) -> Option<PathBuf> {
    let messages = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut built = messages.filter(|message| message["target"]["name"] == name);
    built.find_map(|message| message["executable"].as_str().map(PathBuf::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_says_where_the_program_is() {
        let messages = r#"{"reason":"compiler-artifact","target":{"name":"chat"},"executable":null}
{"reason":"compiler-artifact","target":{"name":"other"},"executable":"/t/other"}
{"reason":"compiler-artifact","target":{"name":"chat"},"executable":"/t/chat"}
{"reason":"build-finished","success":true}"#;
        assert_eq!(executable(messages, "chat"), Some("/t/chat".into()));
        assert_eq!(executable(messages, "another"), None);
    }
}
