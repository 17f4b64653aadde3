//! Records when keys and sessions are used, at most once a minute for each, without delaying the request.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use domain::ports::store::StoreResult;
use tokio::time::Instant;

/// Minimum interval between two records of a key on this node. The store compares with records of other nodes.
const EVERY: Duration = Duration::from_secs(60);

/// Maximum keys with a record in that interval. Uses of further keys are not recorded.
const KEYS: usize = 65_536;

/// Times of the last records, by the id of the key or session.
#[derive(Debug)]
pub struct KeyUses<Id>(Mutex<HashMap<Id, Instant>>);

impl<Id> Default for KeyUses<Id> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<Id: Copy + Eq + Hash> KeyUses<Id> {
    /// Starts a task that records a use with `write`, if it is due.
    pub fn record(&self, key: Id, write: impl Future<Output = StoreResult<()>> + Send + 'static) {
        if !self.is_due(key) {
            return;
        }
        tokio::spawn(async move {
            if let Err(error) = write.await {
                tracing::debug!(%error, "use of a key or session not recorded");
            }
        });
    }

    fn is_due(&self, key: Id) -> bool {
        let now = Instant::now();
        let is_recent = |at: &Instant| now.duration_since(*at) < EVERY;
        let mut recorded = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if recorded.get(&key).is_some_and(is_recent) {
            return false;
        }
        if recorded.len() >= KEYS {
            recorded.retain(|_, at| is_recent(at));
        }
        let has_room = recorded.len() < KEYS;
        if has_room {
            recorded.insert(key, now);
        }
        has_room
    }
}

#[cfg(test)]
mod tests {
    use domain::id::ApiKeyId;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_key_is_due_once_a_minute_and_the_memory_is_bounded() {
        let uses = KeyUses::default();
        let key = ApiKeyId::new();
        assert!(uses.is_due(key));
        assert!(!uses.is_due(key));
        for _ in 1..KEYS {
            assert!(uses.is_due(ApiKeyId::new()));
        }
        assert!(!uses.is_due(ApiKeyId::new()));
        tokio::time::advance(EVERY).await;
        assert!(uses.is_due(key));
        assert!(uses.is_due(ApiKeyId::new()));
        assert_eq!(uses.0.lock().unwrap().len(), 2);
    }
}
