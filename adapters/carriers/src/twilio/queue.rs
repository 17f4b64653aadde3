//! Calls that Twilio took and has not started: over an account's rate they wait, up to a day. One that still waits after
//! a while is cancelled, so that nobody is called long after their turn, and its end is told for what it was.
//!
//! Source: <https://www.twilio.com/docs/voice/api/call-resource#create-a-call-resource>

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use domain::ports::carrier::{CallProgress, CarrierCallId, EndCause};
use tokio::time::sleep;

use super::client::TwilioCarrier;
use crate::conferences::Joins;

/// How long a call may wait for its start. Twilio starts one a second for an account unless it grants more.
const STARTED_WITHIN: Duration = Duration::from_secs(10);
/// How long the end of a call that was cancelled may take to be reported.
const REPORTED_WITHIN: Duration = Duration::from_secs(60);
/// Why it was.
const STALE: &str = "it waited 10 s in the carrier's queue and was cancelled: set RINGBACK_CALLS_PER_SECOND to what the \
                     account is granted";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Nothing was reported of it.
    Waits,
    Cancelled,
}

/// Those of a node.
#[derive(Debug, Default)]
pub(super) struct Queue(Mutex<HashMap<CarrierCallId, Place>>);

impl Queue {
    fn lock(&self) -> MutexGuard<'_, HashMap<CarrierCallId, Place>> {
        // No panic leaves the map half-changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a report on a call means; it does not wait any more.
    pub(super) fn told(&self, call: Option<&CarrierCallId>, progress: CallProgress) -> CallProgress {
        let place = call.and_then(|call| self.lock().remove(call));
        match (place, progress) {
            (Some(Place::Cancelled), CallProgress::Ended(EndCause::Canceled)) => {
                CallProgress::Ended(EndCause::Failed(STALE.to_owned()))
            }
            (_, progress) => progress,
        }
    }

    fn waits(&self, call: &CarrierCallId) -> bool {
        self.lock().get(call) == Some(&Place::Waits)
    }
}

impl TwilioCarrier {
    /// A call was placed: whether it starts is looked after.
    pub(super) fn watch(&self, call: &CarrierCallId) {
        let (carrier, call) = (self.clone(), call.clone());
        carrier.queue.lock().insert(call.clone(), Place::Waits);
        tokio::spawn(async move {
            sleep(STARTED_WITHIN).await;
            // Its reports may be lost: the carrier knows.
            if carrier.queue.waits(&call) && carrier.is_queued(&call).await {
                carrier.queue.lock().insert(call.clone(), Place::Cancelled);
                if let Err(error) = carrier.hang_up_leg(&call).await {
                    tracing::warn!(%error, "a call that waits in the carrier's queue could not be cancelled");
                }
                sleep(REPORTED_WITHIN).await;
            }
            carrier.queue.lock().remove(&call);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_of_a_call_that_we_cancelled_is_told_otherwise() {
        let (queue, call) = (Queue::default(), CarrierCallId("CA1".to_owned()));
        let cancelled = || CallProgress::Ended(EndCause::Canceled);
        assert_eq!(queue.told(Some(&call), cancelled()), cancelled());
        queue.lock().insert(call.clone(), Place::Waits);
        assert!(queue.waits(&call));
        assert_eq!(queue.told(Some(&call), CallProgress::Placed), CallProgress::Placed);
        assert!(!queue.waits(&call));
        for (end, told) in [
            (EndCause::Canceled, EndCause::Failed(STALE.to_owned())),
            (EndCause::Busy, EndCause::Busy),
        ] {
            queue.lock().insert(call.clone(), Place::Cancelled);
            let progress = queue.told(Some(&call), CallProgress::Ended(end));
            assert_eq!(progress, CallProgress::Ended(told));
        }
        assert_eq!(queue.told(None, cancelled()), cancelled());
    }
}
