//! The trace of a run as rows that any user interface can draw: a terminal, a web page, a log. Reads a [`TraceTree`] and changes
//! nothing; knows no terminal and no colours.
//!
//! [`TraceTree`]: chat_core::TraceTree

mod approvals;
mod diff;
mod ids;
mod layout;
mod options;
mod project;
mod row;
mod summary;
mod title;
mod view;
mod write;

pub use diff::{RowChange, diff};
pub use options::ProjectOptions;
pub use project::project;
pub use row::{RowKind, RowStatus, TraceRow};
pub use summary::summarize;
pub use view::TraceView;
