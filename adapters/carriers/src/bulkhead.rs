//! A bulkhead around each carrier: so many requests at once and no more, places of their own for hang-ups, and a breaker
//! that leaves a carrier alone for dials after it failed too often. One that is slow or away costs its own calls only.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use domain::{
    phone_number::PhoneNumber,
    ports::carrier::{
        Carrier, CarrierAbilities, CarrierCallId, CarrierError, DialError, DialRequest, ListedCall, Transfer, WayBack,
    },
    time::Timestamp,
};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};

use net::guard::{Guard, Guards, Kind, Pass, Verdict};

/// Requests to one carrier at once.
const PLACES: usize = 128;

/// Hang-ups at once that find none of those places free.
const RESERVED: usize = 64;

/// How long a dial waits for a place: the permit behind it is good for 5 s.
const DIAL_WAITS: Duration = Duration::from_millis(500);

/// How long anything else does.
const OTHERS_WAIT: Duration = Duration::from_secs(2);

/// How long a hang-up does; it is tried again after that.
const HANG_UP_WAITS: Duration = Duration::from_secs(10);

/// What a dial is told that found no place; nothing of it was written.
const CROWDED: &str = "too many requests to this carrier are under way";

/// The breakers of a node's carriers.
#[derive(Clone, Default)]
pub struct Bulkheads {
    guards: Guards,
    /// Of those that place calls.
    dialing: Vec<Guard>,
}

impl Bulkheads {
    /// Puts one around a carrier.
    pub fn around(&mut self, carrier: Arc<dyn Carrier>) -> Arc<dyn Carrier> {
        let guard = self.guards.get(Kind::Carrier, carrier.name());
        if carrier.dials() {
            self.dialing.push(guard.clone());
        }
        Arc::new(Bulkhead::new(carrier, guard, PLACES, RESERVED))
    }

    /// Whether there is none left that takes calls.
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

    /// A place, if one is free within the time.
    async fn place(&self, within: Duration) -> Option<SemaphorePermit<'_>> {
        // Neither is ever closed.
        timeout(within, self.places.acquire()).await.ok()?.ok()
    }

    async fn place_for_others(&self) -> Result<SemaphorePermit<'_>, CarrierError> {
        let place = self.place(OTHERS_WAIT).await;
        place.ok_or_else(|| CarrierError::Unavailable(CROWDED.to_owned()))
    }
}

/// What a dial's answer says about the carrier.
fn settle(pass: Pass, result: &Result<CarrierCallId, DialError>) {
    match result {
        Ok(_) | Err(DialError::InvalidNumber(_) | DialError::Rejected(_)) => pass.succeeded(),
        Err(DialError::Unreachable(why) | DialError::Unknown(why)) => pass.failed(Verdict::Unwell, why),
        // It answers. The campaign waits as long as it asks for, or for somebody to mend the account.
        Err(DialError::Busy { .. } | DialError::AccountRefused(_)) => drop(pass),
        // It was not asked.
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
        // Asked with the place in hand: the one request that tries a carrier that was down is not to wait.
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

    /// Never kept back by the breaker: a call that was placed must be ended, however unwell its carrier seems.
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
