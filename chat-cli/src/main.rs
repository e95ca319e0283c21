//! The `chat` command: reads its arguments, sets up a chat, hands it to the front door, and exits by the outcome.

mod again;
mod approvals;
mod args;
mod ask;
mod converse;
mod desk;
mod errors;
mod exit;
mod front_door;
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
mod watch;

use std::process::ExitCode;

use clap::Parser as _;

use crate::{again::Again, args::Args, desk::Desk};

#[tokio::main]
async fn main() -> ExitCode {
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
