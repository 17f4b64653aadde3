//! Searches the carrier's listing for the leg of an attempt, if neither the dial's answer nor a callback
//! brought its id.

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

/// Time limit for a hang-up or a listing, in case the carrier client's own limit fails.
const CARRIER_WITHIN: Duration = Duration::from_secs(15);

/// Tolerance in microseconds for a carrier's clock that is behind ours.
const CLOCK_DIFFERENCE_US: i64 = 2_000_000;

/// Search for a leg whose id is not known.
#[derive(Clone)]
pub(crate) struct LegSearch {
    attempt: AttemptId,
    to: PhoneNumber,
    since: Timestamp,
    store: Arc<dyn Store>,
}

/// Result of searching a carrier's listing for an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Sighting {
    /// These calls belong to the attempt.
    Ours(Vec<ListedCall>),
    /// No call belongs to it.
    Nothing,
    /// Several calls belong to no known attempt; one of them may be ours.
    Unclear,
}

impl Sighting {
    /// Returns our call if it rings or talks.
    pub(crate) fn live(&self) -> Option<&CarrierCallId> {
        match self {
            Self::Ours(calls) => calls.iter().find(|call| call.live).map(|call| &call.call),
            Self::Nothing | Self::Unclear => None,
        }
    }

    /// Returns whether it is certain that no call of ours rings or talks.
    pub(crate) fn is_over(&self) -> bool {
        !matches!(self, Self::Unclear) && self.live().is_none()
    }
}

impl LegSearch {
    /// Creates a search for the calls to `to` of an attempt that was dialed at `since` or later.
    pub(crate) fn new(attempt: AttemptId, to: PhoneNumber, since: Timestamp, store: Arc<dyn Store>) -> Self {
        Self {
            attempt,
            to: to.dialed().unwrap_or(to),
            since: Timestamp(since.0.saturating_sub(CLOCK_DIFFERENCE_US)),
            store,
        }
    }

    /// Returns the attempt whose leg is searched.
    pub(crate) fn attempt(&self) -> AttemptId {
        self.attempt
    }

    /// Asks the carrier. A call that carries our mark is ours, one with another attempt's mark is not. If the
    /// carrier keeps no marks, calls that the store binds to other attempts are excluded, and a single
    /// remaining call is ours.
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
        // Prefer live calls over ended ones.
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
        bound.map_err(|error| CarrierError::Unavailable(format!("the store does not tell whose call it is: {error}")))
    }
}

/// Waits for the carrier's answer to a request, up to the time limit.
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
