//! The `chat` command as a library call, and a way to have such a command around a responder of one's own.
//!
//! ```no_run
//! // All of `src/main.rs`:
//! fn main() -> std::process::ExitCode {
//!     chat_cli::run()
//! }
//! ```
//! [`Program`] is the same for another responder, such as a workflow: the repository's `chat-cli/examples` are two.

mod again;
mod answering;
mod approvals;
mod args;
mod ask;
mod consent;
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
mod notes;
mod notices;
mod program;
mod progress;
mod render;
mod retry;
mod screen;
mod sessions;
mod setup;
mod show;
mod store_at;
#[cfg(unix)]
mod terminal;
mod watch;

use std::process::ExitCode;

pub use answering::{MODEL_VARIABLES, SetupError, model_from_env};
pub use program::Program;

/// Runs the `chat` command that the process's arguments name, and gives its exit code: 0 completed, 1 failed, 2 usage, 130
/// canceled.
///
/// Starts a tokio runtime of its own: not to be called within one.
#[must_use]
pub fn run() -> ExitCode {
    let args = args::ChatArgs::of_this_process();
    program::enter("chat", &[], args.args, || {
        answering::responder(&args.model, &setup::var)
    })
}

/// The README's example, which must compile.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

/// The examples of the page on stores.
#[cfg(doctest)]
#[doc = include_str!("../../docs/stores.md")]
struct Stores;
