//! Handling of calls that are answered after their attempt is over. The person who answers would hear nothing.

use super::settle::hang_up;
use domain::{
    dial_token::Purpose,
    id::AttemptId,
    ports::{
        Ports,
        carrier::{CallProgress, CarrierCallId, LegReport},
    },
};

/// An answered leg of an attempt without a call.
pub(super) struct LateLeg {
    attempt: AttemptId,
    carrier: &'static str,
    proof: String,
    leg: CarrierCallId,
}

impl LateLeg {
    /// Returns the leg that a report without a call describes, if it was answered.
    pub(super) fn of((attempt, carrier): (AttemptId, &'static str), proof: &str, report: &LegReport) -> Option<Self> {
        let leg = report.call.clone()?;
        (report.progress == CallProgress::Answered).then(|| Self {
            attempt,
            carrier,
            proof: proof.to_owned(),
            leg,
        })
    }

    /// Hangs the leg up if its attempt is over and was not transferred, and the proof belongs to the attempt.
    /// A repeated report of a call that ended long ago costs the carrier one request.
    pub(super) async fn hang_up(self, ports: Ports) {
        let attempt = self.attempt;
        let sent = match ports.store.sent_with(attempt).await {
            Ok(Some(sent)) if sent.carrier == self.carrier && sent.token.verify(Purpose::Status, &self.proof) => sent,
            Ok(_) => return,
            Err(error) => {
                tracing::warn!(%attempt, %error, "checking a late answer failed");
                return;
            }
        };
        let Some(carrier) = ports.carriers.named(&sent.carrier) else {
            return;
        };
        tracing::warn!(%attempt, "hung up: answered after the attempt was over");
        hang_up(&**carrier, attempt, &self.leg).await;
    }
}
