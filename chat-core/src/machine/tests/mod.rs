//! Tests of the turn machine: by law, by state, and over arbitrary histories. Nothing here runs, sleeps or looks at a clock.

mod commands;
mod completions;
mod endings;
mod laws_cancel;
mod laws_events;
mod laws_holds;
mod laws_replaced;
mod laws_requests;
mod laws_retry;
mod laws_shutdown;
mod laws_steer;
mod laws_turns;
mod laws_writes;
mod matrix;
mod model;
mod properties;
mod races;
mod render;
mod stage;
mod world;
