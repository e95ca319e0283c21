//! Caller's code that has nobody to tell of a panic: drops, wakers, signals. A panic in it must not stop whoever runs it, which has
//! the work of others to do.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs caller's code; a panic in it ends there.
pub(crate) fn quietly(run: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(run)) {
        // A payload may panic when it is dropped; it has nothing left to say.
        std::mem::forget(payload);
    }
}
