//! Handles webhooks about the legs of one attempt: its own leg and its transfer destinations.

use std::{sync::Arc, time::Duration};

use axum::response::Response;
use domain::{
    id::AttemptId,
    ports::carrier::{CallProgress, Carrier, CarrierCallId, CarrierError, EndCause, LegReport, WayBack},
};
use tokio::time::sleep;

use super::{
    client::TelnyxCarrier,
    event::{News, Webhook},
};
use crate::{
    link::{self, CarrierLink, media_socket::Claim},
    webhooks::{
        conferences::{self, failed},
        handovers::Try,
    },
};

/// Maximum time by which the report of a join may come after that of a hang-up. Webhooks have no order.
const LATE_WORD: Duration = Duration::from_secs(2);
/// Time after which a missing stream is requested. Streams open when the call is answered, or before. The
/// call waits for 10 s.
const STREAM_DUE: Duration = Duration::from_secs(3);
/// Pause between requests for the first stream of an inbound call, and their number: as long as the call waits.
const FIRST_STREAM_PAUSE: Duration = Duration::from_millis(250);
const FIRST_STREAM_TRIES: u32 = 40;
/// Pause before a failed stream is tried again.
const STREAM_AGAIN: Duration = Duration::from_secs(1);

/// An attempt, as named by the address of a webhook.
#[derive(Clone)]
pub(super) struct Leg {
    pub(super) link: CarrierLink,
    pub(super) carrier: Arc<TelnyxCarrier>,
    pub(super) attempt: String,
    pub(super) proof: String,
}

impl Leg {
    /// Creates the leg of a call that this node knows.
    pub(super) fn of(link: CarrierLink, carrier: Arc<TelnyxCarrier>, back: WayBack) -> Self {
        Self {
            link,
            carrier,
            attempt: back.attempt.to_string(),
            proof: back.status_token,
        }
    }

    async fn report(&self, report: LegReport) -> Response {
        self.link.report(&self.attempt, self.proof.clone(), report).await
    }

    /// Reports the result of a transfer to the call. If it failed and the media socket is closed, opens it again.
    async fn handed_on(&self, caller: Option<CarrierCallId>, progress: CallProgress) -> Response {
        let failed = matches!(progress, CallProgress::TransferFailed(_));
        let answer = self.report(progress.into()).await;
        if let (Some(caller), true) = (caller, failed && answer.status().is_success()) {
            let leg = self.clone();
            tokio::spawn(async move { leg.stream_again(&caller).await });
        }
        answer
    }

    /// Reopens the media socket, if the call would take it.
    async fn stream_again(&self, call: &CarrierCallId) {
        let attempt = self.attempt.parse::<AttemptId>().ok();
        let Some(back) = attempt.and_then(|attempt| self.carrier.ways.of(attempt)) else {
            return;
        };
        let claim = Claim::of(&back);
        if self.link.wants_media(&claim).await != Some(Ok(())) {
            return;
        }
        if let Err(error) = self.carrier.reopen_media(call, &back).await {
            tracing::warn!(attempt = %back.attempt, %error, "media socket not reopened");
        }
    }
}

/// Handles a webhook of an attempt, after its address and signature were verified.
pub(super) async fn heard(leg: Leg, webhook: Webhook) -> Response {
    match (webhook.attempt, webhook.destination) {
        (Some(attempt), Some(number)) => destination(leg, Try { attempt, number }, webhook).await,
        _ => own(leg, webhook).await,
    }
}

/// Handles a webhook about the call's own leg.
async fn own(leg: Leg, webhook: Webhook) -> Response {
    let named = leg.attempt.parse::<AttemptId>().ok();
    match webhook.news {
        News::Leg(report) => {
            conferences::release_at_end(&leg.carrier, &report);
            if let (CallProgress::Answered, Some(call)) = (&report.progress, report.call.clone()) {
                stream_in(STREAM_DUE, &leg, call);
            }
            leg.report(report).await
        }
        News::Bridged if named.is_some_and(|attempt| leg.carrier.handovers.caller_bridged(attempt)) => {
            leg.handed_on(None, CallProgress::Transferred).await
        }
        News::Referred(Ok(())) => leg.handed_on(None, CallProgress::Transferred).await,
        News::Referred(Err(why)) => leg.handed_on(webhook.call, CallProgress::TransferFailed(why)).await,
        News::StreamFailed(reason) => {
            metrics::counter!("ringback_telnyx_streams_failed_total").increment(1);
            let attempt = leg.attempt.escape_debug().to_string();
            tracing::warn!(attempt, reason, "Telnyx could not open the media socket");
            if let Some(call) = webhook.call {
                stream_in(STREAM_AGAIN, &leg, call);
            }
            link::taken()
        }
        News::Announced(_) | News::Bridged | News::Nothing => link::taken(),
    }
}

/// Requests the stream of an inbound call as soon as Telnyx has answered it. The webhook that reports the answer may be
/// late or lost, so the request is repeated until it is taken.
pub(super) async fn first_stream(leg: Leg, call: CarrierCallId, back: WayBack) {
    let claim = Claim::of(&back);
    for _ in 0..FIRST_STREAM_TRIES {
        if leg.link.wants_media(&claim).await != Some(Ok(())) || leg.carrier.start_stream(&call, &back).await.is_ok() {
            return;
        }
        sleep(FIRST_STREAM_PAUSE).await;
    }
    tracing::warn!(attempt = %back.attempt, "media stream of an inbound call not started");
}

/// Opens the media socket after a pause, if the call has none then.
fn stream_in(pause: Duration, leg: &Leg, call: CarrierCallId) {
    let leg = leg.clone();
    tokio::spawn(async move {
        sleep(pause).await;
        leg.stream_again(&call).await;
    });
}

/// Handles a webhook about a transfer destination.
async fn destination(leg: Leg, which: Try, webhook: Webhook) -> Response {
    let Some(call) = webhook.call else {
        return link::taken();
    };
    let handovers = &leg.carrier.handovers;
    match webhook.news {
        News::Leg(LegReport { progress, .. }) => match progress {
            CallProgress::Placed if !handovers.rings(which, &call) => drop(tokio::spawn(async move {
                conferences::let_go(&*leg.carrier, Some(call)).await;
            })),
            CallProgress::Answered => drop(tokio::spawn(async move { answered(&leg, which, call).await })),
            CallProgress::Ended(EndCause::Completed) => drop(tokio::spawn(async move {
                sleep(LATE_WORD).await;
                if let Some(caller) = leg.carrier.handovers.failed_to_answer(which, &call) {
                    leg.handed_on(Some(caller), failed(&EndCause::Completed)).await;
                }
            })),
            CallProgress::Ended(cause) => {
                if let Some(caller) = handovers.failed_to_answer(which, &call) {
                    return leg.handed_on(Some(caller), failed(&cause)).await;
                }
            }
            _ => {}
        },
        News::Bridged if handovers.bridged(which) => return leg.handed_on(None, CallProgress::Transferred).await,
        _ => {}
    }
    link::taken()
}

/// Handles a destination that answers. If we are the ones to join it with the caller, does so now. Telnyx
/// reports the join separately.
async fn answered(leg: &Leg, which: Try, destination: CarrierCallId) {
    let carrier = &*leg.carrier;
    if let Some((caller, Err(error))) = conferences::joined(carrier, which, &destination).await {
        let failed = CallProgress::TransferFailed(error.to_string());
        tokio::join!(
            leg.handed_on(Some(caller), failed),
            conferences::let_go(carrier, Some(destination)),
        );
    }
}

/// Reports the end of an inbound call that was over before it was answered, or whose answer Telnyx refused.
pub(super) async fn never_answered(link: &CarrierLink, back: WayBack, call: CarrierCallId, error: &CarrierError) {
    let cause = match error {
        CarrierError::NotFound => EndCause::Canceled,
        error => EndCause::Failed(error.to_string()),
    };
    let report = LegReport {
        call: Some(call),
        progress: CallProgress::Ended(cause),
    };
    link.report(&back.attempt.to_string(), back.status_token, report).await;
}
