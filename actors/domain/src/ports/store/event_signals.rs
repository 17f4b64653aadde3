//! Signals of account events within one process. With them, what this node writes reaches its own workers and streams
//! at once; what other nodes write is found by looking regularly.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::watch;

use crate::id::AccountId;

/// Signals of one store.
#[derive(Debug)]
pub struct EventSignals {
    written: watch::Sender<()>,
    /// Place of the last event that was published for each account that somebody follows.
    published: Mutex<HashMap<AccountId, watch::Sender<i64>>>,
}

impl Default for EventSignals {
    fn default() -> Self {
        Self {
            written: watch::Sender::new(()),
            published: Mutex::default(),
        }
    }
}

impl EventSignals {
    /// Signals that events were committed and may be published.
    pub fn wrote(&self) {
        self.written.send_replace(());
    }

    /// Signals that an event of an account was published at this place.
    pub fn publish(&self, account: AccountId, place: i64) {
        let mut accounts = self.locked();
        if let Some(signal) = accounts.get(&account)
            && signal.send(place).is_err()
        {
            accounts.remove(&account);
        }
    }

    /// Returns a receiver that changes after [`EventSignals::wrote`].
    pub fn written(&self) -> watch::Receiver<()> {
        self.written.subscribe()
    }

    /// Returns a receiver that changes after each [`EventSignals::publish`] for an account. Its first value means nothing.
    pub fn published(&self, account: AccountId) -> watch::Receiver<i64> {
        let mut accounts = self.locked();
        accounts.retain(|_, signal| signal.receiver_count() > 0);
        let signal = accounts.entry(account).or_insert_with(|| watch::Sender::new(0));
        signal.subscribe()
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<AccountId, watch::Sender<i64>>> {
        self.published.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A store that signals events.
pub trait EventSignalling: Send + Sync {
    /// Returns its signals. They tell only of events that were written and published through this store.
    fn event_signals(&self) -> Arc<EventSignals>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_signalled_to_its_followers_alone_and_forgotten_without_them() {
        let signals = EventSignals::default();
        let (ada, bob) = (AccountId::new(), AccountId::new());
        signals.publish(ada, 1);
        let (mut adas, mut bobs) = (signals.published(ada), signals.published(bob));
        signals.publish(ada, 2);
        assert!(adas.has_changed().unwrap() && !bobs.has_changed().unwrap());
        assert_eq!(*adas.borrow_and_update(), 2);
        drop(bobs);
        signals.publish(bob, 3);
        bobs = signals.published(bob);
        drop(adas);
        signals.publish(bob, 4);
        assert_eq!(*bobs.borrow_and_update(), 4);
        drop(signals.published(bob));
        assert_eq!(signals.locked().len(), 1);
    }
}
