//! Calls that Twilio accepted but has not started. Above an account's call rate they wait up to a day. A call
//! that waits too long is cancelled, so that nobody is called long after their turn, and its end is reported
//! accordingly.
//!
//! Source: <https://www.twilio.com/docs/voice/api/call-resource#create-a-call-resource>

use std::{collections::HashMap, sync::Mutex, time::Duration};

use domain::ports::carrier::{CallProgress, CarrierCallId, EndCause};
use tokio::time::sleep;

use super::client::TwilioCarrier;
use crate::{lock::locked, webhooks::conferences::Joins};

/// Maximum wait for the start of a call. Twilio starts one a second per account unless it grants more.
const STARTED_WITHIN: Duration = Duration::from_secs(10);
/// Maximum wait for the report of a cancelled call's end.
const REPORTED_WITHIN: Duration = Duration::from_secs(60);
/// Failure reason of a cancelled call.
const STALE: &str = "it waited 10 s in the carrier's queue and was cancelled: set RINGBACK_CALLS_PER_SECOND to what the \
                     account is granted";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// No report about the call has arrived.
    Waits,
    Cancelled,
}

/// Queued calls of a node.
#[derive(Debug, Default)]
pub(super) struct Queue(Mutex<HashMap<CarrierCallId, Place>>);

impl Queue {
    /// Interprets a report about a call, which stops waiting.
    pub(super) fn told(&self, call: Option<&CarrierCallId>, progress: CallProgress) -> CallProgress {
        let place = call.and_then(|call| locked(&self.0).remove(call));
        match (place, progress) {
            (Some(Place::Cancelled), CallProgress::Ended(EndCause::Canceled)) => {
                CallProgress::Ended(EndCause::Failed(STALE.to_owned()))
            }
            (_, progress) => progress,
        }
    }

    fn waits(&self, call: &CarrierCallId) -> bool {
        locked(&self.0).get(call) == Some(&Place::Waits)
    }
}

impl TwilioCarrier {
    /// Watches a placed call until it starts.
    pub(super) fn watch(&self, call: &CarrierCallId) {
        let (carrier, call) = (self.clone(), call.clone());
        locked(&carrier.queue.0).insert(call.clone(), Place::Waits);
        tokio::spawn(async move {
            sleep(STARTED_WITHIN).await;
            // Its reports may be lost, so the carrier is asked.
            if carrier.queue.waits(&call) && carrier.is_queued(&call).await {
                locked(&carrier.queue.0).insert(call.clone(), Place::Cancelled);
                if let Err(error) = carrier.hang_up_leg(&call).await {
                    tracing::warn!(%error, "cancellation of a queued call failed");
                }
                sleep(REPORTED_WITHIN).await;
            }
            locked(&carrier.queue.0).remove(&call);
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
        locked(&queue.0).insert(call.clone(), Place::Waits);
        assert!(queue.waits(&call));
        assert_eq!(queue.told(Some(&call), CallProgress::Placed), CallProgress::Placed);
        assert!(!queue.waits(&call));
        for (end, told) in [
            (EndCause::Canceled, EndCause::Failed(STALE.to_owned())),
            (EndCause::Busy, EndCause::Busy),
        ] {
            locked(&queue.0).insert(call.clone(), Place::Cancelled);
            let progress = queue.told(Some(&call), CallProgress::Ended(end));
            assert_eq!(progress, CallProgress::Ended(told));
        }
        assert_eq!(queue.told(None, cancelled()), cancelled());
    }
}
