//! What is known of who holds which call, for a few seconds: a call's callbacks and sockets come in a bunch.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use domain::id::AttemptId;
use tokio::time::Instant;

use super::directory::Holder;

/// For so long nobody is asked again.
const FRESH: Duration = Duration::from_secs(3);
/// For so long it is better than nothing.
const KEPT: Duration = Duration::from_secs(120);
/// For so long a stranger's word is not looked up again that led nowhere.
const IN_VAIN: Duration = Duration::from_secs(2);
/// Attempts of which something is known.
const MOST: usize = 8_192;

/// Those that others hold. That nobody does may change with the next claim: only strangers are told so from memory.
#[derive(Debug, Default)]
pub(super) struct OwnerCache {
    held: Mutex<HashMap<AttemptId, (Holder, Instant)>>,
    in_vain: Mutex<HashMap<AttemptId, Instant>>,
}

impl OwnerCache {
    fn lock(&self) -> MutexGuard<'_, HashMap<AttemptId, (Holder, Instant)>> {
        // No panic leaves the map half-changed.
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

    /// Whether a stranger asked for it a moment ago and nobody was found, or nobody whom the proof fitted.
    pub(super) fn was_in_vain(&self, attempt: AttemptId) -> bool {
        let in_vain = self.in_vain();
        in_vain.get(&attempt).is_some_and(|at| at.elapsed() < IN_VAIN)
    }

    /// A stranger asked for it in vain.
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

    /// Who holds it, as was found a moment ago.
    pub(super) fn fresh(&self, attempt: AttemptId) -> Option<Holder> {
        self.since(attempt, FRESH)
    }

    /// Who held it when that could be found out.
    pub(super) fn last(&self, attempt: AttemptId) -> Option<Holder> {
        self.since(attempt, KEPT)
    }

    /// It was looked up.
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

    /// It turned out to be wrong.
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
