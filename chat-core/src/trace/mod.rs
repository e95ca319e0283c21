//! The live trace of a workflow's run, and what the run came to. Snapshots share structure: a change copies one node and the
//! short way to it, a piece of text nothing at all (law W8).

mod node;
mod run;
mod text;
mod tree;

pub use node::{TraceKind, TraceNode, TraceStatus};
pub use run::{RunResult, StepResultError};
pub use text::PartialText;
pub use tree::{NodeIndex, TraceTree};
