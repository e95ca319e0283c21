//! What every crate's manifest must say: for readers of its page, for docs.rs, and for the lints.

use std::fs;

use anyhow::{Context, Result};
use serde_json::Value;

use super::Report;
use crate::workspace::{Package, Workspace};

pub(super) fn look(workspace: &Workspace, report: &mut Report) -> Result<()> {
    for package in &workspace.packages {
        let path = workspace.relative(&package.manifest).display();
        for missing in missing(package) {
            report.find(format!("{path} says no {missing}"));
        }
        let text =
            fs::read_to_string(&package.manifest).with_context(|| format!("can't read {path}"))?;
        if !takes_workspace_lints(&text) {
            report.find(format!(
                "{path} does not take the workspace's lints ([lints] workspace = true)"
            ));
        }
    }
    Ok(())
}

fn missing(package: &Package) -> Vec<&'static str> {
    let all = &package.metadata;
    let is_said = |value: &Value| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
    };
    let mut wanted = vec![
        ("description", &all["description"]),
        ("license", &all["license"]),
        ("rust-version", &all["rust_version"]),
    ];
    // `publish = false` reads as an empty list of registries.
    if all["publish"].is_null() {
        wanted.extend([
            ("keywords", &all["keywords"]),
            ("categories", &all["categories"]),
            ("[package.metadata.docs.rs]", &all["metadata"]["docs"]["rs"]),
        ]);
    }
    wanted
        .into_iter()
        .filter(|(_, value)| !is_said(value))
        .map(|(name, _)| name)
        .collect()
}

/// `cargo metadata` does not tell of lints, so this one line is read as text.
fn takes_workspace_lints(manifest: &str) -> bool {
    let mut lines = manifest
        .lines()
        .map(str::trim)
        .skip_while(|line| *line != "[lints]")
        .skip(1);
    lines
        .by_ref()
        .take_while(|line| !line.starts_with('['))
        .any(|line| line.replace(' ', "") == "workspace=true")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lints_count_only_in_their_own_table() {
        assert!(takes_workspace_lints(
            "[package]\nname = \"a\"\n\n[lints]\nworkspace = true\n"
        ));
        assert!(takes_workspace_lints("[lints]\nworkspace=true\n[[bin]]\n"));
        assert!(!takes_workspace_lints(
            "[lints]\n[dependencies]\nworkspace = true\n"
        ));
        assert!(!takes_workspace_lints("[dependencies]\n"));
    }

    #[test]
    fn a_published_crate_must_say_more_than_a_private_one() {
        let package = |metadata| Package {
            name: "a".into(),
            manifest: "a/Cargo.toml".into(),
            metadata,
        };
        let private = package(serde_json::json!({
            "description": "d", "license": "MIT", "rust_version": "1.95", "publish": [], "keywords": [],
        }));
        assert_eq!(missing(&private), Vec::<&str>::new());
        let published = package(serde_json::json!({
            "description": "d", "license": "MIT", "rust_version": "1.95", "publish": null, "keywords": [],
            "categories": ["asynchronous"], "metadata": {"docs": {"rs": {"all-features": true}}},
        }));
        assert_eq!(missing(&published), ["keywords"]);
    }
}
