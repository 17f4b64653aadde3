//! Records when keys are used, at most once a minute for each key, without delaying the request.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use domain::{id::ApiKeyId, ports::store::Store};
use tokio::time::Instant;

/// Minimum interval between two records of a key on this node. The store compares with records of other nodes.
const EVERY: Duration = Duration::from_secs(60);

/// Maximum keys with a record in that interval. Uses of further keys are not recorded.
const KEYS: usize = 65_536;

/// Times of the last records of keys.
#[derive(Debug, Default)]
pub struct KeyUses(Mutex<HashMap<ApiKeyId, Instant>>);

impl KeyUses {
    /// Starts a task that records the use of a key, if it is due.
    pub fn record(&self, store: &Arc<dyn Store>, key: ApiKeyId) {
        if !self.is_due(key) {
            return;
        }
        let store = Arc::clone(store);
        tokio::spawn(async move {
            if let Err(error) = store.api_key_used(key).await {
                tracing::debug!(%error, "use of a key not recorded");
            }
        });
    }

    fn is_due(&self, key: ApiKeyId) -> bool {
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
