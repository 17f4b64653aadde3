//! The whole store in memory behind one lock. It uses no I/O and no other thread, so that it works under a
//! paused clock.

mod account_events;
mod analytics;
mod api_keys;
mod appointments;
mod attempts;
mod calls;
mod calls_in_progress;
mod campaign_reads;
mod campaigns;
mod contacts;
mod deliveries;
mod directory;
mod erasure;
mod idempotency;
mod inbound;
mod knowledge;
mod more_to_dial;
mod nodes;
mod records;
mod refusals;
mod returned;
mod safeguards;
mod sessions;
mod tables;
mod tools;
mod transfer_rules;
mod webhooks;

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use tables::Tables;

use domain::{
    id::{AttemptId, NodeId},
    ports::store::{AttemptState, EventFact, StoreError, StoreResult},
    time::{Clock, Timestamp},
};

/// A store that loses everything when it is dropped.
#[derive(Debug)]
pub struct MemoryStore {
    clock: Arc<dyn Clock>,
    tables: Mutex<Tables>,
    failure: Mutex<Option<StoreError>>,
    crashes: AtomicBool,
}

impl MemoryStore {
    /// Creates an empty store that uses the time of `clock`.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            tables: Mutex::default(),
            failure: Mutex::default(),
            crashes: AtomicBool::default(),
        }
    }

    /// Creates an empty store that several nodes may share.
    pub fn shared(clock: Arc<dyn Clock>) -> Self {
        let store = Self::new(clock);
        store.locked().nodes.many = true;
        store
    }

    /// Makes the next call panic.
    pub fn crash_next(&self) {
        self.crashes.store(true, Ordering::Relaxed);
    }

    /// Makes every call from now on fail with this error and change nothing; `None` ends that.
    pub fn fail_with(&self, error: Option<StoreError>) {
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = error;
    }

    /// Returns the events of a call in the order in which they were appended.
    pub fn events(&self, attempt: AttemptId) -> Vec<EventFact> {
        let tables = self.locked();
        tables.events_of(attempt).map(|row| row.event.clone()).collect()
    }

    /// Returns an attempt's stored state, or `None` if it has no row.
    pub fn attempt_state(&self, attempt: AttemptId) -> Option<AttemptState> {
        self.locked().attempts.get(&attempt).map(|entry| entry.state)
    }

    /// Declares a node dead, like another node does.
    pub fn bury(&self, node: NodeId) {
        self.locked().nodes.bury(node);
    }

    /// Gives an attempt to another node, like a takeover does.
    pub fn take_from(&self, attempt: AttemptId, by: NodeId) {
        if let Some(entry) = self.locked().attempts.get_mut(&attempt) {
            entry.owner = Some(by);
            entry.epoch += 1;
        }
    }

    fn locked(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[expect(clippy::panic, reason = "tests of supervision ask for it")]
    fn open(&self) -> StoreResult<MutexGuard<'_, Tables>> {
        if self.crashes.swap(false, Ordering::Relaxed) {
            panic!("sabotaged");
        }
        match &*self.failure.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error.clone()),
            None => Ok(self.locked()),
        }
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store_conformance::{Fixture, ManualClock};
    use domain::ports::store::RecordStore;

    async fn fixture() -> (Fixture, ()) {
        let clock = Arc::new(ManualClock::new());
        let store = Arc::new(MemoryStore::new(clock.clone()));
        (Fixture { store, clock }, ())
    }

    crate::store_conformance!(fixture);

    mod shared {
        use super::*;

        async fn fixture() -> (Fixture, ()) {
            let clock = Arc::new(ManualClock::new());
            let store = Arc::new(MemoryStore::shared(clock.clone()));
            (Fixture { store, clock }, ())
        }

        crate::store_conformance!(fixture);
    }

    #[tokio::test(start_paused = true)]
    async fn an_outage_lasts_until_it_is_lifted() {
        let store = MemoryStore::new(Arc::new(ManualClock::new()));
        let outage = StoreError::Unavailable("down".to_owned());
        store.fail_with(Some(outage.clone()));
        assert_eq!(store.ping().await, Err(outage));
        store.fail_with(None);
        store.ping().await.unwrap();
    }
}
