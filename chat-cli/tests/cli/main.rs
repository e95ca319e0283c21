//! The `chat` command as a user has it: real processes, a scripted server, journals on a disk. Nothing here looks inside.

mod asking;
mod damage;
mod errors;
mod kit;
mod showing;
mod stopping;
