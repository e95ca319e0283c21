//! Real stores under real faults: `cargo xtask torture [--seconds N] [--seed N] [--store NAME] [--only SECTION]`. Processes are
//! killed, disks fill up, syncs fail, the power goes. It changes nothing outside folders of its own, which go when it ends.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command's output is its purpose"
)]

use std::process::ExitCode;

#[cfg(target_os = "linux")]
mod linux;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    linux::main()
}

/// Mounts, limits and injected faults are asked of Linux in Linux' own words.
#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    eprintln!("torture: it runs on Linux only");
    ExitCode::from(2)
}
