//! The laws of workflows (W1 to W8), and what those of turns (T) ask of a workflow, most of them turn by turn through a chat. One binary, since each takes long to link.

#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, its helpers too"
)]

mod bad_input;
mod events;
mod outputs;
mod responder;
mod support;
mod turns;
mod w1_clocks;
mod w1_failures;
mod w1_fallbacks;
mod w2_history;
mod w2_results;
mod w2_tools;
mod w3_approvals;
mod w4_any_pieces;
mod w4_stream;
mod w5_kept;
mod w5_steering;
mod w6_cancel;
mod w7_options;
mod w7_start_run;
mod w8_costs;
