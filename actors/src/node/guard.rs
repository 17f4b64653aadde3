//! A task that ends with its owner: a panicking actor skips `post_stop`, but drops its state.

use std::future::Future;

use tokio::task::AbortHandle;

/// Aborts its task when dropped.
#[derive(Debug)]
pub struct TaskGuard(AbortHandle);

impl TaskGuard {
    /// Runs `work` until it ends or the guard is dropped.
    pub fn spawn(work: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(tokio::spawn(work).abort_handle())
    }
}

impl Drop for TaskGuard {
    fn drop(&mut self) {
        self.0.abort();
    }
}
