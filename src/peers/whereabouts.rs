//! What is known of who holds which call, for a few seconds: a call's callbacks and sockets come in a bunch.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use actors::id::AttemptId;
use tokio::time::Instant;

use super::directory::Holder;

/// For so long nobody is asked again.
const FRESH: Duration = Duration::from_secs(3);
/// For so long it is better than nothing.
const KEPT: Duration = Duration::from_secs(120);
/// Attempts of which something is known.
const MOST: usize = 8_192;

/// Only those that others hold: that nobody does may change with the next claim.
#[derive(Debug, Default)]
pub(super) struct Whereabouts(Mutex<HashMap<AttemptId, (Holder, Instant)>>);

impl Whereabouts {
    fn lock(&self) -> MutexGuard<'_, HashMap<AttemptId, (Holder, Instant)>> {
        // No panic leaves the map half-changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn since(&self, attempt: AttemptId, within: Duration) -> Option<Holder> {
        let known = self.lock();
        let (holder, at) = known.get(&attempt)?;
        (at.elapsed() < within).then(|| holder.clone())
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
    }
}

#[cfg(test)]
mod tests {
    use actors::id::NodeId;
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
        let (known, attempt, holder) = (Whereabouts::default(), AttemptId::new(), holder());
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
    async fn it_is_bounded() {
        let (known, holder) = (Whereabouts::default(), holder());
        for _ in 0..3 * MOST {
            known.learn(AttemptId::new(), Some(&holder));
            assert!(known.lock().len() <= MOST);
        }
        let last = AttemptId::new();
        known.learn(last, Some(&holder));
        assert!(known.fresh(last).is_some());
    }
}
