//! The gate for calls that are answered when nobody expects them any more: their attempt is over, and whoever picks up
//! would hear nothing.

use super::settle::hang_up;
use domain::{
    dial_token::Purpose,
    id::AttemptId,
    ports::{
        Ports,
        carrier::{CallProgress, CarrierCallId, LegReport},
    },
};

/// A leg that was answered, of an attempt without a call.
pub(super) struct LateLeg {
    attempt: AttemptId,
    carrier: &'static str,
    proof: String,
    leg: CarrierCallId,
}

impl LateLeg {
    /// What a report that no call takes may tell.
    pub(super) fn of((attempt, carrier): (AttemptId, &'static str), proof: &str, report: &LegReport) -> Option<Self> {
        let leg = report.call.clone()?;
        (report.progress == CallProgress::Answered).then(|| Self {
            attempt,
            carrier,
            proof: proof.to_owned(),
            leg,
        })
    }

    /// Hangs it up, if its attempt is over, was not handed on, and the proof is the attempt's. A repeated report of a call that is long over
    /// costs the carrier one request.
    pub(super) async fn hang_up(self, ports: Ports) {
        let attempt = self.attempt;
        let sent = match ports.store.sent_with(attempt).await {
            Ok(Some(sent)) if sent.carrier == self.carrier && sent.token.verify(Purpose::Status, &self.proof) => sent,
            Ok(_) => return,
            Err(error) => {
                tracing::warn!(%attempt, %error, "late answer not looked into");
                return;
            }
        };
        let Some(carrier) = ports.carriers.named(&sent.carrier) else {
            return;
        };
        tracing::warn!(%attempt, "answered when its attempt was over: hung up");
        hang_up(&**carrier, attempt, &self.leg).await;
    }
}
