//! Rows of runs as they really go: workflows played step by step, projected at each commit. The snapshots are to be read: each shows
//! the rows as a person would see them, one moment after the other (laws P1 and P2).

#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, its helpers too"
)]

mod approvals;
mod endings;
mod film;
mod nodes;
mod random;
mod show;
mod stage;
