//! Tasks beside actors: a task that ends with its owner (a panicking actor skips `post_stop` but drops its
//! state), and a task whose panic is returned as an error.

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

/// Runs work on the store to its end. A panic is reported as an unavailable store, so that the caller gets an answer.
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
