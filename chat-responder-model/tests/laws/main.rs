//! The laws of the model responder (M1 to M6), most of them over real connections to a scripted server. One binary, since each
//! takes long to link.

#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, its helpers too"
)]

mod answers;
mod connection;
#[path = "../corpus/parts.rs"]
mod parts;
mod refusals;
mod requests;
mod responder;
mod retries;
mod secret_forms;
mod secrets;
mod support;
mod turns;
mod waits;
#[path = "../corpus/watchdog.rs"]
mod watchdog;
