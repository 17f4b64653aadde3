//! The UUIDs that AudioSocket connections show: made for one call, drawn at random, and good for one connection.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use domain::{id::AttemptId, ports::carrier::WayBack};
use uuid::Uuid;

use crate::media_socket::Claim;

/// The ones that were not shown yet: at most one of each call.
#[derive(Debug, Default)]
pub struct Tickets(Mutex<HashMap<Uuid, Claim>>);

impl Tickets {
    fn lock(&self) -> MutexGuard<'_, HashMap<Uuid, Claim>> {
        // No panic leaves what is kept here half-changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One for a call; an earlier one of the same call is void.
    pub fn issue(&self, back: &WayBack) -> Uuid {
        let ticket = Uuid::new_v4();
        let claim = Claim {
            attempt: back.attempt,
            proof: back.media_token.clone(),
        };
        let mut tickets = self.lock();
        tickets.retain(|_, claim| claim.attempt != back.attempt);
        tickets.insert(ticket, claim);
        ticket
    }

    /// Whom one is for; it is void from then on.
    pub fn redeem(&self, ticket: Uuid) -> Option<Claim> {
        self.lock().remove(&ticket)
    }

    /// A call is over.
    pub fn forget(&self, attempt: AttemptId) {
        self.lock().retain(|_, claim| claim.attempt != attempt);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn back() -> WayBack {
        WayBack {
            attempt: AttemptId::new(),
            status_token: "s".repeat(64),
            media_token: "a".repeat(64),
        }
    }

    #[test]
    fn a_ticket_is_good_once_and_for_its_call() {
        let (tickets, one, other) = (Tickets::default(), back(), back());
        let (first, others) = (tickets.issue(&one), tickets.issue(&other));
        let second = tickets.issue(&one);
        assert!(tickets.redeem(first).is_none() && tickets.redeem(Uuid::new_v4()).is_none());
        let claim = tickets.redeem(second).unwrap();
        assert_eq!((claim.attempt, claim.proof), (one.attempt, one.media_token));
        assert!(tickets.redeem(second).is_none());
        tickets.forget(other.attempt);
        assert!(tickets.redeem(others).is_none());
    }
}
