//! Settles an attempt whose call no longer exists: its leg is hung up and its outcome written. This is used
//! for calls that crashed and for the attempts of a dead process. An attempt that may have been dialed is
//! never dialed again.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt;
use serde_json::json;

use crate::{
    attempt::{self, CallPlan, Ended},
    call::{CONFERENCE, LegSearch, Owner, Sighting, certain_owner, in_time},
    supervision::{Backoff, Retried},
};
use domain::{
    id::AttemptId,
    node_times::Times,
    phone_number::PhoneNumber,
    ports::{
        Ports,
        carrier::{Carrier, CarrierCallId, CarrierError},
        store::{
            CALL_BACK, CallTimes, Claim, ConversationStatus, ENDED, EventFact, Fact, Outcome, Store, StoreError,
            TRANSFER_FAILED, TRANSFER_TAKEN,
        },
        usage::Meter,
    },
    retry,
    time::Timestamp,
};

/// Outcome error of an inbound call that got its attempt after its carrier had been told that nobody takes it.
pub const NOT_TAKEN: &str = "no-answer";

/// Number of tries to hang up a leg (about two minutes). After that it is given up: the carrier ends it by
/// its own limits, and the attempt must not stay open for ever.
const HANG_UP_TRIES: u32 = 16;

/// Number of tries to read a lost call's facts (about three seconds).
const FACT_TRIES: u32 = 4;

/// An attempt without a call.
#[derive(Debug, Clone)]
pub struct LostCall {
    /// The attempt, with the claim that proves it is ours.
    pub ended: Ended,
    /// The called number.
    pub to: PhoneNumber,
    /// The carrier that was asked to dial.
    pub carrier: String,
    /// The carrier's id of the leg, if known.
    pub leg: Option<CarrierCallId>,
    /// Earliest instant at which it may have been dialed.
    pub since: Timestamp,
    /// Times of answer and loss, as far as this process knows them. If unknown, the call ends when its leg does.
    pub times: CallTimes,
    /// Outcome error if there was a leg.
    pub error: String,
    /// Usage of providers by the call, as far as this process knows it.
    pub meter: Meter,
}

impl LostCall {
    /// Returns the data to settle a call that begins at `now`, in case it dies.
    pub(super) fn of(plan: &CallPlan, now: Timestamp, error: &str) -> Self {
        Self {
            ended: plan.ended(),
            to: plan.attempt.contact.phone_number.clone(),
            carrier: plan.carrier.name().to_owned(),
            leg: plan.leg().cloned(),
            since: now,
            times: CallTimes::default(),
            error: error.to_owned(),
            meter: Meter::default(),
        }
    }
}

fn patience() -> Backoff {
    Backoff::new(Duration::from_millis(200), Duration::from_secs(3))
}

/// Settles a lost call, however long the carrier and the store take. Returns the outcome written, or `None`
/// if the attempt was no longer ours.
pub async fn settle(ports: &Ports, mut lost: LostCall, times: Times) -> Option<Outcome> {
    let promised = last_event(&*ports.store, lost.ended.claim.attempt, CALL_BACK).await;
    lost.ended.call_back = promised.and_then(|event| serde_json::from_str(&event.detail).ok());
    let transferred = is_handed_on(&*ports.store, lost.ended.claim.attempt).await;
    let error = match ports.carriers.named(&lost.carrier) {
        None => {
            let (attempt, carrier) = (lost.ended.claim.attempt, &lost.carrier);
            tracing::error!(%attempt, %carrier, "carrier no longer configured");
            retry::UNKNOWN_OUTCOME.to_owned()
        }
        Some(_) if transferred => String::new(),
        Some(carrier) => {
            let ended = AssertUnwindSafe(end_leg(&**carrier, ports.store.clone(), &lost, times)).catch_unwind();
            ended.await.unwrap_or_else(|_| {
                tracing::error!(attempt = %lost.ended.claim.attempt, "ending a lost call's leg panicked");
                lost.error.clone()
            })
        }
    };
    write(ports, &lost, Some(error).filter(|_| !transferred)).await
}

/// Settles a call whose leg is left alone.
pub async fn write_off(ports: &Ports, lost: LostCall) -> Option<Outcome> {
    write(ports, &lost, Some(lost.error.clone())).await
}

/// Writes the outcome with the error, or without one for a call that was transferred.
async fn write(ports: &Ports, lost: &LostCall, error: Option<String>) -> Option<Outcome> {
    let transferred = error.is_none();
    let outcome = Outcome {
        status: match transferred {
            true => ConversationStatus::Completed,
            false => ConversationStatus::Failed,
        },
        error,
        voicemail: false,
        transferred,
        collected: std::collections::BTreeMap::new(),
        times: CallTimes {
            ended_at: lost.times.ended_at.or_else(|| Some(ports.clock.now())),
            ..lost.times
        },
        facts_follow: false,
        refusal: None,
    };
    if !finish(ports, &lost.ended, &outcome).await {
        return None;
    }
    record_end(ports, lost, &outcome).await;
    Some(outcome)
}

/// Records the end of a call that could not record it itself, as far as the store takes it.
async fn record_end(ports: &Ports, lost: &LostCall, outcome: &Outcome) {
    let by = if outcome.transferred { "transfer" } else { "fault" };
    let mut detail = json!({ "status": outcome.status.as_str(), "by": by });
    if let Some(error) = &outcome.error {
        detail["error"] = error.as_str().into();
    }
    let (answered, ended) = (outcome.times.answered_at, outcome.times.ended_at);
    let lasted = answered.zip(ended).map(|(answered, ended)| ended.since(answered));
    let event = EventFact {
        name: ENDED.to_owned(),
        at_ms: lasted.map_or(0, |lasted| i64::try_from(lasted.as_millis()).unwrap_or(i64::MAX)),
        detail: detail.to_string(),
    };
    let attempt = lost.ended.claim.attempt;
    if let Err(error) = ports.store.append_facts(&[(attempt, Fact::Event(event))]).await {
        tracing::warn!(%attempt, %error, "end of a lost call not recorded");
    }
}

/// Returns whether the carrier has transferred the call without us, or is about to. Then the leg is not ours
/// to end. In a conference we ring the destination ourselves, and nobody would connect it any more.
async fn is_handed_on(store: &dyn Store, attempt: AttemptId) -> bool {
    let (taken, failed) = tokio::join!(
        last_event(store, attempt, TRANSFER_TAKEN),
        last_event(store, attempt, TRANSFER_FAILED),
    );
    let Some(taken) = taken.filter(|taken| !taken.detail.contains(CONFERENCE)) else {
        return false;
    };
    failed.is_none_or(|failed| failed.at_ms < taken.at_ms)
}

/// Reads the last event of this name. A store that does not answer is asked again for a limited time, so that
/// the leg does not stay up for long.
async fn last_event(store: &dyn Store, attempt: AttemptId, name: &str) -> Option<EventFact> {
    let mut backoff = patience();
    loop {
        match store.last_event(attempt, name).await {
            Ok(event) => return event,
            Err(StoreError::Unavailable(error)) if backoff.failures() < FACT_TRIES => {
                tracing::warn!(%attempt, %error, "reading a lost call's facts failed, trying again");
                tokio::time::sleep(backoff.failed()).await;
            }
            Err(error) => {
                tracing::error!(%attempt, %error, "reading a lost call's facts failed");
                return None;
            }
        }
    }
}

/// Ends the leg of the lost call, if there is one. Returns the error of the outcome.
async fn end_leg(carrier: &dyn Carrier, store: Arc<dyn Store>, lost: &LostCall, times: Times) -> String {
    let attempt = lost.ended.claim.attempt;
    let own = carrier.abilities().comes_back.then(|| Own {
        store: Arc::clone(&store),
        claim: lost.ended.claim,
        within: times.dead_after * 2,
    });
    if let Some(leg) = &lost.leg {
        hang_up_own(carrier, (attempt, own.as_ref()), leg).await;
        return lost.error.clone();
    }
    let search = LegSearch::new(attempt, lost.to.clone(), lost.since, store);
    match end_what_was_dialed(carrier, (&search, own.as_ref()), times.settle_from * 2).await {
        true => lost.error.clone(),
        false => retry::UNKNOWN_OUTCOME.to_owned(),
    }
}

/// Hangs up the live calls that the carrier has of an attempt. Returns whether there was a call, live or
/// over. After an empty listing the carrier is asked once more, since a request may have been in progress.
async fn end_what_was_dialed(
    carrier: &dyn Carrier,
    (search, own): (&LegSearch, Option<&Own>),
    second_look: Duration,
) -> bool {
    for look in 0..2 {
        if look > 0 {
            tokio::time::sleep(second_look).await;
        }
        if let Sighting::Ours(calls) = seen(carrier, search).await {
            for call in calls.iter().filter(|call| call.live) {
                hang_up_own(carrier, (search.attempt(), own), &call.call).await;
            }
            return true;
        }
    }
    false
}

/// Returns the carrier's calls of the attempt, and retries while the carrier is unavailable.
async fn seen(carrier: &dyn Carrier, search: &LegSearch) -> Sighting {
    let mut backoff = patience();
    let mut request = Retried::new("list of calls", search.attempt());
    loop {
        match search.look(carrier).await {
            Ok(seen) => {
                request.succeeded();
                return seen;
            }
            Err(CarrierError::NotOffered(_)) => return Sighting::Nothing,
            Err(error) => {
                request.failed(&error);
                tokio::time::sleep(backoff.failed()).await;
            }
        }
    }
}

/// Our claim on a leg that another node may take over while the leg is up.
struct Own {
    store: Arc<dyn Store>,
    claim: Claim,
    /// Time limit for the store to tell the owner.
    within: Duration,
}

impl Own {
    async fn is_ours(&self) -> bool {
        let attempt = self.claim.attempt;
        match certain_owner(Arc::clone(&self.store), self.claim, self.within).await {
            Owner::Us => return true,
            Owner::AnotherNode => {
                tracing::warn!(%attempt, "leg left alone: another node took the lost call over");
            }
            Owner::Unknown => tracing::error!(%attempt, "leg left alone: owner of the lost call unknown"),
        }
        false
    }
}

/// Hangs up a leg that is settled here.
pub(super) async fn hang_up(carrier: &dyn Carrier, attempt: AttemptId, leg: &CarrierCallId) {
    hang_up_own(carrier, (attempt, None), leg).await;
}

/// Hangs up a leg that another node may take over meanwhile. Before each try the owner is checked.
async fn hang_up_own(carrier: &dyn Carrier, (attempt, own): (AttemptId, Option<&Own>), leg: &CarrierCallId) {
    let mut backoff = patience();
    let mut request = Retried::new("hang-up", attempt);
    loop {
        if let Some(own) = own
            && !own.is_ours().await
        {
            return;
        }
        match in_time(carrier.hang_up(leg)).await {
            Ok(()) | Err(CarrierError::NotFound) => {
                request.succeeded();
                return;
            }
            Err(_) if backoff.failures() >= HANG_UP_TRIES => return request.given_up(),
            Err(error) => {
                request.failed(&error);
                tokio::time::sleep(backoff.failed()).await;
            }
        }
    }
}

async fn finish(ports: &Ports, ended: &Ended, outcome: &Outcome) -> bool {
    let (mut backoff, attempt) = (patience(), ended.claim.attempt);
    loop {
        match attempt::finish(ports, ended, outcome).await {
            Ok(()) => return true,
            Err(StoreError::Unavailable(error)) => {
                tracing::warn!(%attempt, %error, "writing the outcome failed, trying again");
                tokio::time::sleep(backoff.failed()).await;
            }
            Err(StoreError::Fenced) => return false,
            Err(error) => {
                tracing::error!(%attempt, %error, "outcome refused");
                return false;
            }
        }
    }
}
