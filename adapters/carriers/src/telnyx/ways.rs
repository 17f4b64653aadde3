//! Ways back to a node's calls: the tokens to reopen a media socket, and the inbound call behind a webhook to
//! the application's own address.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::Mutex,
};

use domain::{
    id::AttemptId,
    ports::carrier::{CarrierCallId, WayBack},
};

use crate::lock::locked;

/// Calls that are remembered; the oldest is dropped first.
const REMEMBERED: usize = 16_384;

#[derive(Debug, Default)]
struct Known {
    /// Ways by attempt. Attempt ids sort by time.
    by_attempt: BTreeMap<AttemptId, WayBack>,
    came_in: HashMap<CarrierCallId, AttemptId>,
    /// Inbound calls, oldest first.
    order: VecDeque<CarrierCallId>,
}

/// Ways back of a node's calls.
#[derive(Debug, Default)]
pub(super) struct Ways(Mutex<Known>);

impl Ways {
    /// Remembers the way back of a call.
    pub(super) fn remember(&self, back: WayBack) {
        let mut known = locked(&self.0);
        known.by_attempt.insert(back.attempt, back);
        while known.by_attempt.len() > REMEMBERED {
            known.by_attempt.pop_first();
        }
    }

    /// Remembers an accepted inbound call. Returns false if it was accepted before.
    pub(super) fn take(&self, call: &CarrierCallId, back: &WayBack) -> bool {
        self.remember(back.clone());
        let mut known = locked(&self.0);
        if known.came_in.insert(call.clone(), back.attempt) == Some(back.attempt) {
            return false;
        }
        known.order.push_back(call.clone());
        while known.order.len() > REMEMBERED {
            if let Some(oldest) = known.order.pop_front() {
                known.came_in.remove(&oldest);
            }
        }
        true
    }

    /// Returns the way back of an attempt's call.
    pub(super) fn of(&self, attempt: AttemptId) -> Option<WayBack> {
        locked(&self.0).by_attempt.get(&attempt).cloned()
    }

    /// Returns the way back of an inbound call.
    pub(super) fn of_call(&self, call: &CarrierCallId) -> Option<WayBack> {
        let known = locked(&self.0);
        known.by_attempt.get(known.came_in.get(call)?).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn back() -> WayBack {
        WayBack {
            attempt: AttemptId::new(),
            status_token: String::new(),
            media_token: "m".to_owned(),
        }
    }

    #[test]
    fn the_last_ones_are_remembered() {
        let ways = Ways::default();
        let call = |n: usize| CarrierCallId(format!("call-{n}"));
        let backs: Vec<WayBack> = (0..=REMEMBERED).map(|_| back()).collect();
        for (n, back) in backs.iter().enumerate() {
            assert!(ways.take(&call(n), back));
            assert!(!ways.take(&call(n), back), "announced twice, it is one call");
        }
        assert_eq!(ways.of_call(&call(0)), None);
        assert_eq!(ways.of_call(&call(REMEMBERED)).as_ref(), backs.last());
        assert_eq!(ways.of(backs[REMEMBERED].attempt).as_ref(), backs.last());
        let known = locked(&ways.0);
        let kept = (known.by_attempt.len(), known.came_in.len(), known.order.len());
        assert_eq!(kept, (REMEMBERED, REMEMBERED, REMEMBERED));
    }
}
