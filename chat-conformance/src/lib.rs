//! The suites and the test kit that prove chat-core stores and responders against its contract.
//!
//! # Proving a store of one's own
//! One dev-dependency, a factory, and one line. Each law becomes a `#[test]` of its own, on a store of its own:
//!
//! ```toml
//! [dev-dependencies]
//! chat-conformance = "0.1"
//! ```
//! ```
//! // tests/laws.rs
//! # mod my_store {
//! #     pub use chat_core::MemoryStore as MyStore;
//! # }
//! use chat_conformance::StoreFactory;
//! use my_store::MyStore;
//!
//! struct MyStoreFactory;
//!
//! impl StoreFactory for MyStoreFactory {
//!     type Store = MyStore;
//!
//!     async fn make(&self) -> MyStore {
//!         MyStore::new()                        // an empty store, in a place of its own
//!     }
//!     async fn reopen(&self, store: &MyStore) -> MyStore {
//!         store.clone()                         // the same place again, as another process would open it
//!     }
//! }
//!
//! chat_conformance::store_laws!(MyStoreFactory);
//! ```
//! The folder `examples/redb-store` of the repository is a whole store made so, over an embedded database that none of ours uses.
//! [`run_store_laws`] runs the same laws as a program and gives a [`Report`]; [`judge_store_law`] runs one.
//!
//! # What the suite asks for
//! Only what the store claims in its [`Capabilities`](chat_core::Capabilities), and only what the factory can play. The suite's
//! only way into a store is its trait; a factory may give it more:
//!
//! | method | what it adds |
//! | --- | --- |
//! | [`make`](StoreFactory::make), [`reopen`](StoreFactory::reopen) | writing, holds, lists, names and errors; for a store that is shared, two processes |
//! | [`harm`](StoreFactory::harm) | torn tails, damage and newer formats: what is kept, reported, listed and salvaged ([`Harm`]) |
//! | [`stored`](StoreFactory::stored) | that reading, listing and refusing change no byte |
//! | [`lose_power`](StoreFactory::lose_power) | that "durable" is true: what was answered is there afterwards |
//!
//! A store that keeps its journals as lines has `harm` in three lines, with [`Harm::to_lines`]; one that keeps each entry in a
//! row has it with [`Harm::to_text`]. A loss of power needs a disk that tells what was written from what was synced: a simulated one,
//! or a backend that one can hand in.
//!
//! # How to read "not claimed"
//! A law that could not be played proves nothing, and is never counted as passed: a [`Report`] counts it on its own, as
//! [`Verdict::NotClaimed`] with the reason. A `#[test]` knows no third answer, so there the law says so on standard error, where
//! `cargo test` shows it. It is one of two:
//! - *the store does not claim it* (it is not shared, say): read [`Capabilities`](chat_core::Capabilities), and see that it is what you
//!   mean to promise;
//! - *the factory can't play it*: the store may or may not keep the law. Give the factory the method, or prove it elsewhere.
//!
//! The suite itself is held to stores that are wrong in one place each (`tests/mutants`): it finds every one, by the law that is
//! about it.
//!
//! # What the suite can't see
//! It knows no more of a store than its trait, and stays in one process. For the tests beside it there are, with the feature `process`:
//!
//! | module | what it is for |
//! | --- | --- |
//! | `process` | laws of several processes, made by one line as the suite's are: killed writers and holders, a full disk, many at once; other processes that play a part of one's own |
//! | `limits` | a full disk, too many open files, a folder that may not be written (Unix) |
//!
//! and without it:
//!
//! | module | what it is for |
//! | --- | --- |
//! | [`entries`] | entries to write, reading a journal to its end |
//! | [`files`] | what a store has on the disk, with which modes, and what it has open |
//! | [`holds`] | holds that are locks on files: their fairness, and what becomes of the files |
//!
//! # Doubles that wait for the test
//! Each does nothing by itself, so that a test decides what comes before what and sleeps for nothing:
//!
//! | double | stands for | a test plays |
//! | --- | --- | --- |
//! | [`ScriptedModel`] | a language model | each call's text, reasoning, tool calls, failures, panics; calls side by side told apart |
//! | [`ScriptedTool`] | a tool of a workflow | each call's result; sees its arguments, token and key, and whether it was dropped |
//! | [`ScriptedResponder`] | what answers turns | each turn's events, reply, approvals and steers |
//! | [`ScriptedServer`] | an OpenAI-compatible server | each chunk of each response |
//! | [`GatedStore`] | a store | which of its operations waits or fails |

pub mod entries;
pub mod files;
mod gate;
mod gated_store;
pub mod holds;
#[cfg(all(unix, feature = "process"))]
pub mod limits;
#[cfg(feature = "process")]
pub mod process;
mod responder;
mod script;
mod scripted_model;
mod scripted_responder;
mod scripted_server;
mod scripted_tool;
mod store;

pub use gate::{Fault, Gate, Op, Pause, Plan, Seen};
pub use gated_store::GatedStore;
pub use responder::{ResponderFactory, check_responder_law, responder_law_names};
pub use scripted_model::{ModelCall, ModelScript, ScriptedModel};
pub use scripted_responder::{
    Blocked, Place, ResponderCall, ResponderScript, ScriptedResponder, SteerOffer,
};
pub use scripted_server::{Exchange, ScriptedServer};
pub use scripted_tool::{ScriptedTool, ToolCall, ToolScript};
pub use store::{
    Harm, LawReport, Report, StoreFactory, Verdict, check_store_law, judge_store_law,
    run_store_laws, store_law_names,
};
