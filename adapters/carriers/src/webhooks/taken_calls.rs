//! Accepted inbound calls. Some carriers report such a call at an address of the whole account, which names
//! no attempt. They may report its end before it was accepted.

use std::{
    collections::{HashMap, VecDeque},
    sync::Mutex,
};

use domain::ports::carrier::{CallProgress, CarrierCallId, LegReport, WayBack};

use crate::lock::locked;

/// Calls that are remembered; the oldest is dropped first.
const REMEMBERED: usize = 4_096;
/// Ends that are remembered: enough for the calls that may be refused during the seconds in which one is accepted.
const ENDS: usize = 1_024;

#[derive(Debug, Default)]
struct Calls {
    ways: HashMap<CarrierCallId, WayBack>,
    /// Calls, oldest first. May name calls that were already dropped.
    order: VecDeque<CarrierCallId>,
    /// Ends of calls that were not accepted, or not yet, oldest first.
    ends: VecDeque<(CarrierCallId, LegReport)>,
}

/// Accepted inbound calls of a node.
#[derive(Debug, Default)]
pub(crate) struct TakenCalls(Mutex<Calls>);

impl TakenCalls {
    /// Remembers an accepted call. Returns its end if that was already reported.
    pub(crate) fn remember(&self, call: CarrierCallId, back: WayBack) -> Option<LegReport> {
        let mut calls = locked(&self.0);
        let end = calls.ends.iter().position(|(ended, _)| *ended == call);
        let end = end.and_then(|at| calls.ends.remove(at)).map(|(_, report)| report);
        if calls.ways.insert(call.clone(), back).is_none() {
            calls.order.push_back(call);
        }
        while calls.order.len() > REMEMBERED {
            if let Some(oldest) = calls.order.pop_front() {
                calls.ways.remove(&oldest);
            }
        }
        end
    }

    /// Returns whether this node accepted the call.
    pub(crate) fn knows(&self, call: &CarrierCallId) -> bool {
        let calls = locked(&self.0);
        calls.ways.contains_key(call)
    }

    /// Returns the way back of a reported call, if it was accepted. Otherwise keeps an end until the call is accepted.
    pub(crate) fn way_back(&self, call: &CarrierCallId, progress: &CallProgress) -> Option<WayBack> {
        let mut calls = locked(&self.0);
        let back = calls.ways.get(call).cloned();
        if back.is_none() && matches!(progress, CallProgress::Ended(_)) {
            let (id, progress) = (call.clone(), progress.clone());
            let call = Some(id.clone());
            calls.ends.push_back((id, LegReport { call, progress }));
            if calls.ends.len() > ENDS {
                calls.ends.pop_front();
            }
        }
        back
    }
}

#[cfg(test)]
mod tests {
    use domain::{id::AttemptId, ports::carrier::EndCause};

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
            assert_eq!(taken.remember(call(n), back.clone()), None);
            taken.remember(call(n), back.clone());
        }
        let rings = CallProgress::Ringing;
        assert_eq!(taken.way_back(&call(0), &rings), None);
        assert_eq!(taken.way_back(&call(1), &rings), Some(back.clone()));
        assert_eq!(taken.way_back(&call(REMEMBERED), &rings), Some(back));
    }

    #[test]
    fn an_end_that_comes_first_is_told_when_the_call_is_taken() {
        let taken = TakenCalls::default();
        let call = |n: usize| CarrierCallId(format!("call-{n}"));
        let back = WayBack {
            attempt: AttemptId::new(),
            status_token: String::new(),
            media_token: String::new(),
        };
        let ended = CallProgress::Ended(EndCause::Completed);
        assert_eq!(taken.way_back(&call(1), &CallProgress::Ringing), None);
        assert_eq!(taken.remember(call(1), back.clone()), None);
        assert_eq!(taken.way_back(&call(2), &ended), None);
        let report = LegReport {
            call: Some(call(2)),
            progress: ended.clone(),
        };
        assert_eq!(taken.remember(call(2), back.clone()), Some(report));
        assert_eq!(taken.remember(call(2), back.clone()), None);
        for n in 3..=ENDS + 3 {
            assert_eq!(taken.way_back(&call(n), &ended), None);
        }
        assert_eq!(taken.remember(call(3), back.clone()), None, "it made room");
        assert!(taken.remember(call(4), back).is_some());
    }
}
