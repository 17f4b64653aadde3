//! The calls from outside that were taken. Some carriers report such a call at an address of the whole account, which
//! names no attempt.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, PoisonError},
};

use actors::ports::carrier::{CarrierCallId, WayBack};

/// Calls that are remembered; the oldest one makes room.
const REMEMBERED: usize = 4_096;

#[derive(Debug, Default)]
struct Calls {
    ways: HashMap<CarrierCallId, WayBack>,
    /// Oldest first. May name calls that are forgotten.
    order: VecDeque<CarrierCallId>,
}

/// Those of a node.
#[derive(Debug, Default)]
pub(super) struct TakenCalls(Mutex<Calls>);

impl TakenCalls {
    /// A call was taken.
    pub(super) fn remember(&self, call: CarrierCallId, back: WayBack) {
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if calls.ways.insert(call.clone(), back).is_none() {
            calls.order.push_back(call);
        }
        while calls.order.len() > REMEMBERED {
            if let Some(oldest) = calls.order.pop_front() {
                calls.ways.remove(&oldest);
            }
        }
    }

    /// The way back of a call that was taken.
    pub(super) fn way_back(&self, call: &CarrierCallId) -> Option<WayBack> {
        let calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        calls.ways.get(call).cloned()
    }
}

#[cfg(test)]
mod tests {
    use actors::id::AttemptId;

    use super::*;

    #[test]
    fn the_last_ones_are_remembered() {
        let (taken, attempt) = (TakenCalls::default(), AttemptId::new());
        let call = |n: usize| CarrierCallId(format!("call-{n}"));
        let back = WayBack {
            attempt,
            status_token: String::new(),
            media_token: String::new(),
        };
        for n in 0..=REMEMBERED {
            taken.remember(call(n), back.clone());
            taken.remember(call(n), back.clone());
        }
        assert_eq!(taken.way_back(&call(0)), None);
        assert_eq!(taken.way_back(&call(1)), Some(back.clone()));
        assert_eq!(taken.way_back(&call(REMEMBERED)), Some(back));
    }
}
