//! Writes a part of docs/model-servers.md: what stands between its two markers is this command's, the rest a person's.

use std::{fmt::Write, fs, path::Path};

use anyhow::{Context, Result};

const DOC: &str = "../docs/model-servers.md";
const LOCK: &str = "Cargo.lock";

/// What is compared, and what it stands on.
const VERSIONS: &[&str] = &[
    "async-openai",
    "genai",
    "rig-core",
    "reqwest",
    "hyper",
    "tokio",
];

/// Puts `tables` in the place of the part with this name.
pub(crate) fn write(part: &str, tables: &str) -> Result<()> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = here.join(DOC);
    let text = fs::read_to_string(&path).context("docs/model-servers.md")?;
    let (begin, end) = (
        format!("<!-- {part} -->\n"),
        format!("<!-- end of {part} -->\n"),
    );
    let (before, rest) = text.split_once(&begin).context("no begin of that part")?;
    let (_, after) = rest.split_once(&end).context("no end of that part")?;
    let versions = versions(&here.join(LOCK))?;
    fs::write(
        &path,
        format!("{before}{begin}\n{versions}\n{tables}\n{end}{after}"),
    )?;
    Ok(())
}

/// The versions in the lock file, in a sentence.
fn versions(lock: &Path) -> Result<String> {
    let lock: toml::Table = toml::from_str(&fs::read_to_string(lock)?)?;
    let packages = lock.get("package").and_then(toml::Value::as_array);
    let packages = packages.context("a lock file lists packages")?;
    let mut said = String::from("Versions:");
    for wanted in VERSIONS {
        let field = |package: &'_ toml::Value, name: &str| {
            package
                .get(name)
                .and_then(toml::Value::as_str)
                .map(str::to_owned)
        };
        let package = packages
            .iter()
            .find(|package| field(package, "name").as_deref() == Some(wanted));
        let version = package.and_then(|package| field(package, "version"));
        write!(said, " {wanted} {},", version.unwrap_or_default())?;
    }
    said.pop();
    said.push('.');
    Ok(said)
}
