//! Claims on their way from the store to a call. If the actor that holds them ends, the claims not handed on
//! are released: a claim that is never dialed would be a lost contact.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use crate::supervision::Backoff;
use domain::ports::store::{Claim, ClaimedAttempt, Store, StoreError};

/// Claimed attempts. Those left when it is dropped return to the queue.
pub struct HeldClaims {
    attempts: VecDeque<ClaimedAttempt>,
    store: Arc<dyn Store>,
}

impl HeldClaims {
    /// Takes charge of claims.
    pub fn new(attempts: Vec<ClaimedAttempt>, store: Arc<dyn Store>) -> Self {
        Self {
            attempts: attempts.into(),
            store,
        }
    }

    /// Returns the number of claims.
    pub fn len(&self) -> usize {
        self.attempts.len()
    }

    /// Returns whether there are no claims.
    pub fn is_empty(&self) -> bool {
        self.attempts.is_empty()
    }

    /// Hands on the next claim.
    pub fn take(&mut self) -> Option<ClaimedAttempt> {
        self.attempts.pop_front()
    }

    /// Takes back a claim that could not be handed on.
    pub fn put_back(&mut self, attempt: ClaimedAttempt) {
        self.attempts.push_back(attempt);
    }
}

impl Drop for HeldClaims {
    fn drop(&mut self) {
        let claims: Vec<Claim> = self.attempts.drain(..).map(|a| a.claim).collect();
        // Without a runtime the process is ending, and the next start recovers the claims.
        if let (false, Ok(runtime)) = (claims.is_empty(), tokio::runtime::Handle::try_current()) {
            runtime.spawn(release(Arc::clone(&self.store), claims));
        }
    }
}

async fn release(store: Arc<dyn Store>, claims: Vec<Claim>) {
    let mut backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(3));
    loop {
        match store.release(&claims).await {
            Ok(()) | Err(StoreError::Fenced | StoreError::NotFound | StoreError::Stale) => return,
            Err(StoreError::Unavailable(error)) => {
                tracing::warn!(claims = claims.len(), %error, "releasing claims failed, trying again");
                tokio::time::sleep(backoff.failed()).await;
            }
            Err(error) => {
                tracing::error!(claims = claims.len(), %error, "releasing claims failed");
                return;
            }
        }
    }
}
