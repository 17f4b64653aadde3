//! Calls that an exchange knows: the live ones and, for the list of calls, a bounded number of past ones.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use domain::time::Timestamp;

use super::call::Entry;

/// Most calls kept after their end.
const KEPT: usize = 100_000;

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
