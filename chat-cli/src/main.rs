//! The `chat` command.

fn main() {}
