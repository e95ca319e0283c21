//! The `chat` command as a library call: reads the process's arguments, sets up a chat, hands it to the front door.
//!
//! ```no_run
//! // All of `src/main.rs`:
//! fn main() -> std::process::ExitCode {
//!     chat_cli::run()
//! }
//! ```

mod again;
mod approvals;
mod args;
mod ask;
mod converse;
mod copy;
mod delete;
mod desk;
mod errors;
mod exit;
mod export;
mod front_door;
mod import;
mod interrupts;
mod keyboard;
mod lookup;
mod notices;
mod render;
mod retry;
mod screen;
mod sessions;
mod setup;
mod show;
mod store_at;
mod watch;

use std::process::ExitCode;

use clap::Parser as _;

use crate::{again::Again, args::Args, desk::Desk};

/// Runs the command that the process's arguments name, and gives its exit code: 0 completed, 1 failed, 2 usage, 130 canceled.
///
/// Starts a tokio runtime of its own: not to be called within one.
#[tokio::main]
pub async fn run() -> ExitCode {
    let args = Args::parse().checked();
    notices::to_stderr();
    let json = args.options.json;
    let exit = match setup::chat(&args) {
        Ok((chat, again)) => {
            let desk = Desk::of_this_process(again, json);
            front_door::enter(chat, args.command, args.session, desk).await
        }
        Err(problem) => Desk::of_this_process(Again::Plain, json).tell(&problem),
    };
    exit.into()
}

/// The README's example, which must compile.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

/// The examples of the page on stores.
#[cfg(doctest)]
#[doc = include_str!("../../docs/stores.md")]
struct Stores;
