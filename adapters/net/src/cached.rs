//! A list of a foreign service, kept for some minutes. It is requested once at a time, and a failure is kept only for
//! some seconds.

use std::time::Duration;

use tokio::{
    sync::Mutex,
    time::{Instant, timeout},
};

/// Time for which a list is kept.
const KEPT: Duration = Duration::from_secs(600);
/// Time for which a failure is kept.
const FAILURE_KEPT: Duration = Duration::from_secs(10);
/// Time limit for all pages of a list.
const WITHIN: Duration = Duration::from_secs(5);

type Items<T> = Result<Vec<T>, String>;

/// List that was requested last, with the time until which it is kept.
pub struct Cached<T>(Mutex<Option<(Instant, Items<T>)>>);

impl<T> Default for Cached<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone> Cached<T> {
    /// Returns the list, or why it is missing. Concurrent callers wait for the same request. `service` is named in the
    /// log.
    ///
    /// # Errors
    ///
    /// Returns the reason of `fetch`, or that the service did not answer within 5 s.
    pub async fn get<F>(&self, service: &str, fetch: impl FnOnce() -> F) -> Items<T>
    where
        F: Future<Output = Items<T>>,
    {
        let mut kept = self.0.lock().await;
        if let Some((until, items)) = &*kept
            && Instant::now() < *until
        {
            return items.clone();
        }
        let timed_out = |_| Err(format!("did not answer within {} s", WITHIN.as_secs()));
        let items = timeout(WITHIN, fetch()).await.unwrap_or_else(timed_out);
        if let Err(error) = &items {
            tracing::warn!(service, error, "list of a foreign service not available");
        }
        let time = if items.is_ok() { KEPT } else { FAILURE_KEPT };
        *kept = Some((Instant::now() + time, items.clone()));
        items
    }
}
