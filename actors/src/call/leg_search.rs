//! Finds the leg of an attempt in the carrier's listing, where neither the dial's answer nor a callback told its id.

use std::{sync::Arc, time::Duration};

use tokio::time::timeout;

use domain::{
    id::AttemptId,
    phone_number::PhoneNumber,
    ports::{
        carrier::{Carrier, CarrierCallId, CarrierError, ListedCall},
        store::Store,
    },
    time::Timestamp,
};

/// The carrier has so long for a hang-up or a listing, should its own limit fail.
const CARRIER_WITHIN: Duration = Duration::from_secs(15);

/// The carrier's clock may be behind ours by so many microseconds.
const CLOCK_DIFFERENCE_US: i64 = 2_000_000;

/// Where a leg is found whose id is not known.
#[derive(Clone)]
pub(crate) struct LegSearch {
    attempt: AttemptId,
    to: PhoneNumber,
    since: Timestamp,
    store: Arc<dyn Store>,
}

/// What a carrier's listing tells about an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Sighting {
    /// These calls are the attempt's.
    Ours(Vec<ListedCall>),
    /// None is.
    Nothing,
    /// Several bear nobody's mark; one of them may be ours.
    Unclear,
}

impl Sighting {
    /// Our call that rings or talks.
    pub(crate) fn live(&self) -> Option<&CarrierCallId> {
        match self {
            Self::Ours(calls) => calls.iter().find(|call| call.live).map(|call| &call.call),
            Self::Nothing | Self::Unclear => None,
        }
    }

    /// Whether nothing of ours rings or talks, for certain.
    pub(crate) fn is_over(&self) -> bool {
        !matches!(self, Self::Unclear) && self.live().is_none()
    }
}

impl LegSearch {
    /// The calls to `to` of an attempt that was not dialed before `since`.
    pub(crate) fn new(attempt: AttemptId, to: PhoneNumber, since: Timestamp, store: Arc<dyn Store>) -> Self {
        Self {
            attempt,
            to,
            since: Timestamp(since.0.saturating_sub(CLOCK_DIFFERENCE_US)),
            store,
        }
    }

    /// The attempt whose leg is looked for.
    pub(crate) fn attempt(&self) -> AttemptId {
        self.attempt
    }

    /// Asks the carrier. A call that bears our mark is ours, one with another's is not. Where the carrier keeps no marks,
    /// the store knows which calls belong to other attempts, and the only one that is left is ours.
    pub(crate) async fn look(&self, carrier: &dyn Carrier) -> Result<Sighting, CarrierError> {
        let listed = match in_time(carrier.find_calls(&self.to, self.since)).await {
            Ok(listed) => listed,
            Err(CarrierError::NotFound) => Vec::new(),
            Err(error) => return Err(error),
        };
        let marked = listed.iter().filter(|call| call.attempt == Some(self.attempt));
        let mut ours: Vec<ListedCall> = marked.cloned().collect();
        let mut unmarked = Vec::new();
        for call in listed.into_iter().filter(|call| call.attempt.is_none()) {
            match self.bound_to(carrier.name(), &call.call).await? {
                Some(attempt) if attempt == self.attempt => ours.push(call),
                Some(_) => {}
                None => unmarked.push(call),
            }
        }
        if !ours.is_empty() {
            return Ok(Sighting::Ours(ours));
        }
        // What rings or talks is rather ours than what is over.
        if unmarked.iter().any(|call| call.live) {
            unmarked.retain(|call| call.live);
        }
        Ok(match unmarked.len() {
            0 => Sighting::Nothing,
            1 => Sighting::Ours(unmarked),
            _ => Sighting::Unclear,
        })
    }

    async fn bound_to(&self, carrier: &str, call: &CarrierCallId) -> Result<Option<AttemptId>, CarrierError> {
        let bound = self.store.attempt_of_call(carrier, call).await;
        bound.map_err(|error| CarrierError::Unavailable(format!("the store does not know whose it is: {error}")))
    }
}

/// Waits for the carrier's answer to a request, and no longer than it may take.
pub(crate) async fn in_time<T>(asked: impl Future<Output = Result<T, CarrierError>>) -> Result<T, CarrierError> {
    let late = |_| Err(CarrierError::Unavailable("no answer to the request".into()));
    timeout(CARRIER_WITHIN, asked).await.unwrap_or_else(late)
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_carrier_that_never_answers_is_not_waited_for_for_ever() {
        let asked = Instant::now();
        let result = in_time(std::future::pending::<Result<(), _>>()).await;
        assert!(matches!(result, Err(CarrierError::Unavailable(_))));
        assert_eq!(asked.elapsed(), CARRIER_WITHIN);
    }
}
