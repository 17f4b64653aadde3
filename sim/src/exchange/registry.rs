//! Calls that an exchange knows: the live ones and, for the list of calls, a bounded number of past ones.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use domain::time::Timestamp;
use tokio::sync::{Notify, mpsc};

use super::{onward::Onward, persona::Callee};

/// Most calls kept after their end.
const KEPT: usize = 100_000;

/// Details of an accepted dial.
#[derive(Debug, Clone)]
pub(super) struct Order {
    pub(super) call_id: String,
    pub(super) attempt: String,
    pub(super) to: String,
    pub(super) placed: Timestamp,
    pub(super) status_url: String,
    pub(super) stream_url: String,
    pub(super) ring_timeout: Duration,
    pub(super) callee: Callee,
}

/// Requests of the caller about an answered call.
#[derive(Debug)]
pub(super) enum Wish {
    /// Transfer the call.
    Transfer(Box<Onward>),
    /// Reopen the media stream at this address.
    Media(String),
}

/// Most requests that may wait; a call has one at a time.
const WISHES: usize = 4;

/// State of a call's media stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    /// Not open, and cannot be opened.
    Closed,
    /// Open.
    Open,
    /// Lost; it can be reopened.
    Lost,
}

/// State of a live call, for the list of calls, for hanging up and for the caller's requests.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) order: Order,
    pub(super) hang_up: Notify,
    wishes: mpsc::Sender<Wish>,
    stream: Mutex<Stream>,
}

impl Entry {
    /// Creates the entry of a new call and the receiver of the requests about it.
    pub(super) fn new(order: Order) -> (Arc<Self>, mpsc::Receiver<Wish>) {
        let (wishes, waiting) = mpsc::channel(WISHES);
        let entry = Self {
            order,
            hang_up: Notify::new(),
            wishes,
            stream: Mutex::new(Stream::Closed),
        };
        (Arc::new(entry), waiting)
    }

    /// Accepts a request if the stream is in the state that the request needs.
    pub(super) fn wish(&self, wish: Wish) -> bool {
        let wanted = match wish {
            Wish::Transfer(_) => Stream::Open,
            Wish::Media(_) => Stream::Lost,
        };
        let stream = *self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        stream == wanted && self.wishes.try_send(wish).is_ok()
    }

    pub(super) fn stream_is(&self, stream: Stream) {
        *self.stream.lock().unwrap_or_else(PoisonError::into_inner) = stream;
    }
}

/// A call that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Past {
    pub(super) call_id: String,
    pub(super) attempt: String,
    pub(super) to: String,
    pub(super) placed: Timestamp,
}

#[derive(Default)]
struct Calls {
    live: HashMap<String, Arc<Entry>>,
    past: VecDeque<Past>,
}

/// All calls.
#[derive(Default)]
pub(super) struct Registry(Mutex<Calls>);

impl Registry {
    fn lock(&self) -> MutexGuard<'_, Calls> {
        // No panic leaves the lists half-changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn began(&self, entry: Arc<Entry>) {
        self.lock().live.insert(entry.order.call_id.clone(), entry);
    }

    /// Moves a call to the past calls; does nothing the second time.
    pub(super) fn ended(&self, call_id: &str) {
        let mut calls = self.lock();
        let Some(entry) = calls.live.remove(call_id) else {
            return;
        };
        if calls.past.len() == KEPT {
            calls.past.pop_front();
        }
        calls.past.push_back(past(&entry));
    }

    /// Returns the live call with this id.
    pub(super) fn live(&self, call_id: &str) -> Option<Arc<Entry>> {
        self.lock().live.get(call_id).cloned()
    }

    /// Returns all live calls.
    pub(super) fn all_live(&self) -> Vec<Arc<Entry>> {
        self.lock().live.values().cloned().collect()
    }

    /// Returns calls placed to a number (or to any) since a time, live or not; newest first, at most `most`.
    pub(super) fn list(&self, to: Option<&str>, since: Timestamp, most: usize) -> Vec<(Past, bool)> {
        let calls = self.lock();
        let wanted = |number: &str, placed: Timestamp| placed >= since && to.is_none_or(|to| to == number);
        let live = calls
            .live
            .values()
            .filter(|entry| wanted(&entry.order.to, entry.order.placed));
        let mut found: Vec<(Past, bool)> = live.map(|entry| (past(entry), true)).collect();
        let over = calls.past.iter().filter(|past| wanted(&past.to, past.placed));
        found.extend(over.map(|past| (past.clone(), false)));
        found.sort_by_key(|(past, _)| std::cmp::Reverse(past.placed));
        found.truncate(most);
        found
    }
}

fn past(entry: &Entry) -> Past {
    Past {
        call_id: entry.order.call_id.clone(),
        attempt: entry.order.attempt.clone(),
        to: entry.order.to.clone(),
        placed: entry.order.placed,
    }
}

/// Details of a call that a phone makes.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    /// `None` if the number is withheld.
    pub(super) from: Option<String>,
    pub(super) to: String,
}

/// Calls that phones make, from their announcement to their end.
#[derive(Default)]
pub(super) struct Calling(Mutex<HashMap<String, Caller>>);

impl Calling {
    pub(super) fn lock(&self) -> MutexGuard<'_, HashMap<String, Caller>> {
        // No panic leaves the map half-changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
