//! The suites and the test kit that prove chat-core stores and responders against its contract.

mod gate;
mod gated_store;
mod responder;
mod scripted_model;
mod scripted_responder;
mod scripted_server;
mod store;

pub use gate::{Fault, Gate, Op, Pause, Plan, Seen};
pub use gated_store::GatedStore;
pub use responder::{ResponderFactory, check_responder_law, responder_law_names};
pub use scripted_model::{ModelCall, ModelScript, ScriptedModel};
pub use scripted_responder::{
    Blocked, Place, ResponderCall, ResponderScript, ScriptedResponder, SteerOffer,
};
pub use scripted_server::{Exchange, ScriptedServer};
pub use store::{
    Harm, LawReport, Report, StoreFactory, Verdict, check_store_law, judge_store_law,
    run_store_laws, store_law_names,
};
