//! The laws, one file per group. Each is an async function that panics where the store breaks it.

mod damage;
mod format;
mod holds;
mod lists;
mod names;
mod pages;
mod power;
mod processes;
mod recovery;
mod sessions;
mod torn;
mod waiting;
mod writing;

pub(super) use damage::*;
pub(super) use format::*;
pub(super) use holds::*;
pub(super) use lists::*;
pub(super) use names::*;
pub(super) use pages::*;
pub(super) use power::*;
pub(super) use processes::*;
pub(super) use recovery::*;
pub(super) use sessions::*;
pub(super) use torn::*;
pub(super) use waiting::*;
pub(super) use writing::*;
