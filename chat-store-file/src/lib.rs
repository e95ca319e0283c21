//! A chat-core store of one JSONL journal per session, safe against crashes and other processes.

mod blocking;
mod hold;
mod journal;
mod line;
mod lines;
mod list;
mod name;
mod reading;
mod salvage;
mod scan;
mod store;
mod system;
mod writer;

pub use store::{FileStore, FileStoreOptions};
