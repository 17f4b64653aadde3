//! Cache of call owners, kept for a few seconds because callbacks and sockets of a call come in bursts.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use domain::id::AttemptId;
use tokio::time::Instant;

use super::directory::Holder;

/// Age up to which an entry is used without asking the store.
const FRESH: Duration = Duration::from_secs(3);
/// Age up to which an entry is used when the store does not answer.
const KEPT: Duration = Duration::from_secs(120);
/// Time during which a stranger's failed lookup is not repeated.
const IN_VAIN: Duration = Duration::from_secs(2);
/// Most attempts in the cache.
const MOST: usize = 8_192;

/// Attempts that other nodes hold. An attempt without an owner may be claimed at any moment, so failed
/// lookups are cached for unsigned requests only.
#[derive(Debug, Default)]
pub(super) struct OwnerCache {
    held: Mutex<HashMap<AttemptId, (Holder, Instant)>>,
    in_vain: Mutex<HashMap<AttemptId, Instant>>,
}

impl OwnerCache {
    fn lock(&self) -> MutexGuard<'_, HashMap<AttemptId, (Holder, Instant)>> {
        // A panic cannot leave the map half-changed.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn in_vain(&self) -> MutexGuard<'_, HashMap<AttemptId, Instant>> {
        self.in_vain.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn since(&self, attempt: AttemptId, within: Duration) -> Option<Holder> {
        let known = self.lock();
        let (holder, at) = known.get(&attempt)?;
        (at.elapsed() < within).then(|| holder.clone())
    }

    /// Returns whether a stranger's recent lookup found no owner, or an owner that the proof did not match.
    pub(super) fn was_in_vain(&self, attempt: AttemptId) -> bool {
        let in_vain = self.in_vain();
        in_vain.get(&attempt).is_some_and(|at| at.elapsed() < IN_VAIN)
    }

    /// Records that a stranger's lookup failed.
    pub(super) fn asked_in_vain(&self, attempt: AttemptId) {
        let mut in_vain = self.in_vain();
        if in_vain.len() >= MOST {
            in_vain.retain(|_, at| at.elapsed() < IN_VAIN);
            if in_vain.len() >= MOST {
                in_vain.clear();
            }
        }
        in_vain.insert(attempt, Instant::now());
    }

    /// Returns the owner if it was looked up a moment ago.
    pub(super) fn fresh(&self, attempt: AttemptId) -> Option<Holder> {
        self.since(attempt, FRESH)
    }

    /// Returns the owner found by the last successful lookup.
    pub(super) fn last(&self, attempt: AttemptId) -> Option<Holder> {
        self.since(attempt, KEPT)
    }

    /// Records the result of a lookup.
    pub(super) fn learn(&self, attempt: AttemptId, holder: Option<&Holder>) {
        let mut known = self.lock();
        let Some(holder) = holder else {
            known.remove(&attempt);
            return;
        };
        if known.len() >= MOST && !known.contains_key(&attempt) {
            known.retain(|_, (_, at)| at.elapsed() < FRESH);
            if known.len() >= MOST {
                known.clear();
            }
        }
        known.insert(attempt, (holder.clone(), Instant::now()));
    }

    /// Drops an entry that turned out to be wrong.
    pub(super) fn forget(&self, attempt: AttemptId) {
        self.lock().remove(&attempt);
        self.in_vain().remove(&attempt);
    }
}

#[cfg(test)]
mod tests {
    use domain::id::NodeId;
    use tokio::time::advance;

    use super::*;

    fn holder() -> Holder {
        Holder {
            node: NodeId::new(),
            address: "http://10.0.0.2:8080".to_owned(),
            token: None,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_known_ages() {
        let (known, attempt, holder) = (OwnerCache::default(), AttemptId::new(), holder());
        known.learn(attempt, Some(&holder));
        assert_eq!(known.fresh(attempt).as_ref(), Some(&holder));
        advance(FRESH).await;
        assert_eq!(known.fresh(attempt), None);
        assert_eq!(known.last(attempt).as_ref(), Some(&holder));
        advance(KEPT).await;
        assert_eq!(known.last(attempt), None);
        known.learn(attempt, Some(&holder));
        known.learn(attempt, None);
        assert_eq!(known.last(attempt), None);
    }

    #[tokio::test(start_paused = true)]
    async fn what_led_nowhere_is_asked_again_soon() {
        let (known, attempt) = (OwnerCache::default(), AttemptId::new());
        assert!(!known.was_in_vain(attempt));
        known.asked_in_vain(attempt);
        assert!(known.was_in_vain(attempt) && !known.was_in_vain(AttemptId::new()));
        advance(IN_VAIN).await;
        assert!(!known.was_in_vain(attempt));
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_bounded() {
        let (known, holder) = (OwnerCache::default(), holder());
        for _ in 0..3 * MOST {
            known.learn(AttemptId::new(), Some(&holder));
            assert!(known.lock().len() <= MOST);
            known.asked_in_vain(AttemptId::new());
            assert!(known.in_vain().len() <= MOST);
        }
        let last = AttemptId::new();
        known.learn(last, Some(&holder));
        assert!(known.fresh(last).is_some());
    }
}
