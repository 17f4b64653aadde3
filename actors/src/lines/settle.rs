//! Settles an attempt whose call is no more: its leg is hung up, its outcome written. Used for calls that crashed and
//! for what a dead process left behind. An attempt that may have been dialed is never dialed again.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt;

use crate::{
    attempt::{self, CallPlan, Ended},
    call::{CONFERENCE, LegSearch, Owner, Sighting, certain_owner, in_time},
    supervision::Backoff,
};
use domain::{
    id::AttemptId,
    node_times::Times,
    phone_number::PhoneNumber,
    ports::{
        Ports,
        carrier::{Carrier, CarrierCallId, CarrierError},
        store::{
            CALL_BACK, CallTimes, Claim, ConversationStatus, EventFact, Outcome, Store, StoreError, TRANSFER_FAILED,
            TRANSFER_TAKEN,
        },
        usage::Meter,
    },
    retry,
    time::Timestamp,
};

/// The outcome of a call from outside that got its attempt, but whose carrier had been told by then that nobody takes it.
pub const NOT_TAKEN: &str = "no-answer";

/// A leg that cannot be hung up for so many tries (about two minutes) is given up; the carrier ends it by its own
/// limits, and the attempt must not stay open for ever.
const HANG_UP_TRIES: u32 = 16;

/// How often a lost call's facts are asked for again (about three seconds).
const FACT_TRIES: u32 = 4;

/// An attempt without a call.
#[derive(Debug, Clone)]
pub struct LostCall {
    /// The attempt, and that it is ours.
    pub ended: Ended,
    /// Who was called.
    pub to: PhoneNumber,
    /// The carrier that was asked.
    pub carrier: String,
    /// The carrier's id, if it is known.
    pub leg: Option<CarrierCallId>,
    /// It was not dialed before this instant.
    pub since: Timestamp,
    /// When it was answered and lost, as far as this process knows; else it ends when its leg does.
    pub times: CallTimes,
    /// Why it failed, when there was a leg.
    pub error: String,
    /// What its call used of its providers, as far as this process knows.
    pub meter: Meter,
}

impl LostCall {
    /// What a call that begins at `now` leaves if it dies.
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

/// Brings a lost call to its end, however long the carrier and the store take, and says what was written; none when
/// the attempt was no longer ours.
pub async fn settle(ports: &Ports, mut lost: LostCall, times: Times) -> Option<Outcome> {
    let promised = last_event(&*ports.store, lost.ended.claim.attempt, CALL_BACK).await;
    lost.ended.call_back = promised.and_then(|event| serde_json::from_str(&event.detail).ok());
    let transferred = is_handed_on(&*ports.store, lost.ended.claim.attempt).await;
    let error = match ports.carriers.named(&lost.carrier) {
        None => {
            let (attempt, carrier) = (lost.ended.claim.attempt, &lost.carrier);
            tracing::error!(%attempt, %carrier, "carrier is no longer configured");
            retry::UNKNOWN_OUTCOME.to_owned()
        }
        Some(_) if transferred => String::new(),
        Some(carrier) => {
            let ended = AssertUnwindSafe(end_leg(&**carrier, ports.store.clone(), &lost, times)).catch_unwind();
            ended.await.unwrap_or_else(|_| {
                tracing::error!(attempt = %lost.ended.claim.attempt, "ending a lost call's leg crashed");
                lost.error.clone()
            })
        }
    };
    write(ports, &lost, Some(error).filter(|_| !transferred)).await
}

/// The same for a call whose leg is nobody's business any more.
pub async fn write_off(ports: &Ports, lost: LostCall) -> Option<Outcome> {
    write(ports, &lost, Some(lost.error.clone())).await
}

/// What failed; none for a call that was handed on.
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
    };
    finish(ports, &lost.ended, &outcome).await.then_some(outcome)
}

/// Whether the carrier has handed the call on, or is about to, without us: that leg is not ours to end. A destination that
/// we ring ourselves (`conference`) is joined by nobody any more.
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

/// A store that does not answer is asked again, but a leg does not stay up for its sake.
async fn last_event(store: &dyn Store, attempt: AttemptId, name: &str) -> Option<EventFact> {
    let mut backoff = patience();
    loop {
        match store.last_event(attempt, name).await {
            Ok(event) => return event,
            Err(StoreError::Unavailable(error)) if backoff.failures() < FACT_TRIES => {
                tracing::warn!(%attempt, %error, "a lost call's facts could not be read, trying again");
                tokio::time::sleep(backoff.failed()).await;
            }
            Err(error) => {
                tracing::error!(%attempt, %error, "a lost call's facts could not be read");
                return None;
            }
        }
    }
}

/// Ends whatever leg the lost call has, and says what its attempt failed of.
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

/// Hangs up the live calls the carrier has of an attempt; whether there was one, live or over. After an empty listing it
/// is asked once more: a request may have been under way.
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

/// What the carrier has of it, however long the carrier is away.
async fn seen(carrier: &dyn Carrier, search: &LegSearch) -> Sighting {
    let mut backoff = patience();
    loop {
        match search.look(carrier).await {
            Ok(seen) => return seen,
            Err(CarrierError::NotOffered(_)) => return Sighting::Nothing,
            Err(error) => {
                tracing::warn!(attempt = %search.attempt(), %error, "listing calls failed, trying again");
                tokio::time::sleep(backoff.failed()).await;
            }
        }
    }
}

/// What a leg is held by that another node may take over for as long as it is up.
struct Own {
    store: Arc<dyn Store>,
    claim: Claim,
    /// How long the store may take to say whose it is.
    within: Duration,
}

impl Own {
    async fn is_ours(&self) -> bool {
        let attempt = self.claim.attempt;
        match certain_owner(Arc::clone(&self.store), self.claim, self.within).await {
            Owner::Us => return true,
            Owner::AnotherNode => {
                tracing::warn!(%attempt, "a lost call goes on at another node: its leg is left alone");
            }
            Owner::Unknown => tracing::error!(%attempt, "the owner of a lost call is not known: its leg is left alone"),
        }
        false
    }
}

/// Ends a leg that is settled here.
pub(super) async fn hang_up(carrier: &dyn Carrier, attempt: AttemptId, leg: &CarrierCallId) {
    hang_up_own(carrier, (attempt, None), leg).await;
}

/// The same where another node may take it over meanwhile: before each try it is looked whether it has.
async fn hang_up_own(carrier: &dyn Carrier, (attempt, own): (AttemptId, Option<&Own>), leg: &CarrierCallId) {
    let mut backoff = patience();
    loop {
        if let Some(own) = own
            && !own.is_ours().await
        {
            return;
        }
        match in_time(carrier.hang_up(leg)).await {
            Ok(()) | Err(CarrierError::NotFound) => return,
            Err(error) if backoff.failures() >= HANG_UP_TRIES => {
                tracing::error!(%attempt, %error, "leg could not be hung up, giving up");
                return;
            }
            Err(error) => {
                tracing::warn!(%attempt, %error, "hanging up failed, trying again");
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
                tracing::warn!(%attempt, %error, "outcome could not be written, trying again");
                tokio::time::sleep(backoff.failed()).await;
            }
            Err(StoreError::Fenced) => return false,
            Err(error) => {
                tracing::error!(%attempt, %error, "outcome was refused");
                return false;
            }
        }
    }
}
