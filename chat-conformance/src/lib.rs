//! The suites and the test kit that prove chat-core stores and responders against its contract.

mod gate;
mod gated_store;
mod scripted_model;
mod scripted_server;

pub use gate::{Fault, Gate, Op, Pause, Plan, Seen};
pub use gated_store::GatedStore;
pub use scripted_model::{ModelCall, ModelScript, ScriptedModel};
pub use scripted_server::{Exchange, ScriptedServer};
