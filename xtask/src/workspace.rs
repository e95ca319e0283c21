//! What cargo knows of this workspace: where it is, where it builds, and the manifests of its crates. It reads
//! `cargo metadata`, never a manifest by itself.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::process;

pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    /// Cargo's target directory, wherever this user keeps it.
    pub(crate) target: PathBuf,
    pub(crate) packages: Vec<Package>,
}

pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) manifest: PathBuf,
    /// The `[package]` table as `cargo metadata` gives it.
    pub(crate) metadata: Value,
}

impl Workspace {
    pub(crate) fn load() -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .context("xtask stands inside the workspace")?;
        let mut command = cargo();
        let json = process::stdout(command.current_dir(root).args([
            "metadata",
            "--format-version=1",
            "--no-deps",
        ]))?;
        Self::parse(&json)
    }

    fn parse(json: &str) -> Result<Self> {
        let metadata: Value = serde_json::from_str(json).context("`cargo metadata` is not JSON")?;
        let path = |value: &Value| value.as_str().map(PathBuf::from);
        let packages = metadata["packages"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        Ok(Self {
            root: path(&metadata["workspace_root"])
                .context("`cargo metadata` names no workspace_root")?,
            target: path(&metadata["target_directory"])
                .context("`cargo metadata` names no target_directory")?,
            packages: packages
                .iter()
                .map(|package| {
                    Ok(Package {
                        name: package["name"]
                            .as_str()
                            .context("a package without a name")?
                            .to_owned(),
                        manifest: path(&package["manifest_path"])
                            .context("a package without a manifest")?,
                        metadata: package.clone(),
                    })
                })
                .collect::<Result<_>>()?,
        })
    }

    /// The cargo that runs this command, at the workspace's root.
    pub(crate) fn cargo(&self, args: &[&str]) -> Command {
        let mut command = cargo();
        command.current_dir(&self.root).args(args);
        command
    }

    /// `path` as a person at the root would write it.
    pub(crate) fn relative<'a>(&self, path: &'a Path) -> &'a Path {
        path.strip_prefix(&self.root).unwrap_or(path)
    }
}

fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_gives_the_places_and_the_packages() {
        let workspace = Workspace::parse(
            r#"{"packages":[{"name":"a","manifest_path":"/w/a/Cargo.toml","license":"MIT"}],
                "workspace_root":"/w","target_directory":"/w/target"}"#,
        )
        .unwrap();
        assert_eq!(workspace.target, Path::new("/w/target"));
        assert_eq!(workspace.packages[0].name, "a");
        assert_eq!(workspace.packages[0].metadata["license"], "MIT");
        assert_eq!(
            workspace.relative(&workspace.packages[0].manifest),
            Path::new("a/Cargo.toml")
        );
    }
}
