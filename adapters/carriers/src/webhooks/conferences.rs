//! Destinations that ring as a call of their own while the caller still talks with the agent. A destination
//! is joined with the caller when it answers, and hung up if nobody waits for it any more.

use std::sync::Arc;

use async_trait::async_trait;
use axum::response::Response;
use domain::{
    id::AttemptId,
    ports::carrier::{CallProgress, Carrier, CarrierCallId, CarrierError, DialError, EndCause, LegReport},
};

use super::handovers::{Answered, Handovers, Joining, Try};
use crate::link::{self, CarrierLink};

/// A carrier that dials transfer destinations as calls of their own.
#[async_trait]
pub(crate) trait Joins: Carrier + 'static {
    fn handovers(&self) -> &Handovers;

    /// Joins a caller with the destination of this try, which has answered.
    async fn join(&self, caller: &CarrierCallId, destination: &CarrierCallId, which: Try) -> Result<(), CarrierError>;

    /// Hangs up a leg, answered or not.
    async fn hang_up_leg(&self, leg: &CarrierCallId) -> Result<(), CarrierError>;
}

/// Maximum ring time of a transfer destination, in seconds.
pub(crate) const RINGS_SECONDS: u64 = 30;

/// Dials a destination for a caller. Its webhooks may arrive before the dial's response, or instead of it. A
/// leg that still rings from an earlier try is hung up.
pub(crate) async fn ring<C: Joins, D>(
    carrier: &C,
    attempt: AttemptId,
    caller: &CarrierCallId,
    dial: impl FnOnce(Try) -> D,
) -> Result<(), CarrierError>
where
    D: Future<Output = Result<CarrierCallId, DialError>>,
{
    let handovers = carrier.handovers();
    let earlier = handovers.abandon(attempt);
    let which = handovers.begin(attempt, caller, Joining::ByUs);
    let (dialed, ()) = tokio::join!(dial(which), let_go(carrier, earlier));
    match dialed {
        Ok(leg) => {
            let_go(carrier, Some(leg).filter(|leg| !handovers.rings(which, leg))).await;
            Ok(())
        }
        Err(error) if handovers.not_dialed(which) => Err(of_destination(error)),
        Err(error) => {
            tracing::warn!(%attempt, %error, "dial of a transfer destination failed, but it rings");
            Ok(())
        }
    }
}

/// Hangs up the destination that rings for a caller who has hung up.
pub(crate) async fn release<C: Joins>(carrier: &C, caller: &CarrierCallId) {
    let_go(carrier, carrier.handovers().caller_left(caller)).await;
}

/// Does the same in the background if a webhook reports the end of a caller.
pub(crate) fn release_at_end<C: Joins>(carrier: &Arc<C>, report: &LegReport) {
    if let (CallProgress::Ended(_), Some(call)) = (&report.progress, &report.call) {
        let (carrier, call) = (carrier.clone(), call.clone());
        tokio::spawn(async move { release(&*carrier, &call).await });
    }
}

/// Hangs up a leg that nobody waits for.
pub(crate) async fn let_go<C: Joins>(carrier: &C, leg: Option<CarrierCallId>) {
    let Some(leg) = leg else { return };
    match carrier.hang_up_leg(&leg).await {
        Ok(()) | Err(CarrierError::NotFound) => {}
        Err(error) => tracing::warn!(%error, "hang-up of an abandoned destination failed"),
    }
}

/// A destination, as named by the address of its webhooks.
pub(crate) struct Destination<C> {
    link: CarrierLink,
    carrier: Arc<C>,
    which: Try,
    proof: String,
}

impl<C: Joins> Destination<C> {
    /// Parses the destination in an address.
    pub(crate) fn named(link: CarrierLink, carrier: &Arc<C>, name: &str, proof: String) -> Option<Self> {
        Some(Self {
            which: Try::parse(name)?,
            link,
            carrier: carrier.clone(),
            proof,
        })
    }

    /// Handles a leg's progress. Follow-up work runs in the background, because carriers do not wait long for
    /// the response.
    pub(crate) async fn told(self, leg: CarrierCallId, progress: CallProgress) -> Response {
        let handovers = self.carrier.handovers();
        match progress {
            CallProgress::Placed | CallProgress::Ringing if !handovers.rings(self.which, &leg) => {
                tokio::spawn(async move { let_go(&*self.carrier, Some(leg)).await });
            }
            CallProgress::Answered => drop(tokio::spawn(self.answered(leg))),
            CallProgress::Ended(cause) if handovers.failed_to_answer(self.which, &leg).is_some() => {
                return self.report(failed(&cause)).await;
            }
            _ => {}
        }
        link::taken()
    }

    async fn answered(self, leg: CarrierCallId) {
        let progress = match joined(&*self.carrier, self.which, &leg).await {
            None => return,
            Some((_, Ok(()))) => CallProgress::Transferred,
            Some((_, Err(error))) => CallProgress::TransferFailed(error.to_string()),
        };
        let left = matches!(progress, CallProgress::TransferFailed(_)).then_some(leg);
        tokio::join!(self.report(progress), let_go(&*self.carrier, left));
    }

    async fn report(&self, progress: CallProgress) -> Response {
        let attempt = self.which.attempt.to_string();
        self.link.report(&attempt, self.proof.clone(), progress.into()).await
    }
}

/// Handles a destination that has answered. Returns the caller that it was joined with and the result, or
/// `None` if there is nothing to join. Hangs up a destination that nobody waits for. If the legs cannot be
/// joined, the try has failed.
pub(crate) async fn joined<C: Joins>(
    carrier: &C,
    which: Try,
    leg: &CarrierCallId,
) -> Option<(CarrierCallId, Result<(), CarrierError>)> {
    let caller = match carrier.handovers().answered(which, leg) {
        Answered::Join(caller) => caller,
        Answered::Nothing => return None,
        Answered::Nobody => {
            let_go(carrier, Some(leg.clone())).await;
            return None;
        }
    };
    let answer = carrier.join(&caller, leg, which).await;
    if answer.is_err() {
        carrier.handovers().failed(which);
    }
    Some((caller, answer))
}

/// Converts a dial error into the error of the transfer that it was part of.
pub(crate) fn of_destination(error: DialError) -> CarrierError {
    match error {
        DialError::InvalidNumber(words)
        | DialError::Rejected(words)
        | DialError::AccountRefused(words)
        | DialError::Unclassified { words, .. } => CarrierError::Refused(words),
        DialError::Busy { .. } => CarrierError::Unavailable("too many requests".to_owned()),
        DialError::Unreachable(words) | DialError::HeldBack(words) | DialError::Unknown(words) => {
            CarrierError::Unavailable(words)
        }
    }
}

/// Returns the reason why a destination did not answer.
pub(crate) fn failed(cause: &EndCause) -> CallProgress {
    let words = match cause {
        EndCause::Completed => "it was hung up",
        EndCause::Busy => "it is busy",
        EndCause::NoAnswer => "nobody answered",
        EndCause::Rejected => "it was declined",
        EndCause::InvalidNumber => "there is no such number",
        EndCause::Canceled => "it was canceled",
        EndCause::Failed(words) => words,
    };
    CallProgress::TransferFailed(words.to_owned())
}
