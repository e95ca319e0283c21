//! `cargo xtask tidy`: what must hold of the project itself. Every finding is listed, not just the first, and nothing is
//! mended: a person decides.

mod laws;
mod layers;
mod manifests;
mod sources;

use std::process::ExitCode;

use anyhow::Result;

use crate::workspace::Workspace;

/// What a look at the project found.
#[derive(Default)]
pub(crate) struct Report {
    /// Each fails the command.
    pub(crate) findings: Vec<String>,
    /// Worth a look, no failure.
    pub(crate) warnings: Vec<String>,
    /// What could not be looked at here.
    pub(crate) skipped: Vec<String>,
}

impl Report {
    fn find(&mut self, finding: impl Into<String>) {
        self.findings.push(finding.into());
    }

    fn warn(&mut self, warning: impl Into<String>) {
        self.warnings.push(warning.into());
    }
}

pub(crate) fn run(workspace: &Workspace) -> Result<ExitCode> {
    let report = look(workspace)?;
    Ok(if report.findings.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Looks at everything and prints what it finds.
pub(crate) fn look(workspace: &Workspace) -> Result<Report> {
    let mut report = Report::default();
    let files = sources::Files::read(workspace)?;
    layers::look(workspace, &mut report)?;
    manifests::look(workspace, &mut report)?;
    sources::look(&files, &mut report);
    laws::look(&files, &mut report);

    for warning in &report.warnings {
        println!("tidy: warning: {warning}");
    }
    for skipped in &report.skipped {
        println!("tidy: skipped: {skipped}");
    }
    for finding in &report.findings {
        println!("tidy: {finding}");
    }
    println!(
        "tidy: {} findings, {} warnings",
        report.findings.len(),
        report.warnings.len()
    );
    Ok(report)
}
