//! The trace of a run as rows that any user interface can draw: a terminal, a web page, a log. Reads a [`TraceTree`] and changes
//! nothing; knows no terminal and no colours.
//!
//! [`TraceTree`]: chat_core::TraceTree

mod options;
mod row;
mod summary;

pub use options::ProjectOptions;
pub use row::{RowKind, RowStatus, TraceRow};
pub use summary::summarize;
