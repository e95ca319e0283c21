//! The laws of workflows (W1 to W8), most of them turn by turn through a chat. One binary, since each takes long to link.

#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, its helpers too"
)]

mod responder;
mod support;
mod w1_failures;
mod w2_tools;
mod w3_approvals;
mod w4_stream;
mod w5_steering;
mod w6_cancel;
mod w7_start_run;
mod w8_costs;
