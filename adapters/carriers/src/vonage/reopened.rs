//! Media sockets that Vonage was told to reopen when it reported their loss. The call requests the same by
//! itself, and two new sockets for one loss would get in each other's way.

use std::{collections::BTreeMap, sync::Mutex, time::Duration};

use domain::id::AttemptId;
use tokio::{
    sync::watch,
    time::{Instant, timeout},
};

use crate::lock::locked;

/// Time during which reports count as the same loss.
const SAME_LOSS: Duration = Duration::from_secs(10);

/// Reopened sockets of a node.
#[derive(Debug)]
pub(super) struct Reopened {
    told: Mutex<BTreeMap<AttemptId, Instant>>,
    changed: watch::Sender<()>,
}

impl Default for Reopened {
    fn default() -> Self {
        Self {
            told: Mutex::default(),
            changed: watch::Sender::new(()),
        }
    }
}

impl Reopened {
    /// Records that Vonage was told to reopen this attempt's socket.
    pub(super) fn tell(&self, attempt: AttemptId) {
        let mut told = locked(&self.told);
        told.retain(|_, at| at.elapsed() < SAME_LOSS);
        told.insert(attempt, Instant::now());
        drop(told);
        self.changed.send_replace(());
    }

    fn take(&self, attempt: AttemptId) -> bool {
        let mut told = locked(&self.told);
        told.remove(&attempt).is_some_and(|at| at.elapsed() < SAME_LOSS)
    }

    /// Waits up to `patience` until Vonage was told so. Returns immediately if that happened a moment ago.
    pub(super) async fn within(&self, attempt: AttemptId, patience: Duration) -> bool {
        let mut changed = self.changed.subscribe();
        let told = async {
            while !self.take(attempt) {
                // The sender lives as long as `self`.
                let _ = changed.changed().await;
            }
        };
        timeout(patience, told).await.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{advance, sleep};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(2);

    #[tokio::test(start_paused = true)]
    async fn a_loss_is_found_once_before_or_while_it_is_waited_for() {
        let (reopened, attempt) = (Reopened::default(), AttemptId::new());
        reopened.tell(attempt);
        assert!(reopened.within(attempt, PATIENCE).await);
        assert!(!reopened.within(attempt, PATIENCE).await);
        let later = async {
            sleep(Duration::from_secs(1)).await;
            reopened.tell(AttemptId::new());
            reopened.tell(attempt);
        };
        let (found, ()) = tokio::join!(reopened.within(attempt, PATIENCE), later);
        assert!(found);
        reopened.tell(attempt);
        advance(SAME_LOSS).await;
        assert!(!reopened.within(attempt, PATIENCE).await);
    }
}
