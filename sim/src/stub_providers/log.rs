//! Log of the messages that the stubs received.

use std::sync::{Mutex, PoisonError};

/// Service of a provider, by its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Service(pub(crate) &'static str);

/// A message or an action of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// Service that received it.
    pub service: Service,
    /// A text message or body as received; any other event in a word or two: `connected`, `disconnected`, `audio 3200`.
    pub what: String,
}

/// Entries in the order of arrival.
#[derive(Debug, Default)]
pub(crate) struct Log(Mutex<Vec<Received>>);

impl Log {
    pub(super) fn push(&self, received: Received) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(received);
    }

    pub(super) fn of(&self, service: Service) -> Vec<String> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of = all.iter().filter(|received| received.service == service);
        of.map(|received| received.what.clone()).collect()
    }
}
