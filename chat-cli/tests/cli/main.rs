//! The `chat` command as a user has it: real processes, a scripted server, journals on a disk. Nothing here looks inside.

#![allow(
    clippy::unwrap_used,
    reason = "clippy excepts test functions, and not what they are made of"
)]

mod asking;
mod damage;
mod errors;
mod kit;
mod moving;
mod programs;
mod rows;
mod seat;
mod showing;
mod stopping;
mod terminal;
