//! The trace of a run as rows that any user interface can draw: a terminal, a web page, a log. Reads a [`TraceTree`] and changes
//! nothing; knows no terminal and no colours.
//!
//! [`project`] makes all rows of a tree. Who draws a run while it goes on keeps a [`TraceView`], which says what changed from one
//! snapshot to the next:
//!
//! ```
//! use chat_core::{TraceKind, TraceNode, TraceStatus, TraceTree};
//! use chat_trace::{ProjectOptions, RowStatus, TraceRow, TraceView};
//!
//! fn draw(row: &TraceRow) -> String {
//!     let mark = match row.status {
//!         None => "+",
//!         Some(RowStatus::Running) => "*",
//!         Some(RowStatus::Error) => "!",
//!         Some(_) => "-",
//!     };
//!     format!("{}{mark} {}", "  ".repeat(row.depth), row.title)
//! }
//!
//! // What a responder does while it runs; a host gets the tree of each `run-update`.
//! let mut tree = TraceTree::default();
//! let run = tree.push(None, TraceNode::new("0", TraceKind::Agent, "engineer"));
//! let step = tree.push(Some(run), TraceNode::new("draft", TraceKind::Step, "draft"));
//! let model = tree.push(Some(step), TraceNode::new("draft/model-1", TraceKind::Model, "gpt-5-mini"));
//! for node in [run, step, model] {
//!     tree.update(node, |node| node.status = TraceStatus::Running);
//! }
//!
//! let mut view = TraceView::new(ProjectOptions::default());
//! let mut rows = Vec::new();
//! for change in view.update(&tree, &[]) {
//!     change.apply(&mut rows); // A user interface would paint it.
//! }
//! let drawn: Vec<_> = rows.iter().map(|row| draw(row)).collect();
//! assert_eq!(drawn, ["* Running draft", "  * Asking gpt-5-mini"]);
//!
//! tree.update(model, |node| node.status = TraceStatus::Done);
//! let changes = view.update(&tree, &[]);
//! assert_eq!(changes.len(), 1);
//! assert_eq!(draw(&view.rows()[1]), "  + gpt-5-mini answered");
//! ```
//!
//! # Limits
//!
//! Whatever a tree holds, a row is on one line, redacted and bounded (laws P1 and P3). In characters (Unicode scalar values): an id
//! has at most 300, a name 64, a title 100, a model's provider and name 128 each, a summary what
//! [`ProjectOptions::summary_chars`] says (120 unless set), an error the same but at least 120. With summaries of 120, a row has at most
//! 8 KiB of JSON. The id of an approval request is the one exception: it is in its row as it is, since an answer has to name it.
//!
//! Costs grow with the number of nodes, not with what they hold: values and texts are looked at as far as a summary needs.
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

/// The examples of the page on traces.
#[cfg(doctest)]
#[doc = include_str!("../../docs/trace.md")]
struct Page;
