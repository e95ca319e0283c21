//! Blocking work on tokio's pool. Nothing here ever waits on it for another's work, so that the pool can't run dry.

use chat_core::StoreError;
use tokio::task::spawn_blocking;

/// Runs blocking work. Dropping the future does not stop work that has begun.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    spawn_blocking(work).await.unwrap_or_else(|error| {
        Err(StoreError::backend(if error.is_panic() {
            "the SQLite store panicked; please report it"
        } else {
            "the async runtime is shutting down"
        }))
    })
}
