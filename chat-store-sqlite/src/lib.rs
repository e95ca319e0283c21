//! A [`chat_core::Store`] in one SQLite database.

mod blocking;
mod change;
mod commit;
mod database;
mod failure;
mod hold;
mod journal;
mod list;
mod mount;
mod patience;
mod queue;
mod reading;
mod salvage;
mod schema;
mod setup;
mod store;
mod system;
mod writer;

pub use store::{SqliteStore, SqliteStoreOptions};
