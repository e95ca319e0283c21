//! The laws, one file per group. Each is an async function that panics where the store breaks it.

mod format;
mod holds;
mod lists;
mod names;
mod sessions;
mod writing;

pub(super) use format::*;
pub(super) use holds::*;
pub(super) use lists::*;
pub(super) use names::*;
pub(super) use sessions::*;
pub(super) use writing::*;
