//! A bulkhead around each carrier: limited concurrent requests, reserved slots for hang-ups, and a circuit
//! breaker that stops dials after repeated failures. A slow or unavailable carrier affects only its own
//! calls.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use domain::{
    phone_number::PhoneNumber,
    ports::{
        carrier::{
            Carrier, CarrierAbilities, CarrierCallId, CarrierError, Carriers, DialError, DialRequest, ListedCall,
            Transfer, WayBack,
        },
        services::{Service, ServiceKind},
    },
    time::Timestamp,
};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};

use crate::{kind::CarrierKind, registry};
use net::guard::{Guard, Guards, Kind, Pass, Verdict};

/// Concurrent requests to one carrier.
const PLACES: usize = 128;

/// Additional concurrent hang-ups when no regular slot is free.
const RESERVED: usize = 64;

/// Time that a dial waits for a slot. Its permit is valid for 5 s.
const DIAL_WAITS: Duration = Duration::from_millis(500);

/// Time that other requests wait for a slot.
const OTHERS_WAIT: Duration = Duration::from_secs(2);

/// Time that a hang-up waits for a slot. It is retried after that.
const HANG_UP_WAITS: Duration = Duration::from_secs(10);

/// Error if no slot became free; no request was sent.
const CROWDED: &str = "too many concurrent requests to this carrier";

/// Circuit breakers of a node's carriers.
#[derive(Clone, Default)]
pub struct Bulkheads {
    guards: Guards,
    /// Breakers of the carriers that place calls.
    dialing: Vec<Guard>,
}

impl Bulkheads {
    /// Wraps a carrier in a bulkhead.
    pub fn around(&mut self, carrier: Arc<dyn Carrier>) -> Arc<dyn Carrier> {
        let guard = self.guards.get(Kind::Carrier, carrier.name());
        if carrier.dials() {
            self.dialing.push(guard.clone());
        }
        Arc::new(Bulkhead::new(carrier, guard, PLACES, RESERVED))
    }

    /// Returns all carriers, whether `carriers` has them or not, with their outages.
    pub fn services(&self, carriers: &Carriers, now: Timestamp) -> Vec<Service> {
        let service = |kind: &CarrierKind| Service {
            name: format!("carrier-{}", kind.name),
            kind: ServiceKind::Carrier,
            provider: kind.name,
            rank: (carriers.first().name() == kind.name).then_some(1),
            configured: carriers.named(kind.name).is_some(),
            outage: self.guards.get(Kind::Carrier, kind.name).outage(now),
            settings: kind.needs(),
        };
        registry::dialing().map(service).collect()
    }

    /// Returns whether no carrier accepts calls. Returns false if there are no dialing carriers.
    pub fn all_are_down(&self) -> bool {
        !self.dialing.is_empty() && self.dialing.iter().all(Guard::is_down)
    }
}

struct Bulkhead {
    carrier: Arc<dyn Carrier>,
    guard: Guard,
    places: Semaphore,
    reserved: Semaphore,
}

impl Bulkhead {
    fn new(carrier: Arc<dyn Carrier>, guard: Guard, places: usize, reserved: usize) -> Self {
        Self {
            carrier,
            guard,
            places: Semaphore::new(places),
            reserved: Semaphore::new(reserved),
        }
    }

    /// Waits up to `within` for a free slot.
    async fn place(&self, within: Duration) -> Option<SemaphorePermit<'_>> {
        // The semaphore is never closed.
        timeout(within, self.places.acquire()).await.ok()?.ok()
    }

    async fn place_for_others(&self) -> Result<SemaphorePermit<'_>, CarrierError> {
        let place = self.place(OTHERS_WAIT).await;
        place.ok_or_else(|| CarrierError::Unavailable(CROWDED.to_owned()))
    }
}

/// Records in the breaker how the carrier handled a dial.
fn settle(pass: Pass, result: &Result<CarrierCallId, DialError>) {
    match result {
        Ok(_) | Err(DialError::InvalidNumber(_) | DialError::Rejected(_) | DialError::Unclassified { .. }) => {
            pass.succeeded();
        }
        Err(DialError::Unreachable(why) | DialError::Unknown(why)) => pass.failed(Verdict::Unhealthy, why),
        // The carrier responds. The campaign waits for the requested time, or until somebody fixes the account.
        Err(DialError::Busy { .. } | DialError::AccountRefused(_)) => drop(pass),
        // No request was sent.
        Err(DialError::HeldBack(_)) => drop(pass),
    }
}

#[async_trait]
impl Carrier for Bulkhead {
    fn name(&self) -> &'static str {
        self.carrier.name()
    }

    fn dials(&self) -> bool {
        self.carrier.dials()
    }

    async fn dial(&self, request: &DialRequest) -> Result<CarrierCallId, DialError> {
        let Some(_place) = self.place(DIAL_WAITS).await else {
            return Err(DialError::Busy { retry_after: None });
        };
        // Admitted only once the slot is held: the single trial request to a failed carrier must not wait.
        let pass = self
            .guard
            .admit()
            .map_err(|down| DialError::Unreachable(down.to_string()))?;
        if let Some(why) = request.last_look.refusal() {
            return Err(DialError::HeldBack(why));
        }
        let result = self.carrier.dial(request).await;
        settle(pass, &result);
        result
    }

    /// Bypasses the breaker: a placed call must be ended even if its carrier seems unhealthy.
    async fn hang_up(&self, call: &CarrierCallId) -> Result<(), CarrierError> {
        let any = async {
            tokio::select! {
                biased;
                place = self.places.acquire() => place,
                place = self.reserved.acquire() => place,
            }
        };
        let Ok(Ok(_place)) = timeout(HANG_UP_WAITS, any).await else {
            return Err(CarrierError::Unavailable(CROWDED.to_owned()));
        };
        self.carrier.hang_up(call).await
    }

    async fn find_calls(&self, to: &PhoneNumber, since: Timestamp) -> Result<Vec<ListedCall>, CarrierError> {
        let _place = self.place_for_others().await?;
        self.carrier.find_calls(to, since).await
    }

    fn abilities(&self) -> CarrierAbilities {
        self.carrier.abilities()
    }

    fn transfers(&self) -> bool {
        self.carrier.transfers()
    }

    async fn transfer(&self, call: &CarrierCallId, transfer: &Transfer) -> Result<(), CarrierError> {
        let _place = self.place_for_others().await?;
        self.carrier.transfer(call, transfer).await
    }

    async fn send_digits(&self, call: &CarrierCallId, digits: &str) -> Result<(), CarrierError> {
        let _place = self.place_for_others().await?;
        self.carrier.send_digits(call, digits).await
    }

    async fn reopen_media(&self, call: &CarrierCallId, back: &WayBack) -> Result<(), CarrierError> {
        let _place = self.place_for_others().await?;
        self.carrier.reopen_media(call, back).await
    }
}

#[cfg(test)]
#[path = "bulkhead/tests.rs"]
mod tests;
