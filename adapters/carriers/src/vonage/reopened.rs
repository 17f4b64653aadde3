//! Media sockets that Vonage was told to open again when it reported their loss. The call asks for the same thing by
//! itself; two new sockets for one loss would get in each other's way.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use domain::id::AttemptId;
use tokio::{
    sync::watch,
    time::{Instant, timeout},
};

/// A loss that was told so long ago is another one.
const SAME_LOSS: Duration = Duration::from_secs(10);

/// Those of a node.
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
    /// Vonage was told to open this attempt's socket again.
    pub(super) fn tell(&self, attempt: AttemptId) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.retain(|_, at| at.elapsed() < SAME_LOSS);
        told.insert(attempt, Instant::now());
        drop(told);
        self.changed.send_replace(());
    }

    fn take(&self, attempt: AttemptId) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.remove(&attempt).is_some_and(|at| at.elapsed() < SAME_LOSS)
    }

    /// Whether Vonage is told so, or was a moment ago; waits this long for it.
    pub(super) async fn within(&self, attempt: AttemptId, patience: Duration) -> bool {
        let mut changed = self.changed.subscribe();
        let told = async {
            while !self.take(attempt) {
                // The sender lives as long as this.
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
