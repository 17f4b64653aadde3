//! Tasks beside actors: one that ends with its owner (a panicking actor skips `post_stop`, but drops its state), and
//! one whose panic is an answer like any other.

use std::future::Future;

use tokio::task::AbortHandle;

use domain::ports::store::{StoreError, StoreResult};

/// Aborts its task when dropped.
#[derive(Debug)]
pub struct TaskGuard(AbortHandle);

impl TaskGuard {
    /// Runs `work` until it ends or the guard is dropped.
    pub fn spawn(work: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(tokio::spawn(work).abort_handle())
    }
}

/// Runs work on the store to its end; a panic in it reads as a store that is away, so that whoever waits for the
/// answer gets one.
pub async fn contained<T: Send + 'static>(
    work: impl Future<Output = StoreResult<T>> + Send + 'static,
) -> StoreResult<T> {
    tokio::spawn(work)
        .await
        .unwrap_or_else(|panic| Err(StoreError::Unavailable(panic.to_string())))
}

impl Drop for TaskGuard {
    fn drop(&mut self) {
        self.0.abort();
    }
}
