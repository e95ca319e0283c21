//! The `chat` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    chat_cli::run()
}
