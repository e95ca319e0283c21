//! The layers, proved crate by crate from what cargo would link. A look at the whole workspace at once would unify features
//! and prove little; here each crate is resolved alone.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::Report;
use crate::process;
use crate::workspace::Workspace;

/// Which siblings a crate may link, directly or not. Dev-dependencies are free.
const LAYERS: &[(&str, &[&str])] = &[
    ("chat-core", &[]),
    ("chat-runtime", &["chat-core"]),
    ("chat-store-file", &["chat-core"]),
    ("chat-store-sqlite", &["chat-core"]),
    ("chat-responder-model", &["chat-core"]),
    ("chat-responder-agent", &["chat-core"]),
    ("chat-trace", &["chat-core"]),
    ("chat-conformance", &["chat-core"]),
    (
        "chat-cli",
        &[
            "chat-core",
            "chat-runtime",
            "chat-store-file",
            "chat-store-sqlite",
            "chat-responder-model",
            "chat-trace",
        ],
    ),
    // The example of a store from outside.
    ("redb-store", &["chat-core"]),
    ("xtask", &[]),
];

/// The crate without a runtime, file, socket, clock, randomness or environment.
const PURE: &str = "chat-core";

/// Every way to one of those goes through one of these.
const IMPURE: &[&str] = &[
    "fastrand",
    "getrandom",
    "hyper",
    "js-sys",
    "libc",
    "mio",
    "nix",
    "rand",
    "rand_core",
    "rayon",
    "reqwest",
    "rustix",
    "socket2",
    "tempfile",
    "wasm-bindgen",
    "web-sys",
    "windows-sys",
    "windows-targets",
];

/// Crates that have such a way behind a feature, with all the features they may have.
const PURE_FEATURES: &[(&str, &[&str])] = &[
    // `sync`: what CancellationToken is made of. No IO, no timer, no runtime.
    ("tokio", &["default", "sync"]),
    ("tokio-util", &["default"]),
    // `std` would bring the clock and the zone files of the system.
    ("jiff", &["alloc", "serde"]),
];

const WASM: &str = "wasm32-unknown-unknown";

pub(super) fn look(workspace: &Workspace, report: &mut Report) -> Result<()> {
    let members: BTreeSet<&str> = workspace
        .packages
        .iter()
        .map(|package| package.name.as_str())
        .collect();
    for member in &members {
        let Some((_, allowed)) = LAYERS.iter().find(|(name, _)| name == member) else {
            report.find(format!("{member} is in no layer: name it in xtask/src/tidy/layers.rs and in ARCHITECTURE.md"));
            continue;
        };
        let tree = tree(workspace, member)?;
        for linked in tree
            .iter()
            .filter(|linked| members.contains(linked.name.as_str()) && linked.name != **member)
        {
            if !allowed.contains(&linked.name.as_str()) {
                report.find(format!(
                    "{member} links {}, which its layer may not",
                    linked.name
                ));
            }
        }
        if *member == PURE {
            tree.iter()
                .for_each(|linked| look_at_purity(linked, report));
        }
    }
    for (name, _) in LAYERS.iter().filter(|(name, _)| !members.contains(name)) {
        report.find(format!(
            "{name} has a layer in xtask/src/tidy/layers.rs but is no crate of this workspace"
        ));
    }
    look_at_wasm(workspace, report)
}

fn look_at_purity(linked: &Linked, report: &mut Report) {
    if IMPURE.contains(&linked.name.as_str()) {
        report.find(format!(
            "{PURE} links {}: it must reach no system, clock or randomness",
            linked.name
        ));
    }
    let Some((name, allowed)) = PURE_FEATURES.iter().find(|(name, _)| *name == linked.name) else {
        return;
    };
    for feature in linked
        .features
        .iter()
        .filter(|feature| !allowed.contains(&feature.as_str()))
    {
        report.find(format!(
            "{PURE} links {name} with its feature {feature}; it may have {} only",
            allowed.join(", ")
        ));
    }
}

/// A target with no system underneath: what compiles there at least names none.
fn look_at_wasm(workspace: &Workspace, report: &mut Report) -> Result<()> {
    let libraries =
        process::stdout(Command::new("rustc").args(["--print", "target-libdir", "--target", WASM]));
    if !libraries.is_ok_and(|path| Path::new(path.trim()).exists()) {
        report
            .skipped
            .push(format!("{PURE} for {WASM} (that target is not installed)"));
        return Ok(());
    }
    if let Err(error) = process::run(&mut workspace.cargo(&[
        "check",
        "--quiet",
        "--package",
        PURE,
        "--target",
        WASM,
    ])) {
        report.find(format!("{PURE} does not compile for {WASM}: {error}"));
    }
    Ok(())
}

/// All that `member` links, on any platform, with the features it has there.
fn tree(workspace: &Workspace, member: &str) -> Result<Vec<Linked>> {
    let what = [
        "tree",
        "--package",
        member,
        "--edges",
        "normal",
        "--target",
        "all",
    ];
    let how = ["--prefix", "none", "--format", "{p}|{f}"];
    let lines = process::stdout(workspace.cargo(&what).args(how))?;
    Ok(lines.lines().filter_map(Linked::parse).collect())
}

/// One crate of another's tree.
#[derive(Debug, PartialEq)]
struct Linked {
    name: String,
    features: Vec<String>,
}

impl Linked {
    /// Reads `tokio v1.54.1 (proc-macro)|default,sync (*)`. A crate that was shown before has a star and nothing new.
    fn parse(line: &str) -> Option<Self> {
        let (package, features) = line.trim().trim_end_matches(" (*)").split_once('|')?;
        let name = package.split(' ').next()?.to_owned();
        let features = features
            .split(',')
            .filter(|feature| !feature.is_empty())
            .map(str::to_owned)
            .collect();
        Some(Self { name, features })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tree_lines_give_name_and_features() {
        let check = |line, name: &str, features: &[&str]| {
            let linked = Linked::parse(line).unwrap();
            assert_eq!(linked.name, name);
            assert_eq!(linked.features, features);
        };
        check("tokio v1.54.1|default,sync", "tokio", &["default", "sync"]);
        check(
            "tokio v1.54.1|default,sync (*)",
            "tokio",
            &["default", "sync"],
        );
        check("chat-core v0.1.0 (/somewhere/chat-core)|", "chat-core", &[]);
        check(
            "thiserror-impl v2.0.21 (proc-macro)| (*)",
            "thiserror-impl",
            &[],
        );
        assert_eq!(Linked::parse(""), None);
    }

    #[test]
    fn impure_crates_and_features_are_found() {
        let findings = |line| {
            let mut report = Report::default();
            look_at_purity(&Linked::parse(line).unwrap(), &mut report);
            report.findings
        };
        assert_eq!(findings("tokio v1.54.1|default,sync"), Vec::<String>::new());
        assert_eq!(findings("tokio v1.54.1|rt,sync,time").len(), 2);
        assert_eq!(findings("jiff v1.0.2|alloc,std").len(), 1);
        assert_eq!(findings("mio v1.2.5|").len(), 1);
    }
}
